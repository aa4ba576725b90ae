"""Pairs of units with equal keys, by counts and a join; only keys that repeat are put in an order."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def paired(ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str], *, surplus: bool) -> pl.DataFrame:
    """Return pairs (x, y) of rows with equal keys that have as many rows on both sides, or more of theirs.

    Both frames have the columns of the key and `day`, ours `x`, theirs `y`. Where a key has several rows, the
    first days are paired with the first days. Without `surplus`, a key with more rows of theirs is left
    alone.
    """
    if not (ours.height and theirs.height):
        return pl.DataFrame(schema={"x": pl.Int64, "y": pl.Int64})
    ours, theirs = _cut(ours.select({*key, "day", "x"}), theirs.select({*key, "day", "y"}), key)
    alone = [side.with_columns(is_alone=pl.struct(key).is_duplicated().not_()) for side in (ours, theirs)]
    once = [side.filter("is_alone").select(*key, name) for side, name in zip(alone, "xy", strict=True)]
    found = once[0].join(once[1], on=key).select("x", "y")
    several = [side.filter(~pl.col("is_alone")).select(key) for side in alone]
    if not any(side.height for side in several):
        return found
    keys = pl.concat(several).unique()
    counts = [
        side.join(keys, on=key, how="semi").group_by(key).len(name)
        for side, name in zip((ours, theirs), "nm", strict=True)
    ]
    both = counts[0].join(counts[1], on=key)
    fits = pl.col("n") <= pl.col("m") if surplus else pl.col("n") == pl.col("m")
    wanted = both.filter(fits).select(key)
    if not wanted.height:
        return found
    ranked = [
        side.join(wanted, on=key, how="semi")
        .sort("day", name)
        .with_columns(rank=pl.int_range(pl.len()).over(key))
        for side, name in ((ours, "x"), (theirs, "y"))
    ]
    return pl.concat([found, ranked[0].join(ranked[1], on=[*key, "rank"]).select("x", "y")])


def _cut(ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both sides without the rows of the longer one that have no partner, where it is much longer."""
    many_times = 4
    if theirs.height > many_times * ours.height:
        theirs = theirs.join(ours, on=key, how="semi")
    elif ours.height > many_times * theirs.height:
        ours = ours.join(theirs, on=key, how="semi")
    return ours, theirs
