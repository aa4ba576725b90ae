"""The grid of a notebook: rows to sort and search, and a table in its place where there is no grid."""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bktools.consoles import in_notebook
from bktools.views import beside_grid, short

# More rows make the page slow; a filter in Python is quicker.
MAX_ROWS = 20_000
LONGEST_TEXT = 200


@functools.cache
def grid_class() -> Any:
    """Return the class of the grid; raise ImportError without the extra `notebook`."""
    import anywidget
    import traitlets

    class Grid(anywidget.AnyWidget):
        """The grid in the page; its rows are text, its selection the places of rows.

        `entries` has a number for each row of a picker, the same for the lines of a split entry.
        """

        _esm = Path(__file__).with_suffix(".js")
        _css = Path(__file__).with_suffix(".css")
        columns: Any = traitlets.List().tag(sync=True)
        rows: Any = traitlets.List().tag(sync=True)
        page = traitlets.Int(100).tag(sync=True)
        picking = traitlets.Bool(default_value=False).tag(sync=True)
        entries = traitlets.List(traitlets.Int()).tag(sync=True)
        selected = traitlets.List(traitlets.Int()).tag(sync=True)
        summary = traitlets.Unicode().tag(sync=True)
        key = traitlets.Unicode().tag(sync=True)

        def __repr__(self) -> str:
            return f"grid of {len(self.rows):,} {'entries' if self.picking else 'rows'}"

    return Grid


def grid_of(columns: Sequence[dict[str, Any]], rows: Sequence[Sequence[str]], **traits: Any) -> Any:
    """Return a grid; each column has a label, a kind (number, date or text) and what else the page needs."""
    # A class of the page that belongs to this grid alone.
    key = f"bktools-{secrets.token_hex(4)}"
    return grid_class()(columns=list(columns), rows=[list(row) for row in rows], key=key, **traits)


def instead_of(grid: Any, html: str, text: str) -> dict[str, str]:
    """Return the table that is shown where the grid is not, with the same as text."""
    return {"text/html": beside_grid(grid.key, html), "text/plain": text}


def display_grid(grid: Any, table: dict[str, str]) -> Any:
    """Show a grid with the table that takes its place; return the handle that replaces the table."""
    from IPython.display import display

    handle = display(table, raw=True, display_id=True)
    # IPython on a terminal has no page.
    if in_notebook():
        display(grid)
    return handle


def cell(value: object) -> str:
    """Return a value as text of the grid: one or two lines, each shortened."""
    lines = "" if value is None else str(value).split("\n", 1)
    return "\n".join(short(line, LONGEST_TEXT) for line in lines)
