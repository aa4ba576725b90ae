"""A plan as a file: what was written is what is read, and anything else is refused."""

from __future__ import annotations

import json
import pickle
import stat
import zipfile
from decimal import Decimal

import pandas as pd
import pytest
from hand_made import COMPANY

from bktools import compose_export_jobs
from bktools.errors import PlanError, StorageError
from bktools.export.plan_file import read_plan, write_plan

OTHER = "00000000-0000-4000-8000-00000000000f"


@pytest.fixture(scope="module")
def plan(entries):
    """A plan with everything in it: options, batches, amounts, entries that are not ready."""
    frame = entries(
        7,
        approved=[True] * 6 + [False],
        amount=[Decimal("1.10")] * 7,
        description=["a", "b", None, "=1", "é", "", "g"],
    )
    frame.attrs["bktools"] = {"source": "Büro.csv"}
    history = pd.DataFrame({"entry_id": [], "state": []}, dtype="str")
    return compose_export_jobs(
        frame,
        history=history,
        max_entries=4,
        employee_id=OTHER,
        is_interactive=False,
        vendor_based_bookkeeping=True,
    )


@pytest.fixture(scope="module")
def written(plan, tmp_path_factory):
    """The content of the plan's file."""
    path = tmp_path_factory.mktemp("plan") / "october.plan"
    return write_plan(plan, path, made_for="https://books.example", made_by="Ada").read_bytes()


@pytest.fixture
def path(written, tmp_path):
    """A file of the plan that a test may change."""
    file = tmp_path / "october.plan"
    file.write_bytes(written)
    return file


def test_what_is_read_is_what_was_written(plan, tmp_path):
    """Batches, entries, totals, options, and who made it for which service come back; the file is private."""
    path = write_plan(plan, tmp_path / "october.plan", made_for="https://books.example", made_by="Zoë")
    read = read_plan(path)
    assert (read.made_for, read.made_by) == ("https://books.example", "Zoë")
    assert read.plan.provenance["source"] == "Büro.csv"
    age = pd.Timestamp.now(tz="UTC") - pd.Timestamp(read.made_at)
    assert pd.Timedelta(0) <= age + pd.Timedelta(seconds=1) < pd.Timedelta(minutes=2)
    for name in ("batches", "entries", "not_ready", "totals", "findings"):
        pd.testing.assert_frame_equal(getattr(read.plan, name), getattr(plan, name))
    for name in ("options", "unchecked", "plan_id", "provenance", "journal"):
        assert getattr(read.plan, name) == getattr(plan, name)
    for batch in plan.batches["batch_id"]:
        assert read.plan.request(batch).body == plan.request(batch).body
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_plan_can_be_pickled(plan, path):
    """A composed plan and one that was read are whole in another process, and can be sent there."""
    for one in (plan, read_plan(path).plan):
        again = pickle.loads(pickle.dumps(one))
        again.verify()
        for name in ("batches", "entries", "not_ready", "totals", "findings"):
            pd.testing.assert_frame_equal(getattr(again, name), getattr(plan, name))


def test_a_file_that_is_there_is_kept(plan, tmp_path):
    """A plan is written beside what is there, never over it."""
    path = tmp_path / "october.plan"
    path.write_bytes(b"another plan")
    with pytest.raises(StorageError, match="exists already: choose another file, or remove it first"):
        write_plan(plan, path, made_for="x", made_by="y")
    assert path.read_bytes() == b"another plan"
    assert [one.name for one in tmp_path.iterdir()] == ["october.plan"]


def rewritten(path, change):
    """Write the members of a plan file anew, as a function changes them."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def head(**values):
    """Return a change of what the head says."""

    def change(members):
        members["plan.json"] = json.dumps(json.loads(members["plan.json"]) | values).encode()

    return change


def without(name):
    return lambda members: members.pop(name)


def swapped(members):
    members["entries.parquet"], members["not_ready.parquet"] = (
        members["not_ready.parquet"],
        members["entries.parquet"],
    )


CHANGES = {
    "another service": (head(made_for="https://elsewhere.example"), "was changed after it was written"),
    "no digest": (head(digest=None), "was changed after it was written"),
    "no JSON": (lambda members: members.update({"plan.json": members["plan.json"][:-5]}), "is not a plan"),
    "a list": (lambda members: members.update({"plan.json": b"[]"}), "is not a plan"),
    "no entries": (without("entries.parquet"), "is not a plan, is damaged"),
    "no head": (without("plan.json"), "is not a plan, is damaged"),
    "tables swapped": (swapped, "was changed after it was written"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_file_that_was_changed_is_refused(path, case):
    """Whatever was changed in the file is noticed, and named with the way out."""
    change, said = CHANGES[case]
    rewritten(path, change)
    with pytest.raises(PlanError, match=f"({said}).*compose it again"):
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
