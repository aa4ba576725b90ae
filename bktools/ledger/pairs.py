"""Rows with equal keys: a key is one number, and both sides are put in the order of their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from bktools.ledger.text_columns import Numbers, numbered

# Numbers below this, with their rows in them, are sorted as whole numbers of 64 bits.
MOST_VALUES = 2**62
# A side of so many rows, and so many times those of the other one, has rows without a partner.
MANY, MANY_TIMES = 10_000, 4
# Hashes are told apart by their last 22 bits.
HASHES = 2**22


def paired(
    ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str], *, surplus: bool
) -> tuple[Numbers, Numbers]:
    """Return pairs of rows with equal keys that have as many rows on both sides, or more of theirs.

    Both frames have `day` and the columns of the key, without nulls. Where a key has several rows, the first
    days are paired with the first days. Without `surplus`, a key with more rows of theirs is left alone.
    """
    count = ours.height
    if not (count and theirs.height):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers = np.concatenate(in_numbers(key, ours, theirs))
    if "day" not in key:
        days = [side["day"].to_numpy() for side in (ours, theirs)]
        by_day = [ordered(own - own.min()) for own in days]
        order, first = grouped(numbers, np.concatenate([by_day[0], count + by_day[1]]))
    else:
        order, first = grouped(numbers)
    # In each group, ours come first.
    own = np.add.reduceat(order < count, first, dtype=np.int64)
    others = np.diff(first, append=len(order)) - own
    fits = (own > 0) & (own <= others if surplus else own == others)
    first, own = first[fits], own[fits]
    places = spans(first, own)
    partners = np.full(count, -1)
    partners[order[places]] = order[places + np.repeat(own, own)] - count
    found = np.flatnonzero(partners >= 0)
    return found, partners[found]


def comparable(
    ours: pl.DataFrame, theirs: pl.DataFrame, key: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both sides without nulls in their key, a long one without rows that have no partner."""
    ours, theirs = (without_nulls(side, key) for side in (ours, theirs))
    if theirs.height > max(MANY, MANY_TIMES * ours.height):
        return ours, _that_may_be(theirs, ours, key)
    if ours.height > max(MANY, MANY_TIMES * theirs.height):
        return _that_may_be(ours, theirs, key), theirs
    return ours, theirs


def without_nulls(side: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return the rows that have a value in each of some columns."""
    counts = [side[name].null_count() for name in key]
    if side.height in counts:
        return side.clear()
    return side.drop_nulls(key) if any(counts) else side


def in_numbers(names: Sequence[str], *frames: pl.DataFrame) -> list[Numbers]:
    """Return columns as one number, from 0 on: rows of any of the frames that are equal have the same one.

    The columns are texts, or whole numbers with less than 63 bits between them.
    """
    every = np.zeros(sum(frame.height for frame in frames), np.int64)
    values, most = 1, MOST_VALUES >> len(every).bit_length()
    for name in names:
        column = pl.concat([frame[name] for frame in frames])
        numbers, is_known = known_numbers(numbered(column) if column.dtype == pl.String else column)
        least, width = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 2
        if width * values > most:
            (every, values), (numbers, width), least = _ranked(every), _ranked(numbers), 0
        every *= width
        every += numbers - least if is_known is None else np.where(is_known, numbers - least + 1, 0)
        values *= width
    return np.split(every, np.cumsum([frame.height for frame in frames[:-1]]))


def known_numbers(column: pl.Series) -> tuple[Numbers, npt.NDArray[np.bool_] | None]:
    """Return numbers, 0 for null, and which of them are known, None for all."""
    if not column.null_count():
        return column.to_numpy(), None
    return column.fill_null(0).to_numpy(), column.is_not_null().to_numpy()


def spans(first: Numbers, sizes: Numbers) -> Numbers:
    """Return the places of groups, of which each begins at its first place and has so many."""
    return np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())


def grouped(numbers: Numbers, rows: Numbers | None = None) -> tuple[Numbers, Numbers]:
    """Return the rows by their numbers, and the places in this order at which each number begins.

    Rows of one number stand as they are, or in the order of `rows`.
    """
    order = ordered(numbers) if rows is None else rows[ordered(numbers[rows])]
    by_number = numbers[order]
    is_first = np.ones(len(order), np.bool_)
    np.not_equal(by_number[1:], by_number[:-1], out=is_first[1:])
    return order, np.flatnonzero(is_first)


def ordered(numbers: Numbers) -> Numbers:
    """Return the rows by their numbers, which are not negative; those of one number as they stand."""
    bits = len(numbers).bit_length()
    if numbers.max(initial=0) > MOST_VALUES >> bits:
        return np.argsort(numbers, kind="stable")
    # Numbers with their rows in them are sorted several times faster than rows by their numbers.
    packed = numbers << bits | np.arange(len(numbers))
    packed.sort()
    return packed & (1 << bits) - 1


def _ranked(numbers: Numbers) -> tuple[Numbers, int]:
    """Return numbers without gaps, and how many there are at most."""
    order, first = grouped(numbers - numbers.min())
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.repeat(np.arange(len(first)), np.diff(first, append=len(order)))
    return ranks, len(first) + 1


def _that_may_be(side: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return a side without most of the rows that have no partner: one with a hash of the same last bits."""
    hashes = [frame.select(key).hash_rows().to_numpy() % HASHES for frame in (side, other)]
    is_there = np.zeros(HASHES, np.bool_)
    is_there[hashes[1]] = True
    return side.filter(pl.Series(is_there[hashes[0]]))
