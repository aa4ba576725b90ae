"""The words of files, from `words.toml`: headings by kind of file and field, and values of cells."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema

# Spellings of systems that have no umlauts.
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae", "ß": "ss"})
CURRENCY_CODES = (
    "EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|CZK|HUF|RON|BGN|TRY|JPY|CNY|INR|AUD|CAD|NZD|ZAR|BRL|MXN"
    "|RUB|UAH|ISK|KRW|SGD|HKD|THB|IDR|MYR|PHP|VND|AED|SAR|ILS|COP|CLP|ARS|PEN|NGN|KES|EGP|MAD"
)
CURRENCY_SIGNS = "$€£¥₹₽₺₴₩₪฿"
_SHORTEST_WORD = 2
_MOST_WORDS = 4
_LONGEST_ALONE, _SMALL_WORD = 60, 3
_PUNCTUATION = re.compile(r"[^\w%]|_")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\uff08[^\uff08\uff09]*\uff09")
_CURRENCY = re.compile(rf"(?:\bin\s+)?\b(?:{CURRENCY_CODES})\b|[{CURRENCY_SIGNS}]", re.IGNORECASE)

_CODE = re.compile(rf"\b(?:{CURRENCY_CODES})\b", re.IGNORECASE)


class Headings(NamedTuple):
    """Headings of a field, compared by `normal`: those that are certain, and those whose cells decide."""

    certain: frozenset[str]
    by_cells: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """All of them."""
        return self.certain | self.by_cells


@lru_cache(maxsize=1 << 14)
def normal(text: str) -> str:
    """Return text for comparison: no case, accents, spaces or marks; `%` tells a rate from a code."""
    letters = _PUNCTUATION.sub("", unicodedata.normalize("NFKD", text.casefold()))
    # A text of punctuation alone, such as #, is itself.
    return letters or text.strip()


def without_words(heading: str, words: frozenset[str]) -> str:
    """Return a heading without those of its words, such as Withdrawal of Withdrawal Amt."""
    parts = re.findall(r"[^\W_]+", heading)
    return " ".join([part for part in parts if normal(part) not in words] or parts)


@lru_cache(maxsize=1 << 12)
def without_extras(heading: str) -> str:
    """Return a heading for comparison without text in brackets and without currencies."""
    return normal(_CURRENCY.sub(" ", _BRACKETS.sub(" ", heading.replace("_", " "))))


def currency_in(heading: str) -> str | None:
    """Return the one currency whose code a heading has, such as EUR of Amount (EUR)."""
    codes = {code.upper() for code in _CODE.findall(heading.replace("_", " "))}
    return codes.pop() if len(codes) == 1 else None


def are_inside(heading: str, words: frozenset[str]) -> bool:
    """Whether one or more whole words of a heading are one of the words."""
    parts = re.findall(r"[^\W_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", heading))
    spans = (parts[begin:end] for begin in range(len(parts)) for end in range(begin + 1, len(parts) + 1))
    return any(len(word := normal("".join(span))) >= _SHORTEST_WORD and word in words for span in spans)


@cache
def _file() -> Mapping[str, Any]:
    content: Mapping[str, Any] = tomllib.loads(
        files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    )
    return content


@cache
def _table(kind: str, name: str) -> frozenset[str]:
    words = [word for text in _file()[kind][name].values() for word in text.casefold().split("|")]
    return frozenset(map(normal, [*words, *(word.translate(_UMLAUTS) for word in words)])) - {""}


def headings(name: str) -> frozenset[str]:
    """Return the words of a table of headings, such as `company_id`."""
    return _table("headings", name)


def values(name: str) -> frozenset[str]:
    """Return the words of a table of values, such as `yes`."""
    return _table("values", name)


@cache
def currencies() -> Mapping[str, str]:
    """Return the code of each currency by its signs, its names and its own code."""
    return {
        normal(word): code
        for code, text in _file()["currencies"].items()
        for word in (code, *text.split("|"))
        if word.strip()
    }


def pairs(name: str) -> list[tuple[str, str]]:
    """Return the pairs of short words for debit and credit: `letters`, or those that are `asked` about."""
    letters = (pair.split() if " " in pair else list(pair) for pair in _file()["pairs"][name])
    return [(normal(debit), normal(credit)) for debit, credit in letters]


@cache
def fields(kind: str) -> Mapping[str, tuple[Headings, ...]]:
    """Return the fields of a kind of file with headings.

    The kinds are chart, accounts, entries and ledger; the most telling headings come first.
    """
    by_cells = {*_file()["two_meanings"]["tables"]}

    def words_of(tables: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*map(headings, tables))

    return {
        field: tuple(Headings(words_of({*tier} - by_cells), words_of({*tier} & by_cells)) for tier in tiers)
        for field, tiers in _file()["fields"][kind].items()
    }


def in_column(column: pa.ChunkedArray, meanings: Mapping[str, bool]) -> pa.ChunkedArray:
    """Return what each cell means; a cell whose word has no meaning is null."""
    return _each(column, lambda text: meanings.get(normal(text)))


def codes(column: pa.ChunkedArray, meanings: Mapping[str, str]) -> pa.ChunkedArray:
    """Return the code that each cell means; a cell whose word has no meaning is null."""
    encoded = pc.dictionary_encode(column).combine_chunks()
    meant = pa.array(
        [meanings.get(normal(text or "")) for text in encoded.dictionary.to_pylist()], schema.TEXT
    )
    return pa.chunked_array([meant.take(encoded.indices)], schema.TEXT)


def are(column: pa.ChunkedArray, words: frozenset[str]) -> pa.ChunkedArray:
    """Return whether each cell is one of the words."""
    return pc.fill_null(in_column(column, dict.fromkeys(words, True)), False)


def begin(column: pa.ChunkedArray, words: frozenset[str]) -> pa.ChunkedArray:
    """Return whether each cell begins with one of the words, such as `Total income` with total."""

    def begins(text: str) -> bool:
        parts = re.split(r"[\s:;,.]+", text.strip()[:100])
        # The first word of a text, or its first few together.
        return any(normal(" ".join(parts[:count])) in words for count in range(1, _MOST_WORDS + 1))

    return _each(column, begins)


@cache
def beginnings(*tables: str) -> str:
    """Return a pattern of the cells that may begin with a word of these tables of values: a quick test.

    Words are compared as the tables write them, with or without their accents.
    """
    words = {
        word.strip()
        for table in tables
        for text in _file()["values"][table].values()
        for word in text.split("|")
    }
    plain = {unicodedata.normalize("NFD", word) for word in words}
    plain = {"".join(letter for letter in word if not unicodedata.combining(letter)) for word in plain}
    # Only the first word, because several stand apart in many ways.
    firsts = {word.split()[0] for word in words | plain if word.strip()}
    return rf"(?i)^\W*(?:{'|'.join(sorted(map(re.escape, firsts)))})"


def are_alone(column: pa.ChunkedArray, words: frozenset[str], names: Collection[str] = ()) -> pa.ChunkedArray:
    """Return whether each cell is one of the words, with figures, months and small words at most.

    One of `names` may stand behind the word, too, as in `Total for Travel`; the form of a company may not:
    `Total SA`.
    """

    def is_alone(text: str) -> bool:
        parts = re.split(r"[\s:;,.]+", text.strip()[:_LONGEST_ALONE])
        counts = range(min(_MOST_WORDS, len(parts)), 0, -1)
        count = next((count for count in counts if normal(" ".join(parts[:count])) in words), 0)
        behind = parts[count:]
        if not count or normal("".join(behind)) in values("company_form"):
            return False
        is_small = all(len(part) <= _SMALL_WORD or any(map(str.isdigit, part)) for part in behind)
        return is_small or any(normal(" ".join(behind[at:])) in names for at in range(len(behind)))

    return _each(column, is_alone)


def _each(column: pa.ChunkedArray, meaning: Callable[[str], bool | None]) -> pa.ChunkedArray:
    encoded = pc.dictionary_encode(column).combine_chunks()
    meant = [meaning(text or "") for text in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pc.take(pa.array(meant, type=schema.FLAG), encoded.indices)])


@cache
def months() -> dict[str, list[str]]:
    """Return the names of each month in the languages of files, by its short name in English."""
    return {
        english: [name.strip() for name in names.split("|")] for english, names in _file()["months"].items()
    }


TOTALS = values("total")


def is_total(name: str | None, code: str | None) -> bool:
    """Whether name and code are a sum's. A name such as Total with a number is a company's account."""
    says_total = normal(name or "") in TOTALS and not any(character.isdigit() for character in code or "")
    return says_total or normal(code or "") in TOTALS
