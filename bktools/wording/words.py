"""`Words`: makes the sentences of one language from codes and facts. It is the one function that makes them.

`en.toml` and `de.toml` hold the sentences by section and code, with the facts in braces. What stands behind
the colon says how a fact is written:

========================  ==================================================================================
`{name}`                  text as it is
`{name:short}`            its beginning where it is long
`{value:quoted}`          text in quotation marks; the text `part.nothing` where it is null
`{amount:money}`          an amount with its currency, which is the fact `currency`; or amounts by currency
`{amount:amount}`         the same without the currency
`{count:number}`          a number
`{count:entry}`           a number with a noun of the section `noun`
`{share:percent}`         a change in percent, with its sign
`{date:day}`              a day; also `month` and `moment`
`{count:noun currency}`   the noun alone, for one thing or for several
`{lines:list}`            the first of a list, and how many more there are
`{lines:named line N}`    the same behind a noun of the section `noun`; the fact N counts all of them
`{after:values with}`     a list of values of the fact `field`, in the currency of the fact `currency`, and
                          beside each what the list in the fact `with` has, if it is given
`{code:name SECTION}`     the name of a code of a section
`{codes:names SECTION}`   the names of several
`{items:each KEY}`        a text for each item of a list, which holds the facts of the text KEY
`{fact:if KEY}`           the text KEY with the same facts where the fact is known, nothing where it is null
========================  ==================================================================================

A text may have two voices: `{ python = "…", command = "…" }`.
"""

from __future__ import annotations

import datetime as dt
import functools
import os
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Any, Self

from bktools import caller
from bktools.visible import one_line, visible_line
from bktools.wording import numbers

LANGUAGES = tuple(numbers.NUMBER_STYLES)
LANGUAGE_VARIABLE = "BKTOOLS_LANGUAGE"

# The things that a list in a sentence names; the others are counted.
LISTED = 3
# What stands for the currency of an amount without one.
NO_CURRENCY = "no currency"
# The most characters of a text that is shown as its beginning.
SHOWN = 60

# A part of a sentence: a literal text, then a fact, how it is written and with what; None where no fact
# follows.
Part = tuple[str, str | None, str, str]


@dataclass(frozen=True)
class Words:
    """The sentences of a language.

    Parameters
    ----------
    language : str
        One of LANGUAGES.
    texts : mapping
        The sentences by "section.code.form".

    Examples
    --------
    >>> words("en")("entry.too_many_decimals.one", currency="JPY", units=0)
    'The amount has more decimals than JPY, which has 0'
    """

    language: str
    texts: Mapping[str, str | Mapping[str, str]]

    def __call__(self, key: str, /, **facts: Any) -> str:
        """Return the sentence of a key with its facts; a fact that the sentence names must be given."""
        return self._filled(self._template(key), facts)

    def has(self, key: str) -> bool:
        """Whether there is a sentence of this key."""
        return key in self.texts

    def name(self, section: str, code: str) -> str:
        """Return the name of a code; an unknown one, which a service may send, is shown with spaces."""
        key = f"{section}.{code.lower()}.name"
        return self(key) if key in self.texts else code.replace("_", " ")

    def facts_of(self, key: str) -> frozenset[str]:
        """Return the names of the facts that a sentence reads."""
        read: set[str] = set()
        text = self.texts[key]
        for template in [text] if isinstance(text, str) else text.values():
            for _, field, kind, argument in _parts(template):
                read |= {field} if field else set()
                read |= {"currency"} if kind == "amount" else set()
                read |= {argument.partition(" ")[2]} - {""} if kind == "named" else set()
                read |= {"field", "currency", argument} if kind == "values" else set()
                read |= {argument} if kind == "days" else set()
                read |= self.facts_of(argument) - {"value"} if kind == "if" else set()
        return frozenset(read)

    def money(self, amounts: Mapping[str, Any]) -> str:
        """Return amounts by currency, such as "EUR 1,234.50, JPY 1,200"."""
        parts = (f"{self.currency(name)} {self.amount(amount, name)}" for name, amount in amounts.items())
        return ", ".join(part.strip() for part in parts)

    def currency(self, name: str) -> str:
        """Return a currency as people read it: its code, or that there is none."""
        return self("missing.currency") if name == NO_CURRENCY else name

    def amount(self, amount: Any, currency: str | None) -> str:
        """Return an amount without its currency."""
        return numbers.shown(amount, currency, self.language)

    def entry(self, day: dt.date | str | None, party: str | None, amount: Any, currency: str | None) -> str:
        """Return an entry in a few words: its day, its supplier or text, and its amount, as far as known."""
        money = "" if amount is None else self.money({currency or "": amount})
        text = " ".join(visible_line(party or "").split())
        return ", ".join(filter(None, (self.day(day) if day else "", text, money)))

    def day(self, value: dt.date | str) -> str:
        """Return a day."""
        return numbers.day(value, self.language)

    def counted(self, count: int, noun: str) -> str:
        """Return a number with a noun of the section `noun`."""
        return f"{numbers.number(count, self.language)} {self.noun(noun, count)}"

    def noun(self, noun: str, count: int) -> str:
        """Return a noun of the section `noun`, for one thing or for several."""
        return self(f"noun.{noun}.{'one' if count == 1 else 'many'}")

    def listed(self, things: Sequence[Any], *, most: int = LISTED, of: int | None = None) -> str:
        """Return the first things of a list, and how many more there are, `of` as many in all.

        Between things that have commas are semicolons.
        The last of one too many is named: a count of it would take as much room.
        """
        count = len(things) if of is None else of
        most += count == most + 1 == len(things)
        shown = [*map(str, things[:most])]
        first = ("; " if any(", " in thing for thing in shown) else ", ").join(shown)
        more = count - most
        return self("list.more", first=first, more=more) if more > 0 else first

    def _template(self, key: str) -> str:
        text = self.texts[key]
        return text if isinstance(text, str) else text["command" if caller.is_command() else "python"]

    def _filled(self, template: str, facts: Mapping[str, Any]) -> str:
        return "".join(
            [
                literal + self._written(facts[field], kind, argument, facts) if field else literal
                for literal, field, kind, argument in _parts(template)
            ]
        )

    def _written(self, value: Any, kind: str, argument: str, facts: Mapping[str, Any]) -> str:
        if value is None:
            return self("part.nothing") if kind == "quoted" else ""
        if kind == "if":
            return self(argument, **{**facts, "value": value})
        return _WRITERS.get(kind, _counted)(self, value, argument or kind, facts)


def _counted(words: Words, value: Any, noun: str, _: Mapping[str, Any]) -> str:
    return words.counted(int(value), noun)


def _money(words: Words, value: Any, _: str, facts: Mapping[str, Any]) -> str:
    amounts = value if isinstance(value, Mapping) else {facts["currency"] or "": value}
    return words.money(amounts)


def _named(words: Words, value: Any, argument: str, facts: Mapping[str, Any]) -> str:
    noun, _, counted = argument.partition(" ")
    count = facts[counted] if counted else len(value)
    return f"{words.noun(noun, count)} {words.listed(value, of=count)}"


def _values(words: Words, value: Any, beside: str, facts: Mapping[str, Any]) -> str:
    def amount(text: str) -> str:
        return words.amount(text, facts["currency"])

    written = {"amount": amount, "lines": amount, "date": words.day}.get(facts["field"], str)
    named = facts.get(beside) or [""] * len(value)
    shown = (f"{written(item)} {name}".strip() for item, name in zip(value, named, strict=True))
    return " + ".join(map(visible_line, shown)) or words("part.nothing")


def _days(words: Words, value: Any, last: str, facts: Mapping[str, Any]) -> str:
    if facts[last] == value:
        return words.day(value)
    return words("list.days", first=value, last=facts[last])


def _each(words: Words, value: Any, key: str, _: Mapping[str, Any]) -> str:
    return words.listed([words(key, **item) for item in value], most=len(value))


_WRITERS: Mapping[str, Callable[[Words, Any, str, Mapping[str, Any]], str]] = {
    # No name breaks a line or turns the direction of a text.
    "": lambda _, value, __, ___: visible_line(str(value)),
    "money": _money,
    "amount": lambda words, value, _, facts: words.amount(value, facts["currency"]),
    "number": lambda words, value, _, __: numbers.number(value, words.language),
    "percent": lambda words, value, _, __: numbers.percent(Decimal(str(value)), words.language),
    "days": _days,
    "day": lambda words, value, _, __: numbers.day(value, words.language),
    "month": lambda words, value, _, __: numbers.month(value, words.language),
    "moment": lambda words, value, _, __: numbers.moment(value, words.language),
    "list": lambda words, value, _, __: words.listed([visible_line(str(item)) for item in value]),
    "named": _named,
    "values": _values,
    "name": lambda words, value, section, _: words.name(section, value),
    "noun": lambda words, value, noun, _: words.noun(noun, value),
    "names": lambda words, value, section, _: ", ".join(words.name(section, code) for code in value),
    "quoted": lambda words, value, _, __: numbers.quoted(visible_line(str(value)), words.language),
    "short": lambda _, value, __, ___: one_line(str(value), SHOWN),
    "each": _each,
}


class Sentence(str):  # noqa: SLOT000 - it is made for errors alone, and has attributes
    """A sentence in the reader's language that keeps what it was made from, for errors.

    Attributes
    ----------
    code : str
        The last part of its key, such as "no_rate".
    facts : mapping
        The facts that it names.

    Examples
    --------
    >>> sentence = Sentence("error.no_rate", currency="USD", day="2026-10-31")
    >>> sentence.code, sentence.facts["currency"]
    ('no_rate', 'USD')
    """

    code: str
    facts: Mapping[str, Any]

    def __new__(cls, key: str, /, **facts: Any) -> Self:
        """Return the sentence of a key with its facts."""
        made = super().__new__(cls, words()(key, **facts))
        made.code, made.facts = key.rpartition(".")[2], facts
        return made


@dataclass
class Reader:
    """Who reads the sentences. A command and `connect` set the language once, where they begin."""

    language: str | None = None


reader = Reader()


def words(language: str | None = None) -> Words:
    """Return the sentences of a language, by default the reader's; before that is set, BKTOOLS_LANGUAGE."""
    language = language or reader.language or os.environ.get(LANGUAGE_VARIABLE, "").strip().lower()
    return _sentences(language if language in LANGUAGES else LANGUAGES[0])


@functools.cache
def _sentences(language: str) -> Words:
    """Return the sentences of a language; its file is read once."""
    tables = tomllib.loads((files("bktools.wording") / f"{language}.toml").read_text(encoding="utf-8"))
    return Words(language, dict(_flat(tables)))


@functools.cache
def _parts(template: str) -> tuple[Part, ...]:
    parts = []
    for literal, field, spec, _ in string.Formatter().parse(template):
        kind, _, argument = (spec or "").partition(" ")
        parts.append((literal, field, kind, argument))
    return tuple(parts)


def _flat(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str | Mapping[str, str]]]:
    for name, value in tables.items():
        key = f"{prefix}{name}"
        if isinstance(value, str) or value.keys() == {"python", "command"}:
            yield key, value
        else:
            yield from _flat(value, f"{key}.")
