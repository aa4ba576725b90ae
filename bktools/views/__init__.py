"""HTML for notebooks: bounded tables of escaped text, readable in light and dark themes.

The templates give text the page's own colours; lines are a transparent grey, visible on both.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from bktools.visible import unbroken, visible

if TYPE_CHECKING:
    from jinja2 import Environment

SHOWN_ROWS = 20
LONGEST_CELL = 300
LONGEST_HEADING = 600

# Marks differ in shape, so that they can be told apart in light and dark themes.
MARKS = {"error": "✖", "warning": "▲", "info": "●"}

# The looks of columns and cells.
TO_THE_RIGHT = ";text-align:right"
ON_ONE_LINE = ";white-space:nowrap"


def templates(package: str) -> Environment:
    """Return the templates of a package.

    All text in them is escaped, and its control characters and direction marks are visible.
    """
    # Most programs show no HTML.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def short(value: Any, longest: int = LONGEST_CELL) -> str:
    """Return a value as one line, shortened; spaces that keep words together stay."""
    line = "" if value is None else visible(re.sub(r"[^\S\u00a0]+", " ", str(value)).strip())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def heading(text: str) -> str:
    """Return a heading of one line."""
    return _part("heading", short(text, LONGEST_HEADING))


def note(text: str) -> str:
    """Return a paragraph; nothing without text."""
    return _part("note", text) if text else ""


def next_steps(steps: Iterable[str]) -> str:
    """Return the next steps, a line each."""
    return _part("next_steps", [short(step) for step in steps])


def beside_grid(key: str, html: str) -> str:
    """Return HTML that a page hides while it shows the grid of this class."""
    return _part("beside_grid", key, html)


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    total: int,
    where: str = "",
    shown: int = SHOWN_ROWS,
    looks: Sequence[str] = (),
) -> str:
    """Return rows as a table, the first 20 of them.

    Parameters
    ----------
    headings : sequence of str
        One a column; all empty for a table without headings.
    rows : iterable of sequences
        Values; shown as text, numbers to the right, dates on one line.
    total : int
        Number of all rows.
    where : str
        Place of the other rows, such as ".batches".
    shown : int
        Largest number of rows.
    looks : sequence of str
        The style of each column, such as `TO_THE_RIGHT`, for values that are text already.
    """
    looks = looks or [""] * len(headings)
    cells = [list(map(_cell, row, looks)) for row in islice(rows, shown)]
    head = [(short(name), look) for name, look in zip(headings, looks, strict=True)] if any(headings) else []
    more = total - shown
    return _part("table", head, cells, f"{more:,}" if more > 0 else "", where) if cells else ""


def _cell(value: Any, look: str) -> tuple[str, str]:
    """Return the text and the look of a cell."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f"{value:,}", TO_THE_RIGHT
    return short(value), ON_ONE_LINE if isinstance(value, dt.date) else look


def _part(name: str, *values: Any) -> str:
    # As markup it would escape the HTML that is added to it.
    return str(getattr(_parts(), name)(*values)).strip()


@functools.cache
def _parts() -> Any:
    return templates("bktools.views").get_template("parts.html").module


def _text(value: object) -> object:
    """Return a value as a template shows it: None is empty, other text safe and with whole amounts."""
    return value if hasattr(value, "__html__") else "" if value is None else unbroken(visible(str(value)))
