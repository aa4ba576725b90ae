"""Entries and groups by their names and amounts, and the free pieces of the ledger that may hold them."""

from __future__ import annotations

import bisect
import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bktools.ledger.booking_units import CORRECTED, LATEST

# The texts of an entry that vouchers may carry.
FIELDS = ("description", "document", "supplier", "person")
# The employee's name is of many entries.
PERSON = FIELDS[-1]
NUMBER = re.compile(r"\d")
ACCENTS = re.compile("[\u0300-\u036f]")


@functools.lru_cache(100_000)
def words(*texts: str | None) -> frozenset[str]:
    """Return the words and numbers of texts, of any length: 10/2026 is not 11/2026."""
    plain = unicodedata.normalize("NFKD", " ".join(filter(None, texts)).casefold())
    return frozenset(re.findall(r"\w+", ACCENTS.sub("", plain)))


@dataclass(eq=False)
class Entry:
    """One entry, for the few that are looked at one by one.

    Attributes
    ----------
    e : int
        Its number.
    account, code, day, cents : int
        Its account and tax code as numbers, its day, its amount in the ledger's currency, without tax where
        the ledger is seen so.
    exported : int
        Its amount as it was exported.
    is_original : bool
        Whether its amount is in another currency than the ledger's.
    sent : bool
        Whether it was sent.
    has_own_description, has_own_document : bool
        Whether no other entry has its description, and its document.
    is_single : bool
        Whether no other entry has its amount on its account.
    describes : bool
        Whether its description names it without its supplier.
    """

    e: int
    account: int
    day: int
    cents: int
    is_original: bool
    sent: bool
    code: int
    description: str | None
    document: str | None
    supplier: str | None
    person: str | None
    id: str | None
    exported: int
    has_own_description: bool
    has_own_document: bool
    is_single: bool
    describes: bool

    def text(self, fields: Iterable[str]) -> frozenset[str]:
        """Return the words of some of its texts."""
        return words(*(getattr(self, name) for name in fields))

    @functools.cached_property
    def names(self) -> list[frozenset[str]]:
        """The words that name it: its ID; its own document; its description, of two words at least."""
        named = [words(self.id), words(self.document) if self.has_own_document else frozenset()]
        described = [words(self.supplier, self.description)] if self.description else []
        if self.has_own_description and self.describes:
            described.append(words(self.description))
        return [*filter(None, named), *(text for text in described if len(text) > 1)]

    @functools.cached_property
    def own_names(self) -> list[frozenset[str]]:
        """Those of its names that no charge of a later month has: of it alone, with a number."""
        described = words(self.supplier, self.description)
        own = (name for name in self.names if self.has_own_description or name != described)
        return [name for name in own if any(map(NUMBER.search, name))]

    def is_named_alone_in(self, text: frozenset[str]) -> bool:
        """Whether a text has a name that no charge of a later month has."""
        return any(name <= text for name in self.own_names)

    def is_named_in(self, text: frozenset[str]) -> bool:
        """Whether a text names the entry."""
        return any(name <= text for name in self.names)


# ---- pieces of the ledger

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
    lines : frozenset of int
        The amounts of its postings.
    is_report : bool
        Whether its voucher is on several of the entries' accounts.
    """

    id: PieceId
    day: int
    gross: int
    nets: Mapping[int, int]
    is_kind: bool
    text: frozenset[str]
    lines: frozenset[int] = frozenset()
    is_report: bool = False

    @property
    def is_move(self) -> bool:
        """Whether it moves an amount between accounts."""
        return self.gross == 0

    @property
    def v(self) -> int:
        """Its voucher."""
        return self.id[0]

    def takes_back(self, other: Piece) -> bool:
        """Whether it is another piece's reversal: later, with the opposite amount on the same accounts."""
        is_later = other.day <= self.day <= other.day + LATEST
        is_opposite = self.gross == -other.gross != 0 and self.nets.keys() == other.nets.keys()
        is_opposite &= self.is_kind == other.is_kind
        return is_later and is_opposite and self is not other

    def sizes_on(self, account: int) -> frozenset[int]:
        """The sizes of what it books on an account; of a move also its whole side, with a tax."""
        if self.gross:
            return frozenset({abs(self.gross)})
        return frozenset({abs(self.nets[account]), sum(net for net in self.nets.values() if net > 0)})

    def takes_away(self, x: Entry) -> bool:
        """Whether it has the opposite of an entry on its account, after it."""
        is_opposite = self.nets.get(x.account, 0) * x.cents < 0 and abs(x.cents) in self.sizes_on(x.account)
        return is_opposite and self.day >= x.day

    def amounts_on(self, account: int) -> frozenset[int]:
        """What it has on an account: in all, and by its postings, where it is on entries' accounts."""
        return self.lines | {self.nets[account]}


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
        """What of it may have a story of its own: its entries, its receipts of several lines, all of it."""
        return [*dict.fromkeys([*((x,) for x in self.entries), *self.receipts, self.entries])]

    @functools.cached_property
    def amounts(self) -> frozenset[int]:
        """The sizes of its parts."""
        return frozenset(abs(sum(x.cents for x in part)) for part in self.parts)

    @property
    def is_receipt(self) -> bool:
        """Whether it is one entry, or one receipt of several lines."""
        return len(self.entries) == 1 or [len(self.entries)] == [len(lines) for lines in self.receipts]


class FreePieces:
    """The pieces that no proven group has, looked up by account and day, by amount, or by the entry's name.

    Attributes
    ----------
    pieces : list
        All pieces, in the order of their days.
    of_gross : mapping
        The pieces by their cost side in cents.
    of_size : mapping
        The pieces by account and size of their cost side; of a move by those of its amounts.
    naming, named : mapping
        The pieces whose text names an entry, in the weeks around it; and the entries that a piece names.
    amounts : mapping
        How many of these entries have an amount.
    """

    def __init__(self, pieces: Iterable[Piece] = (), entries: Iterable[Entry] = ()) -> None:
        self.pieces = sorted(pieces, key=lambda piece: (piece.day, piece.id))
        self.of_gross: Mapping[int, list[Piece]] = defaultdict(list)
        self.of_size: Mapping[tuple[int, int], list[Piece]] = defaultdict(list)
        self._on: Mapping[int, list[Piece]] = defaultdict(list)
        self._by_word: Mapping[str, list[Piece]] = defaultdict(list)
        self._of_net: Mapping[tuple[int, int], list[Piece]] = defaultdict(list)
        for piece in self.pieces:
            self.of_gross[piece.gross].append(piece)
            for account, net in piece.nets.items():
                self._on[account].append(piece)
                self._of_net[account, net].append(piece)
                for size in piece.sizes_on(account):
                    self.of_size[account, size].append(piece)
            for word in piece.text:
                self._by_word[word].append(piece)
        self.naming: Mapping[int, list[Piece]] = defaultdict(list)
        self.named: Mapping[PieceId, set[int]] = defaultdict(set)
        self.amounts: Counter[int] = Counter()
        for x in entries:
            self.amounts[x.cents] += 1
            for piece in (
                piece for name in x.names for piece in self.with_text(name, x.day - LATEST, x.day + CORRECTED)
            ):
                if x.e not in self.named[piece.id]:
                    self.naming[x.e].append(piece)
                    self.named[piece.id].add(x.e)

    def on(self, account: int, first: int, last: int) -> Sequence[Piece]:
        """Return the pieces on an account between two days."""
        return between(self._on.get(account, ()), first, last)

    def corrections(self, piece: Piece) -> list[Piece]:
        """Return the later pieces that take a piece back, or one of its amounts on an account."""
        back = {
            other.id: other
            for account in piece.nets
            for cents in piece.amounts_on(account)
            for other in self._of_net.get((account, -cents), ())
            if piece.day <= other.day <= piece.day + CORRECTED and other is not piece
        }
        return [*back.values()]

    def with_text(self, text: frozenset[str], first: int, last: int) -> list[Piece]:
        """Return the pieces between two days that have all words of a text."""
        # The rarest word has the fewest pieces.
        rarest = min((self._by_word.get(word, []) for word in text), key=len, default=[])
        return [piece for piece in between(rarest, first, last) if text <= piece.text]


def between(pieces: Sequence[Piece], first: int, last: int) -> Sequence[Piece]:
    """Return the pieces between two days, of some in the order of their days."""
    begin = bisect.bisect_left(pieces, first, key=_day_of)
    return pieces[begin : bisect.bisect_right(pieces, last, key=_day_of)]


def _day_of(piece: Piece) -> int:
    return piece.day
