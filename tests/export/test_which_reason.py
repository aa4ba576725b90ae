"""Which reason an entry is told where several hold, or where what it points at is there more than once."""

from __future__ import annotations

import pandas as pd
import pytest
from hand_made import COMPANY, entry_id

from bktools import compose_export_jobs

OTHER = "00000000-0000-4000-8000-00000000000f"
CATEGORY = "00000000-0000-4000-8000-0000000000c1"
ACCOUNT = "00000000-0000-4000-8000-0000000000a1"


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        (["RELEASED", "ACCEPTED", "UNKNOWN"], "exported"),
        (["UNKNOWN", "RELEASED"], "in_doubt"),
        (["REJECTED", "SENDING"], "in_doubt"),
        (["PLANNED", "REJECTED", "RELEASED"], None),
    ],
)
def test_an_entry_of_several_batches(entries, states, reason):
    """Of all batches that an entry was in, the one that booked it counts most, then one that may have."""
    history = pd.DataFrame({"entry_id": [entry_id(0)] * len(states), "state": states})
    plan = compose_export_jobs(entries(2), history=history)
    assert plan.not_ready["reason"].to_list() == ([reason] if reason else [])
    assert entry_id(1) in plan.entries["id"].to_list()


def _category(**changes: object) -> dict[str, object]:
    return {"id": CATEGORY, "company_id": COMPANY, "archived": False, "account_id": ACCOUNT} | changes


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (_category(archived=True), "archived_category"),
        (_category(account_id=None), "no_account"),
        (_category(account_id=" "), "no_account"),
        (_category(company_id=OTHER), "category_of_other_company"),
        (_category(), None),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_category_that_is_there_twice(entries, second, reason, turned):
    """All that holds an entry of a category on two rows is told, in any order; it is one entry."""
    categories = pd.DataFrame([second, _category()] if turned else [_category(), second])
    plan = compose_export_jobs(entries(1, category_id=[CATEGORY]), categories=categories)
    assert plan.not_ready["reason"].to_list() == ([reason] if reason else [])
    assert len(plan.entries) == (0 if reason else 1)


@pytest.mark.parametrize("archived", [[False, True], [True, False], [False, False], [None, False]])
def test_an_account_that_is_known_twice(entries, archived):
    """An account under two external IDs is archived if it is under one; a row without ID is none."""
    accounts = pd.DataFrame({"id": [ACCOUNT, ACCOUNT, None], "archived": [*archived, True]}, dtype="object")
    plan = compose_export_jobs(
        entries(1, category_id=[CATEGORY]),
        categories=pd.DataFrame([_category()]),
        accounts=accounts.astype({"archived": "boolean"}),
    )
    assert plan.not_ready["reason"].to_list() == (["archived_account"] if True in archived else [])


@pytest.mark.parametrize(
    ("columns", "given", "expected"),
    [
        ({}, "", "approval categories employees party history"),
        ({"approved": [True]}, "", "categories employees party history"),
        ({"approved": [True]}, "categories", "accounts employees party history"),
        ({"approved": [True]}, "categories accounts", "employees party history"),
        ({"approved": [True]}, "accounts", "categories employees party history"),
        ({"approved": [True]}, "categories accounts employees", "no_employee_id party history"),
        ({"employee_id": [OTHER]}, "employees history", "approval categories"),
    ],
)
def test_what_was_not_checked_is_named(entries, columns, given, expected):
    """What could not be checked is named, each thing once, and nothing else is."""
    frames = {
        "categories": pd.DataFrame([_category()]),
        "accounts": pd.DataFrame([{"id": ACCOUNT, "archived": False}]),
        "employees": pd.DataFrame([{"id": OTHER}]),
        "history": pd.DataFrame({"entry_id": [], "state": []}, dtype="str"),
    }
    frame = entries(1, category_id=[CATEGORY], **columns)
    plan = compose_export_jobs(frame, **{name: frames[name] for name in given.split()})
    assert " ".join(plan.unchecked) == expected
    assert repr(plan).count("not checked: ") == len(plan.unchecked)


def test_a_plan_names_the_journal_of_its_history(entries):
    """The journal that the history is of is the one that the plan is for; without history there is none."""
    history = pd.DataFrame({"entry_id": [], "state": []}, dtype="str")
    assert compose_export_jobs(entries(1), history=history).journal == ""
    history.attrs["bktools"] = {"journal": "a-journal"}
    assert compose_export_jobs(entries(1), history=history).journal == "a-journal"
    assert compose_export_jobs(entries(1)).journal == ""


def test_of_equal_entries_the_first_line_of_the_file_is_exported(entries):
    """Which copy is the first goes by the lines of the file, also where a frame was sorted otherwise."""
    frame = entries(1)
    both = pd.concat([frame.assign(line=9), frame.assign(line=4)], ignore_index=True)
    plan = compose_export_jobs(both)
    assert plan.entries["line"].to_list() == [4]
    assert plan.not_ready[["reason", "line"]].to_numpy().tolist() == [["duplicate", 9]]


@pytest.mark.parametrize(
    ("approved", "reasons"), [(True, []), (False, ["other_line_not_ready", "not_approved"])]
)
def test_the_lines_of_a_split_entry_are_held_back_together(entries, approved, reasons):
    """A whole split entry is ready; a line that is not holds back the other, and no other entry."""
    lines = entries(3, split_line=[1, 2, 0], split_lines=[2, 2, 0], approved=[True, approved, True])
    lines.loc[1, "id"] = lines["id"][0]
    plan = compose_export_jobs(lines)
    assert plan.not_ready["reason"].to_list() == reasons
    assert plan.entries["id"].to_list() == [*lines["id"]][len(reasons) :]


@pytest.mark.parametrize(
    ("columns", "only"),
    [
        ({"id": [None]}, ["no_service_id"]),
        ({"company_id": [OTHER]}, ["other_company"]),
        ({"date": [pd.Timestamp("2026-11-01")]}, ["later_period"]),
        ({}, ["not_approved", "no_amount"]),
    ],
)
def test_nothing_more_is_said_about_an_entry_that_is_not_of_the_month(entries, columns, only):
    """Of an entry that cannot be followed, or that waits for its own close, no other error is told."""
    frame = entries(1, approved=[False], amount=[None], **columns)
    plan = compose_export_jobs(frame, company=COMPANY, month="2026-10")
    assert plan.findings["check"].to_list() == only


def test_a_line_without_a_number_is_no_line_of_a_split_entry(entries):
    """Of two lines one has no number: the other line is missing, and nothing of the entry is sent."""
    lines = entries(2, split_line=[1, 0], split_lines=[2, 2])
    lines.loc[1, "id"] = lines["id"][0]
    plan = compose_export_jobs(lines)
    assert plan.not_ready["reason"].to_list() == ["lines_missing"] * 2
