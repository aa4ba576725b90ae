"""A plan of entries that do not fit in memory: composed out of core into a folder, the same as one in memory."""

from __future__ import annotations

import copy
import stat
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hand_made import a_month

import bktools
from bktools import compose_export_jobs, read_export_plan
from bktools.errors import InputError, PlanError, StorageError
from bktools.export import out_of_core, stored
from bktools.export.plan_file import write_plan

FRAMES = ("batches", "entries", "not_ready", "totals", "findings")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Read, order and store few rows at a time, so that few entries take many parts."""
    monkeypatch.setattr(out_of_core, "PIECE", 50)
    monkeypatch.setattr(out_of_core, "BUCKET", 30)
    monkeypatch.setattr(out_of_core, "AMOUNTS", 40)
    monkeypatch.setattr(out_of_core, "GROUP", 20)


@pytest.fixture
def month(entries):
    """A month with every kind of reason, and suppliers, texts and times that make all kinds of findings."""
    frames = a_month(entries)
    rows = frames["entries"]
    return frames | {
        "entries": rows.assign(
            supplier=[["Rail", "Hotel", None][number % 3] for number in range(len(rows))],
            amount=pd.array([Decimal(f"{(number * 7) % 40 - 3}.10") for number in range(len(rows))]).astype(
                pd.ArrowDtype(pa.decimal128(12, 2))
            ),
            date=rows["date"] + pd.to_timedelta([number % 5 for number in range(len(rows))], unit="h"),
            Project=pd.Categorical(["a", "b"] * (len(rows) // 2) + ["c"] * (len(rows) % 2)),
        )
    }


def written(frame, path):
    """Write a frame as a folder of two Parquet files and return the folder."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    path.mkdir()
    pq.write_table(table.slice(0, 50), path / "1.parquet", row_group_size=20)
    pq.write_table(table.slice(50), path / "2.parquet", row_group_size=20)
    return path


@pytest.mark.parametrize("max_entries", [1, 4, 500])
def test_it_is_the_plan_in_memory(month, tmp_path, max_entries):
    """From Parquet in parts: the same IDs, frames to the cell, texts and request bodies; opened again, the same."""
    frame = month.pop("entries")
    options = {"max_entries": max_entries, "period": "2026-10", "currency": "EUR", **month}
    expected = compose_export_jobs(frame, **options)
    assert (len(expected.findings), expected.not_ready["reason"].nunique()) > (200, 10)
    source = written(frame, tmp_path / "entries")
    composed = compose_export_jobs(source, to=tmp_path / "plan", **options)
    for plan in (composed, read_export_plan(tmp_path / "plan"), copy.copy(composed)):
        assert (plan.plan_id, plan.unchecked, plan.options) == (expected.plan_id, expected.unchecked, expected.options)
        plan.verify()
        assert repr(plan) == repr(expected)
        assert plan._repr_html_() == expected._repr_html_()
        for name in FRAMES:
            pd.testing.assert_frame_equal(getattr(plan, name), getattr(expected, name))
        assert [request.body for request in plan.requests()] == [request.body for request in expected.requests()]
        assert [request.facts for request in plan.requests()] == [request.facts for request in expected.requests()]


def test_frames_and_selections_are_those_of_a_plan_in_memory(entries, tmp_path):
    """A frame in memory with a mask, and a file with IDs, give the same plan; no entry and no column is no special case."""
    frame = entries(30)
    mask = frame.index % 3 == 0
    expected = compose_export_jobs(frame, selection=mask, max_entries=4)
    source = written(frame, tmp_path / "entries")
    chosen = [
        compose_export_jobs(frame, selection=mask, max_entries=4, to=tmp_path / "by mask"),
        compose_export_jobs(source, selection=frame["id"][mask].to_list(), max_entries=4, to=str(tmp_path / "by IDs")),
    ]
    for plan in chosen:
        assert (plan.plan_id, len(plan.rows)) == (expected.plan_id, 10)
        pd.testing.assert_frame_equal(plan.entries, expected.entries)
    for number, few in enumerate((frame[:0], frame.assign(approved=False), frame[["id", "company_id"]])):
        expected = compose_export_jobs(few)
        plan = compose_export_jobs(few, to=tmp_path / str(number))
        for name in FRAMES:
            pd.testing.assert_frame_equal(getattr(plan, name), getattr(expected, name))
    with pytest.raises(InputError, match="the selection names unknown entries: 123e4567"):
        compose_export_jobs(source, selection=["123e4567-e89b-42d3-a456-426614174000"], to=tmp_path / "unknown")
    with pytest.raises(InputError, match="a mask cannot select"):
        compose_export_jobs(source, selection=mask, to=tmp_path / "masked")
    assert not (tmp_path / "unknown").exists()


def test_nothing_is_left_of_a_plan_that_fails(entries, tmp_path):
    """A folder is whole or missing, an existing one stays, and only its owner can read it."""
    path = tmp_path / "october"
    with pytest.raises(InputError, match="column amount of the entries holds double, whose sums are not exact"):
        compose_export_jobs(entries(3, amount=1.5), to=path)
    (tmp_path / "damaged.parquet").write_text("no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        compose_export_jobs(tmp_path / "damaged.parquet", to=path)
    assert [found.name for found in tmp_path.iterdir()] == ["damaged.parquet"]
    plan = compose_export_jobs(entries(3), to=path)
    with pytest.raises(StorageError, match="exists already: choose another folder"):
        compose_export_jobs(entries(4), to=path)
    plan.verify()
    modes = {stat.S_IMODE(found.stat().st_mode) for found in path.iterdir()}
    assert (stat.S_IMODE(path.stat().st_mode), modes) == (0o700, {0o600})
    assert sorted(found.name for found in path.iterdir()) == [
        "batches.parquet", "entries.parquet", "findings.parquet", "not_ready.parquet", "plan.json",
    ]  # fmt: skip
    with pytest.raises(PlanError, match=r"is in the folder .*october already"):
        write_plan(plan, tmp_path / "file.plan", made_for="", made_by="")


def test_a_changed_folder_is_refused(entries, tmp_path):
    """A file that was changed, left out or exchanged is named, and an entry that is in the plan twice is found."""
    path = tmp_path / "plan"
    compose_export_jobs(entries(9), max_entries=3, to=path)
    good = {found.name: found.read_bytes() for found in path.iterdir()}
    for name, content in good.items():
        (path / name).write_bytes(content[:-3] + b"xyz")
        with pytest.raises(PlanError, match=r"was changed after it was written|is not a plan") as caught:
            read_export_plan(path)
        assert "\n" not in str(caught.value)
        (path / name).unlink()
        with pytest.raises(PlanError):
            read_export_plan(path)
        (path / name).write_bytes(content)
    plan = read_export_plan(path)
    changed = plan.rows.read()
    pq.write_table(pa.concat_tables([changed.slice(0, 8), changed.slice(0, 1)]), path / "entries.parquet")
    twice = stored.StoredPlan(**plan.__dict__ | {"rows": stored.StoredTable(path / "entries.parquet")})
    with pytest.raises(PlanError, match="the plan has an entry twice"):
        twice.verify()


def test_it_is_submitted_from_its_files(entries, tmp_path, monkeypatch):
    """Every batch is sent once, a part of the file at a time: all entries are never read, and the journal has their facts."""
    with bktools.Sandbox() as service:
        frame = entries(40, company_id=service.settings.company)
        plan = compose_export_jobs(written_whole(frame, tmp_path / "e.parquet"), max_entries=20, to=tmp_path / "plan")
        monkeypatch.setattr(stored.StoredTable, "read", None)
        sent = bktools.submit_export_jobs(read_export_plan(tmp_path / "plan"), apply=True, service=service)
        again = bktools.submit_export_jobs(plan, apply=True, service=service)
        kept = bktools.load_export_jobs(entries=True, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 2
    assert again["job_id"].equals(sent["job_id"])
    assert sorted(kept["entry_id"]) == sorted(frame["id"])
    assert kept["amount"].sum() == Decimal("404.00")


def written_whole(frame, path):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return path


def test_reading_a_part_of_a_file(tmp_path):
    """Rows within a row group, over several, past the end, and of a file without rows."""
    table = pa.table({"a": range(20)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=6)
    rows = stored.StoredTable(tmp_path / "rows.parquet")
    for begin, count in ((0, 3), (5, 2), (3, 15), (18, 9), (20, 4), (7, 0)):
        assert rows.slice(begin, count)["a"].to_pylist() == table["a"].to_pylist()[begin : begin + count]
    pq.write_table(table[:0], tmp_path / "none.parquet")
    nothing = stored.StoredTable(tmp_path / "none.parquet")
    assert (len(nothing), len(nothing.slice(0, 3)), nothing.select(["a"]).schema) == (0, 0, table.schema)
