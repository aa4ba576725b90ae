"""From entries to batches: one company each, bounded, by date then ID, always the same."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pandas as pd
import pyarrow as pa
import pytest
from hand_made import COMPANY, entry_id

from bktools import compose_export_jobs
from bktools.errors import ArgumentError, InputError, PlanError

OTHER = "00000000-0000-4000-8000-00000000000f"
CATEGORIES = pd.DataFrame(
    {"id": [OTHER], "company_id": [COMPANY], "archived": [False], "account_id": [OTHER]}
)


def two_companies(entries, count: int) -> pd.DataFrame:
    return entries(count, company_id=[COMPANY, OTHER] * (count // 2))


def test_batches_are_of_one_company_and_bounded(entries):
    """No batch mixes companies or is larger than it may be."""
    plan = compose_export_jobs(two_companies(entries, 20), max_entries=4)
    assert plan.batches["entries"].to_list() == [4, 4, 2] * 2
    joined = plan.entries.merge(plan.batches, on="batch_id", suffixes=("", "_of_batch"))
    assert (joined["company_id"] == joined["company_id_of_batch"]).all()
    assert len(joined) == 20


def test_order_is_by_date_then_id(entries):
    """The oldest entries go first, equal dates by ID."""
    frame = entries(4, date=pd.to_datetime(["2026-10-03", "2026-10-01", "2026-10-04", "2026-10-01"]))
    plan = compose_export_jobs(frame, max_entries=2)
    assert plan.entries["id"].to_list() == [entry_id(1), entry_id(3), entry_id(0), entry_id(2)]
    assert plan.batches["first_date"].astype(str).to_list() == ["2026-10-01", "2026-10-03"]
    assert plan.batches["last_date"].astype(str).to_list() == ["2026-10-01", "2026-10-04"]


def test_the_same_entries_give_the_same_plan(entries):
    """Whatever the order of the rows, batches and their IDs are the same."""
    frame = two_companies(entries, 30)
    first = compose_export_jobs(frame, max_entries=7)
    for seed in range(5):
        again = compose_export_jobs(frame.sample(frac=1, random_state=seed), max_entries=7)
        assert again.plan_id == first.plan_id
        assert again.batches.equals(first.batches)


def test_options_are_in_the_body_and_the_id(entries):
    """A job with other options is another job."""
    plain = compose_export_jobs(entries(1))
    asked = compose_export_jobs(
        entries(1), employee_id=OTHER, is_interactive=False, vendor_based_bookkeeping=True
    )
    assert plain.plan_id != asked.plan_id
    assert msgspec.json.decode(asked.request(asked.batches["batch_id"][0]).body) == {
        "accountingEntryIds": [entry_id(0)],
        "companyId": COMPANY,
        "employeeId": OTHER,
        "isInteractive": False,
        "options": {"vendorBasedBookkeeping": True},
    }
    defaults = msgspec.json.decode(plain.request(plain.batches["batch_id"][0]).body)
    assert (defaults["isInteractive"], defaults["options"]) == (True, {"vendorBasedBookkeeping": False})


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"max_entries": 0}, ArgumentError, "max_entries must be at least 1"),
        ({"max_entries": 2.5}, ArgumentError, "max_entries must be a whole number"),
        ({"employee_id": "Ada"}, ArgumentError, "employee_id must be a UUID"),
        ({"is_interactive": "no"}, ArgumentError, "is_interactive must be True or False"),
        ({"company": "9"}, ArgumentError, "company must be a UUID"),
        (
            {"categories": pd.DataFrame({"id": ["x"]})},
            InputError,
            "categories: needs the columns company_id, archived, account_id: give it as load_categories",
        ),
        (
            {"categories": CATEGORIES},
            InputError,
            "entries have no column category_id: add it, or leave out categories",
        ),
    ],
)
def test_bad_arguments_are_one_line(entries, options, error, said):
    """A wrong argument is named with its rule."""
    with pytest.raises(error, match=said) as caught:
        compose_export_jobs(entries(1), **options)
    assert "\n" not in str(caught.value)


def _with(rows: pa.Table, name: str, values: list[str | None]) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, pa.large_string()))


CHANGES = {
    "an entry taken away": lambda plan: {"rows": plan.rows.slice(1)},
    "an entry twice": lambda plan: {"rows": pa.concat_tables([plan.rows, plan.rows.slice(0, 1)])},
    "entries in another order": lambda plan: {
        "rows": _with(plan.rows, "id", plan.rows["id"].to_pylist()[::-1])
    },
    "entries moved": lambda plan: {
        "rows": _with(plan.rows, "batch_id", plan.rows["batch_id"].to_pylist()[::-1])
    },
    "entries of another company": lambda plan: {
        "rows": _with(plan.rows, "company_id", [OTHER] * len(plan.rows))
    },
    "entries of no company": lambda plan: {"rows": _with(plan.rows, "company_id", [None] * len(plan.rows))},
    "other options": lambda plan: {"options": replace(plan.options, is_interactive=False)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_plan_is_refused(entries, change):
    """A plan that was changed after it was made is noticed."""
    plan = compose_export_jobs(entries(6), max_entries=3)
    plan.verify()
    with pytest.raises(PlanError, match="compose"):
        replace(plan, **CHANGES[change](plan)).verify()


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.__setitem__("id", frame["id"].to_list()[::-1]),
        lambda frame: frame.loc.__setitem__((2, "id"), OTHER),
        lambda frame: frame.loc.__setitem__(6, frame.loc[5]),
        lambda frame: frame.pop("batch_id"),
        lambda frame: frame.__setitem__("company_id", 7),
    ],
)
def test_a_changed_frame_of_entries_is_refused(entries, change):
    """Who takes an entry out of the frame that a plan shows is not left to believe that it is not sent."""
    plan = compose_export_jobs(entries(6), max_entries=3)
    plan.entries["note"] = "more columns change nothing of what is sent"
    plan.verify()
    change(plan.entries)
    with pytest.raises(PlanError, match="frame of the plan's entries was changed"):
        plan.verify()


def test_a_plan_and_the_callers_frame_are_two_things(entries):
    """The frame stays as it was, and what is written into it afterwards is not in the plan."""
    frame = entries(4, line=[1, 2, 3, 4], amount=[100, 200, 300, 400])
    before = frame.copy(deep=True)
    plan = compose_export_jobs(frame, selection=[True, True, True, False])
    pd.testing.assert_frame_equal(frame, before)
    frame.loc[:, ["amount", "line"]] = 0
    assert plan.entries["amount"].sum() == plan.totals["amount"].sum() == 600
    assert plan.entries["line"].sum() == 6
