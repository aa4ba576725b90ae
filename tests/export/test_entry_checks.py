"""Why an entry is not ready: each reason, and which one is told first."""

from __future__ import annotations

import json
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hand_made import ACCOUNT, CATEGORY, COMPANY, OTHER, USUAL, entry_id, named, world_of
from world_files import lines_of, pairs, written

from bktools import compose_export_jobs
from bktools.export.checks import CHECKS
from bktools.findings.check import ROLES


def categories(**changes) -> pd.DataFrame:
    return pd.DataFrame([USUAL["categories"] | changes])


def accounts(**changes) -> pd.DataFrame:
    return pd.DataFrame([USUAL["accounts"] | changes])


def coded(entries, **columns) -> pd.DataFrame:
    return entries(1, category_id=[CATEGORY], **columns)


CASES = lines_of("export/checks.csv")
SEVERITIES = {check.code: check.severity for check in CHECKS}


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['check']} {case['entries']} {case['beside']}"
)
def test_each_check_finds_its_facts(case):
    """A finding has line and facts; an error alone holds its entry back, and its message is fact and step."""
    entries, beside = world_of(case)
    plan = compose_export_jobs(entries, **beside)
    severe = plan.findings[plan.findings["severity"] == "error"]
    is_error = SEVERITIES.get(case["check"]) == "error"
    assert severe["check"].to_list() == plan.not_ready["reason"].to_list() == [case["check"]] * is_error
    assert plan.not_ready["message"].to_list() == [
        f"{row.message}. {row.to_do}." for row in severe.itertuples()
    ]
    assert len(plan.entries) == len(entries) - is_error
    if case["check"]:
        found = plan.findings[plan.findings["check"] == case["check"]].iloc[0]
        assert (str(found["line"]), found["severity"]) == (case["line"], SEVERITIES[case["check"]])
        assert written(json.loads(found["facts"])) == named(pairs(case["facts"]))


def test_every_check_has_a_case():
    """No check is without a case; errors come first, then warnings, then infos; each names who acts."""
    of_several = {"duplicate", "conflicting", "other_line_not_ready", "sent_under_another_id"}
    of_books = {"exported_elsewhere", "already_booked", "maybe_booked"}
    assert {*SEVERITIES} == {case["check"] for case in CASES if case["check"]} | of_several | of_books
    ranks = [("error", "warning", "info").index(check.severity) for check in CHECKS]
    assert ranks == sorted(ranks)
    assert {check.who for check in CHECKS} == set(ROLES)


# The suppliers and the amounts of entries of one category, and the level, median and number that are usual.
UNUSUAL = {
    "ten times a supplier's median is usual": (["A"] * 6, [20, 20, 20, 20, 20, 200], None),
    "more is not": (["A"] * 6, [20, 20, 20, 20, 20, 200.01], ("supplier", 20.0, 6)),
    "a credit of this size, too": (["A"] * 6, [20, 20, 20, 20, 20, -201], ("supplier", 20.0, 6)),
    "a small amount is usual": (["A"] * 6, [20, 20, 20, 20, 20, 0.01], None),
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
    "without suppliers the category counts": ([None] * 6, [9, 9, 9, 9, 9, 99], ("category", 9.0, 6)),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_unusual_amount_is_more_than_ten_times_the_median(entries, name):
    """Of its supplier, else of its category, with at least five entries."""
    suppliers, amounts, usual = UNUSUAL[name]
    columns = {
        "category_id": [CATEGORY] * len(amounts),
        "amount": [Decimal(str(amount)) for amount in amounts],
        "supplier": suppliers,
        "description": [str(number) for number in range(len(amounts))],
    }
    plan = compose_export_jobs(entries(len(amounts), **columns))
    unusual = plan.findings[plan.findings["check"] == "unusual_amount"]
    facts = [json.loads(text) for text in unusual["facts"]]
    assert unusual["line"].tolist() == ([len(amounts)] if usual else [])
    assert [(each["usual_of"], each["usual_amount"], each["usual_entries"]) for each in facts] == (
        [usual] if usual else []
    )


def test_an_amount_is_compared_within_its_currency(entries):
    """A thousand yen is no large amount among euros."""
    plan = compose_export_jobs(
        entries(
            6, supplier=["A"] * 6, currency=["EUR"] * 5 + ["JPY"], amount=[*[Decimal(9)] * 5, Decimal(1000)]
        )
    )
    assert "unusual_amount" not in plan.findings["check"].tolist()


@pytest.mark.parametrize(
    ("changes", "known_since", "none_imported"),
    [
        ({"state": "CREATED", "updated_at": pd.Timestamp("2026-10-30T00:00Z")}, None, True),
        ({"state": "IMPORTED", "updated_at": pd.Timestamp("2026-09-30T23:00Z")}, "2026-09-30", None),
        ({}, None, None),
    ],
)
def test_an_unknown_account_ages_with_the_list(entries, changes, known_since, none_imported):
    """Bktools never says that the service has no such account: it says what it knows, and of when."""
    given = {"categories": categories(), "accounts": accounts(id=OTHER, **changes)}
    [told] = map(json.loads, compose_export_jobs(coded(entries), **given).not_ready["facts"])
    assert (told["known_since"], told["none_imported"]) == (known_since, none_imported)


def test_all_errors_of_an_entry_are_found(entries):
    """The reason is the first error, findings have all; of an entry that needs nothing no more is said."""
    plan = compose_export_jobs(
        entries(1, approved=[False], amount=[None], category_id=[None], employee_id=[None])
    )
    assert plan.not_ready["reason"].to_list() == ["not_approved"]
    assert plan.findings["check"].to_list() == ["not_approved", "no_amount", "no_category", "no_employee"]
    again = compose_export_jobs(
        entries(1, approved=[False], amount=[None]),
        history=pd.DataFrame({"entry_id": [entry_id(0)], "state": ["ACCEPTED"]}),
    )
    assert again.findings["check"].to_list() == ["exported"]
    twice = pd.concat([entries(1, employee_id=[None]), entries(1, employee_id=[None])], ignore_index=True)
    assert compose_export_jobs(twice).findings[["check", "line"]].to_numpy().tolist() == [
        ["duplicate", 2],
        ["no_employee", 1],
    ]


def test_what_a_finding_is_about_is_named(entries):
    """Date, supplier or text, and amount in its currency's decimals; the line where an entry has none."""
    frame = entries(
        5,
        date=pd.to_datetime(["2026-10-03", "2026-10-03", None, "2026-10-03", None]),
        supplier=["SJ\r\nAB", None, "\u202eevil", "", None],
        description=["ignored", "Lunch", "x", " ", None],
        amount=pd.array(
            [Decimal("-1234567.50"), Decimal(1200), None, Decimal("12.345"), None],
            pd.ArrowDtype(pa.decimal128(20, 3)),
        ),
        currency=["EUR", "JPY", "EUR", "KWD", None],
        approved=[False] * 5,
    )
    found = compose_export_jobs(frame).findings
    assert found[found["check"] == "not_approved"].sort_values("line")["about"].to_list() == [
        "2026-10-03, SJ\\r\\nAB, EUR \N{MINUS SIGN}1,234,567.50",
        "2026-10-03, Lunch, JPY 1,200",
        "\\u202eevil",
        "2026-10-03, KWD 12.345",
        "line 5",
    ]
    assert list(found.columns[:6]) == ["check", "severity", "about", "message", "to_do", "who"]
    assert list(found.columns[-4:]) == ["line", "id", "company_id", "facts"]


def test_ids_in_capitals_are_the_same_ids(entries):
    """The same UUID in capitals is the same entry, beside itself, in the journal, and where it is known."""
    shouted = entries(2).assign(id=[entry_id(0).upper(), entry_id(1).upper()], company_id=COMPANY.upper())
    plan = compose_export_jobs(pd.concat([entries(1), shouted], ignore_index=True))
    assert plan.entries["id"].to_list() == [entry_id(0), entry_id(1)]
    assert plan.not_ready["reason"].to_list() == ["duplicate"]
    assert set(plan.entries["company_id"]) == {COMPANY}
    history = pd.DataFrame({"entry_id": [entry_id(0), entry_id(1)], "state": ["ACCEPTED", "SENDING"]})
    plan = compose_export_jobs(shouted, history=history)
    assert plan.not_ready["reason"].to_list() == ["exported", "in_doubt"]
    coded_in_capitals = coded(entries, employee_id=[OTHER.upper()]).assign(category_id=CATEGORY.upper())
    plan = compose_export_jobs(
        coded_in_capitals,
        categories=categories(account_id=ACCOUNT.upper(), company_id=COMPANY.upper()),
        accounts=accounts(),
        employees=pd.DataFrame({"id": [OTHER]}),
    )
    assert plan.not_ready.empty
