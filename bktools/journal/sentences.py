"""Sentences of events, outcomes, accounts and refusals: a code and its facts in the words of a language."""

from __future__ import annotations

from bktools.errors import JournalError
from bktools.journal.records import Facts
from bktools.wording import words

# Where the sentence of a code stands.
_SECTIONS = ("request", "account_state", "event")


def sentence_of(code: str, facts: Facts, language: str = "en") -> str:
    """Return the sentence about a code of an event or an outcome, "" for a code without words."""
    texts = words(language)
    for section in _SECTIONS:
        if texts.has(key := f"{section}.{code}"):
            ledger = facts.get("ledger")
            known = {
                "count": len(facts.get("entries", ())),
                "ledger_name": ledger.get("name") if isinstance(ledger, dict) else None,
                **facts,
            }
            return texts(key, **{name: known.get(name) for name in texts.facts_of(key)})
    return ""


def refusal(code: str, **facts: object) -> JournalError:
    """Return the error for a condition of `right_journal`, with its sentence, code and facts."""
    texts = words()
    key = f"journal.{code}"
    error = JournalError(texts(key, **{name: facts.get(name) for name in texts.facts_of(key)}))
    error.code, error.facts = code, facts
    return error
