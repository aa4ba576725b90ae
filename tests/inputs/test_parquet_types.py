"""Parquet files and frames with columns of any type are read right, or refused in one line."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bktools
from bktools.errors import InputError
from bktools.frames.parquet import parquet_table

IDS = [str(uuid.UUID(int=number << 64 | 0x4000_8000_0000_0000_0000)) for number in range(1, 4)]
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
NATIVE = pa.ExtensionArray.from_storage(
    pa.uuid(), pa.array([uuid.UUID(one).bytes for one in IDS], pa.binary(16))
)
COMPANIES = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(COMPANY).bytes] * 3, pa.binary(16)))
BASE = {"id": pa.array(IDS), "company_id": pa.array([COMPANY] * 3)}
MOMENT = dt.datetime(2026, 10, 31, 23, 30, tzinfo=dt.UTC)

READ = {
    "uuid": {"id": NATIVE, "company_id": COMPANIES},
    "dictionary": {name: column.dictionary_encode() for name, column in BASE.items()},
    "view": {name: column.cast(pa.string_view()) for name, column in BASE.items()},
    "large": {name: column.cast(pa.large_string()) for name, column in BASE.items()},
}
BESIDE = {
    "large_binary": pa.array([b"\xff", None, b"a"], pa.large_binary()),
    "binary_view": pa.array([b"\xff", None, b"a"], pa.binary_view()),
    "fixed": pa.array([b"\xff\xfe", None, b"ab"], pa.binary(2)),
    "list": pa.array([[1], None, []]),
    "struct": pa.array([{"a": 1}, None, {"a": None}]),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "json": pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(["{}", None, "1"])),
    "half": pa.array([np.float16(1.5), None, np.float16(2)], pa.float16()),
    "duration": pa.array([1, None, 2], pa.duration("s")),
    "wide": pa.array([Decimal("1" * 60), None, Decimal(1)], pa.decimal256(70, 2)),
    "null": pa.nulls(3),
}


MONEY = {
    "date": pa.array([dt.date(2026, 10, 5)] * 3),
    "amount": pa.array([Decimal("1.50")] * 3),
    "currency": pa.array(["EUR"] * 3),
}


def write(table, path):
    """Write a file with amounts; Arrow before 21 keeps views in frames only."""
    for name in MONEY.keys() - {*table.column_names}:
        table = table.append_column(name, MONEY[name])
    try:
        pq.write_table(table, path)
    except pa.ArrowNotImplementedError:
        plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
        kinds = {field.name: plain.get(field.type, field.type) for field in table.schema}
        pq.write_table(table.cast(pa.schema(kinds)), path)


@pytest.mark.parametrize("kind", READ)
def test_ids_of_every_type_are_read(tmp_path, kind):
    """A UUID is the same as text, dictionary, view or the format's own type, in files and frames."""
    table = pa.table(READ[kind])
    write(table, tmp_path / "entries.parquet")
    assert bktools.read_entries(tmp_path / "entries.parquet")["id"].tolist() == IDS
    assert bktools.compose_export_jobs(table).entries["id"].tolist() == IDS


def test_another_writer_s_uuids_are_read(tmp_path):
    """The format's own UUID is known without Arrow's schema, as other programs write it."""
    with duckdb.connect(":memory:") as connection:
        connection.register("entries", pa.table(BASE | MONEY))
        columns = "id::UUID AS id, company_id::UUID AS company_id, date, amount, currency"
        connection.execute(f"COPY (SELECT {columns} FROM entries) TO '{tmp_path / 'a.parquet'}'")
    assert pq.ParquetFile(tmp_path / "a.parquet").schema.column(0).logical_type.type == "UUID"
    read = bktools.read_entries(tmp_path / "a.parquet")
    assert (read["id"].tolist(), read["company_id"].tolist()) == (IDS, [COMPANY] * 3)


@pytest.mark.parametrize("kind", BESIDE)
def test_columns_of_every_type_may_stand_beside(tmp_path, kind):
    """A column that is not read is no obstacle, in a file, a frame of entries, and a chart."""
    table = pa.table({**BASE, "beside": BESIDE[kind]})
    write(table, tmp_path / "entries.parquet")
    assert bktools.read_entries(tmp_path / "entries.parquet")["id"].tolist() == IDS
    if kind != "wide":
        assert bktools.compose_export_jobs(table).entries["id"].tolist() == IDS


def test_times_keep_their_calendar_day(tmp_path):
    """A time with a zone is the day that its zone shows."""
    for zone, day in (("UTC", 31), ("Europe/Berlin", 1), ("America/New_York", 31)):
        table = pa.table({**BASE, "date": pa.array([MOMENT] * 3, pa.timestamp("us", zone))})
        write(table, tmp_path / "a.parquet")
        assert set(bktools.read_entries(tmp_path / "a.parquet")["date"].dt.day) == {day}


REFUSED = {
    "bytes": pa.array([uuid.UUID(one).bytes for one in IDS], pa.binary(16)),
    "lists": pa.array([[one] for one in IDS]),
    "structs": pa.array([{"a": one} for one in IDS]),
    "union": pa.UnionArray.from_sparse(pa.array([0] * 3, pa.int8()), [pa.array(IDS)]),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_text_is_refused(tmp_path, kind):
    """IDs that are no text are refused in frames; in files a note names the column."""
    table = pa.table({**BASE, "id": REFUSED[kind]})
    with pytest.raises(InputError, match=r"column id (must be text, is |of the entries holds )"):
        bktools.compose_export_jobs(table)
    if kind != "union":
        write(table, tmp_path / "a.parquet")
        entries = bktools.read_entries(tmp_path / "a.parquet")
        assert entries["id"].isna().all()
        assert "columns that are no text are not read: id" in entries.attrs["bktools"]["notes"]


def test_a_file_without_rows_is_read(tmp_path):
    """A column without rows has no page to look at: the file is whole all the same."""
    kinds = {"id": pa.string(), "approved": pa.bool_(), "amount": pa.decimal128(10, 2)}
    pq.write_table(
        pa.table({name: pa.array([], kind) for name, kind in kinds.items()}), tmp_path / "none.parquet"
    )
    read, left_out = parquet_table((tmp_path / "none.parquet").read_bytes())
    assert (read.schema.types, len(read), left_out) == ([*kinds.values()], 0, [])
