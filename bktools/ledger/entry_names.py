"""The texts that name an entry."""

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


@functools.lru_cache(100_000)
def words(*texts: str | None) -> frozenset[str]:
    """The words and numbers of texts, of any length: 10/2026 is not 11/2026."""
    plain = unicodedata.normalize("NFKD", " ".join(filter(None, texts)).casefold())
    return frozenset(re.findall(r"\w+", re.sub("[\u0300-\u036f]", "", plain)))


FIELDS = ("description", "document", "supplier")


@dataclass(eq=False)
class Entry:
    e: int
    account: int
    day: int
    cents: int
    sent: bool
    code: int
    supplier: str | None
    description: str | None
    document: str | None
    id: str | None
    is_own: tuple[bool, bool]  # whether its description, and its document, are of no other entry
    is_single: bool  # whether no other entry has its amount on its account

    def text(self, kept: Iterable[str]) -> frozenset[str]:
        return words(*(getattr(self, name) for name in kept))

    @functools.cached_property
    def names(self) -> list[frozenset[str]]:
        """What names it: its ID, its document, its description with its supplier (two words at least), or
        alone."""
        described, documented = self.is_own
        own = [words(self.id), words(self.document) if documented else frozenset()]
        own += [words(self.supplier, self.description), words(self.description) if described else frozenset()]
        return [*filter(None, own[:2]), *(one for one in own[2:] if len(one) > 1 and self.description)]

    def is_named_in(self, text: frozenset[str]) -> bool:
        return any(own <= text for own in self.names)
