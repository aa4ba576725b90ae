"""Frames that come in: of any supported tool as Arrow tables, with where their rows came from."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bktools.errors import ArgumentError, InputError
from bktools.frames.money import with_decimals
from bktools.frames.schema import DATE, DIGITS, TEXT
from bktools.wording import Sentence

# Arrow's errors for values that cannot be a column: mixed types, huge integers, lone surrogates.
_NO_COLUMN = (pa.ArrowException, TypeError, ValueError, OverflowError)

# Types that some engine does not support, and that none replaces.
_UNSUPPORTED = (
    *(pa.types.is_union, pa.types.is_interval, pa.types.is_list_view, pa.types.is_large_list_view),
    pa.types.is_run_end_encoded,
)

# Types of columns, each with the one type of the house that replaces it.
_REPLACED = {
    **dict.fromkeys((pa.string(), pa.string_view()), TEXT),
    pa.binary_view(): pa.large_binary(),
    pa.float16(): pa.float32(),
    pa.date64(): DATE,
}

# The metadata of an Arrow table that say where its rows came from.
SOURCE = b"bktools"


def in_memory(frame: Any, name: str = "the frame", columns: Collection[str] | None = None) -> pa.Table:
    """Return a frame, or the rows of a Parquet file, as an Arrow table of the house's own types.

    Text is large_string, money decimal128, and times without a zone are days where each is midnight.
    `columns` are kept where the frame has them, by default all; others are neither copied, computed nor read.
    An index is left out, and missing values become null. Text of pandas is not copied. Lazy frames of Polars
    and relations of DuckDB are run once, frames of PySpark are collected. `name` is that of the frame in
    messages.

    Examples
    --------
    >>> import pandas as pd
    >>> in_memory(pd.DataFrame({"code": ["0400", None]})).to_pylist()
    [{'code': '0400'}, {'code': None}]
    """
    if frame is None:
        raise ArgumentError(name, Sentence("rule.a_frame"))
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
            raise ArgumentError(name, Sentence("rule.supported_frame", kind=type(source).__name__))
        source = _streamed(source, name)
    is_arrow = isinstance(source, pa.Table)
    headings = _wanted(source.column_names if is_arrow else [*source.columns], columns)
    heading, count = next(iter(Counter(map(str, headings)).most_common(1)), ("", 0))
    if count > 1:
        raise InputError(Sentence("error.equal_headings", count=count, name=name, heading=heading))
    table = source.select(headings) if is_arrow else _converted(source, headings, name)
    table = _in_own_types(table, name)
    return with_decimals(table)


def parquet(path: str | Path, name: str = "frame") -> ds.Dataset:
    """Return a Parquet file whose rows are not read yet."""
    with _parquet_errors(path, name):
        return ds.dataset(path, format="parquet")


@contextlib.contextmanager
def _parquet_errors(path: str | Path, name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        facts = {"why": _first_line(error)}
        raise InputError(Sentence("error.not_parquet", **facts), source=f"{name} {path}") from None


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
        raise InputError(Sentence("error.unreadable_frame", why=_first_line(error)), source=name) from None


def _wanted(has: Collection[Any], columns: Collection[str] | None) -> list[Any]:
    return [name for name in has if columns is None or name in columns]


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _converted(frame: pd.DataFrame, headings: Sequence[Any], name: str) -> pa.Table:
    try:
        # Text of pandas is Arrow's already: threads would take longer to start than to work.
        return pa.Table.from_pandas(frame, preserve_index=False, nthreads=1, columns=headings)
    except _NO_COLUMN:
        arrays = [_array_of(str(heading), frame[heading], name) for heading in headings]
        return pa.Table.from_arrays(arrays, [str(heading) for heading in headings])


def _array_of(heading: str, column: pd.Series, name: str) -> pa.Array | pa.ChunkedArray:
    try:
        if column.dtype == "object":
            # Arrow before 21 has no type for UUID objects.
            column = column.map(lambda value: str(value) if isinstance(value, uuid.UUID) else value)
        return pa.array(column, from_pandas=True)
    except _NO_COLUMN as error:
        why = " ".join(str(error.args[0] if isinstance(error, pa.ArrowException) else error).split())
        raise InputError(Sentence("error.mixed_types", heading=heading, name=name, why=why)) from None


def _in_own_types(table: pa.Table, name: str) -> pa.Table:
    for place, field in enumerate(table.schema):
        try:
            column = plain_column(table.column(place))
        except pa.ArrowException:
            facts = {"heading": field.name, "name": name, "kind": str(field.type)}
            raise InputError(Sentence("error.unsupported_type", **facts)) from None
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return table


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in the one type of its values; raise Arrow's error where some engine has none."""
    kind, types = column.type, pa.types
    if isinstance(kind, pa.UuidType):
        texts = [
            None if value is None else str(uuid.UUID(bytes=value)) for value in _storage(column).to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, TEXT)])
    if isinstance(kind, pa.JsonType):
        return plain_column(_storage(column))
    if types.is_dictionary(kind):
        chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        return plain_column(pa.chunked_array(chunks, kind.value_type))
    if any(is_kind(kind) for is_kind in _UNSUPPORTED) or (types.is_decimal(kind) and kind.scale > DIGITS):
        raise pa.ArrowTypeError(str(kind))
    wanted = pa.decimal128(DIGITS, kind.scale) if types.is_decimal(kind) else _REPLACED.get(kind, kind)
    column = column if wanted == kind else column.cast(wanted)
    if not types.is_timestamp(wanted) or wanted.tz is not None:
        return column
    is_day = pc.all(pc.equal(pc.floor_temporal(column, unit="day"), column)).as_py() is not False
    return column.cast(DATE, safe=False) if is_day else column


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
