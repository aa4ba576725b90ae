"""`bktools versus`: what differs between two months, or a month and a budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bktools
from bktools.cli import options, reading, results
from bktools.cli.compare import by_name, smaller_ones
from bktools.cli.formats import with_units
from bktools.cli.options import REQUIRED, argument
from bktools.cli.spend import read_sides, shown_columns
from bktools.progress import note
from bktools.wording.numbers import counted

if TYPE_CHECKING:
    import pandas as pd

# The last columns of the result; those before them are the keys.
FIGURES = ("currency", "this", "that", "difference", "percent", "drivers")


def versus(
    books: options.Books,
    table: results.Table,
    entries: Path = argument("FILE", "The entries of a month.", REQUIRED),
    other: Path = argument(
        "OTHER", "Another month, or a budget: the columns of the keys, and an amount.", REQUIRED
    ),
    mapping: reading.Mapping = None,
    by: options.Keys = None,
    largest_first: options.LargestFirst = False,
    threshold: options.Threshold = None,
) -> None:
    """Compare two months of entries, or a month and a budget.

    Each difference has the entries that make it.

    Example: bktools versus november.csv october.csv --by supplier --from 5%
    """
    keys = by or ["category"]
    (this, that), names = read_sides([[entries], [other]], mapping, keys, books)
    changes = bktools.versus(this, that, by=keys, threshold=threshold, **names)
    note(f"{counted(len(changes), 'difference')}{smaller_ones(changes.attrs['bktools']['below_threshold'])}")
    if not largest_first:
        changes = by_name(changes, shown_columns(changes)[: -len(FIGURES)])
    shown = shown_columns(changes)
    if table.is_for_people:
        sides = {"this": _named(this, entries), "that": _named(that, other)}
        if len({*sides.values()}) < len(sides):
            sides = {}
        changes = with_units(changes).rename(columns=sides)
        shown = [sides.get(name, name) for name in shown]
    table.hand_over(changes, columns=shown)


def _named(side: pd.DataFrame, file: Path) -> str:
    """Return the month of a side whose days are of one month, else the name of its file."""
    days = side["date"].dropna() if "date" in side else ()
    months = {f"{day:%B %Y}" for day in days}
    return months.pop() if len(months) == 1 else file.stem
