import duckdb
import narwhals as nw
import pandas as pd
import pyarrow as pa
import pytest

from bktools.errors import ArgumentError, InputError
from bktools.frames.engine import collect, exploded, in_memory, in_pandas, kept, lazy_frames

CODES = pa.table({"code": pa.array(["0400", None, "1200 "], pa.large_string())})


def test_frames_in_memory_are_joined_by_duckdb_with_nulls_as_nulls():
    """A missing text of pandas is null, equal to nothing and different from nothing, as in Arrow."""
    left, right = lazy_frames(CODES.to_pandas(), CODES)
    assert left.implementation.is_duckdb()
    joined = collect(left.join(right, on="code")).column("code").to_pylist()
    assert sorted(joined) == ["0400", "1200 "]
    assert collect(left.filter(nw.col("code") != "0400")).num_rows == 1


def test_none_stays_none():
    """A frame that was not given stays out."""
    frame, nothing = lazy_frames(CODES, None)
    assert nothing is None
    assert collect(frame).num_rows == 3
    assert lazy_frames(None) == (None,)


def test_text_comes_back_as_large_string():
    """Text is collected in the type that becomes pandas text fastest."""
    assert collect(*lazy_frames(CODES)).schema.field("code").type == pa.large_string()


def test_duckdb_relation_stays_in_its_connection():
    """A relation is not copied: the rows are those of its connection."""
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE chart AS SELECT '0400' AS code")
    (chart,) = lazy_frames(connection.table("chart"))
    connection.execute("INSERT INTO chart VALUES ('1200')")
    assert collect(chart).num_rows == 2


def test_relations_of_two_connections_are_refused():
    """What cannot be joined is said before anything runs."""
    frames = [duckdb.connect(":memory:").sql("SELECT 1 AS code") for _ in range(2)]
    with pytest.raises(ArgumentError, match="one connection"):
        lazy_frames(*frames)


def test_pandas_beside_a_relation_is_refused():
    """A connection is the caller's: nothing is put into it."""
    with pytest.raises(ArgumentError, match="do not follow to"):
        lazy_frames(duckdb.connect(":memory:").sql("SELECT 1 AS code"), CODES)


def test_what_is_no_frame_is_refused():
    """A list of rows is no frame."""
    with pytest.raises(ArgumentError, match=r"frame must be a .* frame, is a list"):
        lazy_frames([1, 2])


def test_column_of_mixed_types_is_refused():
    """A column of numbers and text has lost leading zeros somewhere; it is named."""
    with pytest.raises(InputError, match="the column code of frame 2 holds values of mixed or unknown types"):
        lazy_frames(CODES, pd.DataFrame({"code": ["0400", 400]}))


def test_in_memory_tells_what_may_be_collected():
    """Frames of pandas and Arrow are in memory; a relation is not."""
    assert in_memory(CODES, CODES.to_pandas(), None)
    assert not in_memory(CODES, duckdb.connect(":memory:").sql("SELECT 1"))


def test_frames_of_any_engine_in_pandas():
    """A relation is collected with the types that frames have here; a DataFrame is itself."""
    frame = in_pandas(duckdb.connect(":memory:").from_arrow(CODES))
    assert frame["code"].dtype == "str"
    assert frame["code"].fillna("").to_list() == ["0400", "", "1200 "]
    assert in_pandas(frame) is frame


def test_kept_rows_do_not_change():
    """A frame that was kept has run: what happens to its source later is not seen."""
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE chart AS SELECT '0400' AS code")
    (chart,) = lazy_frames(connection.table("chart"))
    rows = kept(chart)
    connection.execute("INSERT INTO chart VALUES ('1200')")
    assert collect(rows).num_rows == 1
    assert collect(chart).num_rows == 2


def test_nothing_is_drawn_into_the_terminal():
    """The engine keeps silent, however long a query takes."""
    (frame,) = lazy_frames(CODES)
    assert frame.to_native().query("_", "SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_lists_are_exploded():
    """A row with two values in a list becomes two rows, with the other columns as they were."""
    (frame,) = lazy_frames(pa.table({"id": ["a", "b"], "hits": ["0 1", "2"]}))
    rows = exploded(frame.with_columns(nw.col("hits").str.split(" ")), "hits")
    assert sorted((row["id"], row["hits"]) for row in collect(rows).to_pylist()) == [("a", "0"), ("a", "1"), ("b", "2")]
