"""The booking style of a ledger's explained part: what has one posting, its delay, and how sure it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from bktools.ledger.explained import KNOWN, Explained
from bktools.ledger.habits import COST
from bktools.ledger.steps import Grain, How

# A grain is the style when it has so many of the explained entries in sums.
SHARE = 0.1
# Ways of matching that give an entry the day of its group.
OF_A_GROUP = (How.SUM, How.WHOLE_VOUCHER, How.EXACTLY, How.DOCUMENT_NUMBER, How.EXCHANGED)
# Single entries whose delay is looked at.
SAMPLE = 20_000
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
        The most days from an entry to its posting, of nearly all; 0 where sums have a day of their own.
    shift : int
        The days from the last entry of a sum to its posting, where most sums have the same.
    known : float
        The share of the entries, or of their money, that the style explains.
    """

    grain: Grain
    lag: int
    shift: int
    known: float
    # Whether many entries are expected not to be there, because they were not sent.
    is_partial: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the style explains most of the entries, or of their money."""
        return self.known >= KNOWN


def style_of(state: Explained, grain: Grain | None = None) -> Style:
    """Return the style; `grain` where a person says it."""
    sums: Counter[Grain] = Counter()
    for group in state.groups:
        if not group.is_alone:
            sums[group.grain] += int((group.first["count"] > 1).sum())
    if grain is None:
        explained = sum(group.members.height for group in state.groups)
        best, count = sums.most_common(1)[0] if sums else (Grain.ENTRY, 0)
        grain = best if count >= max(2, SHARE * explained) else Grain.ENTRY
    lags = _lags(state, grain)
    shift = 0 if grain is Grain.ENTRY else _usual(lags)
    lag = 0 if shift or not len(lags) else int(lags.quantile(USUAL) or 0)
    return Style(grain, max(0, lag), shift, state.share)


def _lags(state: Explained, grain: Grain) -> pl.Series:
    """Return the days from the last entry of each sum to its posting.

    Where entries have postings of their own, they count from each entry.
    """
    days, booked = state.days, state.books.postings["day"].to_numpy()
    if grain.is_long:
        days = days.copy()
        of_groups = state.every_entry.select(pl.col("day").max().over(grain.group)).to_series()
        days[state.every_entry["e"].to_numpy()] = of_groups.to_numpy()
    found = [np.zeros(0, np.int64)]
    for group in state.groups:
        if group.is_alone and grain is not Grain.ENTRY:
            continue
        if group.is_alone:
            # A sample shows the delay.
            pairs = group.first.gather_every(1 + group.members.height // SAMPLE)
            found.append(booked[pairs["p"].to_numpy()] - days[pairs["e"].to_numpy()])
            continue
        counts, last, first = group.spans(days, booked)
        found.append((first - last)[(counts > 1) == (grain is not Grain.ENTRY)])
    return pl.Series("lag", np.concatenate(found))


def _usual(lags: pl.Series) -> int:
    """Return the delay of most sums, 0 where they differ."""
    counts = lags.value_counts(sort=True)
    if not counts.height or counts["count"][0] < KNOWN * len(lags):
        return 0
    return int(counts[lags.name][0])


def with_due(state: Explained, style: Style) -> pl.DataFrame:
    """Return the open entries with `due`, the day on which their group is booked.

    It is the day of its other accounts, else the usual one.
    """
    entries = state.entries.with_columns(due=pl.col("day") + style.shift)
    if style.grain.is_long:
        last = state.every_entry.select("e", due=pl.col("day").max().over(style.grain.group) + style.shift)
        entries = state.entries.join(last, on="e", how="left", maintain_order="left")
    if style.grain is Grain.ENTRY or not (
        style.grain.is_long or (style.lag and _accounts_of_vouchers(state) > 1)
    ):
        return entries
    group = list(style.grain.group)
    members = [one.first.select("e", "p") for one in state.groups if one.how in OF_A_GROUP]
    booked = pl.concat([pl.DataFrame(schema={"e": pl.Int64, "p": pl.Int64}), *members])
    booked = booked.join(state.every_entry.select("e", *group), on="e")
    booked = booked.join(state.books.postings.select("p", when="day"), on="p")
    days = booked.group_by(group).agg(when=pl.col("when").mode().min())
    entries = entries.join(days, on=group, how="left", maintain_order="left")
    return entries.with_columns(due=pl.coalesce("when", "due", "day")).drop("when")


def _accounts_of_vouchers(state: Explained) -> float:
    """Return how many accounts of entries the vouchers have in the middle."""
    used = state.books.postings.filter("is_used", pl.col("role") == COST, pl.col("voucher").is_not_null())
    return float(used.group_by("voucher").agg(pl.n_unique("account"))["account"].median() or 0)  # type: ignore[arg-type]
