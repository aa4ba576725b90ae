"""The texts of an entry, and which of them name it alone."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

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
