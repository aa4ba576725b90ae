"""Pairs of units with equal keys, by counts and a join; only keys that repeat are put in an order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

# Several numbers are packed into one of so many values.
MOST_VALUES = 2**62


def paired(ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str], *, surplus: bool) -> pl.DataFrame:
    """Return pairs (x, y) of rows with equal keys that have as many rows on both sides, or more of theirs.

    Both frames have the columns of the key and `day`, ours `x`, theirs `y`. Where a key has several rows, the
    first days are paired with the first days. Without `surplus`, a key with more rows of theirs is left
    alone.
    """
    if not (ours.height and theirs.height):
        return pl.DataFrame(schema={"x": pl.Int64, "y": pl.Int64})
    ours, theirs, key = _packed(ours.select({*key, "day", "x"}), theirs.select({*key, "day", "y"}), key)
    ours, theirs = _cut(ours, theirs, key)
    found, keys = _once(ours, theirs, key)
    if not keys.height:
        return found
    ours, theirs = (side.join(keys, on=key, how="semi") for side in (ours, theirs))
    counts = [side.group_by(key).len(name) for side, name in ((ours, "n"), (theirs, "m"))]
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


def in_one(names: Sequence[str], *frames: pl.DataFrame) -> pl.Expr | None:
    """Return columns of whole numbers as one number, which is grouped and joined twice as fast.

    Equal rows of the frames have equal numbers, and so have rows of other frames within the same bounds.
    Return None where the numbers are too wide for one.
    """
    packed, values = pl.lit(0, pl.Int64), 1
    for name in names:
        bounds = [bound for frame in frames for bound in (frame[name].min(), frame[name].max())]
        if None in bounds:
            return None
        least, most = min(bounds), max(bounds)  # type: ignore[type-var]
        width = int(most - least + 1)  # type: ignore[operator]
        packed, values = packed * width + (pl.col(name) - least), values * width
    return packed if values <= MOST_VALUES else None


def _packed(
    ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Return both sides, and the key, with all whole numbers of the key in one."""
    names = [name for name in key if ours.schema[name] == theirs.schema[name] == pl.Int64]
    packed = in_one(names, ours, theirs) if len(names) > 1 else None
    if packed is None:
        return ours, theirs, [*key]
    others = [name for name in key if name not in names]
    ours, theirs = (
        side.select(*others, "day", name, packed=packed) for side, name in ((ours, "x"), (theirs, "y"))
    )
    return ours, theirs, [*others, "packed"]


def _once(ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the pairs of keys that stand once on both sides, and the keys that stand several times."""
    if not _recurs(ours, key).any():
        # Then a key that is there several times is one that a row of ours is paired with several times.
        pairs = ours.select(*key, "x").join(theirs.select(*key, "y"), on=key)
        x = pairs["x"].to_numpy()
        is_once = pl.Series((np.bincount(x) == 1)[x])
        return pairs.filter(is_once).select("x", "y"), pairs.filter(~is_once).select(key).unique()
    recurring = [_recurs(side, key) for side in (ours, theirs)]
    once = [side.filter(~recurs) for side, recurs in zip((ours, theirs), recurring, strict=True)]
    several = [
        side.filter(recurs).select(key) for side, recurs in zip((ours, theirs), recurring, strict=True)
    ]
    found = once[0].select(*key, "x").join(once[1].select(*key, "y"), on=key).select("x", "y")
    return found, pl.concat(several).unique()


def _recurs(side: pl.DataFrame, key: Sequence[str]) -> pl.Series:
    """Return which rows have a key that other rows have, too."""
    keys = side[key[0]] if len(key) == 1 else side.select(pl.struct(key)).to_series()
    if keys.n_unique() == side.height:
        return pl.repeat(value=False, n=side.height, eager=True)
    return keys.is_duplicated()


def _cut(ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both sides without the rows of the longer one that have no partner, where it is much longer."""
    many_times = 4
    if theirs.height > many_times * ours.height:
        theirs = theirs.join(ours, on=key, how="semi")
    elif ours.height > many_times * theirs.height:
        ours = ours.join(theirs, on=key, how="semi")
    return ours, theirs
