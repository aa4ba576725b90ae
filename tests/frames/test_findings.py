"""Findings by check: one sentence for one thing, another for several, from codes and facts."""

from __future__ import annotations

import json

import pandas as pd

from bktools.frames.findings import by_check
from bktools.wording import words

EVIL = "<b>\x1b[31m"


def _findings(*rows: tuple[str, str, dict[str, object], str]) -> pd.DataFrame:
    """Return findings of severity, check, facts and the name of their thing."""
    frame = pd.DataFrame(rows, columns=["severity", "check", "facts", "about"])
    return frame.assign(facts=[json.dumps(facts) for facts in frame["facts"]])


def test_one_and_several_have_their_own_sentence():
    """One finding is worded with its facts; several are counted, and the first are named."""
    findings = _findings(
        *(("error", "no_date", {}, f"Invoice {number}") for number in range(5)),
        ("warning", "no_employee", {}, "Taxi"),
    )
    several, one = by_check(findings, words("en"), "entry")
    text = words("en")
    assert several[:3] == ("error", 5, "no date")
    assert several[3].startswith(text("entry.no_date.many"))
    assert "Invoice 0" in several[3]
    assert "Invoice 3" not in several[3]
    assert one == ("warning", 1, "no employee", f"{text('entry.no_employee.one')}: Taxi")


def test_findings_that_read_differently_are_apart():
    """A sentence that names a currency is told for each currency, with its own count."""
    facts = [{"currency": name, "own_currency": "EUR"} for name in ("USD", "CHF", "USD")]
    findings = _findings(*(("info", "foreign_currency", each, "") for each in facts))
    counts = [
        (count, "USD" in sentence) for _, count, _, sentence in by_check(findings, words("en"), "entry")
    ]
    assert counts == [(2, True), (1, False)]
