"""The figures of a month: exact sums of its table of entries, as all views show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.findings.check import BEFORE, EXPORTED, FATES, HELD, IN_BOOKS, IN_DOUBT, LEFT_OUT, READY
from bktools.frames.arrow import to_arrow
from bktools.frames.schema import BOOKED, TEXT
from bktools.frames.sums import (
    HOME,
    Sum,
    by_currency,
    money_of,
    summed,
    sums_of,
)
from bktools.spending.differences import differences
from bktools.spending.rates import in_home, is_converted
from bktools.spending.sums import lines_of

ALL, NO_REASON = "all", ""

# Fates whose reasons have lines of their own.
WITH_REASONS = (READY, HELD, LEFT_OUT)

# What was spent in a month, whatever became of it; entries of other months and duplicates are none of it.
SPENT = (EXPORTED, READY, IN_DOUBT, IN_BOOKS, HELD)
# How many of the largest entries are listed: a board reads ten; other currencies have few entries.
LARGEST, LARGEST_OF_OTHERS = 10, 3
# Kinds that may be new in a month: the column that tells, and the column that names it.
NEW = {"supplier": ("supplier", "supplier"), "category": ("category_id", "category_name")}
GROUPS = [key for key, _ in NEW.values()]

c = pl.col


@dataclass(frozen=True)
class MonthChange:
    """What was spent in a month beside the last month that was closed, in one currency.

    `share` is the change in percent of `before`, with one decimal, None where that says nothing. `parts` are
    the amounts before and now of each fate of `SPENT` that has entries.
    """

    currency: str
    before: Decimal
    now: Decimal
    change: Decimal
    share: Decimal | None
    parts: Mapping[str, tuple[Decimal, Decimal]]

    @property
    def for_programs(self) -> dict[str, str]:
        """The amounts before and now, and the change, as text, so that none is rounded."""
        return {name: f"{getattr(self, name):f}" for name in ("before", "now", "change")}


def spent_table(month: str, sent: pa.Table, held: pa.Table) -> pa.Table:
    """Return the entries of an earlier month with their fates, as its closes left them.

    `sent` and `held` are the company's entries that were sent, and that closes did not send. An entry is of
    the month of the close that met it first, so that no two months count it; one that was in the books
    already is of the month of its date.
    """
    columns = ("id", "split_line", "date", "currency", "amount")
    of_company, all_held = pl.DataFrame(sent), pl.DataFrame(held)
    met_earlier = all_held.filter(c.sent_in < month)
    of_month = of_company.filter(c.sent_in == month).join(met_earlier, on="id", how="anti")
    unsent = all_held.filter(c.sent_in == month).join(of_month, on="id", how="anti")
    is_sent, is_booked = c.state == "ACCEPTED", c.reason.is_in(BOOKED)
    parts = [
        of_month.select(*columns, fate=pl.when(is_sent).then(pl.lit(EXPORTED)).otherwise(pl.lit(IN_DOUBT))),
        unsent.select(*columns, fate=pl.when(is_booked).then(pl.lit(IN_BOOKS)).otherwise(pl.lit(HELD))),
    ]
    rows = pl.concat(parts, how="vertical_relaxed")
    return to_arrow(rows.filter(~booked_before(month)))


def booked_before(month: str) -> pl.Expr:
    """Return which entries are in the books, and dated before a month: they are spending of their own one."""
    is_earlier = c.date.cast(pl.String) < month
    return ((c.fate == IN_BOOKS) & is_earlier).fill_null(value=False)


def spent_rows(entries: pa.Table, counted_before: pa.ChunkedArray) -> tuple[pa.Table, pa.Table]:
    """Return the entries that were spent in a month, and those of them that an earlier month has counted."""
    rows = entries.filter(pc.is_in(entries["fate"], pa.array(SPENT, TEXT)))
    is_counted = pc.is_in(rows["id"], pc.drop_null(counted_before).combine_chunks())
    return rows.filter(pc.invert(is_counted)), rows.filter(is_counted)


@dataclass(frozen=True, eq=False)
class Figures:
    """All figures of a month, each made on first use from one table of entries.

    `own` is the company's own currency, `last` the `spent_table` of the last month that was closed, `earlier`
    the `GROUPS` of the entries that all months before exported or held back, and `counted_before` the IDs of
    the entries that they held back or had in their books.
    """

    entries: pa.Table
    own: str | None
    last: pa.Table
    earlier: pa.Table
    counted_before: pa.ChunkedArray = field(default_factory=lambda: pa.chunked_array([[]], TEXT))

    def by(self, *keys: str) -> list[Sum]:
        """Return the sums of groups of entries, the largest first."""
        return sums_of(self.entries, *keys, own=self.own)

    @cached_property
    def currencies(self) -> tuple[str, ...]:
        """All currencies: the company's own first, then by number of entries."""
        return tuple(money_of(self.entries, self.own))

    @cached_property
    def statement(self) -> tuple[Sum, ...]:
        """A line for each fate that has entries, its reasons below it, and the total with the fate "all"."""
        reasons = self._by_reason
        lines = []
        for whole in sorted(self.by("fate"), key=_place):
            fate = whole["fate"]
            lines.append(Sum({"fate": fate, "reason": NO_REASON}, whole.money, whole.home))
            own = [part for part in reasons if part["fate"] == fate and part["reason"]]
            if fate in WITH_REASONS or len(own) > 1 or (own and own[0].money != whole.money):
                lines += own
        return (*lines, self._whole({"fate": ALL, "reason": NO_REASON}, self.entries))

    @cached_property
    def spent(self) -> Sum:
        """All entries of the month, exported or not, without those that an earlier month has counted."""
        return self._whole({}, self._spent[0])

    @cached_property
    def counted_earlier(self) -> Sum:
        """The entries of this close that an earlier month held back and counted, or had in its books."""
        return self._whole({}, self._spent[1])

    @property
    def not_spent(self) -> tuple[Sum, ...]:
        """The entries of this close that were not spent in the month: with `spent` they are all entries."""
        parts = [part for part in sorted(self.by("fate"), key=_place) if part["fate"] in (BEFORE, LEFT_OUT)]
        earlier = self.counted_earlier
        return (*parts, *([replace(earlier, keys={"fate": "counted_earlier"})] if earlier.entries else []))

    @cached_property
    def against(self) -> tuple[MonthChange, ...]:
        """What was spent, beside the last closed month, by currency; () without such a month."""
        return _month_changes(self.last, self._spent[0], self.own) if len(self.last) else ()

    @cached_property
    def against_home(self) -> MonthChange | None:
        """What was spent beside the last closed month, of all currencies, in the company's own.

        None without rates, and where an amount of either month has no rate.
        """
        sides = self.last, self._spent[0]
        if not len(self.last) or not all(map(is_converted, sides)):
            return None
        last, spent = map(in_home, sides)
        return _month_changes(last, spent, self.own)[0]

    @cached_property
    def largest(self) -> pa.Table:
        """The largest entries spent, of all currencies where they were converted to the company's own.

        Else ten of the first currency, and three of each other one, by currency; always the largest first.
        """
        valued = pl.DataFrame(self._spent[0]).drop_nulls("amount")
        if HOME in valued.columns:
            return to_arrow(valued.sort(-c(HOME).abs(), nulls_last=True, maintain_order=True).head(LARGEST))
        most = dict.fromkeys(self.currencies, LARGEST_OF_OTHERS) | dict.fromkeys(self.currencies[:1], LARGEST)
        by_size = valued.sort(-c.amount.abs(), maintain_order=True)
        parts = [by_size.filter(c.currency == currency).head(count) for currency, count in most.items()]
        return to_arrow(pl.concat([by_size.clear(), *parts]))

    @cached_property
    def new(self) -> dict[str, list[Sum]]:
        """The suppliers and categories (`id` and `name`) that no month before has, the largest first.

        Nothing without a month before.
        """
        news = {what: self._new(*columns) for what, columns in NEW.items() if len(self.earlier)}
        return {what: sums for what, sums in news.items() if sums}

    @cached_property
    def by_category(self) -> list[Sum]:
        """The sums of each category and fate, with the account, the largest first."""
        return self.by("fate", "category_name", "account_code", "account_name", "category_id")

    @cached_property
    def jobs(self) -> tuple[Sum, ...]:
        """The export jobs of the month by time of sending: those in the journal, then the unsent ones."""
        is_of_month = pc.is_in(self.entries["fate"], pa.array([EXPORTED, IN_DOUBT, READY], TEXT))
        rows = self.entries.filter(is_of_month)
        sums = sums_of(rows, "sent_at", "sent_by", "fate", "job_id", "batch_id", own=self.own)
        # The text "None" comes after every time.
        return tuple(sorted(sums, key=lambda part: (str(part["sent_at"]), str(part["batch_id"]))))

    @cached_property
    def table(self) -> pa.Table:
        """One row per fate, reason and currency: entries (count), exact amount, with rates the own one."""
        keys = ("fate", "reason")
        table = by_currency(keys, sorted(self._by_reason, key=_place))
        return _in_home(table, self.entries, keys)

    @cached_property
    def totals(self) -> pa.Table:
        """One row per category, account, fate and currency, as in `table`."""
        keys = ("fate", "category_name", "account_code", "account_name", "category_id")
        return _in_home(by_currency(keys, sorted(self.by_category, key=_place)), self.entries, keys)

    @cached_property
    def _by_reason(self) -> list[Sum]:
        """The sums of each fate and reason: an entry counts at one reason of each of its fates."""
        return self.by("fate", "reason")

    @cached_property
    def _spent(self) -> tuple[pa.Table, pa.Table]:
        return spent_rows(self.entries, self.counted_before)

    def _whole(self, keys: Mapping[str, str], rows: pa.Table) -> Sum:
        sums = sums_of(rows, own=self.own)
        return Sum(keys, sums[0].money, sums[0].home) if sums else Sum(keys, {})

    def _new(self, key: str, name: str) -> list[Sum]:
        """Return the sums of the values of a column that no month before has; an empty one is not new."""
        rows = pl.DataFrame(self._spent[0]).drop_nulls(key)
        rows = to_arrow(rows.join(pl.DataFrame(self.earlier), on=key, how="anti", maintain_order="left"))
        sums = sums_of(rows, *dict.fromkeys((key, name)), own=self.own)
        return [
            Sum({"id": part[key], "name": part[name] or part[key]}, part.money, part.home) for part in sums
        ]


def _in_home(sums: pa.Table, entries: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Return sums with those in the company's own currency, where the entries were converted."""
    if HOME not in entries.column_names:
        return sums
    by = [*keys, "currency"]
    home = pl.DataFrame(summed(entries, *by)).select(*by, HOME)
    return to_arrow(pl.DataFrame(sums).join(home, on=by, how="left", nulls_equal=True, maintain_order="left"))


def _month_changes(last: pa.Table, spent: pa.Table, own: str | None) -> tuple[MonthChange, ...]:
    """Return the change of each currency between two months, the own one first, with that of each fate."""
    wholes, by_fate = (
        differences([lines_of(rows, by) for rows in (spent, last)], None) for by in ((), "fate")
    )
    parts: dict[str, dict[str, tuple[Decimal, Decimal]]] = defaultdict(dict)
    for row in by_fate.sort(c.fate.cast(pl.Enum(FATES))).iter_rows(named=True):
        parts[row["currency"]][row["fate"]] = row["that"], row["this"]
    return tuple(
        MonthChange(
            row["currency"],
            row["that"],
            row["this"],
            row["difference"],
            row["percent"],
            parts[row["currency"]],
        )
        for row in wholes.sort(c.currency != (own or "")).iter_rows(named=True)
    )


def _place(part: Sum) -> int:
    return FATES.index(part["fate"])
