"""Sentences: both languages are complete, and facts are written as the language writes them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import httpx
import pytest

from bktools import caller
from bktools.wording import LANGUAGES, Words, reader, reason_of, words
from bktools.wording.words import _WRITERS, _parts

ENGLISH, OTHERS = words("en"), [words(language) for language in LANGUAGES[1:]]

# The forms that each check has.
FORMS = {"name", "one", "many", "do", "do_many"}
SECTIONS_OF_CHECKS = {"entry", "account", "ledger", "step"}

EXAMPLES: dict[str, Any] = {
    "money": {"EUR": Decimal("1234.5")},
    "amount": "12.50",
    "number": 1234,
    "day": "2026-10-06",
    "days": "2026-10-06",
    "month": dt.date(2026, 10, 6),
    "moment": "2026-10-06T08:05:00+00:00",
    "list": ["a", "b", "c", "d"],
    "named": [3, 5],
    "values": ["12.50"],
    "each": [],
    "names": [],
    "quoted": "text",
    "if": None,
}


def _fields(texts: Words, key: str):
    text = texts.texts[key]
    for template in [text] if isinstance(text, str) else text.values():
        yield from ((field, kind, argument) for _, field, kind, argument in _parts(template) if field)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.language)
def test_a_language_is_complete(other: Words):
    """Each language has the same sentences, with the same facts and voices in each."""
    assert other.texts.keys() == ENGLISH.texts.keys()
    differing = [key for key in ENGLISH.texts if ENGLISH.facts_of(key) != other.facts_of(key)]
    assert differing == []
    assert [key for key in ENGLISH.texts if type(ENGLISH.texts[key]) is not type(other.texts[key])] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_sentence_can_be_made(language: str):
    """Each fact of each sentence has a known form, and what a form names is there."""
    texts = words(language)
    for key in texts.texts:
        facts: dict[str, Any] = {"currency": "EUR"}
        for field, kind, argument in _fields(texts, key):
            spec = f"{kind} {argument}"
            if kind in {"each", "if"}:
                assert texts.has(argument), f"{key}: {spec}"
            elif kind in {"name", "names"}:
                assert any(name.startswith(f"{argument}.") for name in texts.texts), f"{key}: {spec}"
            else:
                assert kind in _WRITERS or texts.has(f"noun.{kind}.one"), f"{key}: {spec}"
            if kind == "values":
                facts[argument] = ["Hotel"]
            elif kind == "days":
                facts[argument] = "2026-10-31"
            # Two places of a sentence may write one fact in two forms.
            facts.setdefault(
                field, "2026-10-06" if kind == "name" else EXAMPLES.get(kind, 3 if kind else "text")
            )
        assert texts(key, **(dict.fromkeys(texts.facts_of(key), 5) | facts))


def test_each_check_has_all_forms():
    """A check has a name, its fact for one thing and for several, and its step for both."""
    for section in SECTIONS_OF_CHECKS:
        codes = {tuple(key.split("."))[1] for key in ENGLISH.texts if key.startswith(f"{section}.")}
        for code in codes:
            assert {form for form in FORMS if ENGLISH.has(f"{section}.{code}.{form}")} == FORMS, code


def test_facts_are_written_as_the_language_writes_them():
    """Amounts, numbers, days, months and nouns are those of the language."""
    facts = {"usual_of": "category", "usual_entries": 1234, "currency": "EUR"}
    facts |= {"usual_amount": Decimal("1234.5")}
    texts = [words(language)("entry.unusual_amount.one", **facts) for language in ("en", "de")]
    assert "1,234 entries" in texts[0]
    assert "EUR 1,234.50" in texts[0]
    assert "1.234 Einträge" in texts[1]
    assert "EUR 1.234,50" in texts[1]
    assert "Oktober 2026" in words("de")("entry.later_period.one", day=dt.date(2026, 11, 3), period="2026-10")
    assert words("de").money({"EUR": Decimal("1234.5"), "JPY": 1200}) == "EUR 1.234,50, JPY 1.200"
    assert words("en").listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_one_thing_and_several():
    """A noun is in the singular for one thing alone."""
    assert [ENGLISH("entry.not_approved.do_many", count=count) for count in (1, 15)] == [
        "Approve 1 entry in the service",
        "Approve 15 entries in the service",
    ]


def test_a_step_has_the_voice_of_its_reader():
    """A sentence with an option names the argument in Python, and the option where a command runs."""
    in_python = ENGLISH("entry.in_doubt.do")
    with caller.command({}):
        in_a_command = ENGLISH("entry.in_doubt.do")
    assert "resolve_export_job" in in_python
    assert "bktools export resolve" in in_a_command


def test_a_fact_that_is_unknown_adds_nothing():
    """A part of a sentence about an unknown fact is left out."""
    assert ENGLISH("entry.no_account.one", category_name=None) == "The category has no account"
    assert ENGLISH("entry.no_account.one", category_name="Fair\n2") == "The category Fair\\n2 has no account"


def test_a_code_without_words_is_shown_with_spaces():
    """A status that the service adds one day is shown as it is."""
    assert ENGLISH.name("role", "somebody_else") == "somebody else"


def test_a_reason_of_the_system_is_in_the_reader_s_language(monkeypatch: pytest.MonkeyPatch):
    """The words of the first cause that has some stand there; another error keeps its own text."""
    wrapped = httpx.ReadError("[Errno 104] Connection reset by peer")
    wrapped.__cause__ = ConnectionResetError(104, "Connection reset by peer")
    monkeypatch.setattr(reader, "language", "de")
    assert reason_of(wrapped) == "die Verbindung wurde zurückgesetzt"
    assert reason_of(OSError(28, "No space left on device")).startswith("kein Platz mehr;")
    assert reason_of(ValueError("another one")) == "another one"
