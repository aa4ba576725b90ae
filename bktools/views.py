"""HTML for notebooks: bounded tables of escaped text, readable in light and dark themes.

Text has the page's own colours; lines are a transparent grey, visible on both.
"""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from bktools.visible import visible

SHOWN_ROWS = 20
LONGEST_CELL = 300
LONGEST_HEADING = 600

# Marks differ in shape, so that they can be told apart in light and dark themes.
MARKS = {"error": "✖", "warning": "▲", "info": "●"}

_CELL = "padding:2px 10px 2px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.35)"
TO_THE_RIGHT = ";text-align:right"
ON_ONE_LINE = ";white-space:nowrap"
_NEXT = "border-left:3px solid #56B4E9;padding:2px 0 2px 8px;margin:6px 0"


def short(value: Any, longest: int = LONGEST_CELL) -> str:
    """Return a value as one line, shortened; spaces that keep words together stay."""
    line = "" if value is None else visible(re.sub(r"[^\S\u00a0]+", " ", str(value)).strip())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def heading(text: str) -> str:
    """Return a heading of one line."""
    return f"<p><b>{html.escape(short(text, LONGEST_HEADING))}</b></p>"


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
    named = zip(headings, looks, strict=True)
    head = (
        "".join(f'<th style="{_CELL}{look}">{html.escape(short(name))}</th>' for name, look in named)
        if any(headings)
        else ""
    )
    body = "".join(f"<tr>{''.join(map(_cell, row, looks))}</tr>" for row in islice(rows, shown))
    if not body:
        return ""
    more = f"<p>… and {total - shown:,} more{f' in {html.escape(where)}' if where else ''}</p>"
    # The table is as wide as its lines, and the page stays as it is.
    return (
        f'<div style="overflow-x:auto;margin:.5em 0"><table style="border-collapse:collapse">'
        f"{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table></div>"
        f"{more if total > shown else ''}"
    )


def next_steps(steps: Iterable[str]) -> str:
    """Return the next steps, a line each."""
    return "".join(f'<div style="{_NEXT}">Next: {html.escape(short(step))}</div>' for step in steps)


def _cell(value: Any, look: str = "") -> str:
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return f'<td style="{_CELL}{TO_THE_RIGHT}">{value:,}</td>'
    look = ON_ONE_LINE if isinstance(value, dt.date) else look
    return f'<td style="{_CELL}{look}">{html.escape(short(value))}</td>'
