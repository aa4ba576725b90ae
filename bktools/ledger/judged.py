"""Both tables of a match beside the verdict, row by row: what its tables and findings are made of."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import COUNT, TEXT
from bktools.ledger.inputs import OF_POSTING, Inputs
from bktools.ledger.verdict import THERE, Reason, Status, Verdict
from bktools.ledger.whole_numbers import Flags, Numbers, first_rows, sums

NOTHING = -1
MONTHS = 12  # of a year
CODES = pa.array([status.code for status in Status], TEXT)
# The posting's columns that an entry gets as evidence, with OF_POSTING in front.
EVIDENCE = (
    *("date", "account_code", "account_name", "amount", "text"),
    *("document_number", "voucher_id", "cost_centre", "line"),
)


@dataclass(frozen=True, eq=False)
class Judged:
    """Both tables, and what became of each entry.

    Parameters
    ----------
    inputs : Inputs
        Both tables.
    verdict : Verdict
        Of all entries.
    months : tuple of str or None
        The first and the last month that are shown; None for all.
    """

    inputs: Inputs
    verdict: Verdict
    months: tuple[str, str] | None

    @property
    def entries(self) -> pl.DataFrame:
        """The entries in whole numbers."""
        return self.inputs.entries

    @property
    def postings(self) -> pl.DataFrame:
        """The postings in whole numbers."""
        return self.inputs.postings

    # ---- entries

    @functools.cached_property
    def month(self) -> pl.Series:
        """The number of each entry's month: that of its close, else of its date; null where none is known."""
        return _numbers_of_months(self.entries["period_day"]).fill_null(self.month_of_day)

    @property
    def month_of_day(self) -> pl.Series:
        """The number of the month of each entry's date; null where it has none."""
        return _numbers_of_months(self.entries["day"])

    @functools.cached_property
    def is_shown(self) -> Flags:
        """Which entries are of the months that are shown."""
        if self.months is None:
            return np.ones(self.entries.height, dtype=bool)
        first, last = map(month_number, self.months)
        return self.month.is_between(first, last).fill_null(value=False).to_numpy()

    @functools.cached_property
    def posting(self) -> Numbers:
        """The row of the first posting that has each entry; -1 without one."""
        verdict = self.verdict
        posting: Numbers = first_rows(verdict.posting_group, verdict.groups)[verdict.group]
        for entry, rows in verdict.evidence.items():
            if verdict.status[entry] in THERE:
                posting[entry] = rows[0]
        return posting

    @functools.cached_property
    def booked(self) -> pl.Series:
        """What the ledger has for each entry, with its tax; of a sum all of it. Null without a posting."""
        group, count = self.verdict.group, self.verdict.groups + 1  # what is in no group counts as the last
        exported = sums(group, count, self.entries["cents"].fill_null(0).to_numpy())
        foreign = sums(group, count, ~self.is_home.to_numpy())
        booked = sums(self.verdict.posting_group, count, self.cents)
        own = np.append(self.verdict.gross, 0)[self.posting]
        amounts = np.where(group >= 0, np.where(foreign == 0, exported, booked)[group], own)
        return pl.Series(amounts).set(pl.Series((group < 0) & (self.posting < 0)), None)

    @functools.cached_property
    def is_home(self) -> pl.Series:
        """Whether each entry is in the ledger's own currency."""
        own = self.entries["currency"]
        return own.is_null() | own.eq_missing(self.currency)

    @functools.cached_property
    def is_in_home_currency(self) -> Flags:
        """Which postings are in the ledger's own currency: the others are in no control total."""
        own = self.postings["currency"]
        return (own.is_null() | own.eq_missing(self.currency)).to_numpy()

    @property
    def currency(self) -> str | None:
        """The ledger's own currency, None where it is not known."""
        return self.verdict.habits.currency

    # ---- postings

    @functools.cached_property
    def cents(self) -> Numbers:
        """The amount of each posting with the sign of the entries."""
        return self.postings["cents"].fill_null(0).to_numpy() * self.verdict.habits.sign

    @functools.cached_property
    def is_looked_at(self) -> Flags:
        """Which postings are of no matched group, but are named for an entry or an open group."""
        named = np.zeros(len(self.cents), dtype=bool)
        for rows in self.verdict.evidence.values():
            named[[*rows]] = True
        for group in self.verdict.open_groups:
            named[[*group.postings]] = True
        return named & (self.verdict.posting_group < 0)

    @functools.cached_property
    def is_not_from_export(self) -> Flags:
        """Which postings on the entries' accounts, in their months, are of no entry and named for none."""
        months = self.month.drop_nulls()
        if not len(months):
            return np.zeros(len(self.cents), dtype=bool)
        span = (months.min(), months.max()) if self.months is None else map(month_number, self.months)
        of_months = self.posting_month.is_between(*span).fill_null(value=False)
        on_accounts = self.postings["account"].is_in(self.entries["account"].drop_nulls().unique().implode())
        is_other = (self.verdict.posting_group < 0) & ~self.is_looked_at
        is_own: Flags = of_months.to_numpy() & on_accounts.fill_null(value=False).to_numpy()
        return is_own & is_other

    @functools.cached_property
    def posting_month(self) -> pl.Series:
        """The number of each posting's month."""
        return _numbers_of_months(self.postings["day"])

    # ---- tables

    @functools.cached_property
    def table(self) -> pa.Table:
        """The entries with status, delay, reason, and the columns of the posting of each."""
        table, ledger, at = self.inputs.exported, self.inputs.ledger, rows_of(self.posting)
        for name in EVIDENCE:
            if name == "amount":
                table = table.append_column(f"{OF_POSTING}amount", self.column_of(self.booked))
            elif name in ledger.column_names:
                table = table.append_column(f"{OF_POSTING}{name}", ledger.column(name).take(at))
        verdict, reasons = self.verdict, np.full(len(table), NOTHING)
        reasons[[*verdict.reasons]] = [*map([*Reason].index, verdict.reasons.values())]
        late = pa.array(verdict.days_late, COUNT, mask=verdict.status != Status.BOOKED)
        table = table.append_column("status", CODES.take(pa.array(verdict.status)))
        table = table.append_column("days_late", late)
        return table.append_column("reason", pa.array([*Reason], TEXT).take(rows_of(reasons)))

    def rows(self, entries: Sequence[int]) -> list[dict[str, Any]]:
        """Return entries with the columns of their postings."""
        rows: list[dict[str, Any]] = self.table.take(pa.array(entries, pa.int64())).to_pylist()
        return rows

    def money(self, cents: int | None) -> Decimal | None:
        """Return whole numbers as an exact amount."""
        return None if cents is None else Decimal(cents).scaleb(-self.inputs.scale)

    def column_of(self, cents: pl.Series) -> pa.Array:
        """Return whole numbers as exact amounts."""
        kind = pa.decimal128(38, self.inputs.scale)
        whole = cents.cast(pl.Int64).to_arrow().cast(pa.decimal128(19, 0))
        return pc.multiply(whole, Decimal(1).scaleb(-self.inputs.scale)).cast(kind)


def rows_of(numbers: Any) -> pa.Array:
    """Return rows to take; one below 0 is null."""
    return pa.array(numbers, pa.int64(), mask=numbers < 0)


def values_at(values: pl.Series, rows: Numbers) -> pl.Series:
    """Return the values of rows, null for row -1."""
    return pl.concat([values, pl.Series([None], dtype=values.dtype)]).gather(rows)


def month_number(month: str) -> int:
    """Return the number of a month such as 2026-10, counted from the year 0."""
    year, number = month.split("-")[:2]
    return MONTHS * int(year) + int(number) - 1


def month_text(number: int) -> str:
    """Return a month by its number, such as 2026-10."""
    return f"{number // MONTHS:04}-{number % MONTHS + 1:02}"


def _numbers_of_months(days: pl.Series) -> pl.Series:
    date = pl.col("day").cast(pl.Int32).cast(pl.Date)
    numbers = MONTHS * date.dt.year().cast(pl.Int64) + date.dt.month().cast(pl.Int64) - 1
    return pl.DataFrame({"day": days}).select(numbers).to_series()
