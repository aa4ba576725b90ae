import contextlib
import os
import subprocess
import sys

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bktools.errors import ArgumentError, InputError, OutOfMemoryError
from bktools.frames.engine import engine, in_memory
from bktools.frames.schema import to_pandas

CODES = pa.table(
    {"code": pa.array(["0400", None, "1200 of more than twelve letters"], pa.large_string()), "more": [1, 2, 3]}
)
KINDS = {
    "pandas": lambda _: to_pandas(CODES),
    "arrow": lambda _: CODES,
    "polars": lambda _: pl.from_arrow(CODES),
    "lazy polars": lambda _: pl.from_arrow(CODES).lazy(),
    "duckdb": lambda _: duckdb.connect(":memory:").from_arrow(CODES),
    "narwhals": lambda _: nw.from_native(CODES),
    "lazy narwhals": lambda _: nw.from_native(pl.from_arrow(CODES)).lazy(),
    "parquet": lambda path: path,
    "text": str,
}


@pytest.fixture
def path(tmp_path):
    pq.write_table(CODES, tmp_path / "codes.parquet")
    return tmp_path / "codes.parquet"


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind_are_scanned_with_nulls_as_nulls(kind, path):
    """Any frame gives the same rows; a missing text is null, equal to nothing and different from nothing."""
    with engine("test", codes=in_memory(KINDS[kind](path), "codes")) as connection:
        assert connection.execute("SELECT code, more FROM codes ORDER BY more").fetchall() == [
            ("0400", 1), (None, 2), ("1200 of more than twelve letters", 3),
        ]  # fmt: skip
        assert connection.execute("SELECT count(*) FROM codes WHERE code <> '0400'").fetchall() == [(1,)]


@pytest.mark.parametrize("kind", KINDS)
def test_other_columns_are_left_out(kind, path):
    """Of the columns that are asked for those that are there are kept."""
    assert in_memory(KINDS[kind](path), "codes", ("code", "none")).column_names == ["code"]


@pytest.mark.parametrize("kind", ["pandas", "arrow", "polars"])
def test_text_is_not_copied(kind, path):
    """The engine scans the very bytes that the caller's frame has."""
    frame = KINDS[kind](path)
    before = frame.to_arrow(compat_level=pl.CompatLevel.newest()) if kind == "polars" else pa.table(frame)
    assert _places(in_memory(frame).column("code")) == _places(before.column("code"))


def _places(column):
    """Return where the bytes of a column are, those of short text and null flags left out."""
    return [chunk.buffers()[-1].address for chunk in column.chunks]


@pytest.mark.parametrize("wrong", [[1, 2], pd.Series(["0400"]), {"code": ["0400"]}])
def test_what_is_no_frame_is_refused(wrong):
    """The argument, what it must be, and what it is."""
    with pytest.raises(ArgumentError, match=r"^chart must be a pandas, pyarrow, .* Parquet file, is a \w+$"):
        in_memory(wrong, "chart")


def test_column_of_mixed_types_is_refused():
    """A column of numbers and text has lost leading zeros somewhere; it is named. One that is not used may hold both."""
    mixed = pd.DataFrame({"code": ["0400", 400], "name": ["a", "b"]})
    with pytest.raises(InputError, match="the column code of chart holds values of mixed or unknown types"):
        in_memory(mixed, "chart")
    assert in_memory(mixed, "chart", ["name"]).column_names == ["name"]


def test_relation_that_fails_is_an_error_of_bktools():
    """What the caller's own connection cannot hold is one line, too."""
    connection = duckdb.connect(":memory:", config={"memory_limit": "10MB", "max_temp_directory_size": "0B"})
    rows = connection.sql("SELECT range::VARCHAR || repeat('x', 50) AS code FROM range(1000000) ORDER BY code")
    with pytest.raises(OutOfMemoryError, match=r"^chart needs more memory than there is") as caught:
        in_memory(rows, "chart")
    assert "\n" not in str(caught.value)


def test_text_comes_back_as_large_string():
    """Text comes back in the type that becomes pandas text fastest."""
    with engine("test", codes=CODES) as connection:
        assert connection.sql("SELECT code FROM codes").to_arrow_table().schema.field("code").type == pa.large_string()


def test_nothing_is_drawn_into_the_terminal():
    """The engine keeps silent, however long a query takes."""
    with engine("test", codes=CODES) as connection:
        assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_nothing_of_a_task_is_left():
    """Tables, types and frames of a task end with it, also after an error or Ctrl-C in it; tasks do not see each other."""
    for error in (None, KeyboardInterrupt, duckdb.Error):
        with contextlib.suppress(KeyboardInterrupt, duckdb.Error), engine("test", codes=CODES) as connection:
            connection.execute("CREATE TYPE kind AS ENUM ('a'); CREATE TABLE kept AS FROM codes; BEGIN")
            if error is not None:
                raise error
    with engine("test", codes=CODES) as connection, engine("another") as other:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []
        assert len(connection.execute("FROM codes").fetchall()) == 3
        with pytest.raises(duckdb.CatalogException):
            other.execute("FROM codes")
        names = "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND database_name <> 'memory'"
        assert len(other.execute(names).fetchall()) == 2


FORKING = r"""
import os, pathlib, sys, tempfile
import pyarrow as pa
from bktools.frames.engine import engine

def count():
    with engine("test", rows=pa.table({"a": range(100_000)})) as connection:
        folder, = connection.execute("SELECT current_setting('temp_directory')").fetchone()
        rows, = connection.execute("SELECT count(DISTINCT a) FROM rows").fetchone()
        os.write(1, f"{rows} {oct(os.stat(folder).st_mode)[-3:]}\n".encode())  # at once: two processes write here

count()
child = os.fork()
count()
if child:
    _, status = os.waitpid(child, 0)
    sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_process_has_its_own_engine_and_each_removes_its_private_folder(tmp_path):
    """Parent and child count after a fork, both end, and the folders that only their user can read are gone."""
    # Python 3.12 and newer warn of every fork beside threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(done.stdout.splitlines()) == ["100000 700"] * 3
    assert list(tmp_path.iterdir()) == []
