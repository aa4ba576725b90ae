"""The figures of a month: exact sums of its table of entries. Every number that a view shows is made here."""

from __future__ import annotations

import decimal
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.entries import EXPORTED, FATES, HELD, IN_DOUBT, LEFT_OUT, READY
from bktools.frames.codes import sentence
from bktools.frames.schema import COUNT, MONEY, TEXT, split_lines

NO_CURRENCY = "no currency"
# More than a sum of amounts of 38 digits has.
DIGITS = 80
ALL = "all"

# Fates whose reasons have lines of their own.
WITH_REASONS = (READY, HELD, LEFT_OUT)


@dataclass(frozen=True)
class Money:
    """Entries of one currency: their number, and their exact amount, None where none of them has an amount."""

    entries: int
    amount: Decimal | None


NOTHING = Money(0, None)


class Valued:
    """Something with the number and the exact amount of entries by currency."""

    money: Mapping[str, Money]

    @property
    def entries(self) -> int:
        """Number of entries of all currencies; the lines of a split entry are one."""
        return sum(money.entries for money in self.money.values())

    @property
    def amounts(self) -> dict[str, Decimal]:
        """Exact amount by currency; amounts of currencies are never added."""
        return {currency: money.amount for currency, money in self.money.items() if money.amount is not None}

    @property
    def for_programs(self) -> dict[str, Any]:
        """Both for programs: amounts as text, so that none is rounded."""
        return {"entries": self.entries, "amounts": {name: f"{amount:f}" for name, amount in self.amounts.items()}}


@dataclass(frozen=True)
class Sum(Valued):
    """What some entries sum up to, with the words that a person reads.

    `sum["fate"]` is what the entries have in common, one of the `keys`. Of the currencies the company's own is the
    first, then the one with most entries.
    """

    keys: Mapping[str, Any]
    money: Mapping[str, Money]
    label: str = ""

    def __getitem__(self, name: str) -> Any:
        return self.keys[name]


@dataclass(frozen=True)
class Difference:
    """What was exported in a month beside the last month that was closed, in one currency.

    `share` is the change in percent of `before`, with one decimal; None where there was nothing before.
    """

    currency: str
    before: Decimal
    now: Decimal
    change: Decimal
    share: Decimal | None


def sums_of(entries: pa.Table, *keys: str, own: str | None = None) -> list[Sum]:
    """Return number and exact amount of entries by currency, for each group of the keys; the largest group first.

    Without keys all entries are one group. The amounts in the company's `own` currency decide what is large.
    """
    table = pa.table({name: entries[name] for name in (*keys, "amount")})
    currency = pc.fill_null(pc.if_else(pc.equal(entries["currency"], ""), None, entries["currency"]), NO_CURRENCY)
    # As wide as decimals get: no sum of amounts of 38 digits overflows.
    exact = pc.cast(table["amount"], pa.decimal256(76, table["amount"].type.scale))
    table = table.set_column(len(keys), "amount", exact).append_column("currency", currency)
    grouped = table.append_column("entry", _entry_numbers(entries)).group_by([*keys, "currency"], use_threads=False)
    groups: dict[tuple[Any, ...], dict[str, Money]] = defaultdict(dict)
    for row in grouped.aggregate([("entry", "count_distinct"), ("amount", "sum")]).to_pylist():
        money = Money(row["entry_count_distinct"], row["amount_sum"])
        groups[tuple(row[name] for name in keys)][row["currency"]] = money
    ranks = {name: place for place, name in enumerate(currencies_of(groups.values(), own))}
    sums = [
        Sum(dict(zip(keys, group, strict=True)), dict(sorted(money.items(), key=lambda item: ranks[item[0]])))
        for group, money in groups.items()
    ]
    return sorted(sums, key=lambda part: largest_first(part.money, own))


def money_of(entries: pa.Table, own: str | None = None) -> dict[str, Money]:
    """Return number and exact amount of all entries by currency."""
    sums = sums_of(entries, own=own)
    return dict(sums[0].money) if sums else {}


def largest_first(money: Mapping[str, Money], own: str | None) -> tuple[Decimal, int]:
    """Return the key that sorts by the amount in the company's own currency, then by the number of entries."""
    amount = money[own].amount if own is not None and own in money else None
    return -abs(amount or Decimal(0)), -sum(value.entries for value in money.values())


def currencies_of(groups: Iterable[Mapping[str, Money]], own: str | None) -> tuple[str, ...]:
    """Return all currencies: the company's own first, then by number of entries; entries without one last."""
    counts: dict[str, int] = defaultdict(int)
    for money in groups:
        for currency, value in money.items():
            counts[currency] += value.entries
    return tuple(sorted(counts, key=lambda name: (name != own, name == NO_CURRENCY, -counts[name], name)))


def _entry_numbers(rows: pa.Table) -> pa.Array:
    """Return the number of the first line of each row's entry: the lines of a split entry are one entry."""
    numbers = pa.array(range(len(rows)), COUNT)
    ids = pc.if_else(pc.greater(split_lines(rows), 0), rows["id"], pa.scalar(None, TEXT)).combine_chunks()
    return pc.coalesce(pc.cast(pc.index_in(ids, ids, skip_nulls=True), COUNT), numbers)


class Figures:
    """All figures of a month, each made on first use from one table of entries.

    `own` is the company's own currency, and `last` the entries exported in the last month that was closed.
    """

    def __init__(self, entries: pa.Table, own: str | None, last: pa.Table) -> None:
        self._entries, self._own, self._last = entries, own, last

    def by(self, *keys: str) -> list[Sum]:
        """Return the sums of groups of entries, the largest first."""
        return sums_of(self._entries, *keys, own=self._own)

    @cached_property
    def currencies(self) -> tuple[str, ...]:
        """All currencies: the company's own first, then by number of entries."""
        return tuple(money_of(self._entries, self._own))

    @cached_property
    def statement(self) -> tuple[Sum, ...]:
        """A line for each fate that has entries, its reasons below it, and the total with the fate "all"."""
        reasons = self.by("fate", "reason")
        lines = []
        for whole in sorted(self.by("fate"), key=_place):
            fate = whole["fate"]
            lines.append(Sum({"fate": fate, "reason": ""}, whole.money, fate))
            own = [part for part in reasons if part["fate"] == fate and part["reason"]]
            if fate in WITH_REASONS or len(own) > 1 or (own and own[0].money != whole.money):
                lines += [Sum(part.keys, part.money, sentence(part["reason"])) for part in own]
        total = money_of(self._entries, self._own)
        return (*lines, Sum({"fate": ALL, "reason": ""}, total, "all entries"))

    def of_fate(self, *fates: str) -> Sum:
        """Return the sum of the entries with one of these fates."""
        rows = self._entries.filter(pc.is_in(self._entries["fate"], pa.array(fates, TEXT)))
        return Sum({"fate": fates[0]}, money_of(rows, self._own), fates[0])

    @cached_property
    def against(self) -> tuple[Difference, ...]:
        """What was exported, and is ready, beside the last month that was closed, by currency; () without one."""
        before, now = money_of(self._last, self._own), self.of_fate(EXPORTED, READY).money
        return tuple(
            Difference(currency, *change_of(before.get(currency, NOTHING), now.get(currency, NOTHING)))
            for currency in (currencies_of([before, now], self._own) if before else ())
        )

    @cached_property
    def by_category(self) -> list[Sum]:
        """The sums of each category and fate, with the account, the largest first."""
        return self.by("fate", "category_name", "account_code", "account_name", "category_id")

    @cached_property
    def jobs(self) -> tuple[Sum, ...]:
        """The export jobs of the month, by time of sending: those in the journal, then those that are not sent yet."""
        is_of_month = pc.is_in(self._entries["fate"], pa.array([EXPORTED, IN_DOUBT, READY], TEXT))
        rows = self._entries.filter(is_of_month)
        sums = sums_of(rows, "sent_at", "sent_by", "fate", "job_id", "batch_id", own=self._own)
        # The text "None" comes after every time.
        return tuple(sorted(sums, key=lambda part: (str(part["sent_at"]), str(part["batch_id"]))))

    @cached_property
    def table(self) -> pa.Table:
        """One row per fate, reason and currency: entries (count) and exact amount."""
        return by_currency(("fate", "reason"), sorted(self.by("fate", "reason"), key=_place))

    @cached_property
    def totals(self) -> pa.Table:
        """One row per category, account, fate and currency: entries (count) and exact amount."""
        keys = ("fate", "category_name", "account_code", "account_name", "category_id")
        return by_currency(keys, sorted(self.by_category, key=_place))


def _place(part: Sum) -> int:
    return FATES.index(part["fate"])


def change_of(before: Money, now: Money) -> tuple[Decimal, Decimal, Decimal, Decimal | None]:
    """Return both amounts, the exact change, and its share in percent of the amount before; None where that is nothing."""
    old, new = before.amount or Decimal(0), now.amount or Decimal(0)
    # Python's own difference is rounded to 28 digits.
    with decimal.localcontext(prec=DIGITS):
        change = new - old
    return old, new, change, (change / abs(old) * 100).quantize(Decimal("0.1")) if old else None


def by_currency(keys: tuple[str, ...], sums: Iterable[Sum]) -> pa.Table:
    """Return sums as a table: the keys, and a row a currency of each with its number of entries and exact amount."""
    rows = [{**part.keys} | {"currency": name} | vars(money) for part in sums for name, money in part.money.items()]
    amounts = pa.array([row["amount"] for row in rows])
    amounts = pc.cast(amounts, MONEY) if pa.types.is_null(amounts.type) else amounts
    texts = {name: pa.array([row[name] for row in rows], TEXT) for name in (*keys, "currency")}
    return pa.table(texts | {"entries": pa.array([row["entries"] for row in rows], COUNT), "amount": amounts})
