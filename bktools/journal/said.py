"""The sentence about an event, an outcome or an account: its code and facts in words of `bktools.wording`."""

from __future__ import annotations

from bktools.journal.records import Facts
from bktools.wording import words

# Where the sentence of a code stands.
_SECTIONS = ("request", "account_state", "event")


def said(code: str, facts: Facts, language: str = "en") -> str:
    """Return the sentence about a code and its facts.

    What version 0 wrote stays as it is, and a code without words gives "".
    """
    if "message" in facts:
        return str(facts["message"])
    texts = words(language)
    for section in _SECTIONS:
        if texts.has(key := f"{section}.{code}"):
            facts = {
                "count": len(facts.get("entries", ())),
                "ledger_name": facts.get("ledger", {}).get("name"),
                **facts,
            }
            return texts(key, **{name: facts.get(name) for name in texts.facts_of(key)})
    return ""
