"""The booking style that the explained part of a ledger shows: what has one posting, how late it is, and how much is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import polars as pl

from bktools.ledger.explanation import KNOWN, Explained
from bktools.ledger.steps import Grain, How

# A grain is the style when it has so many of the explained entries in sums.
SHARE = 0.1
# The usual delay is that of so many entries.
USUAL = 0.95


@dataclass(frozen=True)
class Style:
    """How a ledger books entries.

    Parameters
    ----------
    grain : Grain
        What has one posting.
    lag : int
        The most days from an entry to its posting, of nearly all that are booked one by one.
    shift : int
        The days from the last entry of a sum to its posting, of most sums.
    known : float
        The share of the entries, or of their money, that the style explains.
    """

    grain: Grain
    lag: int
    shift: int
    known: float

    @property
    def is_known(self) -> bool:
        return self.known >= KNOWN


def style_of(state: Explained, grain: Grain | None = None) -> Style:
    """Return the style; `grain` where a person says it."""
    entries = state.every_entry.select("e", "day")
    postings = state.books.postings.select("p", when="day")
    sums: Counter[Grain] = Counter()
    explained = 0
    lags = {True: pl.Series([], dtype=pl.Int64), False: pl.Series([], dtype=pl.Int64)}
    for group in state.groups:
        sizes = group.members.group_by("gid").agg(count=pl.len(), e=pl.first("e"))
        explained += group.members.height
        whole = sizes.filter(pl.col("count") > 1)
        if group.how is not How.ENTRY_ID:
            sums[group.grain] += int(whole["count"].sum())
        days = group.members.join(entries, on="e").group_by("gid").agg(pl.max("day"), count=pl.len())
        days = days.join(group.lines.join(postings, on="p").group_by("gid").agg(pl.min("when")), on="gid")
        for is_sum in lags:
            own = days.filter((pl.col("count") > 1) == is_sum).select(pl.col("when") - pl.col("day"))["when"]
            lags[is_sum] = lags[is_sum].append(own)
    if grain is None:
        best, count = sums.most_common(1)[0] if sums else (Grain.ENTRY, 0)
        grain = best if count >= max(2, SHARE * explained) else Grain.ENTRY
    lag = lags[False].quantile(USUAL) if len(lags[False]) and grain is Grain.ENTRY else 0
    return Style(grain, max(0, int(lag or 0)), _usual(lags[True]), state.share)


def _usual(lags: pl.Series) -> int:
    """Return the delay of most sums, 0 where they differ."""
    counts = lags.value_counts(sort=True)
    if not counts.height or counts["count"][0] < KNOWN * len(lags):
        return 0
    return int(counts[lags.name][0])


def with_due(state: Explained, style: Style) -> pl.DataFrame:
    """Return the open entries with `due`, the day on which their group is booked: that of its other accounts, else by habit."""
    if style.grain is Grain.ENTRY:
        return state.entries.with_columns(due=pl.col("day"))
    group = list(style.grain.group)
    members = [one.members.join(one.lines.group_by("gid").agg(pl.min("p")), on="gid") for one in state.groups]
    booked = pl.concat([pl.DataFrame(schema={"e": pl.Int64, "p": pl.Int64}), *(one.select("e", "p") for one in members)])
    booked = booked.join(state.every_entry.select("e", *group), on="e")
    booked = booked.join(state.books.postings.select("p", when="day"), on="p")
    days = booked.group_by(group).agg(when=pl.col("when").mode().min())
    last = state.every_entry.group_by(group).agg(last=pl.max("day"))
    entries = state.entries.join(days, on=group, how="left", maintain_order="left")
    entries = entries.join(last, on=group, how="left", maintain_order="left")
    return entries.with_columns(due=pl.coalesce("when", pl.col("last") + style.shift, "day")).drop("when", "last")
