"""The query engine: DuckDB in memory over frames of any supported tool, without copying them."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from bktools.errors import ArgumentError, InputError, OutOfMemoryError, StorageError
from bktools.frames import schema
from bktools.frames.schema import to_pandas

Scannable: TypeAlias = pa.Table | ds.Dataset

SUPPORTED = "a pandas, pyarrow, Polars or DuckDB frame, or the path of a Parquet file"

# Converting large_string to pandas `str` takes a third of the time of string.
SETTINGS: Mapping[str, Any] = {"arrow_large_buffer_size": True}

FEW_ROWS = 100_000

# The schema of a task's functions.
FUNCTIONS = "functions"

MOST_THREADS = 4

_NUMBERS = itertools.count()


def scannable(frame: Any, name: str = "frame", columns: Collection[str] | None = None) -> Scannable:
    """Return a frame as Arrow, which DuckDB scans without a copy.

    Text of pandas, Arrow and Polars is not copied. A Parquet file is read while it is scanned. Lazy frames of Polars
    and relations of DuckDB are run once.

    Parameters
    ----------
    frame : DataFrame, pyarrow.Table, Polars frame, DuckDB relation, str or path
        It is not changed; an index is left out. Text is the path of a Parquet file, or of a folder of them.
    name : str
        Name of the frame for error messages, such as "entries".
    columns : collection of str, optional
        The columns to keep, where the frame has them. Default: all. Other columns are neither copied nor computed.

    Returns
    -------
    pyarrow.Table or pyarrow.dataset.Dataset
        A dataset for a path.

    Raises
    ------
    ArgumentError
        When the frame is of another kind.
    InputError
        When two columns have one name, a column holds values of several types, or the file cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> with engine("example", accounts=scannable(pd.DataFrame({"code": ["0400", None]}))) as connection:
    ...     connection.execute("SELECT code FROM accounts WHERE code IS NOT NULL").fetchall()
    [('0400',)]
    """
    native = frame.to_native() if hasattr(frame, "to_native") else frame
    if isinstance(native, str | Path):
        return _parquet(native, name)
    if hasattr(native, "collect_schema"):
        native = native.lazy().select(_wanted(native.collect_schema().names(), columns)).collect()
    elif isinstance(native, duckdb.DuckDBPyRelation):
        with engine_errors(name):
            native = native.select(*map(duckdb.ColumnExpression, _wanted(native.columns, columns))).to_arrow_table()
    elif isinstance(native, pd.DataFrame) and columns is not None:
        native = native.loc[:, native.columns.isin(list(columns))]
    if not isinstance(native, pd.DataFrame | pa.Table):
        if not hasattr(native, "__arrow_c_stream__") or isinstance(native, pd.Series):
            raise ArgumentError(name, f"must be {SUPPORTED}, is a {type(native).__name__}")
        native = pa.table(native)
    if isinstance(native, pa.Table) and columns is not None:
        native = native.select([place for place, name in enumerate(native.column_names) if name in columns])
    return schema.to_arrow(native, name)


@contextlib.contextmanager
def engine(task: str, functions: str = "", /, **frames: Scannable) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database of DuckDB with each frame as a view of its keyword's name; drop it at the end of the block.

    Parameters
    ----------
    task : str
        Name of the task for error messages, such as "reconcile_accounts".
    functions : str
        SQL that creates the macros of the task's queries.
    **frames : pyarrow.Table or pyarrow.dataset.Dataset
        As `scannable` returns them.

    Raises
    ------
    OutOfMemoryError, StorageError
        When a query in the block needs more memory, or more disk space, than there is.
    InputError
        When a file is damaged.
    """
    is_small = all(isinstance(frame, pa.Table) and len(frame) <= FEW_ROWS for frame in frames.values())
    database = (_database if is_small else _database.__wrapped__)(functions, **SETTINGS)
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


@contextlib.contextmanager
def engine_on_disk(task: str, folder: Path, *, memory: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database whose tables are in a file of a folder, for frames that are larger than memory.

    Parameters
    ----------
    task : str
        Name of the task for error messages.
    folder : path
        A private folder for the file; the caller deletes it.
    memory : str
        Most memory of the database, such as "1GB"; what needs more of it goes to the folder.

    Raises
    ------
    OutOfMemoryError, StorageError, InputError
        As `engine` does.
    """
    # Each thread has buffers of its own, which do not fit in little memory.
    limits: dict[str, Any] = {
        "memory_limit": memory,
        "temp_directory": str(folder),
        "threads": min(os.cpu_count() or 1, MOST_THREADS),
    }
    with engine_errors(task), duckdb.connect(folder / "tables.duckdb", config={**SETTINGS, **limits}) as connection:
        # The right side of a join is the small one in all queries; estimates would put the large one into memory.
        connection.execute("SET enable_progress_bar = false; SET disabled_optimizers = 'build_side_probe_side'")
        yield connection


def pieces(frame: Scannable, rows: int) -> Iterator[pa.Table]:
    """Yield the rows of a frame in order, a number of rows at a time; an empty frame yields one table without rows.

    A dataset is read while it is iterated.
    """
    if isinstance(frame, pa.Table):
        batches = frame.to_batches(rows)
    else:
        # Nothing is read ahead, which would take twice the memory.
        unbuffered = ds.ParquetFragmentScanOptions(pre_buffer=False)
        batches = frame.to_batches(
            batch_size=rows, batch_readahead=1, fragment_readahead=1, fragment_scan_options=unbuffered
        )
    is_empty = True
    for batch in batches:
        if batch.num_rows:
            is_empty = False
            yield pa.Table.from_batches([batch])
    if is_empty:
        yield frame.schema.empty_table()


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
    """Turn DuckDB's errors about memory, disk and files into errors of bktools, in one line."""
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
    except duckdb.InvalidInputException as error:
        # An error of Arrow, raised while DuckDB reads a file.
        if "reading the stream" not in str(error):
            raise
        raise InputError(
            f"{task} could not read a given file ({_first_line(error)}): nothing was changed; write the file again"
        ) from None


def in_pandas(frame: Any) -> pd.DataFrame:
    """Return a frame of any supported tool as a DataFrame; a lazy one is computed."""
    if isinstance(frame, pd.DataFrame):
        return frame
    # PySpark
    table = frame.toArrow() if hasattr(frame, "toArrow") else scannable(frame)
    return to_pandas(table if isinstance(table, pa.Table) else table.to_table())


def has_order(frame: Any) -> bool:
    """Whether the rows of a frame have an order, so that a mask can select them: pandas, Arrow, eager Polars frames."""
    is_frame = hasattr(frame, "__len__") and hasattr(frame, "columns")
    return is_frame and not isinstance(frame, duckdb.DuckDBPyRelation)


def _wanted(has: Collection[str], columns: Collection[str] | None) -> list[str]:
    return [name for name in has if columns is None or name in columns]


def _parquet(path: str | Path, name: str) -> ds.Dataset:
    try:
        return ds.dataset(path, format="parquet")
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"cannot be read as Parquet ({_first_line(error)})", source=f"{name} {path}") from None


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
