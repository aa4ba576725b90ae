"""Frames that come in: of any supported tool as Arrow tables, with where their rows came from."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema

SUPPORTED = "a pandas, pyarrow, Polars, DuckDB or PySpark frame, or the path of a Parquet file"

# The metadata of an Arrow table that say where its rows came from.
SOURCE = b"bktools"


def in_memory(frame: Any, name: str = "frame", columns: Collection[str] | None = None) -> pa.Table:
    """Return a frame, or the rows of a Parquet file, as an Arrow table.

    `columns` are kept where the frame has them, by default all; others are neither copied, computed nor read.
    An index is left out. Text of pandas, Arrow and Polars is not copied. Lazy frames of Polars and relations
    of DuckDB are run once, frames of PySpark are collected. `name` is that of the frame in messages.

    Examples
    --------
    >>> import pandas as pd
    >>> in_memory(pd.DataFrame({"code": ["0400", None]})).to_pylist()
    [{'code': '0400'}, {'code': None}]
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
    if not isinstance(source, pd.DataFrame | pa.Table):
        if not hasattr(source, "__arrow_c_stream__") or isinstance(source, pd.Series):
            raise ArgumentError(name, f"must be {SUPPORTED}, is a {type(source).__name__}")
        source = _streamed(source, name)
    if isinstance(source, pa.Table) and columns is not None:
        source = source.select([place for place, name in enumerate(source.column_names) if name in columns])
    return schema.to_arrow(source, name, columns)


def parquet(path: str | Path, name: str = "frame") -> ds.Dataset:
    """Return a Parquet file whose rows are not read yet."""
    with _parquet_errors(path, name):
        return ds.dataset(path, format="parquet")


@contextlib.contextmanager
def _parquet_errors(path: str | Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"cannot be read as Parquet ({_first_line(error)}){schema.READ_FIRST}", source=f"{name} {path}"
        ) from None


def is_spark(frame: Any) -> bool:
    """Whether a frame is of PySpark, classic or of Spark Connect, which has an attribute of every name."""
    return type(frame).__module__.startswith("pyspark.sql.")


def source_of(frame: Any) -> dict[str, Any]:
    """Return where a frame's rows came from, by `described` or `attrs` of pandas; empty where unknown."""
    if isinstance(frame, pa.Table):
        return dict(json.loads((frame.schema.metadata or {}).get(SOURCE, b"{}")))
    return dict(frame.attrs.get("bktools", {})) if isinstance(frame, pd.DataFrame) else {}


def described(table: pa.Table, source: Mapping[str, Any]) -> pa.Table:
    """Return an Arrow table that says where its rows came from, as `attrs` of a DataFrame does."""
    return table.replace_schema_metadata({SOURCE: json.dumps(source, default=str)})


def _streamed(frame: Any, name: str) -> pa.Table:
    """Read another tool's frame by Arrow's stream interface; a query that fails is an error of one line."""
    try:
        return pa.table(frame)
    except Exception as error:  # noqa: BLE001 - each tool has errors of its own
        raise InputError(f"cannot be read ({_first_line(error)})", source=name) from None


def _wanted(has: Collection[str], columns: Collection[str] | None) -> list[str]:
    return [name for name in has if columns is None or name in columns]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
