"""Columns of whole numbers, and what is counted in them."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa


NONE = -(2**40)  # a day, an amount or a code that is not there


class Columns:
    """Columns as columns of whole numbers, made when they are asked for: of a text its code."""

    def __init__(self, table: pl.DataFrame, **columns: np.ndarray) -> None:
        self.table, self.columns = table, columns

    def __len__(self) -> int:
        return self.table.height

    def __getattr__(self, name: str) -> np.ndarray:
        columns = self.__dict__["columns"]
        if name not in columns:
            own = self.table[name]
            columns[name] = (
                codes(own)
                if own.dtype == pl.String
                else own.to_numpy()
                if own.dtype == pl.Boolean
                else own.fill_null(NONE).to_numpy()
            )
        return columns[name]

    def take(self, mask: np.ndarray) -> Columns:
        if mask.all():
            return self
        rows = np.flatnonzero(mask)
        return Columns(self.table[rows], **{name: column[rows] for name, column in self.columns.items()})

    def also(self, **columns: np.ndarray) -> Columns:
        return Columns(self.table, **{**self.columns, **columns})


def codes(texts: pl.Series) -> np.ndarray:
    """Number texts as they are met first; NONE where there is none."""
    numbers = texts.to_arrow().dictionary_encode().indices
    return numbers.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)


def number(*keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the combinations of keys in their order; and where each is met first."""
    code = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        low = key.min(initial=0)
        code = code * (int(key.max(initial=0)) - low + 1) + (key - low)
    _, first, numbers = np.unique(code, return_index=True, return_inverse=True)
    return numbers, first


def among(count: int, numbers: Any) -> np.ndarray:
    """Which of 0, 1, ... are among some numbers."""
    out = np.zeros(count, bool)
    out[numbers] = True
    return out


def places(values: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Where values stand among ordered ones; -1 if they do not."""
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1) if len(ordered) else np.full(len(values), -1)


def sums(numbers: np.ndarray, count: int, values: np.ndarray | int = 1) -> np.ndarray:
    out = np.zeros(count, np.int64)
    np.add.at(out, numbers, values)
    return out
