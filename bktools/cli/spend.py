"""`bktools spend`: sums of entries by category, supplier, month and others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bktools
from bktools.cli import options, reading, results
from bktools.cli.options import Company, option
from bktools.contract import rules
from bktools.progress import note
from bktools.wording import words

if TYPE_CHECKING:
    import pandas as pd

# Keys whose names and accounts are known to the service.
OF_THE_SERVICE = {"category", "account", "employee"}


def spend(
    books: options.Company,
    table: results.Table,
    entries: list[Path] | None = reading.ENTRIES_FILES,
    mapping: list[str] | None = reading.MAPPING,
    by: list[str] | None = options.KEYS,
    period: str | None = options.PERIOD,
    rates: Path | None = options.RATES,
    shares: bool = option(
        "--shares",
        "Add the share of each row, within the first of several keys; with --rates, of all currencies.",
        False,
    ),
    largest_first: bool = options.LARGEST_FIRST,
) -> None:
    """Add up entries by category, supplier, month and others.

    Sums are exact, and never of two currencies. By category, account or employee the service is asked for
    their names; other keys need no service.

    Example: bktools spend entries.csv --by month --by supplier
    """
    keys = by or ["category"]
    (rows,), names = read_sides([entries], mapping, keys, books, required=("currency",))
    sums = bktools.spend(
        rows, by=keys, period=period, rates=rates, shares=shares, largest_first=largest_first, **names
    )
    note_questionable(sums.attrs["bktools"]["questionable"])
    if rates is not None and len(sums):
        total = sum(Decimal(str(amount)) for amount in sums["home_amount"].dropna())
        note(words()("command.in_own", amounts={sums["home_currency"].iloc[0]: total}))
    table.hand_over(sums, columns=shown_columns(sums))


def shown_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns for people: IDs tell only groups of one name apart."""
    return [str(name) for name in frame.columns if name not in {"category_id", "employee_id"}]


def note_questionable(counted: Mapping[str, Any], where: str = "") -> None:
    """Note which entries are counted that a close would not export."""
    for what, money in counted.items():
        note(words()(f"command.{what}", where=where or None, **money))


def read_sides(
    sides: Sequence[list[Path] | None],
    mapping: list[str] | None,
    keys: Sequence[str],
    books: Company,
    **others: Any,
) -> tuple[list[pd.DataFrame], dict[str, Any]]:
    """Read the entries of each side, and the names of the service where a key or an option asks for them."""
    company, tables = books.company, dict[str, Any]()
    files = list(sides)
    if books.name or OF_THE_SERVICE & {*keys} or None in sides:
        with books.connected() as service:
            company = rules.company_of(service.settings)
            tables = reading.tables_of(service, company)
            files = [side or [reading.samples(service, "FILE")[1]] for side in sides]
    # A budget has other headings than the entries, which a mapping is named for.
    frames = [
        reading.read_entries(side or [], mapping, company, tables, must_fit=number > 0, **others)
        for number, side in enumerate(files)
    ]
    for frame in frames:
        note(reading.recognised(frame.attrs["bktools"]))
    return frames, tables
