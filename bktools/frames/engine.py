"""The engine that joins frames: DuckDB for pandas and Arrow in memory, the caller's own engine for lazy frames.

What is joined is written once, on narwhals' lazy frames. Frames in memory go through Arrow to a fresh DuckDB
connection; Polars, DuckDB, Dask and PySpark frames stay where they are and nothing of them is collected here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import narwhals as nw
import pandas as pd
import pyarrow as pa

from bktools.errors import ArgumentError
from bktools.frames.schema import to_arrow, to_pandas

Lazy = nw.LazyFrame[Any]

IN_MEMORY = (pd.DataFrame, pa.Table)
SUPPORTED = "pandas, pyarrow, Polars, DuckDB, Dask or PySpark"


def lazy_frames(*frames: Any) -> tuple[Any, ...]:
    """Return frames as lazy frames of one engine, so that they can be joined.

    Parameters
    ----------
    *frames : DataFrame, pyarrow.Table, or a Polars, DuckDB, Dask or PySpark frame, or None
        pandas and Arrow frames go to a fresh in-process DuckDB connection, or to the engine of the lazy frames beside
        them where that can take rows (Polars, Dask, PySpark). None stays None.

    Returns
    -------
    tuple of narwhals.LazyFrame or None
        In the order given.

    Raises
    ------
    ArgumentError
        When a value is no frame, or the frames are of engines that cannot be joined.
    InputError
        When a column of a frame in memory holds values of several types, or two have one name.

    Examples
    --------
    >>> import pandas as pd
    >>> (accounts,) = lazy_frames(pd.DataFrame({"code": ["0400", None]}))
    >>> collect(accounts.filter(nw.col("code").is_null())).num_rows
    1
    """
    opened = [None if frame is None else _opened(frame, number) for number, frame in enumerate(frames)]
    native = [frame for frame in opened if isinstance(frame, nw.LazyFrame)]
    if not native:
        lift = _duckdb_lift()
    else:
        _refuse_mixture(native)
        lift = _lift_beside(native[0])
    return tuple(lift(frame) if isinstance(frame, pa.Table) else frame for frame in opened)


def in_memory(*frames: Any) -> bool:
    """Return whether all frames (None aside) are pandas or Arrow, so that results may be collected."""
    return all(frame is None or isinstance(nw.to_native(frame, pass_through=True), IN_MEMORY) for frame in frames)


def collect(frame: Lazy) -> pa.Table:
    """Run a lazy frame and return its rows as an Arrow table."""
    table: pa.Table = frame.collect(backend="pyarrow").to_native()
    return table


def in_pandas(frame: Any) -> pd.DataFrame:
    """Return a frame of any engine as a DataFrame; one of another engine than pandas is collected."""
    return frame if isinstance(frame, pd.DataFrame) else to_pandas(collect(*lazy_frames(frame)))


def kept(frame: Lazy) -> Lazy:
    """Run a lazy frame on DuckDB once and return its rows as a frame of the same connection.

    DuckDB would run a relation again for every query that stands on it.
    """
    rows: Lazy = nw.from_native(frame.to_native().materialize())
    return rows


def exploded(frame: Lazy, column: str) -> Lazy:
    """Return a row for each value of a column of lists, none of which is null or empty."""
    if not frame.implementation.is_duckdb():
        return frame.explode(column)
    # narwhals plans the frame twice on DuckDB, for the rows that have nothing to explode.
    rest, each = (
        duckdb.StarExpression(exclude=[column]),
        duckdb.FunctionExpression("unnest", duckdb.ColumnExpression(column)),
    )
    rows: Lazy = nw.from_native(frame.to_native().select(rest, each.alias(column)))
    return rows


def _opened(frame: Any, number: int) -> pa.Table | Lazy:
    """Return an Arrow table for what is in memory, a narwhals frame for what is lazy (or Polars)."""
    native = nw.to_native(frame, pass_through=True)
    if isinstance(native, IN_MEMORY):
        return to_arrow(native, f"frame {number + 1}")
    try:
        opened = nw.from_native(native)
    except TypeError:
        raise ArgumentError("frame", f"must be a {SUPPORTED} frame, is a {type(native).__name__}") from None
    if isinstance(opened, nw.DataFrame):
        return opened.lazy() if opened.implementation.is_polars() else opened.to_arrow()
    return opened


def _duckdb_lift() -> Callable[[pa.Table], Lazy]:
    connection = duckdb.connect(":memory:")
    # large_string becomes pandas `str` three times faster than string does.
    connection.execute("SET arrow_large_buffer_size = true")
    # DuckDB draws a bar into the terminal or notebook of whoever imported it when a query takes two seconds.
    connection.execute("SET enable_progress_bar = false")
    return lambda table: nw.from_native(connection.from_arrow(table))


def _refuse_mixture(native: list[Lazy]) -> None:
    engines = sorted({str(frame.implementation) for frame in native})
    if len(engines) > 1:
        raise ArgumentError("frames", f"must be of one engine, are of {' and '.join(engines)}: convert all but one")
    if native[0].implementation.is_duckdb():
        first = native[0].to_native().set_alias("first")
        try:
            for other in native[1:]:
                first.cross(other.to_native().set_alias("other"))
        except duckdb.InvalidInputException:
            raise ArgumentError("frames", "must be DuckDB relations of one connection: make them on the same") from None


def _lift_beside(frame: Lazy) -> Callable[[pa.Table], Lazy]:
    """Return what brings an Arrow table to the engine of a lazy frame."""
    engine, native = frame.implementation, frame.to_native()
    if engine.is_polars():
        return lambda table: nw.from_arrow(table, backend="polars").lazy()
    if engine.is_dask():
        dask = nw.get_native_namespace(frame)
        return lambda table: nw.from_native(
            dask.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=1)
        )
    if engine.is_pyspark():
        return lambda table: nw.from_native(native.sparkSession.createDataFrame(table))

    def refuse(_: pa.Table) -> Lazy:
        raise ArgumentError(
            "frames",
            f"of pandas or Arrow do not follow to {engine}: make them frames of {engine} first, or the others pandas",
        )

    return refuse
