"""Why an entry is not ready, and what a person looks at: a line of `worlds/export/checks.csv` a promise.

A line has the reasons of its entries, the entries, what stands beside them, and line and facts of the first
finding.
"""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hand_made import CATEGORY, OTHER, USUAL, entries_of, entry_id, named, world_of
from world_files import lines_of, pairs, written

from bktools import compose_export_jobs
from bktools.export.checks import CHECKS
from bktools.findings.check import ROLES

CASES = lines_of("export/checks.csv")
SEVERITIES = {check.code: check.severity for check in CHECKS}


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['check']} {case['entries']} {case['beside']}"
)
def test_each_check_finds_its_facts(case):
    """A finding has line and facts; an error alone holds its entry back, and its message is fact and step."""
    entries, beside = world_of(case)
    plan = compose_export_jobs(entries, **beside)
    checks = case["check"].split()
    reasons = [check for check in checks if SEVERITIES[check] == "error"]
    severe = plan.findings[plan.findings["severity"] == "error"]
    assert sorted(severe["check"]) == sorted(reasons)
    # Of several errors of one entry, the first one is its reason.
    held = reasons[: len(entries)]
    assert sorted(plan.not_ready["reason"]) == sorted(held)
    sentences = {row.check: f"{row.message}. {row.to_do}." for row in severe.itertuples()}
    assert plan.not_ready["message"].to_list() == [*map(sentences.get, plan.not_ready["reason"])]
    assert len(plan.entries) == len(entries) - len(held)
    if checks:
        first = plan.findings[plan.findings["check"] == checks[0]].iloc[0]
        assert (str(first["line"]), first["severity"]) == (case["line"], SEVERITIES[checks[0]])
        assert written(json.loads(first["facts"])) == named(pairs(case["facts"]))


def test_every_check_has_a_case():
    """No check is without a case; errors come first, then warnings, then infos; each names who acts."""
    of_ledgers_and_histories = {"already_booked", "maybe_booked", "sent_under_another_id"}
    assert {*SEVERITIES} == {check for case in CASES for check in case["check"].split()} | (
        of_ledgers_and_histories
    )
    ranks = [("error", "warning", "info").index(check.severity) for check in CHECKS]
    assert ranks == sorted(ranks)
    assert {check.who for check in CHECKS} == set(ROLES)


# The suppliers and the amounts of entries of one category, and the level, median and number that are usual.
UNUSUAL = {
    "ten times a supplier's median is usual": (["A"] * 6, [20, 20, 20, 20, 20, 200], None),
    "more is not": (["A"] * 6, [20, 20, 20, 20, 20, 200.01], ("supplier", 20.0, 6)),
    "a credit of this size, too": (["A"] * 6, [20, 20, 20, 20, 20, -201], ("supplier", 20.0, 6)),
    "spellings of a supplier are one": (
        ["A", "a ", "A", "a", " A"],
        [20, 20, 20, 20, 201],
        ("supplier", 20.0, 5),
    ),
    "the category counts where a supplier has four": (
        ["B", "A", "A", "A", "A"],
        [7] * 4 + [71],
        ("category", 7.0, 5),
    ),
    "the supplier counts before the category": (["B"] * 5 + ["A"] * 5, [7] * 5 + [100] * 4 + [900], None),
    "four entries show nothing": (["A"] * 4, [20, 20, 20, 2000], None),
    "a split entry is the sum of its lines": (["A"] * 5, [20, 20, 20, 20, [1, 200]], ("supplier", 20.0, 5)),
    "its lines are not several entries": (["A"] * 5, [[1, 19]] * 4 + [[100, 100]], None),
    "nor are four entries more by them": (["A"] * 4, [20, 20, [1, 19], 2000], None),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_amount_is_more_than_ten_times_the_median(name):
    """Of its supplier, else of its category, with at least five entries."""
    suppliers, amounts, usual = UNUSUAL[name]
    lines = [amount if isinstance(amount, list) else [amount] for amount in amounts]
    entries = entries_of(
        len(amounts),
        category_id=CATEGORY,
        amount=lines,
        supplier=suppliers,
        split_line=[[*range(1, len(parts) + 1)] if len(parts) > 1 else [0] for parts in lines],
    )
    entries = entries.explode(["amount", "split_line"], ignore_index=True)
    entries = entries.assign(
        amount=[Decimal(str(amount)) for amount in entries["amount"]],
        split_line=entries["split_line"].astype("int64"),
        description=[str(number) for number in range(len(entries))],
    )
    findings = compose_export_jobs(entries).findings
    unusual = findings[findings["check"] == "unusual_amount"]
    facts = [json.loads(text) for text in unusual["facts"]]
    shown = [(each["usual_of"], each["usual_amount"], each["usual_entries"]) for each in facts]
    first_of_last = len(entries) - len(lines[-1]) + 1
    assert (shown, unusual["line"].tolist()) == (([usual], [first_of_last]) if usual else ([], []))


@pytest.mark.parametrize(
    ("day", "amount", "warned"), [("2026-09-30", 900, 0), ("2026-10-01", 900, 1), ("2026-09-30", 901, 1)]
)
def test_an_amount_that_the_supplier_had_in_an_earlier_month_is_usual(day, amount, warned):
    """A bill that comes each month or year is no warning, however many small ones stand beside it."""
    entries = entries_of(
        6, supplier="A", amount=[Decimal(20)] * 5 + [Decimal(900)], date=pd.Timestamp("2026-10-30")
    )
    history = pd.DataFrame(
        {"entry_id": [OTHER], "state": ["ACCEPTED"], "supplier": ["a "], "currency": ["EUR"]}
    )
    history = history.assign(
        company_id=entries["company_id"][0], date=pd.Timestamp(day), amount=float(amount)
    )
    findings = compose_export_jobs(entries, history=history).findings
    assert (findings["check"] == "unusual_amount").sum() == warned


def test_an_id_of_another_system_is_shown_as_the_file_has_it():
    """A UUID is in lower case, as it is sent; another ID is found by a search for what a person sees."""
    plan = compose_export_jobs(entries_of(2, id=[entry_id(10).upper(), "TMP-10-17"]))
    assert (plan.entries["id"].to_list(), plan.not_ready["id"].to_list()) == ([entry_id(10)], ["TMP-10-17"])


def test_an_entry_is_named_for_a_person():
    """Date, supplier or text, and amount in its currency's decimals; the line where an entry has none."""
    entries = entries_of(
        4,
        date=pd.to_datetime(["2026-10-03", "2026-10-03", None, None]),
        supplier=["SJ\r\nAB", None, "\u202eevil", None],
        description=["ignored", "Lunch", "x", None],
        amount=pd.array(
            [Decimal("-1234567.50"), Decimal(1200), None, None], pd.ArrowDtype(pa.decimal128(20, 3))
        ),
        currency=["EUR", "JPY", "EUR", None],
        approved=False,
    )
    findings = compose_export_jobs(entries).findings
    assert findings[findings["check"] == "not_approved"].sort_values("line")["about"].to_list() == [
        "2026-10-03, SJ\\r\\nAB, EUR \N{MINUS SIGN}1,234,567.50",
        "2026-10-03, Lunch, JPY 1,200",
        "\\u202eevil",
        "line 4",
    ]


@pytest.mark.parametrize(
    ("columns", "given", "expected"),
    [
        ({}, "", "approval categories employees party history"),
        ({"approved": True}, "categories", "accounts employees party history"),
        ({"approved": True}, "accounts", "categories employees party history"),
        ({"approved": True}, "categories accounts employees", "no_employee_id party history"),
        ({"employee_id": OTHER}, "employees history", "approval categories"),
    ],
)
def test_what_was_not_checked_is_named(columns, given, expected):
    """What could not be checked is named, each thing once, and nothing else is."""
    frames = {name: pd.DataFrame([USUAL[name]]) for name in given.split()}
    plan = compose_export_jobs(entries_of(1, id=entry_id(9), category_id=CATEGORY, **columns), **frames)
    assert " ".join(plan.unchecked) == expected
    assert repr(plan).count("not checked: ") == len(plan.unchecked)


def test_of_equal_entries_the_first_line_of_the_file_is_exported():
    """Which copy is the first goes by the lines of the file, also where a frame was sorted otherwise."""
    entry = entries_of(1)
    plan = compose_export_jobs(pd.concat([entry.assign(line=9), entry.assign(line=4)], ignore_index=True))
    assert (plan.entries["line"].to_list(), plan.not_ready["line"].to_list()) == ([4], [9])
