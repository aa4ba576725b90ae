"""Tables as columns of whole numbers, and what is counted, summed and found in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# A day, an amount or a text that is not there.
NONE = -(2**40)
# An account and an amount are one number, a lot: no amount has more digits, no ledger so many accounts.
MOST_DIGITS, LOT = 14, 2**48


class Columns:
    """The columns of a table as whole numbers, made when they are asked for: a text is its code.

    Parameters
    ----------
    table : DataFrame
        Texts, whole numbers and flags.
    **columns
        Columns that the table has not, or not so.
    """

    def __init__(self, table: pl.DataFrame, **columns: npt.NDArray[Any]) -> None:
        self.table, self._columns = table, columns

    def __len__(self) -> int:
        return self.table.height

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        columns: dict[str, npt.NDArray[Any]] = self.__dict__["_columns"]
        if name not in columns:
            own = self.table[name]
            if own.dtype == pl.String:
                columns[name] = codes(own)
            else:
                columns[name] = (own if own.dtype == pl.Boolean else own.fill_null(NONE)).to_numpy()
        return columns[name]

    def take(self, mask: Flags) -> Columns:
        """Keep some rows."""
        if mask.all():
            return self
        rows = np.flatnonzero(mask)
        return Columns(self.table[rows], **{name: column[rows] for name, column in self._columns.items()})

    def also(self, **columns: npt.NDArray[Any]) -> Columns:
        """Add columns, or put others in the place of some."""
        return Columns(self.table, **{**self._columns, **columns})


def codes(texts: pl.Series) -> Numbers:
    """Number texts as they are met first; NONE where there is none."""
    if texts.null_count() == len(texts):
        return np.full(len(texts), NONE)
    if are_distinct(texts):
        return np.arange(len(texts))
    numbers = texts.to_arrow().dictionary_encode().indices
    coded: Numbers = numbers.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
    return coded


def lots_of(account: Any, cents: Any) -> Numbers:
    """Return the lot of each account with its amount."""
    lots: Numbers = account * LOT + cents
    return lots


def are_distinct(texts: pl.Series) -> bool:
    """Whether all texts differ, as IDs do; where two hashes are equal by chance, the answer is no."""
    return texts.hash().n_unique() == len(texts)


def number(*keys: npt.NDArray[Any]) -> tuple[Numbers, Numbers]:
    """Number the combinations of keys in their order; return also where each is met first."""
    code = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        low = key.min(initial=0)
        code = code * (int(key.max(initial=0)) - low + 1) + (key - low)
    size = int(code.max(initial=0)) + 1
    if size > 4 * len(code):
        _, first, numbers = np.unique(code, return_index=True, return_inverse=True)
        return numbers, first
    # Few combinations are counted, which is faster than to sort them.
    first = first_rows(code, size)[:-1]
    return (np.cumsum(first >= 0) - 1)[code], first[first >= 0]


def among(count: int, numbers: Any) -> Flags:
    """Return which of 0, 1, ... are among some numbers."""
    flags = np.zeros(count, np.bool_)
    flags[numbers] = True
    return flags


def places(values: Numbers, ordered: Numbers) -> Numbers:
    """Return where values stand among ordered ones; -1 if they do not."""
    if not len(ordered):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1)


def sums(numbers: npt.NDArray[Any], count: int, values: Any = 1) -> Numbers:
    """Return the sum of values by number, or how often each is met."""
    totals = np.zeros(count, np.int64)
    np.add.at(totals, numbers, values)
    return totals


def largest(numbers: npt.NDArray[Any], count: int, values: npt.NDArray[Any]) -> Numbers:
    """Return the largest value by number; NONE where there is none."""
    most = np.full(count, NONE)
    np.maximum.at(most, numbers, values)
    return most


def runs(numbers: Numbers, count: int) -> tuple[Numbers, Numbers]:
    """Return the rows in the order of their numbers, and where those of each begin; the last is their end."""
    order = np.argsort(numbers, kind="stable")
    return order, np.searchsorted(numbers[order], np.arange(count + 1))


def first_rows(numbers: Numbers, count: int) -> Numbers:
    """Return by number the first row that has it, -1 where there is none; the last is for the number -1."""
    first = np.full(count + 1, -1)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    first[-1] = -1
    return first
