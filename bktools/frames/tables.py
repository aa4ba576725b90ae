"""The door for frames: of any tool they become Arrow tables with one type a column, and are read as such.

`in_memory` returns any frame in the house's own types, `typed` a frame that a function names, with each of
its columns in the type that it has everywhere. `to_arrow` is the way out.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bktools.contract.rules import UUID_LENGTH
from bktools.errors import ArgumentError, InputError
from bktools.frames.money import with_decimals
from bktools.frames.schema import (
    ACCOUNTS,
    AMOUNT_DIGITS,
    CATEGORIES,
    COUNT,
    DATE,
    DIGITS,
    ENTRIES,
    EXPORTED_ENTRIES,
    FLAG,
    INSTANT,
    MONEY,
    TEXT,
    TEXTS,
)
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
    messages. The table says where its rows came from, as `source_of` reads it.

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
    table = with_decimals(_in_own_types(table, name))
    known = {} if is_arrow else source_of(source)
    return described(table, known) if known else table


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
    own = {SOURCE: json.dumps(source, default=str)}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **own})


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


@dataclass(frozen=True)
class Shape:
    """What a function needs of a frame.

    Parameters
    ----------
    source : str
        The function that returns such a frame.
    needed : tuple of str
        Required columns.
    types : mapping of str to DataType
        The columns that are read, each with its type.
    filled : tuple of str
        Columns without gaps.
    """

    source: str
    needed: tuple[str, ...]
    types: Mapping[str, pa.DataType]
    filled: tuple[str, ...] = ()


# Columns that composing adds to the entries.
COMPOSED = ("batch_id", "reason", "message", "facts")

# The types of columns in every frame; a line may be anything that names it.
TYPES: Mapping[str, pa.DataType] = {
    field.name: field.type
    for columns in (CATEGORIES, ACCOUNTS, EXPORTED_ENTRIES, ENTRIES)
    for field in columns
    if field.name != "line"
} | {"in_chart": FLAG}


def _shape(source: str, needed: str, others: str = "") -> Shape:
    names = needed.split()
    return Shape(source, tuple(names), {name: TYPES.get(name, TEXT) for name in [*names, *others.split()]})


SHAPES: Mapping[str, Shape] = {
    "entries": Shape("read_entries", ("id", "company_id"), TYPES),
    "categories": _shape("load_categories", "id company_id archived account_id", "name"),
    "accounts": _shape(
        "load_accounts", "id archived", "code external_id name tax_code_external_id state updated_at in_chart"
    ),
    "employees": _shape("load_employees", "id", "first_name last_name email"),
    "history": _shape("load_export_jobs(entries=True)", "entry_id state", " ".join(EXPORTED_ENTRIES.names)),
}


def checked(table: pa.Table, name: str, shape: Shape) -> pa.Table:
    """Return a frame in the types of a shape; refuse one that lacks a column, or has gaps or other types."""
    require_columns(name, table.column_names, shape.needed, shape.source)
    for column, kind in shape.types.items():
        if column in table.column_names:
            table = with_column(table, column, as_type(table.column(column), kind, column, name))
    refuse_gaps(name, {column: table.column(column).null_count for column in shape.filled})
    return table


def typed(frame: Any, name: str) -> pa.Table:
    """Return a frame of SHAPES as an Arrow table with one type a column; text, numbers, dates are not copied.

    Text is large_string, flags are boolean, amounts are exact numbers, and times are the days that they are
    on. Of other frames than entries the columns of the shape are kept; one that the frame lacks is null.
    Entries keep all columns and have their UUIDs in lower case, as they are sent, and their `line` by number.

    Raises
    ------
    InputError
        When a required column is missing, or a column has the wrong type.
    """
    shape, keeps_all = SHAPES[name], name == "entries"
    table = in_memory(frame, f"the {name}", None if keeps_all else shape.types)
    table = checked(without_columns(table, COMPOSED) if keeps_all else table, name, shape)
    if not keeps_all:
        return with_missing(table, pa.schema(shape.types)).select([*shape.types])
    for column in shape.needed:
        ids = table.column(column)
        # An ID of another kind is shown as the file has it.
        lower = pc.if_else(pc.equal(pc.binary_length(ids), UUID_LENGTH), pc.ascii_lower(ids), ids)
        table = with_column(table, column, lower)
    has_lines = "line" in table.column_names
    return table if has_lines else table.append_column("line", pa.array(np.arange(1, len(table) + 1)))


def days_and_amounts(entries: pa.Table, texts: Iterable[str]) -> pl.DataFrame:
    """Return `day` and exact `amount` of entries with columns of text; one that they lack is null.

    Raises
    ------
    InputError
        When the dates are no dates, the amounts no numbers, or a column cannot be text.
    """
    columns = {name: text_of(entries, name) for name in texts}
    columns |= {"day": days_of(entries), "amount": amounts_of(entries)}
    return pl.DataFrame(pa.table(columns))


class Kind(NamedTuple):
    """The code of a type in messages, and whether a column of some type may be read as one of it."""

    code: str
    fits: Callable[[pa.DataType], bool]


KINDS: Mapping[pa.DataType, Kind] = {
    TEXT: Kind("text", lambda kind: kind in TEXTS),
    FLAG: Kind("flag", pa.types.is_boolean),
    COUNT: Kind("count", lambda _: True),
    # Days and times that are text, as in a CSV file, are ISO 8601.
    DATE: Kind("date", lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind) or kind in TEXTS),
    INSTANT: Kind("date", lambda _: True),
    MONEY: Kind("amount", lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind)),
}

_UTC = {"UTC", "Etc/UTC", "Z", "+00:00"}


def require_columns(name: str, columns: Collection[str], needed: Collection[str], source: str) -> None:
    """Refuse a frame without a required column; `source` is the function that returns such a frame."""
    missing = [column for column in needed if column not in columns]
    if missing:
        facts = {"columns": ", ".join(missing), "count": len(missing), "function": source}
        raise InputError(Sentence("error.needs_columns", **facts), source=name)


def wrong_kind(name: str, column: str, wanted: pa.DataType, kind: pa.DataType) -> InputError:
    """Return the error for a column of the wrong type."""
    code = "number_for_text" if wanted == TEXT and pa.types.is_integer(kind) else "wrong_kind"
    if wanted == MONEY:
        code = "no_exact_numbers"
    facts = {"column": column, "wanted": KINDS[wanted].code, "held": "text" if kind in TEXTS else str(kind)}
    return InputError(Sentence(f"error.{code}", **facts), source=name)


def refuse_gaps(name: str, gaps: Mapping[str, int]) -> None:
    """Refuse gaps in columns that must be filled; `gaps` has the number of empty rows by column."""
    for column, count in gaps.items():
        if count:
            raise InputError(Sentence("error.empty_cells", column=column, count=count), source=name)


def as_type(column: pa.ChunkedArray, kind: pa.DataType, heading: str, name: str) -> pa.ChunkedArray:
    """Return a column in a type of KINDS, amounts with all their decimals; refuse other values."""
    # A column without rows has a type all the same; pandas makes floats of nothing.
    is_typed = not (len(column) or pa.types.is_null(column.type) or pa.types.is_floating(column.type))
    if column.null_count == len(column) and not is_typed:
        return pa.chunked_array([pa.nulls(len(column), kind)])
    try:
        if KINDS[kind].fits(column.type):
            if kind == MONEY:
                return in_one_scale(column, name=name)[0]
            return days(column) if kind == DATE else pc.cast(column, kind)
    except pa.ArrowException:
        pass
    raise wrong_kind(name, heading, kind, column.type)


def text_of(table: pa.Table, column: str, name: str = "entries") -> pa.ChunkedArray:
    """Return a column as text, nulls where the table lacks it; refuse one whose values cannot be text."""
    values = _column_of(table, column)
    try:
        return pc.cast(values, TEXT)
    except pa.ArrowException:
        raise wrong_kind(name, column, TEXT, values.type) from None


def days_of(table: pa.Table, name: str = "entries") -> pa.ChunkedArray:
    """Return the days of the column `date`, nulls where there is none; refuse a column without dates."""
    return as_type(_column_of(table, "date"), DATE, "date", name)


def months_in(table: pa.Table) -> pa.ChunkedArray:
    """Return the months of the column `date`, such as 2026-10, as `days_of` returns its days."""
    return pc.utf8_slice_codeunits(pc.cast(days_of(table), TEXT), 0, len("2026-10"))


def amounts_of(table: pa.Table, name: str = "entries") -> pa.ChunkedArray:
    """Return the amounts, nulls where the table lacks them; refuse other values than numbers."""
    return as_type(_column_of(table, "amount"), MONEY, "amount", name)


def _column_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    has_column = name in table.column_names
    return table.column(name) if has_column else pa.chunked_array([pa.nulls(len(table))])


def with_column(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return a table with a column, in the place of the one of this name, or behind the others."""
    if name not in table.column_names:
        return table.append_column(name, values)
    return table.set_column(table.column_names.index(name), name, values)


def without_columns(table: pa.Table, columns: Collection[str]) -> pa.Table:
    """Return a table without the columns of these names, where it has them."""
    return table.drop_columns([name for name in columns if name in table.column_names])


def with_missing(table: pa.Table, columns: pa.Schema) -> pa.Table:
    """Return a table with columns; one that it lacks is null."""
    for column in columns:
        if column.name not in table.column_names:
            table = table.append_column(column.name, pa.nulls(len(table), column.type))
    return table


def in_one_scale(*amounts: pa.ChunkedArray, scale: int = 0, name: str = "") -> list[pa.ChunkedArray]:
    """Return exact amounts with the decimals that the finest of all needs.

    Amounts that are text have `scale` decimals at most; `name` is that of the frame in messages.

    Raises
    ------
    InputError
        When an amount has more than AMOUNT_DIGITS digits.
    """
    needed = [_without_zeros(column, scale) for column in amounts]
    scale = max((column.type.scale for column in needed), default=0)
    try:
        short = [pc.cast(column, pa.decimal128(AMOUNT_DIGITS, scale)) for column in needed]
    except pa.ArrowInvalid:
        raise InputError(Sentence("error.too_many_digits", most=AMOUNT_DIGITS), source=name) from None
    return [pc.cast(column, pa.decimal128(DIGITS, scale)) for column in short]


def _without_zeros(amounts: pa.ChunkedArray, scale: int) -> pa.ChunkedArray:
    """Return decimals without zeros that all of them have at their end, but with two decimals."""
    if not pa.types.is_decimal(amounts.type):
        return pc.cast(amounts, pa.decimal128(DIGITS, scale))
    for fewer in range(MONEY.scale, amounts.type.scale):
        with contextlib.suppress(pa.ArrowInvalid):
            return pc.cast(amounts, pa.decimal128(DIGITS, fewer))
    return amounts


def tables_in_one_scale(*tables: pa.Table) -> list[pa.Table]:
    """Return tables whose amounts are as `in_one_scale` returns them; one without amounts stays."""
    scaled = iter(in_one_scale(*(table["amount"] for table in tables if "amount" in table.column_names)))
    return [
        with_column(table, "amount", next(scaled)) if "amount" in table.column_names else table
        for table in tables
    ]


def split_lines(table: pa.Table) -> pa.ChunkedArray:
    """Return the numbers of the lines of split entries, 0 for an entry of one line."""
    if "split_line" not in table.column_names:
        return pa.chunked_array([pa.repeat(pa.scalar(0, COUNT), len(table))])
    return pc.fill_null(pc.cast(table.column("split_line"), COUNT), 0)


def texts_of(table: pa.Table, name: str) -> list[str | None]:
    """Return a column as exact text; dates without a time, null for a missing column."""
    if name not in table.column_names:
        return [None] * len(table)
    column = table.column(name)
    values: list[Any] = (days(column) if pa.types.is_timestamp(column.type) else column).to_pylist()
    if column.type == TEXT:
        return values
    # Arrow would write a small decimal with an exponent.
    text = "{:f}".format if pa.types.is_decimal(column.type) else str
    return [None if value is None else text(value) for value in values]


def days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the calendar day of dates and times; times with a zone have the day of their zone."""
    return wall_times(column).cast(DATE, safe=False)


def wall_times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times with a zone as that zone's clocks show them, without the zone; other columns unchanged."""
    kind = column.type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return column
    plain = pa.timestamp(kind.unit)
    if kind.tz in _UTC:
        return column.cast(plain)
    # Arrow needs a database of zones from the system, which Windows lacks. pandas brings its own.
    return pa.chunked_array([pa.array(column.to_pandas().dt.tz_localize(None), plain)])


def to_arrow(frame: Any) -> pa.Table:
    """Return a frame as an Arrow table, for Polars, DuckDB, Spark and Parquet.

    Parameters
    ----------
    frame : DataFrame
        Any frame, also of Polars, DuckDB or PySpark. It is not changed; its index is left out.

    Returns
    -------
    pyarrow.Table
        Text is large_string, an amount decimal128 with the decimals of its currency, a flag bool, a count
        int64, a date date32, and a time timestamp[us], in UTC where it has a zone; a missing value is null.
        Times without a zone are dates when every time of the column is midnight. The schema has no metadata
        but `bktools`, the source of the rows as JSON, where it is known.

    Raises
    ------
    InputError
        When a column holds values of several types, or two columns have one name.

    Notes
    -----
    The tables of a result come at once by its method: `plan.to_arrow()["batches"]`. Source of the columns:
    interface, section 2.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     table = bktools.to_arrow(bktools.load_categories(service=service))
    >>> table.schema.field("archived").type
    DataType(bool)

    `polars.from_arrow(table)` is a Polars frame, `duckdb.from_arrow(table)` a relation of DuckDB.
    """
    known = source_of(frame)
    table = in_memory(frame, "the frame")
    table = pa.table([_in_microseconds(column) for column in table.columns], table.column_names)
    return described(table, known) if known else table


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times in microseconds, in UTC where they have a zone; other columns unchanged."""
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column
    zone = kind.tz and "UTC"
    try:
        return column.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        # Nanoseconds would be lost.
        return column.cast(pa.timestamp(kind.unit, zone))
