"""Entries and what stands beside them in frames of any tool, with columns of any name and type."""

from __future__ import annotations

import itertools
import uuid
from decimal import Decimal
from pathlib import Path

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hand_made import OTHER, a_month, entries_of, entry_id

from bktools import compose_export_jobs
from bktools.errors import InputError
from bktools.frames.tables import with_column


def in_arrow(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


@pytest.fixture
def tools(tmp_path):
    """Functions that make a frame of another tool of a pandas frame."""
    connection = duckdb.connect()

    def parquet(frame: pd.DataFrame) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet"
        pq.write_table(in_arrow(frame), path)
        return path

    tools = [
        in_arrow,
        lambda frame: pl.from_arrow(in_arrow(frame)).lazy(),
        lambda frame: connection.from_arrow(in_arrow(frame)),
        nw.from_native,
        parquet,
    ]
    turn = itertools.cycle(tools)

    def one_each(frame: pd.DataFrame) -> object:
        return next(turn)(frame)

    return [*tools, one_each]


def test_every_tool_gives_the_same_plan(tools):
    """Batches, entries, reasons and totals are the same to the cell, whatever tool each frame is of."""
    frames = a_month(entries_of)
    imported = {"state": "IMPORTED", "updated_at": pd.Timestamp("2026-10-02", tz="UTC")}
    frames["accounts"] = frames["accounts"].assign(**imported)
    options = {"max_entries": 4, "selection": frames["entries"]["id"].unique().tolist()}
    expected = compose_export_jobs(**frames, **options)
    assert expected.not_ready["reason"].nunique() == 12
    for lift in tools:
        plan = compose_export_jobs(**{name: lift(frame) for name, frame in frames.items()}, **options)
        assert (plan.plan_id, plan.unchecked) == (expected.plan_id, ())
        for name in ("batches", "entries", "not_ready", "totals", "findings"):
            pd.testing.assert_frame_equal(getattr(plan, name), getattr(expected, name))
            assert len(getattr(plan, name)) > 0


def test_frames_of_a_plan_are_composed_again():
    """Part of a plan, and what was repaired of the others, are entries like any others."""
    plan = compose_export_jobs(entries_of(6, approved=[True] * 4 + [False] * 2), max_entries=3)
    part = compose_export_jobs(plan.entries.head(3))
    repaired = compose_export_jobs(plan.not_ready.assign(approved=True))
    for again, count in ((part, 3), (repaired, 2)):
        again.verify()
        assert (len(again.entries), len(again.not_ready), len(again.batches)) == (count, 0, 1)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [1], [2]]),
        pa.array([[("a", 1)], [("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        pa.array([{"a": 1}, {"a": 1}, None]),
        pa.array([1, 1, None], pa.timestamp("s", tz="+02:00")),
        pa.array([float("nan"), float("nan"), -0.0]),
    ],
    ids=str,
)
def test_repeated_entries_are_compared_by_columns_of_any_type(values):
    """A line with the same values in every column is a copy, whatever names and types they have."""
    names = dict.fromkeys(("archived", "row", "day", "content", "company", "history"), False)
    entries = in_arrow(entries_of(3, id=[entry_id(0), entry_id(0), entry_id(1)], **names))
    plan = compose_export_jobs(entries.append_column("extra", values))
    assert (plan.not_ready["reason"].to_list(), len(plan.entries)) == (["duplicate"], 2)
    assert not plan.entries[[*names]].any().any()


# Columns that no check can read, and the line about them.
UNREADABLE = {
    "amount": (["0.1", "0.2"], "column amount must be an exact number, is text"),
    "date": (["1.10.2026", "2.10.2026"], "column date must be a date, is text"),
    "approved": ([1.0, 0.0], "entries: column approved must be true or false, is double"),
    "category_id": ([["a"], ["b"]], "entries: column category_id must be text, is list"),
    "split_line": (["1", "first"], "entries: column split_line must be a whole number, is text"),
    "duration": (
        pa.array([pa.MonthDayNano([1, 2, 3])] * 2),
        "column duration of the entries holds month_day_nano",
    ),
    "long": (
        pa.array([Decimal(0)] * 2, pa.decimal256(76, 40)),
        "column long of the entries holds decimal256",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_column_that_cannot_be_read_is_one_line(name):
    """A column of another type, or of one that no check can read, is refused by its name, not guessed."""
    values, line = UNREADABLE[name]
    entries = in_arrow(entries_of(2).drop(columns=name, errors="ignore"))
    with pytest.raises(InputError, match=line) as caught:
        compose_export_jobs(entries.append_column(name, values if isinstance(values, pa.Array) else [values]))
    assert "\n" not in str(caught.value)


def test_columns_without_rows_have_types():
    """Flags that are numbers are refused before there is a row; pandas makes floats of nothing."""
    nothing = {"id": [], "company_id": [], "approved": []}
    assert compose_export_jobs(pd.DataFrame(nothing)).entries.empty
    with pytest.raises(InputError, match="column approved must be true or false, is int64"):
        compose_export_jobs(pd.DataFrame(nothing).astype({"approved": "int64"}))


def test_dates_of_a_history_may_be_text():
    """A history that was kept as CSV is compared by its days; what is no day is refused in one line."""
    ids = [entry_id(0), entry_id(1)]
    sent = pd.DataFrame({"entry_id": ids, "state": "ACCEPTED", "date": ["2026-10-01", "2026-10-04"]})
    plan = compose_export_jobs(entries_of(3), history=sent)
    assert plan.not_ready["reason"].to_list() == ["exported", "changed_since_export"]
    for name in ("date", "sent_at"):
        with pytest.raises(InputError, match=f"history: column {name} must be a date, is text"):
            compose_export_jobs(entries_of(3), history=sent.assign(**{name: "4 October"}))


def test_types_of_other_tools_are_read():
    """UUID objects, Arrow's views, small decimals and empty frames are read as any others."""
    entries = entries_of(4, category_id=OTHER, amount=[Decimal("1.10")] * 4, approved=True)
    expected, table = compose_export_jobs(entries), in_arrow(entries)
    ids = ("id", "company_id", "category_id")
    objects = entries.assign(**{name: entries[name].map(uuid.UUID) for name in ids})
    kinds = {each.name: pa.string_view() if each.name in ids else each.type for each in table.schema}
    small = with_column(table, "amount", table["amount"].cast(pa.decimal64(18, 2)))
    for other in (objects, table.cast(pa.schema(kinds)), small):
        plan = compose_export_jobs(other)
        assert (plan.plan_id, [*plan.totals["amount"]]) == (expected.plan_id, [4.4])
    nothing = pd.DataFrame({"id": [], "company_id": [], "archived": [], "account_id": []})
    empty = {
        "categories": nothing,
        "accounts": nothing,
        "history": pd.DataFrame({"entry_id": [], "state": []}),
    }
    assert {*compose_export_jobs(entries, **empty).not_ready["reason"]} == {"unknown_category"}
