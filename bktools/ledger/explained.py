"""The state of an explanation: the open entries and postings, and the groups that agree to the cent."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from bktools.ledger.habits import COST, Books
from bktools.ledger.steps import Grain, How, Measure
from bktools.ledger.text_columns import Flags, Numbers
from bktools.ledger.texts import Texts

# Days that a posting may be dated before its entries, and after them.
EARLIER, LATER = 3, 45
# A single entry is looked for within a week, or the usual delay; later, only where more than chance says so.
WEEK = 7
# From this share of the money or of the entries on, the style is known.
KNOWN = 0.8
# The largest tax: what an account has of a whole voucher is at least the gross of its entries without it.
LARGEST_TAX = 1.35
# Ways to match entry by entry.
ONE_TO_ONE = (How.ENTRY_ID, How.DOCUMENT_NUMBER, How.EXACTLY, How.SOME_DAYS_LATER, How.TEXT)


@dataclass(frozen=True, eq=False)
class Matched:
    """Groups that agree: `members` (gid, e) are explained by `lines` (gid, p)."""

    how: How
    grain: Grain
    measure: Measure
    members: pl.DataFrame
    lines: pl.DataFrame

    @property
    def is_alone(self) -> bool:
        """Whether each group is one entry and one posting, in the same row of members and lines."""
        return self.how in ONE_TO_ONE

    @functools.cached_property
    def first(self) -> pl.DataFrame:
        """The members with the first posting of their group: e, p, and `count`, the members of the group."""
        if self.is_alone:
            return self.members.select("e", p=self.lines["p"], count=pl.lit(1, pl.Int64))
        gid = self.members["gid"].to_numpy()
        counts = np.bincount(gid)
        first = by_group(np.minimum, self.lines["gid"].to_numpy(), self.lines["p"].to_numpy(), len(counts))
        return self.members.select("e", p=pl.Series(first[gid]), count=pl.Series(counts[gid]))

    def spans(self, days: Numbers, booked: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Return for each group its number of entries, their last day, and the first day of its postings.

        `days` are those of all entries, `booked` those of all postings, by their rows.
        """
        gid, of_lines = self.members["gid"].to_numpy(), self.lines["gid"].to_numpy()
        counts = np.bincount(gid)
        last = by_group(np.maximum, gid, days[self.members["e"].to_numpy()], len(counts))
        first = by_group(np.minimum, of_lines, booked[self.lines["p"].to_numpy()], len(counts))
        return counts[counts > 0], last[counts > 0], first[counts > 0]

    @functools.cached_property
    def count(self) -> int:
        """How many groups there are."""
        return (
            self.members.height
            if self.is_alone
            else int(np.count_nonzero(np.bincount(self.members["gid"].to_numpy())))
        )


def by_group(least_or_most: np.ufunc, gid: Numbers, values: Numbers, count: int) -> Numbers:
    """Return the least, or the most, of the values of each group, by its number."""
    end = np.iinfo(np.int64)
    found = np.full(count, end.max if least_or_most is np.minimum else end.min)
    least_or_most.at(found, gid, values)
    return found


@dataclass(frozen=True)
class Explained:
    """The entries and postings that are open, all of both, and the groups that agree."""

    entries: pl.DataFrame
    postings: pl.DataFrame
    every_entry: pl.DataFrame
    books: Books
    texts: Texts
    # Rates of tax in thousandths.
    rates: tuple[int, ...]
    # Whether entries have net amounts that can be trusted.
    has_net: bool
    groups: tuple[Matched, ...] = ()
    # By the row of an entry, whether those of its account and tax code are booked with tax, and by the row of
    # a posting, whether its voucher has none; without rows where no entries are.
    taxed: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    untaxed: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def take(
        self,
        how: How,
        members: pl.DataFrame,
        lines: pl.DataFrame,
        *,
        grain: Grain = Grain.ENTRY,
        measure: Measure = Measure.GROSS,
    ) -> Explained:
        """Return the explanation with some more groups."""
        if not members.height:
            return self
        group = Matched(how, grain, measure, members.select("gid", "e"), lines.select("gid", "p"))
        return replace(
            self,
            entries=without(self.entries, "e", members["e"]),
            postings=without(self.postings, "p", lines["p"]),
            groups=(*self.groups, group),
        )

    def lacks_tax(self, entries: pl.Series, postings: pl.Series) -> pl.Series:
        """Return whether the voucher of each posting has no tax, and the entry beside it is one with tax."""
        if not len(self.taxed):
            return pl.Series(np.zeros(len(entries), np.bool_))
        return pl.Series(self.taxed[entries.to_numpy()] & self.untaxed[postings.to_numpy()])

    def is_taxed(self, entry: int) -> bool:
        """Whether entries of its account and tax code are booked with tax."""
        return bool(len(self.taxed) and self.taxed[entry])

    @functools.cached_property
    def used(self) -> pl.DataFrame:
        """The open postings on accounts of entries that name none."""
        return self.postings.filter("is_used", pl.col("role") == COST, pl.col("id").is_null())

    def used_for(self, entries: pl.DataFrame) -> pl.DataFrame:
        """Return the open postings that may be of some entries: their text names none, or one of these."""
        used = self.used
        if used["names"].null_count() == used.height:
            return used
        return used.filter(pl.col("names").is_null() | pl.col("names").is_in(entries["e"].implode()))

    @functools.cached_property
    def named_or_used(self) -> pl.DataFrame:
        """The open postings that may be doubles or reversals."""
        return self.postings.filter("is_used", pl.col("role") == COST)

    @functools.cached_property
    def home(self) -> pl.DataFrame:
        """The open entries in the ledger's currency."""
        return self.entries if self.entries["is_home"].all() else self.entries.filter("is_home")

    @functools.cached_property
    def foreign(self) -> pl.DataFrame:
        """The open entries in other currencies."""
        return (
            self.entries.clear() if self.entries["is_home"].all() else self.entries.filter(~pl.col("is_home"))
        )

    @functools.cached_property
    def days(self) -> Numbers:
        """The day of each entry, by its row."""
        numbers = self.every_entry["e"].to_numpy()
        days = np.zeros(1 + int(numbers.max(initial=0)), np.int64)
        days[numbers] = self.every_entry["day"].to_numpy()
        return days

    @functools.cached_property
    def share(self) -> float:
        """How much is explained, of money or entries: one large wrong entry hides no style."""
        every, left = (
            frame.filter("is_home").select(money=pl.col("gross").abs().cast(pl.Float64))["money"]
            for frame in (self.every_entry, self.entries)
        )
        if not len(every):
            return 0.0
        money = float(every.sum())
        return max(1 - len(left) / len(every), 1 - float(left.sum()) / money if money else 0.0)


def without(frame: pl.DataFrame, name: str, numbers: pl.Series) -> pl.DataFrame:
    """Return the rows whose number is none of these."""
    if not (frame.height and len(numbers)):
        return frame
    last = max(int(frame[name].to_numpy().max()), int(numbers.to_numpy().max()))
    is_open = np.ones(1 + last, dtype=np.bool_)
    is_open[numbers.to_numpy()] = False
    return frame.filter(pl.Series(is_open[frame[name].to_numpy()]))


def measures(state: Explained) -> tuple[Measure, ...]:
    """Return the measures in which entries can be compared."""
    return (Measure.GROSS, *((Measure.NET,) if state.has_net else ()))
