"""From entries to a plan and its file: batches, requests, what is shown, and each change that is refused."""

from __future__ import annotations

import json
import pickle
import stat
import zipfile
from dataclasses import replace
from decimal import Decimal

import msgspec
import pandas as pd
import pyarrow as pa
import pytest
from hand_made import COMPANY, OTHER, entries_of, entry_id

from bktools import compose_export_jobs
from bktools.errors import ArgumentError, InputError, PlanError, StorageError
from bktools.export.plan_file import read_plan, write_plan

EXACT = pd.ArrowDtype(pa.decimal128(38, 2))


def test_batches_are_of_one_company_bounded_and_always_the_same():
    """By company, date and ID, whatever the order of the rows; no batch is larger than it may be."""
    entries = entries_of(20, company_id=[COMPANY, OTHER] * 10)
    entries["date"] = pd.to_datetime([f"2026-10-{20 - number // 4:02}" for number in range(20)])
    plan = compose_export_jobs(entries, max_entries=4)
    assert plan.batches["entries"].to_list() == [4, 4, 2] * 2
    joined = plan.entries.merge(plan.batches, on="batch_id", suffixes=("", "_of_batch"))
    assert (joined["company_id"] == joined["company_id_of_batch"]).all()
    assert plan.entries["id"].is_unique
    assert plan.entries.equals(plan.entries.sort_values(["company_id", "date", "id"]))
    assert plan.batches["first_date"].astype(str).to_list() == ["2026-10-16", "2026-10-18", "2026-10-20"] * 2
    assert plan.batches["last_date"].astype(str).to_list() == ["2026-10-17", "2026-10-19", "2026-10-20"] * 2
    again = compose_export_jobs(entries.sample(frac=1, random_state=1), max_entries=4)
    assert (again.plan_id, again.batches.equals(plan.batches)) == (plan.plan_id, True)


def test_options_are_in_the_body_and_the_id():
    """A job with other options is another job."""
    plain = compose_export_jobs(entries_of(1))
    options = {"employee_id": OTHER, "is_interactive": False, "vendor_based_bookkeeping": True}
    asked = compose_export_jobs(entries_of(1), **options)
    assert plain.plan_id != asked.plan_id
    bodies = [plan.request(plan.batches["batch_id"][0]).body for plan in (asked, plain)]
    sent, usual = map(msgspec.json.decode, bodies)
    assert sent == {
        "accountingEntryIds": [entry_id(0)],
        "companyId": COMPANY,
        "employeeId": OTHER,
        "isInteractive": False,
        "options": {"vendorBasedBookkeeping": True},
    }
    assert (usual["isInteractive"], usual["options"]) == (True, {"vendorBasedBookkeeping": False})


CATEGORIES = pd.DataFrame(
    {"id": ["c1"], "company_id": [COMPANY], "archived": [False], "account_id": ["a1"], "name": ["Travel"]}
)


@pytest.mark.parametrize(
    ("options", "error", "rule"),
    [
        ({"max_entries": 0}, ArgumentError, "max_entries must be at least 1"),
        ({"employee_id": "Ada"}, ArgumentError, "employee_id must be a UUID"),
        ({"is_interactive": "no"}, ArgumentError, "is_interactive must be True or False"),
        (
            {"categories": pd.DataFrame({"id": ["x"]})},
            InputError,
            "categories: needs the columns company_id, archived, account_id: give it as load_categories",
        ),
        ({"categories": CATEGORIES}, InputError, "no column category_id: add it, or leave out categories"),
    ],
)
def test_bad_arguments_are_one_line(options, error, rule):
    """A wrong argument is named with its rule."""
    with pytest.raises(error, match=rule) as caught:
        compose_export_jobs(entries_of(1), **options)
    assert "\n" not in str(caught.value)


def test_a_plan_names_the_journal_of_its_history():
    """The journal that the history is of is the one that the plan is for; without history there is none."""
    history = pd.DataFrame({"entry_id": [], "state": []}, dtype="str")
    assert compose_export_jobs(entries_of(1), history=history).journal == ""
    history.attrs["bktools"] = {"journal": "a-journal"}
    assert compose_export_jobs(entries_of(1), history=history).journal == "a-journal"


def test_amounts_are_exact_and_by_currency():
    """Sums of more digits than a float keeps; an entry without amount or currency is not ready."""
    large, cent = Decimal("1234567890123456.12"), Decimal("0.01")
    amounts = pd.array([large, cent, None, cent], dtype=EXACT)
    plan = compose_export_jobs(entries_of(4, amount=amounts, currency=["USD", "USD", "USD", None]))
    assert plan.amounts == {"USD": Decimal("1234567890123456.13")}
    assert plan.not_ready["reason"].to_list() == ["no_amount", "no_currency"]
    assert "ready: USD 1,234,567,890,123,456.13\n" in repr(plan)
    waits = {"approved": [False, False, False, True], "category_id": None}
    held = compose_export_jobs(entries_of(4, currency=["USD", "USD", "CHF", "USD"], **waits)).needs_action
    values = dict(zip(held["check"], held["value"], strict=True))
    assert values == {"not_approved": "USD 20.20, CHF 10.10", "no_category": "USD 10.10"}


def test_what_it_shows_is_escaped():
    """A notebook shows counts and reasons; text of the entries is no markup."""
    plan = compose_export_jobs(
        entries_of(3, approved=[True, True, False], currency=["EUR", "EUR", "<script>"])
    )
    assert "2 entries ready in 1 batch, 1 not ready" in repr(plan)
    assert "not approved" in plan._repr_html_()
    assert "<script" not in plan._repr_html_()


def test_names_and_money_come_first(tmp_path):
    """Entries have names beside IDs in frames and files; the ID of the plan covers what the journal keeps."""
    accounts = pd.DataFrame(
        {"id": ["A1"], "archived": [False], "code": ["0400"], "external_id": ["x"], "name": ["Fares"]}
    )
    employees = pd.DataFrame(
        {"id": ["e1"], "first_name": ["Ada"], "last_name": ["Lovelace"], "email": ["a@b"]}
    )
    entries = entries_of(3, category_id=["C1", "c1", "c9"], employee_id=["e1", None, "e1"], description="x")
    plan = compose_export_jobs(entries, categories=CATEGORIES, accounts=accounts, employees=employees)
    money = "date amount currency description category_name account_code account_name employee_name"
    assert " ".join(plan.entries.columns[:8]) == " ".join(plan.not_ready.columns[:8]) == money
    named = plan.entries[["category_name", "account_code", "employee_name"]].fillna("")
    assert named.to_numpy().tolist() == [["Travel", "0400", "Ada Lovelace"], ["Travel", "0400", ""]]
    assert " ".join(pd.read_csv(plan.to_csv(tmp_path)[2]).columns[:8]) == money
    unnamed = {"categories": CATEGORIES.drop(columns="name"), "accounts": accounts[["id", "archived"]]}
    before = compose_export_jobs(entries, **unnamed, employees=employees[["id"]])
    assert before.plan_id != plan.plan_id


def test_a_plan_and_the_callers_frame_are_two_things():
    """The frame stays as it was, and what is written into it afterwards is not in the plan."""
    entries = entries_of(4, line=[1, 2, 3, 4], amount=[100, 200, 300, 400])
    before = entries.copy(deep=True)
    plan = compose_export_jobs(entries, selection=[True, True, True, False])
    pd.testing.assert_frame_equal(entries, before)
    entries.loc[:, ["amount", "line"]] = 0
    assert plan.entries["amount"].sum() == plan.totals["amount"].sum() == 600


# Each change of a plan after it was made, and of its file, is noticed.


def _with(rows: pa.Table, name: str, values: list[str | None]) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, pa.large_string()))


def _turned(rows: pa.Table, name: str) -> dict[str, pa.Table]:
    return {"rows": _with(rows, name, rows[name].to_pylist()[::-1])}


CHANGES = {
    "an entry taken away": lambda plan: {"rows": plan.rows.slice(1)},
    "a batch taken away": lambda plan: {"rows": plan.rows.slice(3)},
    "an entry twice": lambda plan: {"rows": pa.concat_tables([plan.rows, plan.rows.slice(0, 1)])},
    "entries in another order": lambda plan: _turned(plan.rows, "id"),
    "entries moved": lambda plan: _turned(plan.rows, "batch_id"),
    "another company": lambda plan: {"rows": _with(plan.rows, "company_id", [OTHER] * len(plan.rows))},
    "no company": lambda plan: {"rows": _with(plan.rows, "company_id", [None] * len(plan.rows))},
    "other options": lambda plan: {"options": replace(plan.options, is_interactive=False)},
}
CHANGES_OF_THE_FRAME = {
    "IDs turned": lambda frame: frame.__setitem__("id", frame["id"].to_list()[::-1]),
    "another ID": lambda frame: frame.loc.__setitem__((2, "id"), OTHER),
    "an entry more": lambda frame: frame.loc.__setitem__(6, frame.loc[5]),
    "no batches": lambda frame: frame.pop("batch_id"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_plan_is_refused(change):
    """A plan that was changed after it was made is noticed; it has no request for a batch that it lacks."""
    plan = compose_export_jobs(entries_of(6), max_entries=3)
    plan.verify()
    with pytest.raises(PlanError, match="compose"):
        replace(plan, **CHANGES[change](plan)).verify()
    with pytest.raises(PlanError, match="no batch"):
        plan.request("0" * 20)


@pytest.mark.parametrize("change", CHANGES_OF_THE_FRAME)
def test_a_changed_frame_of_entries_is_refused(change):
    """Who takes an entry out of the frame that a plan shows is not left to believe that it is not sent."""
    plan = compose_export_jobs(entries_of(6), max_entries=3)
    plan.entries["note"] = "more columns change nothing of what is sent"
    plan.verify()
    CHANGES_OF_THE_FRAME[change](plan.entries)
    with pytest.raises(PlanError, match="frame of the plan's entries was changed"):
        plan.verify()


FRAMES = ("batches", "entries", "not_ready", "totals", "findings")


@pytest.fixture(scope="module")
def plan():
    """A plan with everything in it: options, batches, amounts, entries that are not ready."""
    entries = entries_of(7, approved=[True] * 6 + [False], description=["a", "b", None, "=1", "é", "", "g"])
    entries.attrs["bktools"] = {"source": "Büro.csv"}
    history = pd.DataFrame({"entry_id": [], "state": []}, dtype="str")
    options = {"employee_id": OTHER, "is_interactive": False, "vendor_based_bookkeeping": True}
    return compose_export_jobs(entries, history=history, max_entries=4, **options)


@pytest.fixture
def path(plan, tmp_path):
    """The file of the plan."""
    return write_plan(plan, tmp_path / "october.plan", made_for="https://books.example", made_by="Zoë")


def test_what_is_read_is_what_was_written(plan, path):
    """All comes back, also pickled, with who made it for which service; the file is private, and stays."""
    read = read_plan(path)
    assert (read.made_for, read.made_by) == ("https://books.example", "Zoë")
    age = pd.Timestamp.now(tz="UTC") - pd.Timestamp(read.made_at)
    assert pd.Timedelta(0) <= age + pd.Timedelta(seconds=1) < pd.Timedelta(minutes=2)
    for again in (read.plan, *(pickle.loads(pickle.dumps(one)) for one in (plan, read.plan))):
        for name in FRAMES:
            pd.testing.assert_frame_equal(getattr(again, name), getattr(plan, name))
        for name in ("options", "unchecked", "plan_id", "provenance", "journal"):
            assert getattr(again, name) == getattr(plan, name)
        with pytest.raises(PlanError, match="without the frames that its entries are checked with"):
            again.findings_before_sending([entry_id(0)])
        bodies = [[batch.body for batch in each.requests()] for each in (again, plan)]
        assert bodies[0] == bodies[1]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    write_plan(plan, path, made_for="https://books.example", made_by="Ada")
    with pytest.raises(StorageError, match="exists already: choose another file, or remove it first"):
        write_plan(plan, path, made_for="x", made_by="y")
    assert (path.read_bytes(), len([*path.parent.iterdir()])) == (before, 1)


def head(**values):
    """Return a change of what the head of a file says."""

    def change(members):
        members["plan.json"] = json.dumps(json.loads(members["plan.json"]) | values).encode()

    return change


def swapped(members):
    names = ("entries.parquet", "not_ready.parquet")
    members.update(zip(names, [members[name] for name in reversed(names)], strict=True))


CHANGED, NO_PLAN = "plan was changed since it was made", "is not a plan"
CHANGES_OF_THE_FILE = {
    "another ID": (head(plan_id="0" * 20), CHANGED),
    "no author": (head(options={"author": "Ada"}), NO_PLAN),
    "tables swapped": (swapped, NO_PLAN),
    "no JSON": (lambda members: members.update({"plan.json": members["plan.json"][:-5]}), NO_PLAN),
    "a list": (lambda members: members.update({"plan.json": b"[]"}), NO_PLAN),
    "no entries": (lambda members: members.pop("entries.parquet"), NO_PLAN),
    "no head": (lambda members: members.pop("plan.json"), NO_PLAN),
}


@pytest.mark.parametrize("case", CHANGES_OF_THE_FILE)
def test_a_file_that_was_changed_is_refused(path, case):
    """Whatever was changed in the file is noticed, and named with the way out."""
    change, reason = CHANGES_OF_THE_FILE[case]
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(PlanError, match=f"({reason}).*compose it again"):
        read_plan(path)


def test_what_is_no_file_of_a_plan(tmp_path):
    """A missing file says how one is made; something else is refused in one line."""
    with pytest.raises(PlanError, match=r"the plan .* was not found: bktools export compose writes one"):
        read_plan(tmp_path / "none.plan")
    (tmp_path / "notes.plan").write_text(f"company {COMPANY}")
    with pytest.raises(PlanError, match="is not a plan, is damaged"):
        read_plan(tmp_path / "notes.plan")
    with pytest.raises(PlanError, match=f"the plan {tmp_path} cannot be read"):
        read_plan(tmp_path)
