"""Entry IDs as numbers: checked, compared and sorted many times faster than as text, in a fifth of its memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

LENGTH = 36
DASHES = (8, 13, 18, 23)
DIGITS = np.array([place for place in range(LENGTH) if place not in DASHES])

# Rows handled at once: what is made on the way stays in the processor's cache.
SLICE = 100_000

NO_DIGIT = 255
VALUES = np.full(256, NO_DIGIT, dtype=np.uint8)
for _value, _letter in enumerate(b"0123456789abcdef"):
    VALUES[_letter] = _value
for _value, _letter in enumerate(b"ABCDEF", 10):
    VALUES[_letter] = _value

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Identity:
    """UUIDs of a column as numbers.

    Parameters
    ----------
    high, low : array of uint64
        The two halves, a value a row; 0 where there is no UUID.
    is_uuid : array of bool
        Whether the row holds a UUID.
    by_id : array of int32
        The rows in the order of their UUIDs, equal ones as they stand; the order of the texts is the same.
    """

    high: Array
    low: Array
    is_uuid: Array
    by_id: Array

    def repeated(self) -> Array:
        """Return the rows whose UUID stands on another row too."""
        rows = self.by_id[self.is_uuid[self.by_id]]
        high, low = self.high[rows], self.low[rows]
        same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
        is_repeated = np.zeros(len(rows), dtype=bool)
        is_repeated[1:] |= same
        is_repeated[:-1] |= same
        return np.sort(rows[is_repeated])


def identity(column: pa.ChunkedArray) -> Identity:
    """Return the UUIDs of a text column as numbers, upper and lower case alike."""
    high = np.zeros(len(column), dtype=np.uint64)
    low = np.zeros(len(column), dtype=np.uint64)
    is_uuid = np.zeros(len(column), dtype=bool)
    begin = 0
    for chunk in column.chunks:
        for offset in range(0, len(chunk), SLICE):
            piece = chunk.slice(offset, SLICE)
            end = begin + len(piece)
            high[begin:end], low[begin:end], is_uuid[begin:end] = _numbers(piece)
            begin = end
    return Identity(high, low, is_uuid, _in_order(high, low))


def coded(column: pa.ChunkedArray) -> tuple[Array, Array]:
    """Return the different texts of a column in their order, and for each row which one it is, -1 for none."""
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    texts = chunks[0].dictionary.to_numpy(zero_copy_only=False) if chunks else np.array([], dtype=object)
    codes = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in chunks]
    order = np.argsort(texts)
    rank = np.empty(len(texts) + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(len(texts)), -1
    return texts[order], rank[np.concatenate(codes)] if codes else np.array([], dtype=np.int32)


def is_lower(column: pa.ChunkedArray) -> bool:
    """Whether no text of a column has a capital letter of ASCII; looked at in slices, so that no copy is held."""
    pieces = (chunk.slice(begin, SLICE) for chunk in column.chunks for begin in range(0, len(chunk), SLICE))
    return all(pc.ascii_lower(piece).equals(piece) for piece in pieces)


def _numbers(piece: pa.Array) -> tuple[Array, Array, Array]:
    fits = pc.fill_null(pc.equal(pc.binary_length(piece), LENGTH), fill_value=False).to_numpy(zero_copy_only=False)
    texts = piece if fits.all() else piece.filter(pa.array(fits))
    bytes_ = pc.cast(pc.cast(texts, pa.large_binary()), pa.binary(LENGTH))
    letters = np.frombuffer(bytes_.buffers()[1] or b"", dtype=np.uint8)
    letters = letters[bytes_.offset * LENGTH : (bytes_.offset + len(bytes_)) * LENGTH].reshape(-1, LENGTH)
    digits = VALUES[letters[:, DIGITS]]
    right = (digits != NO_DIGIT).all(axis=1) & (letters[:, DASHES] == ord("-")).all(axis=1)
    halves = np.ascontiguousarray((digits[:, 0::2] << 4) | digits[:, 1::2]).view(">u8")
    halves[~right] = 0
    numbers = np.zeros((len(piece), 2), dtype=np.uint64)
    numbers[fits] = halves
    is_uuid = fits.copy()
    is_uuid[fits] = right
    return numbers[:, 0], numbers[:, 1], is_uuid


def _in_order(high: Array, low: Array) -> Array:
    order: Array = np.argsort(high, kind="stable")
    ordered = high[order]
    if (ordered[1:] == ordered[:-1]).any():
        # Rare: the first half decides for all but repeated IDs and those counted up within a moment.
        order = np.lexsort((low, high))
    return order.astype(np.int32)
