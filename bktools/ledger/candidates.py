"""Groups of open entries, and what is left of vouchers."""

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

from bktools.ledger.entry_names import Entry
from bktools.ledger.whole_numbers import number


@dataclass(frozen=True)
class Piece:
    """A voucher, or a part of one that may hold a group alone: what is left of the ledger."""

    number: tuple
    v: int
    day: int
    gross: int
    nets: Mapping[int, int]
    is_kind: bool
    text: frozenset[str]
    is_correction: bool = False  # it moves an amount between accounts


@dataclass(frozen=True)
class Group:
    number: Any
    entries: tuple[Entry, ...]
    due: int

    @functools.cached_property
    def start(self) -> int:
        return min(x.day for x in self.entries)

    @functools.cached_property
    def total(self) -> int:
        return sum(x.cents for x in self.entries)

    @functools.cached_property
    def accounts(self) -> set[int]:
        return {x.account for x in self.entries}

    @functools.cached_property
    def receipts(self) -> list[tuple[Entry, ...]]:
        """Those of several lines: what became of one is that of all its lines."""
        by_id = defaultdict(list)
        for x in self.entries:
            by_id[x.id].append(x)
        return [tuple(own) for name, own in by_id.items() if name and len(own) > 1]

    @functools.cached_property
    def amounts(self) -> set[int]:
        parts = (self.entries, *((x,) for x in self.entries), *self.receipts)
        return {abs(sum(x.cents for x in part)) for part in parts}

    @property
    def is_receipt(self) -> bool:
        return len(self.entries) == 1 or [len(self.entries)] == [len(own) for own in self.receipts]
