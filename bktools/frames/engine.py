"""The query engine: DuckDB in memory over frames of any supported tool, without copying them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from bktools.errors import ArgumentError, InputError, OutOfMemoryError, StorageError
from bktools.frames import schema

SUPPORTED = "a pandas, pyarrow, Polars, DuckDB or PySpark frame, or the path of a Parquet file"

# Converting large_string to pandas `str` takes a third of the time of string.
SETTINGS: Mapping[str, Any] = {"arrow_large_buffer_size": True}

FEW_ROWS = 100_000

# Up to so many rows, threads take longer to meet than one of them to do the work, and planning a view again takes longer than
# keeping its rows.
VERY_FEW_ROWS = 20_000

# The metadata of an Arrow table that say where its rows came from.
SOURCE = b"bktools"

# The schema of a task's functions.
FUNCTIONS = "functions"

_NUMBERS = itertools.count()


def in_memory(frame: Any, name: str = "frame", columns: Collection[str] | None = None) -> pa.Table:
    """Return a frame, or the rows of a Parquet file, as an Arrow table, which DuckDB scans without a copy.

    `columns` are kept where the frame has them, by default all; others are neither copied, computed nor read. An index
    is left out. Text of pandas, Arrow and Polars is not copied. Lazy frames of Polars and relations of DuckDB are run
    once, frames of PySpark are collected. `name` is that of the frame in messages.

    Examples
    --------
    >>> import pandas as pd
    >>> with engine("example", accounts=in_memory(pd.DataFrame({"code": ["0400", None]}))) as connection:
    ...     connection.execute("SELECT code FROM accounts WHERE code IS NOT NULL").fetchall()
    [('0400',)]
    """
    if frame is None:
        raise ArgumentError(name, "must be a frame: give an empty one if there are no rows")
    source = frame
    if isinstance(source, str | Path):
        file = parquet(source, name)
        with _parquet_errors(source, name):
            source = file.to_table(_wanted(file.schema.names, columns))
    elif is_spark(source):
        quoted = [f"`{column.replace('`', '``')}`" for column in _wanted(source.columns, columns)]
        source = source.select(*quoted).toArrow()
    elif hasattr(source, "collect_schema"):
        source = source.lazy().select(_wanted(source.collect_schema().names(), columns)).collect()
    elif isinstance(source, duckdb.DuckDBPyRelation):
        with engine_errors(name):
            source = source.select(*map(duckdb.ColumnExpression, _wanted(source.columns, columns))).to_arrow_table()
    elif isinstance(source, pd.DataFrame) and columns is not None:
        source = source.loc[:, source.columns.isin(list(columns))]
    if not isinstance(source, pd.DataFrame | pa.Table):
        if not hasattr(source, "__arrow_c_stream__") or isinstance(source, pd.Series):
            raise ArgumentError(name, f"must be {SUPPORTED}, is a {type(source).__name__}")
        source = pa.table(source)
    if isinstance(source, pa.Table) and columns is not None:
        source = source.select([place for place, name in enumerate(source.column_names) if name in columns])
    return schema.to_arrow(source, name)


def parquet(path: str | Path, name: str = "frame") -> ds.Dataset:
    """Return a Parquet file whose rows are not read yet."""
    with _parquet_errors(path, name):
        return ds.dataset(path, format="parquet")


@contextlib.contextmanager
def _parquet_errors(path: str | Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot be read as Parquet ({_first_line(error)})", source=f"{name} {path}") from None


def is_spark(frame: Any) -> bool:
    """Whether a frame is of PySpark, classic or of Spark Connect, which has an attribute of every name."""
    return type(frame).__module__.startswith("pyspark.sql.")


@contextlib.contextmanager
def engine(task: str, functions: str = "", /, **frames: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database of DuckDB with each frame as a view of its keyword's name; drop it at the end of the block.

    `task` names the task in messages, such as "reconcile_accounts"; `functions` is SQL that creates the macros of its
    queries. Errors of DuckDB in the block are as `engine_errors` raises them.
    """
    opened = _database if are_few(frames.values()) else _database.__wrapped__
    threads = {"threads": 1} if are_few(frames.values(), VERY_FEW_ROWS) else {}
    database = opened(functions, **SETTINGS, **threads)
    name = f"task_{next(_NUMBERS)}"
    with engine_errors(task):
        connection = database.cursor()
        try:
            # Otherwise DuckDB shows its own bar when a query takes two seconds.
            connection.execute(
                f"SET enable_progress_bar = false; ATTACH ':memory:' AS {name}; "
                f"SET search_path = '{name}.main,memory.{FUNCTIONS}'"
            )
            for view, frame in frames.items():
                connection.register(view, frame)
            yield connection
        except duckdb.FatalException:
            # DuckDB refuses every later query of this database.
            _database.cache_clear()
            raise
        finally:
            connection.close()
            with database.cursor() as last:
                last.execute(f"DETACH DATABASE IF EXISTS {name}")


def kept(
    connection: duckdb.DuckDBPyConnection, name: str, query: str, values: Mapping[str, Any] | None = None
) -> pa.Table:
    """Return the rows of a query, kept as a table of this name: it is planned once, a relation for columns and rows each."""
    connection.execute(f"CREATE TABLE {name} AS {query}", values)
    return connection.table(name).to_arrow_table()


def are_few(frames: Iterable[pa.Table], rows: int = FEW_ROWS) -> bool:
    """Return whether frames are so small that DuckDB takes longer to prepare a query than to run it."""
    return all(len(frame) <= rows for frame in frames)


def repeated_digests(connection: duckdb.DuckDBPyConnection, table: str, *columns: str) -> pa.Table:
    """Return the digests (DuckDB's `hash`) that some columns have more than once: of repeated values, rarely of others.

    Rows without the last column are left out.
    """
    # Sorting digests takes a fraction of the time and memory of counting texts.
    query = f"SELECT hash({', '.join(columns)}) AS digest FROM {table} WHERE {columns[-1]} IS NOT NULL"  # noqa: S608 - own words
    digests = np.asarray(connection.execute(query).fetchnumpy()["digest"])
    digests.sort()
    return pa.table({"digest": np.unique(digests[1:][digests[1:] == digests[:-1]])})


@functools.cache
def _database(functions: str, **settings: Any) -> duckdb.DuckDBPyConnection:
    """Open DuckDB with a schema of functions.

    For small frames it is opened once a process, because opening takes longer than most of their queries. For others it
    is opened each time, because DuckDB keeps the memory of its largest query until it is closed.
    """
    # Data that does not fit in memory goes to a private temporary folder.
    folder = tempfile.mkdtemp(prefix="bktools-")
    database = duckdb.connect(":memory:", config={"temp_directory": folder, **settings})
    weakref.finalize(database, shutil.rmtree, folder, ignore_errors=True)
    with database.cursor() as connection:
        connection.execute(f"CREATE SCHEMA {FUNCTIONS}; USE {FUNCTIONS}; {functions}")
    return database


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of DuckDB, and would wait for them.
    os.register_at_fork(before=_database.cache_clear)


@contextlib.contextmanager
def engine_errors(task: str) -> Iterator[None]:
    """Turn DuckDB's errors about memory and disk into errors of bktools, in one line."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise OutOfMemoryError(
            f"{task} needs more memory than there is ({_first_line(error)}): nothing was changed; close other programs "
            "and notebooks, or pass fewer rows, such as one company at a time"
        ) from None
    except duckdb.IOException as error:
        raise StorageError(
            f"{task} could not use the disk ({_first_line(error)}): nothing was changed; free some space in "
            f"{tempfile.gettempdir()} and run it again"
        ) from None


def source_of(frame: Any) -> dict[str, Any]:
    """Return where the rows of a frame came from, as `described` or `attrs` of pandas say; empty where nothing is known."""
    if isinstance(frame, pa.Table):
        return dict(json.loads((frame.schema.metadata or {}).get(SOURCE, b"{}")))
    return dict(frame.attrs.get("bktools", {})) if isinstance(frame, pd.DataFrame) else {}


def described(table: pa.Table, source: Mapping[str, Any]) -> pa.Table:
    """Return an Arrow table that says where its rows came from, as `attrs` of a DataFrame does."""
    return table.replace_schema_metadata({SOURCE: json.dumps(source, default=str)})


def _wanted(has: Collection[str], columns: Collection[str] | None) -> list[str]:
    return [name for name in has if columns is None or name in columns]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
