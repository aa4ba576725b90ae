"""Columns of texts as a verdict compares them: trimmed, and those of few texts as numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.schema import TEXT

Numbers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
# Bytes up to this are spaces or say nothing; those from there on are parts of characters beyond ASCII.
SPACE, ASCII = 32, 128
# So many bytes stay in the cache of a processor.
CACHED = 2**22


@dataclass(frozen=True)
class Recurring:
    """A column of few texts, each of which is there often.

    Parameters
    ----------
    at : Series
        The place of the text of each row in `texts`, null where there is none.
    texts : Series
        The texts, in which one may be there twice, or null.
    """

    at: pl.Series
    texts: pl.Series

    @property
    def each(self) -> pl.Series:
        """The text of each row."""
        return self.of_each(self.texts)

    def of_each(self, values: pl.Series) -> pl.Series:
        """Return the value of each row, by the values of the texts."""
        return values.gather(self.at)

    def filled(self, text: str) -> Recurring:
        """Return the column with a text where there is none."""
        texts = self.texts.fill_null(text)
        if not self.at.null_count():
            return Recurring(self.at, texts)
        return Recurring(
            self.at.fill_null(len(texts)), pl.concat([texts, pl.Series([text], dtype=pl.String)])
        )


def recurring(column: pa.ChunkedArray | None, count: int, *, in_capitals: bool = False) -> Recurring:
    """Return a column of so many rows, trimmed; without texts where it is missing."""
    if column is None or pa.types.is_null(column.type) or not count:
        return Recurring(nulls(count, pl.Int64), pl.Series(dtype=pl.String))
    # Each text is trimmed once.
    encoded = pc.dictionary_encode(column.combine_chunks())
    texts = _trimmed(pl.Series(pl.from_arrow(encoded.dictionary), dtype=pl.String))
    places = pl.Series(pl.from_arrow(encoded.indices), dtype=pl.Int64)
    return Recurring(places, texts.str.to_uppercase() if in_capitals else texts)


def numbers_of(*columns: Recurring) -> list[pl.Series]:
    """Return columns as numbers, the same text with the same number in each of them."""
    ends = [*itertools.accumulate((len(column.texts) for column in columns), initial=0)]
    texts = pc.dictionary_encode(pl.concat([column.texts for column in columns]).to_arrow())
    numbers = pl.Series(pl.from_arrow(texts.indices), dtype=pl.Int64)
    return [
        column.of_each(numbers[start:end])
        for column, (start, end) in zip(columns, itertools.pairwise(ends), strict=True)
    ]


def numbered(texts: pl.Series) -> pl.Series:
    """Return texts as numbers from 0 on; null where there is none."""
    # Hashes are numbered faster than texts; different texts hardly ever have one hash.
    numbers, hashes = pd.factorize(texts.hash().to_numpy())
    first = np.empty(len(hashes), np.int64)
    first[numbers[::-1]] = np.arange(len(texts))[::-1]
    others = np.flatnonzero(first[numbers] != np.arange(len(texts)))
    if (texts[others] != texts[first[numbers[others]]]).any():
        numbers = np.unique(texts.fill_null("").to_numpy(), return_inverse=True)[1]
    return pl.Series(numbers) if not texts.null_count() else pl.Series(numbers).set(texts.is_null(), None)


def trimmed(column: pa.ChunkedArray | None, count: int) -> pl.Series:
    """Return a column of so many trimmed texts, nulls for empty ones; only nulls where it is missing."""
    if column is None or pa.types.is_null(column.type) or not count:
        return nulls(count, pl.String)
    texts = pl.Series(pl.from_arrow(column), dtype=pl.String)
    return texts if all(map(_is_trimmed, column.chunks)) else _trimmed(texts)


def in_lower_case(column: pa.ChunkedArray, count: int) -> pl.Series:
    """Return a column of so many trimmed texts in lower case."""
    texts = trimmed(column, count)
    # In ASCII, capitals lack the bit 32, which small letters, digits and hyphens have.
    every = [data[at[0] : at[-1]] for at, data in map(_bytes, column.chunks) if len(data)]
    is_lower = all(np.bitwise_and.reduce(data) & 32 and data.max(initial=0) < ASCII for data in every)
    return texts if is_lower else texts.str.to_lowercase()


def _bytes(texts: pa.Array) -> tuple[Numbers, npt.NDArray[np.uint8]]:
    """Return where in some bytes each text begins, and where the last one ends; and these bytes."""
    _, at, data = texts.buffers()
    places = np.frombuffer(at or b"", np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return places, np.frombuffer(data or b"", np.uint8)


def _is_trimmed(texts: pa.Array) -> bool:
    """Whether no text is empty, and none begins or ends with a space, or with a character beyond ASCII."""
    at, data = _bytes(texts)
    begin, end = at[:-1], at[1:]
    if texts.null_count:
        is_there = texts.is_valid().to_numpy(zero_copy_only=False)
        begin, end = begin[is_there], end[is_there]
    if (begin == end).any():
        return False
    ends = np.concatenate([data[begin], data[end - 1]])
    return bool(ends.min(initial=ASCII) > SPACE and ends.max(initial=0) < ASCII)


def taken(column: pa.Array | pa.ChunkedArray, at: pl.Series) -> pa.Array | pa.ChunkedArray:
    """Return the values of a column in some rows, as `rows_of` returns them."""
    # Arrow takes texts that stay in the processor's cache twice as fast as Polars, others three times slower.
    if column.type != TEXT or column.nbytes < CACHED:
        return column.take(at.to_arrow())
    texts = pl.Series(pl.from_arrow(column), dtype=pl.String)[at]
    return texts.to_arrow(compat_level=pl.CompatLevel.oldest())


def rows_of(numbers: npt.NDArray[np.signedinteger]) -> pl.Series:
    """Return numbers of rows, null for -1, in the type in which Polars takes rows."""
    return pl.Series(pl.from_arrow(pa.array(numbers.astype(np.uint32), mask=numbers < 0)))


def nulls(count: int, kind: Any) -> pl.Series:
    """Return a column of nulls."""
    return pl.Series([None], dtype=kind).new_from_index(0, count)


def _trimmed(texts: pl.Series) -> pl.Series:
    texts = texts.str.strip_chars()
    is_empty = texts.str.len_bytes() == 0
    return texts.set(is_empty, None) if is_empty.any() else texts
