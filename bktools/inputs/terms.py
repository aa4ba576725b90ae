"""The dictionary of files, from `terms.toml`: words of headings, and of values of cells, by table."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Final

from bktools.currencies import MINOR_UNITS

# Spellings of systems that have no umlauts.
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "æ": "ae", "ß": "ss"})
_MARKS = re.compile(r"[^\w%#]|_")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|\uff08[^\uff08\uff09]*\uff09")
# The words for "in" before a currency, as in Umsatz in EUR.
_BEFORE_A_CURRENCY = frozenset({"in", "en", "em", "i", "w"})
# The tables of words that a report has in rows which are no entries.
REPORTS: Final = ("total", "balance", "balance_alone", "turnover")


@lru_cache(1 << 16)
def normal(text: str) -> str:
    """Return text for comparison: no case, accents, spaces or marks; `%` tells a rate from a code."""
    letters = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    letters = "".join(letter for letter in letters if not unicodedata.combining(letter)).strip("#")
    # A text of punctuation alone, such as #, is itself.
    return letters or text.strip()


@cache
def _file() -> Mapping[str, Any]:
    text = files(__package__).joinpath("terms.toml").read_text(encoding="utf-8")
    content: Mapping[str, Any] = tomllib.loads(text)
    return content


def split(text: str) -> list[str]:
    """Return the words between |."""
    return [word.strip() for word in text.split("|") if word.strip()]


@cache
def _by_language(part: str, table: str) -> Mapping[str, frozenset[str]]:
    words: dict[str, frozenset[str]] = {}
    for language, text in _file()[part][table].items():
        listed = split(text.casefold())
        words[language] = frozenset(map(normal, [*listed, *(word.translate(_UMLAUTS) for word in listed)]))
    return words


@cache
def headings(*tables: str) -> frozenset[str]:
    """Return the words of tables of headings, such as `company_id`."""
    return frozenset().union(
        *(words for table in tables for words in _by_language("headings", table).values())
    )


@cache
def values(*tables: str) -> frozenset[str]:
    """Return the words of tables of values, such as `yes`."""
    return frozenset().union(*(words for table in tables for words in _by_language("values", table).values()))


@cache
def two_meanings() -> frozenset[str]:
    """Return the tables of headings that say several things, so that the cells below decide."""
    return frozenset(_file()["two_meanings"]["tables"].split())


def bare(heading: str) -> str:
    """Return a heading as the file has it, without the number of its column."""
    return re.sub(r"^column \d+$| \(column \d+\)$", "", heading)


def without_brackets(heading: str) -> str:
    """Return a heading without what is in brackets."""
    return _BRACKETS.sub(" ", heading)


@lru_cache(1 << 14)
def forms(heading: str) -> tuple[str, ...]:
    """Return a heading for comparison: whole, without text in brackets, and without its currency.

    Brackets that say "without tax" make it the heading of a net amount, those that say another currency that
    of a foreign amount.
    """
    bare = without_brackets(heading)
    if bare != heading and normal(heading) in headings("foreign_amount"):
        return (normal(heading),)
    if any(are_inside(part, headings("without_tax")) for part in _BRACKETS.findall(heading)):
        return normal(heading), "netamount"
    parts = bare.replace("_", " ").split()
    plain = [word for word in parts if not currencies_of(word)]
    if len(plain) < len(parts) and plain[-1:] and plain[-1] in _BEFORE_A_CURRENCY:
        plain.pop()
    texts = [heading, bare, " ".join(plain)]
    list_name, _, field = heading.rpartition("/")
    if normal(list_name) in headings("lines"):
        texts.append(field)
    if (side := without(bare, "amount")) in headings("debit", "credit"):
        # An amount of one side: Bedrag debet.
        texts.append(side)
    return tuple(dict.fromkeys(normal(text) for text in texts if text.strip()))


def without(heading: str, *tables: str) -> str:
    """Return a heading for comparison without the words of tables, and without what is in brackets."""
    parts = re.findall(r"[^\W\d_]+", without_brackets(heading))
    return "".join(word for part in parts if (word := normal(part)) not in headings(*tables))


def are_inside(heading: str, words: Collection[str]) -> bool:
    """Whether a whole word of a heading is one of these words."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", heading))
    return any(normal(part) in words for part in parts)


@cache
def codes() -> frozenset[str]:
    """Return the codes of currencies."""
    return frozenset([*MINOR_UNITS, *_file()["currencies"]["others"].split()])


@lru_cache(1 << 14)
def currencies_of(text: str) -> tuple[str, ...]:
    """Return the currencies that a code, a sign or a name can be."""
    word = text.strip().strip(".").upper()
    return (word,) if word in codes() else tuple(_file()["currencies"]["signs"].get(word, "").split())


@cache
def _parts() -> re.Pattern[str]:
    """Return what may be a currency inside a heading: a word, a sign, or letters before a sign."""
    signs = "".join(sign for sign in _file()["currencies"]["signs"] if len(sign) == 1 and not sign.isalpha())
    return re.compile(rf"[A-Z]{{1,2}}\$|[^\W\d_]+|[{re.escape(signs)}]")


@lru_cache(1 << 12)
def currencies_in(heading: str) -> tuple[str, ...]:
    """Return what the one currency that a heading names can be, such as EUR of Amount (EUR)."""
    # Two letters are a word of the language, such as "kr" or "Rs", unless they stand before a sign.
    parts = [part for part in _parts().findall(heading) if len(part) != 2 or "$" in part]
    # A word in small letters, such as "all" or "top", is a code at the end alone, and of today: amount_eur.
    is_code = (
        not part.islower() or len(part) > 3 or (part == parts[-1] and part.upper() in MINOR_UNITS)
        for part in parts
    )
    named = {currencies_of(part) for part, may_be in zip(parts, is_code, strict=True) if may_be} - {()}
    return named.pop() if len(named) == 1 else ()


@cache
def months() -> Mapping[str, int]:
    """Return the number of each month by its names."""
    return {
        normal(word): number
        for number, (english, others) in enumerate(_file()["months"].items(), 1)
        for word in (english, *split(others))
    }


@cache
def sides() -> Mapping[str, str]:
    """Return debit or credit by the words for them; an empty cell is neither."""
    by_word = dict.fromkeys(values("debit", "money_out"), "debit")
    by_word |= dict.fromkeys(values("credit", "money_in"), "credit")
    for pair in _file()["pairs"]["letters"]:
        debit, credit = map(normal, pair.split() if " " in pair else pair)
        by_word.setdefault(debit, "debit")
        # D is the debit of every pair but MD and D.
        by_word.setdefault(credit, "debit" if credit == "d" else "credit")
    return by_word | {"+": "credit"}


@cache
def letters() -> Mapping[str, frozenset[str]]:
    """Return the letters beyond ASCII of each language that the dictionary has: they tell encodings apart."""
    by_language: dict[str, set[str]] = {language: {*own} for language, own in _file()["letters"].items()}
    for part in ("headings", "values"):
        for table in _file()[part].values():
            for language, text in table.items():
                by_language.setdefault(language, set()).update(
                    filter(lambda one: ord(one) > 127, text.casefold())
                )
    return {language: frozenset(own) for language, own in by_language.items()}


def languages_of(known: Iterable[str]) -> list[str]:
    """Return the languages that have most of these headings, which are in the form of `normal`."""
    words = frozenset(known)
    counts = Counter(
        language
        for table in _file()["headings"]
        for language, own in _by_language("headings", table).items()
        for _ in own & words
    )
    most = max(counts.values(), default=0)
    return [language for language, count in counts.items() if count == most]


@cache
def report_pattern() -> str:
    """Return a pattern of cells that may begin with a word of a report, also with spaced letters."""
    words = {
        word.replace(" ", "")
        for table in REPORTS
        for text in _file()["values"][table].values()
        for word in split(text.casefold())
    }
    beginnings = sorted({word[:5] for word in words | values(*REPORTS) if len(word) > 1})
    return r"(?i)^[^\pL]*(?:" + "|".join(r"[\s.]?".join(map(re.escape, word)) for word in beginnings) + ")"


@cache
def _report_words() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the words of reports by their first two letters, each with its table."""
    words: dict[str, list[tuple[str, str]]] = {}
    for table in REPORTS:
        for word in values(table):
            if len(word) > 1:
                words.setdefault(word[:2], []).append((word, table))
    return words


# How surely a text is one of a report, by rank.
NO_REPORT, LOOSE, MAYBE, BEGINS, WHOLE = range(5)
_OF_BEGINNINGS = {"balance": BEGINS, "balance_alone": LOOSE}
_LONGEST_REPORT_TEXT = 90


@lru_cache(1 << 18)
def report_rank(text: str) -> int:
    """Return whether a text is a word of a report, begins with one for a balance, or with another one."""
    # One word with figures is an ID, such as BALANCE-123456.
    if len(text) > _LONGEST_REPORT_TEXT or re.fullmatch(r"\S*[^\W\d_]\S*\d\S*", text):
        return NO_REPORT
    plain, rank = normal(text), NO_REPORT
    for word, table in _report_words().get(plain[:2], ()):
        if plain == word or (table != "total" and re.sub(r"\d+", "", plain) == word):
            return WHOLE
        if plain.startswith(word) and _ends_at_a_word(text, word):
            rank = max(rank, _OF_BEGINNINGS.get(table, MAYBE))
    return rank


def _ends_at_a_word(text: str, beginning: str) -> bool:
    joined = ""
    for part in re.findall(r"\w+", text):
        joined += normal(part)
        if len(joined) >= len(beginning):
            return joined == beginning
    return False


TOTALS = values("total")


def is_total(name: str | None, code: str | None = None) -> bool:
    """Whether name and code are a sum's. A name such as Total with a number is a company's account."""
    says_total = normal(name or "") in TOTALS and not any(character.isdigit() for character in code or "")
    return says_total or normal(code or "") in TOTALS
