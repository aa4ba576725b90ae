"""Checks: what they read, the first error of a row, and findings as facts."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import polars as pl

from bktools.findings.check import ERROR, INFO, PREPARER, WARNING, Check, applicable, find, with_first_errors
from bktools.findings.sentences import with_sentences
from bktools.wording import words

c = pl.col
CHECKS = (
    Check("foreign_currency", c.currency != "EUR", INFO, facts=("currency", "own_currency")),
    Check("duplicate", c.is_copy, ERROR, PREPARER, ends=True),
    Check("later_period", c.day > dt.date(2026, 10, 31), ERROR, facts=("day", "period")),
    Check("zero_amount", c.amount == 0),
    Check("no_employee", c.employee_id.is_null(), WARNING),
)
ROWS = pl.DataFrame(
    {
        "currency": ["EUR", "CHF", "CHF", None],
        "is_copy": [False, False, True, None],
        "day": [dt.date(2026, 10, 1), dt.date(2026, 11, 2), dt.date(2026, 11, 2), None],
        "amount": [Decimal("0.00"), Decimal("1.50"), Decimal("0.00"), None],
        "period": "2026-10",
        "own_currency": "EUR",
    }
)


def test_a_check_reads_what_its_expression_and_its_words_name():
    """A check is skipped where a column of its expression or of its facts is missing."""
    assert CHECKS[2].needs == {"day", "period"}
    assert [check.code for check in applicable(CHECKS, ROWS.columns)] == [
        "foreign_currency",
        "duplicate",
        "later_period",
        "zero_amount",
    ]
    assert [check.code for check in applicable(CHECKS, ["is_copy", "day"])] == ["duplicate"]


def test_the_first_error_of_each_row():
    """The reason is the first error; warnings and infos are no reason, and null fails nothing."""
    told = with_first_errors(ROWS, applicable(CHECKS, ROWS.columns))
    assert told["reason"].to_list() == ["zero_amount", "later_period", "duplicate", None]
    assert told["facts"].to_list() == ["{}", '{"day":"2026-11-02","period":"2026-10"}', "{}", None]
    assert with_first_errors(ROWS, [])["reason"].to_list() == [None] * 4


def test_findings_are_facts():
    """Each failing row has a code, severity, role and typed facts; a check that ends hides those below it."""
    found = find(ROWS, applicable(CHECKS, ROWS.columns))
    rows = [(row["row"], row["check"], row["severity"], row["who"]) for row in found.to_dicts()]
    assert rows == [
        (1, "foreign_currency", "info", "service"),
        (2, "foreign_currency", "info", "service"),
        (2, "duplicate", "error", "preparer"),
        (1, "later_period", "error", "service"),
        (0, "zero_amount", "error", "service"),
    ]
    assert [json.loads(facts) for facts in found["facts"]][1:] == [
        {"currency": "CHF", "own_currency": "EUR"},
        {},
        {"day": "2026-11-02", "period": "2026-10"},
        {},
    ]


def test_sentences_come_from_codes_and_facts():
    """Each finding is worded in the reader's language, in the order of the findings."""
    found = find(ROWS, applicable(CHECKS, ROWS.columns))
    for language, step in (("en", "Correct the amount"), ("de", "Den Betrag")):
        told = with_sentences(found, words(language), "entry", message="one", to_do="do")
        assert told["row"].to_list() == found["row"].to_list()
        assert told["to_do"][4].startswith(step)
        assert "CHF" in told["message"][0]
