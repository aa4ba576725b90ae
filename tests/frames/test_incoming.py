"""Frames of any tool come in as Arrow tables."""

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bktools.errors import ArgumentError, InputError
from bktools.frames.schema import to_pandas
from bktools.frames.tables import in_memory

CODES = pa.table(
    {
        "code": pa.array(["0400", None, "1200 of more than twelve letters"], pa.large_string()),
        "more": [1, 2, 3],
    }
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
def test_frames_of_every_kind_give_the_same_rows(kind, path):
    """Any frame gives the same rows, of which some can be taken; a missing text is null."""
    table = in_memory(KINDS[kind](path), "codes")
    assert table.to_pylist() == CODES.to_pylist()
    assert table.take([2, 0]).to_pylist() == CODES.take([2, 0]).to_pylist()


@pytest.mark.parametrize("kind", KINDS)
def test_other_columns_are_left_out(kind, path):
    """Of the columns that are asked for those that are there are kept."""
    assert in_memory(KINDS[kind](path), "codes", ("code", "none")).column_names == ["code"]


@pytest.mark.parametrize("wrong", [[1, 2], pd.Series(["0400"]), {"code": ["0400"]}])
def test_what_is_no_frame_is_refused(wrong):
    """The argument, what it must be, and what it is."""
    with pytest.raises(ArgumentError, match=r"^chart must be a pandas, pyarrow, .* Parquet file, is a \w+$"):
        in_memory(wrong, "chart")


@pytest.mark.parametrize("content", [b"external_id,code\n1,1\n", b"PAR1" + b"\0" * 40 + b"PAR1", None])
def test_a_file_that_is_no_parquet_is_one_line(tmp_path, content):
    """A CSV file, a damaged file and a missing one are named, with the function that reads files."""
    path = tmp_path / "chart.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"^chart .*: cannot be read as Parquet \(.*read_chart_of") as caught:
        in_memory(path, "chart")
    assert "\n" not in str(caught.value)


def test_column_of_mixed_types_is_refused():
    """A used column of numbers and text has lost leading zeros; it is named. Others may hold both."""
    mixed = pd.DataFrame({"code": ["0400", 400], "name": ["a", "b"]})
    with pytest.raises(InputError, match="the column code of chart holds values of mixed or unknown types"):
        in_memory(mixed, "chart")
    assert in_memory(mixed, "chart", ["name"]).column_names == ["name"]


def test_relation_that_fails_is_an_error_of_bktools():
    """What the caller's own connection cannot hold is one line, too."""
    connection = duckdb.connect(":memory:", config={"memory_limit": "10MB", "max_temp_directory_size": "0B"})
    rows = connection.sql(
        "SELECT range::VARCHAR || repeat('x', 50) AS code FROM range(1000000) ORDER BY code"
    )
    with pytest.raises(InputError, match=r"^chart: cannot be read \(") as caught:
        in_memory(rows, "chart")
    assert "\n" not in str(caught.value)
