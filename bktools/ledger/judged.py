"""Both tables of a match beside the verdict, row by row: what its tables and findings are made of."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.ledger.inputs import Inputs, has_values
from bktools.ledger.outcome import NO_COST, THERE, OpenGroup, Reason, Verdict

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NOTHING = -1
MONTHS = 12  # of a year


@dataclass(frozen=True, eq=False)
class Judged:
    """Both tables, and what became of each entry.

    Parameters
    ----------
    inputs : Inputs
        The frames with all their columns.
    entries, postings : DataFrame
        The same rows in whole numbers, as `entries_of` and `postings_of` return them.
    verdict : Verdict
        Of all entries.
    months : tuple of str or None
        The first and the last month that are shown; None for all.
    given_currency : str or None
        The ledger's currency, as a person says.
    """

    inputs: Inputs
    entries: pl.DataFrame
    postings: pl.DataFrame
    verdict: Verdict
    months: tuple[str, str] | None
    given_currency: str | None = None

    # ---- entries

    @functools.cached_property
    def status(self) -> Numbers:
        """The `Status` of each entry, as a number."""
        return self.verdict.status.astype(np.int64)

    @functools.cached_property
    def month(self) -> pl.Series:
        """The number of each entry's month: that of its close, else of its date; null where none is known."""
        of_day = _numbers_of_months(self.entries["day"])
        if self.entries.is_empty() or not has_values(self.inputs.entries, "period"):
            return of_day
        periods = pl.Series(pl.from_arrow(self.inputs.entries.column("period"))).cast(pl.String)
        numbers = {text: month_number(text) for text in periods.drop_nulls().unique().to_list()}
        return periods.replace_strict(numbers, return_dtype=pl.Int64).fill_null(of_day)

    @functools.cached_property
    def is_shown(self) -> Flags:
        """Which entries are of the months that are shown."""
        if self.months is None:
            return np.ones(len(self.status), dtype=bool)
        first, last = map(month_number, self.months)
        return self.month.is_between(first, last).fill_null(value=False).to_numpy()

    @functools.cached_property
    def posting(self) -> Numbers:
        """The row of the first posting that has each entry; -1 without one."""
        group, of = self.verdict.group, self.verdict.posting_group
        first = np.full(int(max(group.max(initial=NOTHING), of.max(initial=NOTHING))) + 2, len(of))
        own = np.flatnonzero(of >= 0)
        np.minimum.at(first, of[own], own)
        first[first == len(of)] = NOTHING
        posting = np.where(group >= 0, first[group], NOTHING)
        for entry, rows in self.verdict.evidence.items():
            if posting[entry] < 0 and self.status[entry] in THERE:
                posting[entry] = rows[0]
        return posting

    @functools.cached_property
    def booked(self) -> pl.Series:
        """What the ledger has for each entry, with its tax; of a sum all of it. Null without a posting."""
        own = (
            pl.Series(self.gross[np.maximum(self.posting, 0)]) if len(self.gross) else pl.Series(self.status)
        )
        frame = pl.DataFrame(
            {
                "group": self.verdict.group,
                "cents": self.entries["cents"],
                "is_home": self.is_home,
                "own": own,
                "posting": self.posting,
            }
        )
        in_group = pl.col("group") >= 0
        whole = pl.col("cents").sum().over("group")
        converted = frame["group"].replace_strict(
            self._sums.select("group").to_series(), self._sums["cents"], default=None
        )
        return frame.select(
            pl.when(in_group & pl.col("is_home").all().over("group"))
            .then(whole)
            .when(in_group)
            .then(converted)
            .when(pl.col("posting") >= 0)
            .then("own")
        ).to_series()

    @functools.cached_property
    def is_home(self) -> pl.Series:
        """Whether each entry is in the ledger's own currency."""
        own = self.entries["currency"]
        if self.currency is None:
            return own.is_null() | own.is_not_null()
        return (own == self.currency).fill_null(value=True)

    @functools.cached_property
    def currency(self) -> str | None:
        """The ledger's own currency, None where it is not known."""
        if self.verdict.habits is not None:
            return self.verdict.habits.currency
        named = self.postings["currency"].drop_nulls().unique().sort()
        return named[0] if len(named) == 1 else self.given_currency

    # ---- postings

    @property
    def sign(self) -> int:
        """-1 where credits of the ledger are costs."""
        return self.verdict.habits.sign if self.verdict.habits else 1

    @functools.cached_property
    def cents(self) -> Numbers:
        """The amount of each posting with the sign of the entries."""
        return self.postings["cents"].fill_null(0).to_numpy() * self.sign

    @functools.cached_property
    def gross(self) -> Numbers:
        """The amount of each posting with its voucher's tax, and with the sign of the entries."""
        return np.where(self.verdict.gross == NO_COST, self.cents, self.verdict.gross)

    @functools.cached_property
    def _sums(self) -> pl.DataFrame:
        """The sum of the postings of each matched group."""
        frame = pl.DataFrame({"group": self.verdict.posting_group, "cents": self.cents})
        return frame.filter(pl.col("group") >= 0).group_by("group").agg(pl.sum("cents"))

    @functools.cached_property
    def is_looked_at(self) -> Flags:
        """Which postings are of no matched group, but are named for an entry or an open group."""
        named = np.zeros(len(self.cents), dtype=bool)
        for rows in self.verdict.evidence.values():
            named[[*rows]] = True
        for group in self._groups:
            named[[*group.postings]] = True
        return named & (self.verdict.posting_group < 0)

    @functools.cached_property
    def is_free(self) -> Flags:
        """Which costs are of no entry, named for none, and may be of one: no person has explained them."""
        # Original amounts in another currency are judged apart: whether they are costs is not known here.
        is_cost = (self.verdict.gross != NO_COST) | self.postings["fcents"].is_not_null().to_numpy()
        free: Flags = (self.verdict.posting_group < 0) & ~self.is_looked_at & is_cost
        free[[*self.inputs.explained]] = False
        return free

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

    # ---- open groups

    @property
    def open_groups(self) -> tuple[OpenGroup, ...]:
        """The open groups with entries that are shown."""
        return tuple(one for one in self._groups if self.is_shown[[*one.entries]].any())

    @functools.cached_property
    def _groups(self) -> tuple[OpenGroup, ...]:
        """All open groups; where the ledger does not show how it books, one an account."""
        by_account: dict[tuple[str, ...], list[OpenGroup]] = {}
        groups = []
        is_known = self.verdict.habits is not None and self.verdict.habits.is_known
        for group in self.verdict.open_groups:
            is_sum = group.reason is Reason.OTHER_CURRENCY
            if group.reason is Reason.STYLE_UNKNOWN or not (is_known or is_sum or group.postings):
                by_account.setdefault(group.accounts, []).append(replace(group, reason=Reason.STYLE_UNKNOWN))
            elif group.reason is Reason.OTHER_CURRENCY and not group.postings:
                groups.append(self._on_accounts([group]))
            else:
                groups.append(group)
        return (*groups, *map(self._on_accounts, by_account.values()))

    def _on_accounts(self, groups: Sequence[OpenGroup]) -> OpenGroup:
        """Return groups of the same accounts as one, with the unmatched postings on these near their days."""
        first, last = min(one.first_day for one in groups), max(one.last_day for one in groups)
        gate = self.verdict.habits.gate if self.verdict.habits else (0, 0)
        on_accounts = self.postings["account"].is_in(groups[0].accounts).fill_null(value=False)
        near = self.postings["day"].is_between(first + gate[0], last + gate[1]).fill_null(value=False)
        rows = np.flatnonzero((on_accounts & near).to_numpy() & (self.verdict.posting_group < 0))
        exported = sum(one.exported for one in groups)
        is_home = groups[0].reason is Reason.STYLE_UNKNOWN
        booked = int(self.cents[rows].sum())
        return replace(
            groups[0],
            entries=tuple(dict.fromkeys(entry for one in groups for entry in one.entries)),
            first_day=first,
            last_day=last,
            exported=exported,
            booked=booked,
            difference=booked - exported if is_home else None,
            postings=tuple(rows.tolist()),
        )

    # ---- values

    def money(self, cents: int | None) -> Decimal | None:
        """Return whole numbers as an exact amount."""
        return None if cents is None else Decimal(cents).scaleb(-self.inputs.scale)

    def column_of(self, cents: pl.Series) -> pa.Array:
        """Return whole numbers as exact amounts."""
        kind = pa.decimal128(38, self.inputs.scale)
        low = cents.fill_null(0).cast(pl.Int64).to_numpy()
        data = np.ascontiguousarray(np.stack([low, low >> 63], axis=1))
        amounts = pa.Array.from_buffers(kind, len(low), [None, pa.py_buffer(data)])
        missing = cents.is_null()
        if not missing.any():
            return amounts
        return pc.if_else(pa.array(missing.to_numpy()), pa.scalar(None, kind), amounts)

    def habits(self) -> Mapping[str, object]:
        """Return how the ledger books, as codes and numbers."""
        habits = self.verdict.habits
        if habits is None:
            unknown: dict[str, object] = {
                "unit": None,
                "is_known": False,
                "share": 0,
                "sign": 1,
                "tax_rates": [],
            }
            return {**unknown, "currency": self.currency}
        return {
            "unit": habits.unit,
            "by_account": habits.by_account,
            "clock": habits.clock,
            "gate": habits.gate,
            "share": int(100 * habits.share),
            "is_known": habits.is_known,
            "tax_rates": [rate / 10 for rate in habits.tax_rates],
            "sign": habits.sign,
            "currency": self.currency,
            "texts": habits.texts,
        }


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
