"""Debit or credit by the word beside an amount: one table of words for general ledgers and entries."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.columns import normal
from bktools.inputs.table import Table


class Sides(NamedTuple):
    """Words for debit and for credit, compared without case and full stops."""

    debit: frozenset[str]
    credit: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """Of either side."""
        return self.debit | self.credit


def _sides(debit: str, credit: str) -> Sides:
    return Sides(frozenset(debit.split()), frozenset(credit.split()))


def _joined(one: Sides, other: Sides) -> Sides:
    return Sides(one.debit | other.debit, one.credit | other.credit)


# Words of which each says one side alone, in any language.
_WORDS = _sides(
    "dr db debit debits débit debet debito débito debe dare dt soll wn winien tartozik borç дт дебет cargo",
    "cr credit credits crédit credito crédito kredit haben haber avere ma ct követel alacak dal кт кредит abono",
)
# What short words say depends on the one beside them: D is the credit of MD (má dáti), and the debit of all others.
_SHORT = tuple(
    _sides(debit, credit) for debit, credit in ("dc", "sh", "dk", "dh", "da", "tk", "ba", "дк", "χπ", ("md", "d"))
)
LEDGER = tuple(_joined(short, _WORDS) for short in _SHORT)
# Money that goes out or comes in: in a ledger it would be the other side that moves.
_MONEY = _sides("af out expense charge", "bij in refund")
ENTRIES = tuple(_joined(convention, _MONEY) for convention in LEDGER)


def debits(table: Table, place: int, conventions: Sequence[Sides], way_out: str = "") -> pa.ChunkedArray:
    """Return true for debit and false for credit, null where a cell is empty.

    Parameters
    ----------
    table : Table
        The file.
    place : int
        The column.
    conventions : sequence of Sides
        `LEDGER` or `ENTRIES`. The column is read by the one that its heading names, such as MD/D, else by the first
        one that has the most of its words.
    way_out : str
        For errors: what else the user can do.

    Raises
    ------
    InputError
        When a cell says neither.
    """
    encoded = pc.dictionary_encode(cells.or_null(cells.trimmed(table.columns[place]))).combine_chunks()
    words = [_plain(word) for word in encoded.dictionary.to_pylist()]
    best = _convention(table.headings[place], words, conventions)
    known = [word in best.debit if word in best.words else None for word in words]
    result = pa.chunked_array([pc.take(pa.array(known, schema.FLAG), encoded.indices)])
    neither = cells.mask(pc.and_(pc.is_null(result), pc.is_valid(encoded.indices)))
    cells.refuse(table, place, neither, f"must say debit or credit, such as D and C, S and H{way_out}")
    return result


def say_sides(table: Table, place: int, conventions: Sequence[Sides]) -> bool:
    """Whether a column whose heading may say anything, such as Type, says debit or credit in each of its cells.

    One letter alone could be short for anything, such as C for card: letters count where both sides are there.
    """
    words = {_plain(word) for word in pc.unique(cells.trimmed(table.columns[place])).to_pylist()} - {""}
    best = _convention(table.headings[place], sorted(words), conventions)
    is_clear = bool(words & best.debit and words & best.credit) or all(len(word) > 1 for word in words)
    return bool(words) and words <= best.words and is_clear


def _convention(heading: str, words: Sequence[str], conventions: Sequence[Sides]) -> Sides:
    by_heading = [
        convention
        for short, convention in zip(_SHORT, conventions, strict=True)
        if normal(heading)
        in {a + b for debit in short.debit for credit in short.credit for a, b in permutations((debit, credit))}
    ]
    return max([*by_heading, *conventions], key=lambda one: sum(word in one.words for word in words))


def _plain(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold().replace(".", "").strip()
