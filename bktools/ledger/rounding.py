"""How far the net of a sum may be from those of its entries: nothing, where each entry is rounded.

A ledger that rounds the tax of a whole sum leaves some units open; one that rounds the tax of each entry
leaves nothing. Sums that are explained tell which it is.
"""

from __future__ import annotations

import math

import polars as pl

from bktools.ledger.explained import Explained

# Sums of fewer entries tell little.
FEWEST = 4
# The rounding of a sum is nothing with about this chance, divided by the square root of its entries.
BY_CHANCE, MOST = 1.4, 0.9
# So many sums are exact where each entry is rounded; the others have an error.
EXACT = 0.97
# How much more likely it must be that each entry is rounded.
ENOUGH = math.log(1_000)


def rounding(count: pl.Expr) -> pl.Expr:
    """Return how far a sum's net may be from the sum of nets, in minor units: four standard deviations."""
    return pl.min_horizontal(count // 2, (1.2 * count.sqrt()).ceil()).cast(pl.Int64)


def rounds_each(state: Explained, more: pl.DataFrame | None = None) -> bool:
    """Return whether the ledger's sums, and `more` of them (count, off), show that it rounds each entry."""
    if not state.has_net:
        return False
    entries = state.every_entry.filter("is_home").select("e", "gross", "net", key="home")
    postings = state.books.postings.select("p", "key", "amount")
    sums = [] if more is None else [more.select("count", "off")]
    for group in state.groups:
        if group.is_alone:
            continue
        ours = (
            group.members.join(entries, on="e")
            .group_by("gid", "key")
            .agg(
                pl.sum("net"),
                pl.sum("gross"),
                count=pl.len(),
                is_known=pl.col("net").is_not_null().all(),
            )
        )
        theirs = group.lines.join(postings, on="p").group_by("gid", "key").agg(pl.sum("amount"))
        off = pl.col("net") - pl.col("amount")
        both = ours.join(theirs, on=["gid", "key"]).filter("is_known", pl.col("net") != pl.col("gross"))
        sums.append(both.filter(off.abs() <= rounding(pl.col("count"))).select("count", off=off))
    if not sums:
        return False
    every = pl.concat(sums).filter(pl.col("count") >= FEWEST)
    chance = pl.min_horizontal(BY_CHANCE / pl.col("count").sqrt(), MOST)
    says = (
        pl.when(pl.col("off") == 0).then((EXACT / chance).log()).otherwise(((1 - EXACT) / (1 - chance)).log())
    )
    return bool(every.select(says.sum() >= ENOUGH).item())
