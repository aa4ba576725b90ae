"""The figures of a month: exact sums of its table of entries, as all views show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.findings.check import BEFORE, EXPORTED, FATES, HELD, IN_BOOKS, IN_DOUBT, LEFT_OUT, READY
from bktools.frames.schema import TEXT
from bktools.frames.sums import HOME, NO_MONEY, Sum, by_currency, has_currency, money_of, sums_of
from bktools.frames.tables import to_arrow
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
# Whether a line is part of the difference to what an earlier month counted of its entry.
IS_DIFFERENCE = "is_difference"
# Where an entry belongs: a month that counted it elsewhere is corrected by the one that takes it.
BELONGS = ("category_id", "account_code", "employee_id", "cost_centre")
OF_CATEGORIES = ("fate", "category_name", "account_code", "account_name", "category_id")

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


@dataclass(frozen=True, eq=False)
class Figures:
    """All figures of a month, each made on first use from one table of entries.

    `own` is the company's own currency, `last` the entries that the last closed month spent, `earlier` the
    `GROUPS` of the entries that all months before exported or held back, and `counted` the entries that they
    held back or had in their books, as they counted them. `left_open` has the entries that they held back,
    that were not sent since, and that this close does not have.
    """

    entries: pa.Table
    own: str | None
    last: pa.Table
    earlier: pa.Table
    counted: pa.Table
    left_open: pa.Table

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
        lines = []
        for whole in self._fates:
            own = [part for part in self._reasons if part["fate"] == whole["fate"] and part["reason"]]
            lines.append(Sum({**whole.keys, "reason": NO_REASON}, whole.money))
            if whole["fate"] in WITH_REASONS or len(own) > 1 or (own and own[0].money != whole.money):
                lines += own
        return (*lines, self._whole(self.entries, fate=ALL, reason=NO_REASON))

    @cached_property
    def spent_entries(self) -> pa.Table:
        """What was spent in the month, whatever became of it, without what an earlier month has counted."""
        return spending(self._spent, self.counted)

    @cached_property
    def spent(self) -> Sum:
        """The sum of the entries that were spent in the month; a difference to an earlier one is no entry."""
        rows = self.spent_entries
        new = money_of(rows.filter(pc.invert(rows[IS_DIFFERENCE])))
        money = money_of(rows, self.own)
        return Sum(
            {}, {name: replace(it, entries=new.get(name, NO_MONEY).entries) for name, it in money.items()}
        )

    @cached_property
    def counted_earlier(self) -> Sum:
        """The entries of this close that an earlier month counted, as it held them back or had them."""
        return self._whole(counted_of(self._spent, self.counted), fate="counted_earlier")

    @property
    def not_spent(self) -> tuple[Sum, ...]:
        """The entries of this close that were not spent in the month: with `spent` they are all entries."""
        parts = [part for part in self._fates if part["fate"] in (BEFORE, LEFT_OUT)]
        return tuple(part for part in (*parts, self.counted_earlier) if part.entries)

    @cached_property
    def against(self) -> tuple[MonthChange, ...]:
        """What was spent, beside the last closed month, by currency; () without such a month."""
        return _month_changes(self.last, self.spent_entries, self.currencies) if len(self.last) else ()

    @cached_property
    def against_home(self) -> MonthChange | None:
        """What was spent beside the last closed month, of all currencies, in the company's own.

        None without rates, and where an amount of either month has no rate.
        """
        sides = self.last, self.spent_entries
        if not len(self.last) or not all(map(is_converted, sides)):
            return None
        last, spent = map(in_home, sides)
        return _month_changes(last, spent, self.currencies)[0]

    @cached_property
    def largest(self) -> pa.Table:
        """The largest entries spent, of all currencies where they were converted to the company's own.

        Else ten of the first currency, and three of each other one, by currency; always the largest first.
        """
        valued = pl.DataFrame(self.spent_entries).drop_nulls("amount").filter(~c(IS_DIFFERENCE))
        if HOME in valued.columns:
            return to_arrow(valued.sort(-c(HOME).abs(), nulls_last=True, maintain_order=True).head(LARGEST))
        most = dict.fromkeys(self.currencies, LARGEST_OF_OTHERS) | dict.fromkeys(self.currencies[:1], LARGEST)
        by_size = valued.sort(-c.amount.abs(), maintain_order=True)
        parts = [by_size.filter(currency=currency).head(count) for currency, count in most.items()]
        return to_arrow(pl.concat([by_size.clear(), *parts]))

    @cached_property
    def new(self) -> dict[str, list[Sum]]:
        """The suppliers and categories (`id` and `name`) that no month before has, the largest first.

        Nothing without a month before. An empty value is not new, nor is a category that nobody knows.
        """
        spent, earlier = pl.DataFrame(self.spent_entries), pl.DataFrame(self.earlier)
        news = {}
        for what, (key, name) in NEW.items() if len(earlier) else ():
            rows = spent.filter(c(key) != "", c(name) != "").join(
                earlier, on=key, how="anti", maintain_order="left"
            )
            sums = sums_of(to_arrow(rows), *dict.fromkeys((key, name)), own=self.own)
            news[what] = [Sum({"id": part[key], "name": part[name]}, part.money) for part in sums]
        return {what: sums for what, sums in news.items() if sums}

    @cached_property
    def by_category(self) -> list[Sum]:
        """The sums of each category and fate, with the account, the largest first."""
        return self.by(*OF_CATEGORIES)

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
        return by_currency(("fate", "reason"), self._reasons)

    @cached_property
    def totals(self) -> pa.Table:
        """One row per category, account, fate and currency, as in `table`."""
        return by_currency(OF_CATEGORIES, sorted(self.by_category, key=_place))

    @cached_property
    def _fates(self) -> list[Sum]:
        return sorted(self.by("fate"), key=_place)

    @cached_property
    def _reasons(self) -> list[Sum]:
        """The sums of each fate and reason: an entry counts at one reason of each of its fates."""
        return sorted(self.by("fate", "reason"), key=_place)

    @cached_property
    def _spent(self) -> pa.Table:
        return self.entries.filter(pc.is_in(self.entries["fate"], pa.array(SPENT, TEXT)))

    def _whole(self, rows: pa.Table, **keys: str) -> Sum:
        return Sum(keys, money_of(rows, self.own))


def counted_of(entries: pa.Table, counted: pa.Table) -> pa.Table:
    """Return what earlier months counted of some entries, without what had no currency and has one."""
    has_one = entries.filter(has_currency(entries))["id"]
    is_left = pc.and_(pc.invert(has_currency(counted)), pc.is_in(counted["id"], has_one.combine_chunks()))
    is_here = pc.is_in(counted["id"], pc.drop_null(entries["id"]).combine_chunks())
    return counted.filter(pc.and_(is_here, pc.invert(is_left)))


def spending(entries: pa.Table, counted: pa.Table) -> pa.Table:
    """Return what entries add to what earlier months counted of them: nothing where it is the same.

    Of one that has another amount by now, or belongs elsewhere, its lines are added, and those that were
    `counted` are taken back.
    """
    lines, before = pl.DataFrame(entries), pl.DataFrame(counted_of(entries, counted))
    keys = ["id", "currency", *(name for name in BELONGS if name in lines.columns and name in before.columns)]
    now, then = (
        rows.group_by(keys).agg(c.amount.sum()) for rows in (lines.join(before, on="id", how="semi"), before)
    )
    both = now.join(then, on=keys, how="full", nulls_equal=True, coalesce=True, suffix="_then")
    differs = c.amount.fill_null(0) != c.amount_then.fill_null(0)
    changed = both.filter(differs)["id"].implode()
    kept = [name for name in ("id", "fate", "company_id") if name in lines.columns]
    # Without an ID, a line that is taken back is no second line of its entry.
    back = (
        before.filter(c.id.is_in(changed))
        .drop(*kept[1:], strict=False)
        .join(lines.select(kept).unique("id", keep="first"), on="id", how="left", maintain_order="left")
        .with_columns(*(-c(name) for name in ("amount", HOME) if name in before.columns), id=None)
    )
    is_counted = c.id.is_in(before["id"].implode()).fill_null(value=False)
    lines = lines.with_columns(is_counted.alias(IS_DIFFERENCE)).filter(~is_counted | c.id.is_in(changed))
    back = back.select(name for name in back.columns if name in lines.columns)
    back = back.with_columns(pl.lit(value=True).alias(IS_DIFFERENCE))
    return to_arrow(pl.concat([lines, back], how="diagonal_relaxed"))


def _month_changes(last: pa.Table, spent: pa.Table, order: Sequence[str]) -> tuple[MonthChange, ...]:
    """Return the change of each currency between two months, in an order, with that of each fate."""
    wholes, by_fate = (
        differences([lines_of(rows, by) for rows in (spent, last)], None) for by in ((), "fate")
    )
    parts: dict[str, dict[str, tuple[Decimal, Decimal]]] = defaultdict(dict)
    for row in by_fate.sort(c.fate.cast(pl.Enum(FATES))).iter_rows(named=True):
        parts[row["currency"]][row["fate"]] = row["that"], row["this"]
    places = {name: place for place, name in enumerate(order)} or {"": 0}
    place = c.currency.replace_strict(places, default=len(places))
    wholes = wholes.sort(place, maintain_order=True).select(
        "currency", before="that", now="this", change="difference", share="percent"
    )
    return tuple(MonthChange(**row, parts=parts[row["currency"]]) for row in wholes.iter_rows(named=True))


def _place(part: Sum) -> int:
    return FATES.index(part["fate"])
