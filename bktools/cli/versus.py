"""`bktools versus`: what differs between two months, or a month and a budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import bktools
from bktools.cli import options, reading, results
from bktools.cli.options import REQUIRED, argument, option
from bktools.cli.spend import note_questionable, read_sides, shown_columns
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.progress import note
from bktools.wording import Sentence, words
from bktools.wording.numbers import month

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("this", "that")
# The last columns of the result; those before them are the keys.
FIGURES = ("currency", *SIDES, "difference", "percent", "drivers")


def versus(
    books: options.Company,
    table: results.Table,
    entries: list[Path] = argument("FILE", "The entries; the last file is the other side.", REQUIRED),
    period: str | None = options.PERIOD,
    before: str | None = option("--before PERIOD", "The period of the other side."),
    rates: Path | None = options.RATES,
    mapping: list[str] | None = reading.MAPPING,
    by: list[str] | None = options.KEYS,
    largest_first: bool = options.LARGEST_FIRST,
    threshold: str | None = options.THRESHOLD,
) -> None:
    """Compare two months or periods, or entries and a budget.

    Each difference has the entries that make it.

    Example: bktools versus november.csv october.csv --by supplier --threshold 5%
    """
    from bktools.frames.tables import in_memory
    from bktools.spending.budgets import keys_of_budget

    keys = by or ["category"]
    if months := sorted({file.name for file in entries if rules.MONTH_PATTERN.match(file.name)}):
        raise ArgumentError("FILE", Sentence("rule.months_of_journal", months=" ".join(months)))
    sides = [entries[:-1], entries[-1:]] if before is None else [entries]
    if not sides[0]:
        raise ArgumentError("FILE", Sentence("rule.other_side"))
    frames, names = read_sides(sides, mapping, keys, books)
    this, that = frames[0], frames[-1]
    if by is None and "date" not in that.columns:
        # A budget is compared by the keys that it has; all of it is of one company.
        keys = [key for key in keys_of_budget(in_memory(that)) if key != "company"]
    changes = bktools.versus(
        this,
        that,
        by=keys,
        threshold=threshold,
        period=period,
        before=before,
        rates=rates,
        language=words().language,
        **names,
    )
    if period is None and "date" not in that.columns:
        _note_months(this, sides[0])
    smaller = changes.attrs["bktools"]["below_threshold"] or None
    note(words()("command.differences", count=len(changes), smaller=smaller))
    if not largest_first:
        changes = results.by_name(changes, shown_columns(changes)[: -len(FIGURES)], ["currency"])
    titles = _titles([period, before], [this, that], [sides[0], sides[-1]])
    for side, counted in changes.attrs["bktools"]["questionable"].items():
        note_questionable(counted, titles[side])
    table.hand_over(changes, columns=shown_columns(changes), titles=titles)


def _titles(
    periods: Sequence[str | None], frames: Sequence[pd.DataFrame], files: Sequence[Sequence[Path]]
) -> dict[str, str]:
    """Return the name of each side: its period or month, else the names of its files, where they differ."""
    months = [period or _month_of(frame) for period, frame in zip(periods, frames, strict=True)]
    stems = [", ".join(file.stem for file in side) for side in files]
    named = [month or stem for month, stem in zip(months, stems, strict=True)]
    sides = [words()(f"report.column.{side}") for side in SIDES]
    titles = next((names for names in (named, stems) if names[0] != names[1]), sides)
    return dict(zip(SIDES, titles, strict=True))


def _note_months(this: pd.DataFrame, files: Sequence[Path]) -> None:
    """Note where entries that stand beside a budget are of several months."""
    days = sorted(this["date"].dropna()) if "date" in this else []
    if days and (days[0].year, days[0].month) != (days[-1].year, days[-1].month):
        named = ", ".join(file.name for file in files)
        note(words()("command.several_months", file=named, first=days[0], last=days[-1]))


def _month_of(side: pd.DataFrame) -> str | None:
    """Return the month of a side whose days are of one month."""
    days = side["date"].dropna() if "date" in side else ()
    months = {month(day, words().language) for day in days}
    return months.pop() if len(months) == 1 else None
