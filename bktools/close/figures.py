"""The figures of a month: exact sums of its table of entries. Every number that a view shows is made here."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.entries import EXPORTED, FATES, HELD, IN_DOUBT, LEFT_OUT, READY
from bktools.frames.schema import TEXT
from bktools.frames.sums import NOTHING, Sum, by_currency, change_of, currencies_of, money_of, sums_of

ALL, NO_REASON = "all", ""

# Fates whose reasons have lines of their own.
WITH_REASONS = (READY, HELD, LEFT_OUT)

# How many of the largest entries are listed.
LARGEST = 10
# Kinds that may be new in a month: the column that tells, and the column that names it.
NEW = {"supplier": ("supplier", "supplier"), "category": ("category_id", "category_name")}
GROUPS = [key for key, _ in NEW.values()]


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


class Figures:
    """All figures of a month, each made on first use from one table of entries.

    `own` is the company's own currency, `last` the entries exported in the last month that was closed, and
    `earlier` the `GROUPS` of the entries that all months before exported or held back.
    """

    def __init__(self, entries: pa.Table, own: str | None, last: pa.Table, earlier: pa.Table) -> None:
        self._entries, self._own, self._last, self._earlier = entries, own, last, earlier

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
            lines.append(Sum({"fate": fate, "reason": NO_REASON}, whole.money))
            own = [part for part in reasons if part["fate"] == fate and part["reason"]]
            if fate in WITH_REASONS or len(own) > 1 or (own and own[0].money != whole.money):
                lines += own
        return (*lines, Sum({"fate": ALL, "reason": NO_REASON}, money_of(self._entries, self._own)))

    def of_fate(self, *fates: str) -> Sum:
        """Return the sum of the entries with one of these fates."""
        rows = self._entries.filter(pc.is_in(self._entries["fate"], pa.array(fates, TEXT)))
        return Sum({"fate": fates[0]}, money_of(rows, self._own))

    @cached_property
    def against(self) -> tuple[Difference, ...]:
        """What is exported and ready, beside the last closed month, by currency; () without such a month."""
        before, now = money_of(self._last, self._own), self.of_fate(EXPORTED, READY).money
        return tuple(
            Difference(currency, *change_of(before.get(currency, NOTHING), now.get(currency, NOTHING)))
            for currency in (currencies_of([before, now], self._own) if before else ())
        )

    @cached_property
    def largest(self) -> pa.Table:
        """The month's ten largest entries in the first currency, largest first: rows of the entries."""
        rows = self._entries.filter(pc.equal(self._entries["currency"], next(iter(self.currencies), "")))
        rows = rows.filter(pc.is_valid(rows["amount"]))
        return rows.take(pc.sort_indices(pc.negate(pc.abs(rows["amount"])))[:LARGEST])

    @cached_property
    def new(self) -> dict[str, list[Sum]]:
        """The suppliers and categories (`id` and `name`) that no month before has, the largest first.

        Nothing without a month before.
        """
        news = {what: self._new(*columns) for what, columns in NEW.items() if len(self._earlier)}
        return {what: sums for what, sums in news.items() if sums}

    @cached_property
    def by_category(self) -> list[Sum]:
        """The sums of each category and fate, with the account, the largest first."""
        return self.by("fate", "category_name", "account_code", "account_name", "category_id")

    @cached_property
    def jobs(self) -> tuple[Sum, ...]:
        """The export jobs of the month by time of sending: those in the journal, then the unsent ones."""
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

    def _new(self, key: str, name: str) -> list[Sum]:
        """Return the sums of the values of a column that no month before has; an empty one is not new."""
        rows = self._entries.filter(pc.is_valid(self._entries[key]))
        rows = rows.filter(pc.invert(pc.is_in(rows[key], pc.unique(self._earlier[key]))))
        sums = sums_of(rows, *dict.fromkeys((key, name)), own=self._own)
        return [Sum({"id": part[key], "name": part[name] or part[key]}, part.money) for part in sums]


def _place(part: Sum) -> int:
    return FATES.index(part["fate"])
