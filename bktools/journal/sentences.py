"""Sentences of events, outcomes, accounts and refusals: a code and its facts in the words of a language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bktools.errors import JournalError
from bktools.wording import Sentence, words

# Where the sentence of a code stands.
_SECTIONS = ("request", "account_state", "event")


def sentence_of(code: str, facts: Mapping[str, Any]) -> str:
    """Return the sentence about a code of an event or an outcome, "" for a code without words."""
    texts = words()
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


def line_of(code: str, /, **facts: object) -> Sentence:
    """Return the sentence of a code of the section `journal`; it reads those facts that it names."""
    key = f"journal.{code}"
    return Sentence(key, **{name: facts.get(name) for name in words().facts_of(key)})


def refusal(code: str, /, **facts: object) -> JournalError:
    """Return the error of a code of the section `journal`, with its sentence and the facts that it reads."""
    return JournalError(line_of(code, **facts))
