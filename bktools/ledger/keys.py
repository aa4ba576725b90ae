"""Rows by a digest of the columns that must agree, and the groups of entries and postings with one digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.ledger.columns import Flags, Numbers

Digests: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]
Pair: TypeAlias = tuple[Numbers, Numbers]

# An odd number, whose bits are evenly distributed, by which days are multiplied.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# A side is only cut down where it is so many times as long as the other one.
MANY_TIMES = 8


@dataclass(frozen=True)
class Keys:
    """Some rows by number, with a digest of the columns that must agree, and days: 0 where they need not agree."""

    rows: Numbers
    digests: Digests
    days: Numbers

    def only(self, wanted: Flags) -> Keys:
        """Return some of the rows."""
        return self if wanted.all() else Keys(self.rows[wanted], self.digests[wanted], self.days[wanted])

    def cut(self, other_side: Keys) -> Keys:
        """Return the rows that may agree with one of the other side, if this side is much longer."""
        if len(self.rows) <= len(other_side.rows) * MANY_TIMES:
            return self
        return self.only(pc.is_in(pa.array(self.digests), pa.array(other_side.digests)).to_numpy(zero_copy_only=False))

    def sorted(self, offset: int) -> _Sorted:
        """Return the rows by digest and day, some days earlier; two's complement wraps around."""
        keys = self.digests + (self.days - offset).astype(np.uint64) * MULTIPLIER
        order = np.argsort(keys)
        keys = keys[order]
        first = np.flatnonzero(np.concatenate([[True][: len(keys)], keys[1:] != keys[:-1]]))
        return _Sorted(self.rows[order], keys[first], first, np.diff(first, append=len(keys)))


@dataclass(frozen=True)
class _Sorted:
    """Rows by their key: the keys once each, and the first place and count of each in `rows`."""

    rows: Numbers
    keys: Digests
    first: Numbers
    counts: Numbers

    def group(self, place: int) -> Numbers:
        return np.sort(self.rows[self.first[place] : self.first[place] + self.counts[place]])


def groups(entries: Keys, postings: Keys, offset: int) -> tuple[Pair, list[Pair]]:
    """Return the pairs whose key both sides have once, and the entries and postings of each other common key.

    Postings are `offset` days later than entries.
    """
    ours, theirs = entries.sorted(0), postings.sorted(offset)
    _, left, right = np.intersect1d(ours.keys, theirs.keys, assume_unique=True, return_indices=True)
    alone = (ours.counts[left] == 1) & (theirs.counts[right] == 1)
    pairs = ours.rows[ours.first[left[alone]]], theirs.rows[theirs.first[right[alone]]]
    return pairs, [(ours.group(a), theirs.group(b)) for a, b in zip(left[~alone], right[~alone], strict=True)]
