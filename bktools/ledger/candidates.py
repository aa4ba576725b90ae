"""What is left of both sides: groups of entries, and pieces of the ledger that may hold them."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from bktools.ledger.entry_names import Entry
from bktools.ledger.whole_numbers import NONE

# A voucher and an account: NONE for all of the voucher.
PieceId = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """A voucher, or a part of one that may hold a group by itself.

    Attributes
    ----------
    id : tuple of int
        Its voucher and its account.
    day : int
        Its day.
    gross : int
        Its cost side in cents.
    nets : mapping
        What it has by account.
    is_kind : bool
        Whether its contra accounts, and its cost centre, are those of proven vouchers: the entries' kind.
    text : frozenset of str
        Its words.
    is_move : bool
        Whether it moves an amount between accounts.
    """

    id: PieceId
    day: int
    gross: int
    nets: Mapping[int, int]
    is_kind: bool
    text: frozenset[str]
    is_move: bool = False

    @property
    def v(self) -> int:
        """Its voucher."""
        return self.id[0]


def whole(v: int) -> PieceId:
    """Return the ID of all of a voucher."""
    return v, NONE


@dataclass(frozen=True)
class Group:
    """Entries that the ledger books together, of which the voucher is not proven."""

    number: int
    entries: tuple[Entry, ...]
    # The day from which delays count.
    due: int

    @functools.cached_property
    def start(self) -> int:
        """The day of its first entry."""
        return min(x.day for x in self.entries)

    @functools.cached_property
    def total(self) -> int:
        """Its sum in cents."""
        return sum(x.cents for x in self.entries)

    @functools.cached_property
    def accounts(self) -> frozenset[int]:
        """Its accounts."""
        return frozenset(x.account for x in self.entries)

    @functools.cached_property
    def receipts(self) -> list[tuple[Entry, ...]]:
        """Its receipts of several lines: what became of one became of all its lines."""
        by_id = defaultdict(list)
        for x in self.entries:
            by_id[x.id].append(x)
        return [tuple(lines) for name, lines in by_id.items() if name and len(lines) > 1]

    @functools.cached_property
    def parts(self) -> list[tuple[Entry, ...]]:
        """Its entries and its receipts of several lines, each of which may have a story of its own."""
        return [*((x,) for x in self.entries), *self.receipts]

    @functools.cached_property
    def amounts(self) -> frozenset[int]:
        """The sizes of its sum, its entries and its receipts."""
        return frozenset(abs(sum(x.cents for x in part)) for part in (self.entries, *self.parts))

    @property
    def is_receipt(self) -> bool:
        """Whether it is one entry, or one receipt of several lines."""
        return len(self.entries) == 1 or [len(self.entries)] == [len(lines) for lines in self.receipts]
