"""Why an entry is not ready: each reason, and which one is told first."""

from __future__ import annotations

import pandas as pd
import pytest
from hand_made import COMPANY, entry_id

from bktools import compose_export_jobs
from bktools.export import readiness
from bktools.export.readiness import REASONS, Reason

OTHER = "00000000-0000-4000-8000-00000000000f"
CATEGORY = "00000000-0000-4000-8000-0000000000c1"
ACCOUNT = "00000000-0000-4000-8000-0000000000a1"


def categories(**changes) -> pd.DataFrame:
    row = {"id": CATEGORY, "company_id": COMPANY, "archived": False, "account_id": ACCOUNT} | changes
    return pd.DataFrame([row])


def accounts(**changes) -> pd.DataFrame:
    return pd.DataFrame([{"id": ACCOUNT, "archived": False} | changes])


def coded(entries, **columns) -> pd.DataFrame:
    return entries(1, category_id=[CATEGORY], **columns)


CASES = {
    "no_service_id": lambda entries: (entries(1, id=pd.array([None], dtype="str")), {}),
    "not_a_uuid": lambda entries: (entries(1, id=["7"]), {}),
    "no_company": lambda entries: (entries(1, company_id=["7"]), {}),
    "other_company": lambda entries: (entries(1), {"company": OTHER}),
    "exported": lambda entries: (
        entries(1),
        {"history": pd.DataFrame({"entry_id": [entry_id(0)], "state": ["ACCEPTED"]})},
    ),
    "in_doubt": lambda entries: (
        entries(1),
        {"history": pd.DataFrame({"entry_id": [entry_id(0)], "state": ["UNKNOWN"]})},
    ),
    "not_approved": lambda entries: (entries(1, approved=[False]), {}),
    "no_category": lambda entries: (entries(1, category_id=[None]), {"categories": categories()}),
    "unknown_category": lambda entries: (coded(entries), {"categories": categories(id=OTHER)}),
    "category_of_other_company": lambda entries: (coded(entries), {"categories": categories(company_id=OTHER)}),
    "archived_category": lambda entries: (coded(entries), {"categories": categories(archived=True)}),
    "no_account": lambda entries: (coded(entries), {"categories": categories(account_id=None)}),
    "unknown_account": lambda entries: (
        coded(entries),
        {"categories": categories(), "accounts": accounts(id=OTHER)},
    ),
    "archived_account": lambda entries: (
        coded(entries),
        {"categories": categories(), "accounts": accounts(archived=True)},
    ),
    "unknown_employee": lambda entries: (
        entries(1, employee_id=[OTHER]),
        {"employees": pd.DataFrame({"id": [ACCOUNT]})},
    ),
}


@pytest.mark.parametrize("reason", CASES)
def test_each_reason_is_told(entries, reason):
    """An entry that is not ready for one reason is told this reason, and is in no batch."""
    frame, options = CASES[reason](entries)
    plan = compose_export_jobs(frame, **options)
    assert plan.not_ready["reason"].to_list() == [reason]
    assert plan.not_ready["message"].str.len().gt(10).all()
    assert plan.entries.empty
    assert plan.batches.empty


def test_every_reason_has_a_case():
    """No reason is without a test."""
    assert {reason.name for reason in REASONS} == {*CASES, "duplicate", "conflicting"}


def test_a_coded_entry_of_everything_known_is_ready(entries):
    """What passes every check is in a batch."""
    employees = pd.DataFrame({"id": [OTHER]})
    history = pd.DataFrame({"entry_id": [entry_id(0)] * 2, "state": ["RELEASED", "REJECTED"]})
    plan = compose_export_jobs(
        coded(entries, employee_id=[OTHER], approved=[True]),
        categories=categories(),
        accounts=accounts(),
        employees=employees,
        history=history,
        company=COMPANY,
    )
    assert plan.entries["id"].to_list() == [entry_id(0)]
    assert plan.not_ready.empty
    assert plan.unchecked == ()


def test_the_same_entry_twice_is_exported_once(entries):
    """A line that repeats an earlier one to the letter is a duplicate; the first one is exported."""
    frame = pd.concat([entries(2), entries(1)], ignore_index=True)
    plan = compose_export_jobs(frame)
    assert plan.entries["id"].to_list() == [entry_id(0), entry_id(1)]
    assert plan.not_ready[["reason", "line"]].to_numpy().tolist() == [["duplicate", 3]]


def test_lines_of_one_id_that_differ_are_both_held_back(entries):
    """Nobody but a person can say which of two different lines is right."""
    frame = pd.concat([entries(2), entries(1, currency=["USD"])], ignore_index=True)
    plan = compose_export_jobs(frame)
    assert plan.entries["id"].to_list() == [entry_id(1)]
    assert plan.not_ready["reason"].to_list() == ["conflicting", "conflicting"]


def test_a_check_is_one_entry_of_the_table(entries, monkeypatch):
    """A new reason, here entries without a date, is one entry: name, condition, message and what it needs."""
    undated = Reason("no_date", "entry.day IS NULL", "it has no date: add one", ("entries.date",))
    monkeypatch.setattr(readiness, "REASONS", (*REASONS, undated))
    plan = compose_export_jobs(entries(2, date=pd.to_datetime(["2026-10-01", None])))
    assert plan.not_ready[["reason", "message"]].to_numpy().tolist() == [["no_date", "it has no date: add one"]]
    assert len(compose_export_jobs(entries(2).drop(columns="date")).entries) == 2


def test_what_was_not_given_is_said(entries):
    """A plan says what it could not check."""
    assert len(compose_export_jobs(entries(1)).unchecked) == 4


def test_ids_in_capitals_are_the_same_ids(entries):
    """The same UUID in capitals is the same entry: it is not exported beside itself, and is found in the journal."""
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


def test_a_company_that_is_missing_holds_back_its_entry_alone(entries):
    """An entry without a company is not ready; the others are."""
    plan = compose_export_jobs(entries(3, company_id=[COMPANY, None, "x"]))
    assert plan.not_ready["reason"].to_list() == ["no_company", "no_company"]
    assert plan.entries["id"].to_list() == [entry_id(0)]


def test_an_approval_that_is_not_known_is_none(entries):
    """Where nothing says that an entry is approved, it is not exported."""
    plan = compose_export_jobs(entries(2, approved=pd.array([True, None], dtype="boolean")))
    assert plan.not_ready["reason"].to_list() == ["not_approved"]
