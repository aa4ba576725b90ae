"""Columns of texts as a verdict compares them: trimmed, and those of few texts as numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc


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
    numbers = numbered(pl.concat([column.texts for column in columns]))
    return [
        column.of_each(numbers[start:end])
        for column, (start, end) in zip(columns, itertools.pairwise(ends), strict=True)
    ]


def numbered(texts: pl.Series) -> pl.Series:
    """Return texts as numbers from 0 on, in the order of their first rows; null where there is none."""
    places = pc.dictionary_encode(texts.to_arrow()).indices
    return pl.Series(pl.from_arrow(places), dtype=pl.Int64)


def trimmed(column: pa.ChunkedArray | None, count: int) -> pl.Series:
    """Return a column of so many trimmed texts, nulls for empty ones; only nulls where it is missing."""
    if column is None or pa.types.is_null(column.type) or not count:
        return nulls(count, pl.String)
    return _trimmed(pl.Series(pl.from_arrow(column), dtype=pl.String))


def nulls(count: int, kind: Any) -> pl.Series:
    """Return a column of nulls."""
    return pl.Series([None], dtype=kind).new_from_index(0, count)


def _trimmed(texts: pl.Series) -> pl.Series:
    texts = texts.str.strip_chars()
    is_empty = texts.str.len_bytes() == 0
    return texts.set(is_empty, None) if is_empty.any() else texts
