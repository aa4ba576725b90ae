"""The query engine: DuckDB in memory over frames of any supported tool, without copying them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bktools.errors import OutOfMemoryError, StorageError
from bktools.frames.incoming import described, in_memory, is_spark, parquet, source_of

__all__ = [
    "VERY_FEW_ROWS", "are_few", "described", "engine", "engine_errors", "in_memory", "is_spark", "kept", "parquet",
    "repeated_digests", "source_of",
]  # fmt: skip

# Converting large_string to pandas `str` takes a third of the time of string.
SETTINGS: Mapping[str, Any] = {"arrow_large_buffer_size": True}

FEW_ROWS = 100_000

# Up to so many rows, threads take longer to meet than one of them to do the work, and planning a view again takes longer than
# keeping its rows.
VERY_FEW_ROWS = 20_000

# The schema of a task's functions.
FUNCTIONS = "functions"

_NUMBERS = itertools.count()


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


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
