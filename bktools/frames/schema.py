"""Columns and types of every frame, and the conversion between Arrow and pandas.

Frames have the interface's field names in snake_case. Text is pandas `str`, flags are `bool`, timestamps are
in UTC, calendar dates have no time zone, and money is float64 (`bktools.frames.money`). Missing values stay
null.

The types are the same with pandas 2 and 3. Frames that you make yourself differ: pandas 2 makes objects of
text, which are read alike, and its `astype("str")` turns a missing value into the text "None".
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.categories import Category
from bktools.errors import InputError
from bktools.frames import money as amounts

# Arguments: a moment such as 2026-10-31 or an ISO 8601 instant, where a month or a day means its end; a month
# such as 2026-10, or a day or a time in it.
Moment = str | dt.date | dt.datetime | pd.Period | np.datetime64
Month = Moment

# Converting large_string to pandas `str` takes a third of the time of string.
TEXT = pa.large_string()
# The types that text, and its bytes, may have.
TEXTS = (pa.string(), TEXT, pa.string_view())
BYTES = (pa.binary(), pa.large_binary(), pa.binary_view())
FLAG = pa.bool_()
COUNT = pa.int64()
_UTC = {"UTC", "Etc/UTC", "Z", "+00:00"}
INSTANT = pa.timestamp("us", tz="UTC")
DATE = pa.date32()
# Money of Arrow tables has all digits of a decimal; the scale comes from the file, and is 2 without rows.
DIGITS = amounts.DIGITS
MONEY = pa.decimal128(DIGITS, 2)


# Types by their names in the descriptions of columns.
TYPES = {"text": TEXT, "flag": FLAG, "count": COUNT, "date": DATE, "instant": INSTANT, "money": MONEY}


def _columns(described: str) -> dict[str, pa.DataType]:
    """Return the type of each column of a description such as "id text, amount money"."""
    return {name: TYPES[kind] for name, kind in (column.split() for column in described.split(","))}


def _schema(required: str, optional: str) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in _columns(required).items()]
    return pa.schema(fields + [pa.field(name, kind) for name, kind in _columns(optional).items()])


# Numbers of the service, such as rates, exact to this many decimals; a record with more of them is refused.
# With more of them, Python would write a zero with an exponent.
DECIMALS = 6
EXACT = pa.decimal128(DIGITS, DECIMALS)

# Types of a record's fields. Free-form JSON stays text.
ARROW_TYPES = {
    str: TEXT,
    bool: FLAG,
    int: COUNT,
    Decimal: EXACT,
    dt.date: DATE,
    dt.datetime: INSTANT,
    msgspec.Raw: TEXT,
}


def field_type(field: msgspec.structs.FieldInfo) -> Any:
    """Return the type of a record's field, without `None`."""
    return next(kind for kind in (*get_args(field.type), field.type) if kind is not type(None))


def schema_of(record: type[msgspec.Struct]) -> pa.Schema:
    """Return the columns of a record: its fields, with those of a nested record prefixed by its name."""
    columns = []
    for item in msgspec.structs.fields(record):
        kind = field_type(item)
        is_required = item.default is msgspec.NODEFAULT
        if issubclass(kind, msgspec.Struct):
            columns += [
                nested.with_name(f"{item.name}_{nested.name}").with_nullable(
                    nested.nullable or not is_required
                )
                for nested in schema_of(kind)
            ]
        else:
            columns.append(pa.field(item.name, ARROW_TYPES[kind], nullable=not is_required))
    return pa.schema(columns)


CATEGORIES = schema_of(Category)

# A chart of accounts as read from the ERP's file. `line` is the line of the file; the heading is line 1.
CHART = _schema(
    "external_id text, code text, name text, archived flag",
    "tax_code_external_id text, company_id text, type text, line count",
)

# The accounts in the journal: created, matched or imported. `id` is null where it is unknown.
ACCOUNTS = _schema(
    "company_id text, external_id text, state text",
    "id text, name text, code text, tax_code_external_id text, archived flag, metadata text, message text, "
    "updated_at instant",
)

# States of an account that exists in the service. An account in another state was refused or may not have
# arrived, so it may be created again.
KNOWN_STATES = ("CREATED", "MATCHED", "EXISTS", "IMPORTED")

# Accounting entries as read from a file. A file without an approval column gives a frame without `status`,
# `approved`. `category_name` and `employee_name` are as the file writes them; the names of the service take
# their place where its categories and employees are given. `split_line` is the number of a line of a split
# entry, from 1, and `split_lines` how many lines the entry has; 0 for an entry of one line. `export_status`
# is what the file says of exports that were made elsewhere: exported, queued, in_progress or not_exported.
ENTRIES = _schema(
    "id text, company_id text",
    "date date, amount money, currency text, category_id text, category_name text, employee_id text, "
    "employee_name text, status text, approved flag, export_status text, supplier text, description text, "
    "cost_centre text, tax_code text, split_line count, split_lines count, line count",
)

# The unit that has one posting in a general ledger.
STYLES = ("entry", "supplier_day", "account_day", "document", "batch", "month")

# Postings of a general ledger as read from a file: debit is positive.
LEDGER = _schema(
    "account_code text, date date, amount money",
    "account_name text, currency text, foreign_amount money, foreign_currency text, text text, "
    "document_number text, voucher_id text, tax_code text, cost_centre text, line count",
)

EXPORT_JOBS = _schema(
    "batch_id text, company_id text, state text, entries count",
    "job_id text, job_status text, message text, planned_at instant, sent_at instant, settled_at instant",
)

# States of a batch that may be booked or not, and of one that was sent, or may have been.
IN_DOUBT = ("SENDING", "UNKNOWN")
MAYBE_SENT = ("ACCEPTED", *IN_DOUBT)

# The data that the journal keeps of each entry when it is sent, null where it was unknown.
_ENTRY_DATA = (
    "date date, amount money, currency text, category_id text, category_name text, account_code text, "
    "account_name text, employee_id text, employee_name text, supplier text, description text, tax_code text"
)
ENTRY_DATA = _columns(_ENTRY_DATA)

# The fields of these that are compared when an entry comes again.
COMPARED = ("date", "amount", "currency", "category_id", "tax_code", "supplier")

EXPORTED_ENTRIES = _schema(
    "entry_id text, batch_id text, company_id text, state text",
    f"job_id text, sent_at instant, split_line count, {_ENTRY_DATA}, period text",
)

# The months of a company: one row per month and currency. The columns of the last close are null without one.
PERIODS = _schema(
    "company_id text, period text, state text",
    "currency text, exported count, exported_amount money, in_doubt count, in_doubt_amount money, "
    "held_back count, held_back_amount money, open count, open_amount money, prepared_by text, "
    "approved_by text, applied_at instant, changed_by text, changed_at instant, reason text, "
    "verified_by text, verified_at instant, verified_against text, verified_result text",
)

# Changes of the states of batches. `before` is null for a new batch.
EXPORT_EVENTS = _schema(
    "at instant, batch_id text, company_id text, after text, done_by text", "before text, message text"
)

# The type of text in frames: pandas 3's `str`. pandas 2 knows it by this name only, and would make objects.
STRINGS = pd.StringDtype("pyarrow", na_value=np.nan)


def _pandas_type(kind: pa.DataType) -> Any:
    if kind in TEXTS:
        return STRINGS
    # An object column of Decimal would be slow and lose its scale.
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else None


def to_pandas(
    table: pa.Table, provenance: Mapping[str, Any] | None = None, *, money: str | None = None
) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame with the types above.

    `provenance` is the source of the rows, which `frame.attrs["bktools"]` keeps. `money` is the form of
    amounts: "float", which refuses an amount that a float does not keep, or "decimal". By default a column is
    float where it can be.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and money != "decimal":
            column = amounts.floats(table.column(place))
            if column is None and money == "float":
                long = amounts.longest(table.column(place))
                most = amounts.FLOAT_DIGITS
                why = f"{field.name} {long:f} has more than the {most} digits that a float keeps"
                error = InputError(f'{why}: read it with money="decimal"')
                error.why, error.settings = why, (("money", "decimal"),)
                raise error
            table = table if column is None else table.set_column(place, field.name, column)
    frame: pd.DataFrame = table.to_pandas(types_mapper=_pandas_type, date_as_object=False)
    if provenance is not None:
        frame.attrs["bktools"] = dict(provenance)
    return frame


# Arrow's errors for values that cannot be a column: mixed types, huge integers, lone surrogates.
_NO_COLUMN = (pa.ArrowException, TypeError, ValueError, OverflowError)


# The way out where a path stands in the place of a frame.
READ_FIRST = ": read the file with read_chart_of_accounts, read_entries or read_general_ledger"


def to_arrow(
    frame: pd.DataFrame | pa.Table, name: str = "the frame", columns: Collection[str] | None = None
) -> pa.Table:
    """Return a DataFrame as an Arrow table without its index; missing values become null.

    Of a DataFrame only the named columns are taken, where it has them; by default all.
    """
    if not isinstance(frame, pd.DataFrame | pa.Table):
        what = f"{name} must be a pandas DataFrame or an Arrow table, is a {type(frame).__name__}"
        raise InputError(f"{what}{READ_FIRST if isinstance(frame, str | Path) else ''}")
    headings = frame.column_names if isinstance(frame, pa.Table) else [*frame.columns]
    if isinstance(frame, pd.DataFrame) and columns is not None:
        headings = [heading for heading in headings if heading in columns]
    heading, count = next(iter(Counter(map(str, headings)).most_common(1)), ("", 0))
    if count > 1:
        raise InputError(f"{count} columns of {name} are named {heading!r}: rename or drop all but one")
    if isinstance(frame, pa.Table):
        return plain(frame, name)
    try:
        # Text of pandas is Arrow's already: threads would take longer to start than to work.
        return plain(pa.Table.from_pandas(frame, preserve_index=False, nthreads=1, columns=headings), name)
    except _NO_COLUMN:
        arrays = [_array_of(str(heading), frame[heading], name) for heading in headings]
        return plain(pa.Table.from_arrays(arrays, [str(heading) for heading in headings]), name)


def _array_of(heading: str, column: pd.Series, name: str) -> pa.Array | pa.ChunkedArray:
    try:
        if column.dtype == "object":
            # Arrow before 21 has no type for UUID objects.
            column = column.map(lambda value: str(value) if isinstance(value, uuid.UUID) else value)
        return pa.array(column, from_pandas=True)
    except _NO_COLUMN as error:
        why = " ".join(str(error.args[0] if isinstance(error, pa.ArrowException) else error).split())
        raise InputError(
            f"the column {heading} of {name} holds values of mixed or unknown types ({why}): "
            "give it one type, such as text"
        ) from None


def plain(table: pa.Table, name: str) -> pa.Table:
    """Return a table with the same values in types of every engine: UUIDs as text, decimals of 38 digits.

    Amounts that are floats become decimals.
    """
    for place, field in enumerate(table.schema):
        try:
            column = plain_column(table.column(place))
        except pa.ArrowException:
            raise InputError(
                f"the column {field.name} of {name} holds {field.type}, which is not supported: drop it, "
                "or make it text"
            ) from None
        if column.type != field.type:
            table = table.set_column(place, field.name, column)
    return amounts.with_decimals(table)


def plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in a type that every engine supports; raise Arrow's error where there is none."""
    kind, types = column.type, pa.types
    if isinstance(kind, pa.UuidType):
        texts = [
            None if value is None else str(uuid.UUID(bytes=value)) for value in _storage(column).to_pylist()
        ]
        return pa.chunked_array([pa.array(texts, TEXT)])
    if isinstance(kind, pa.JsonType):
        return plain_column(_storage(column))
    if types.is_run_end_encoded(kind):
        chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
        return plain_column(pa.chunked_array(chunks, kind.value_type))
    if types.is_dictionary(kind) and not (
        types.is_string(kind.value_type) or types.is_large_string(kind.value_type)
    ):
        chunks = [chunk.dictionary.take(chunk.indices) for chunk in column.chunks]
        return plain_column(pa.chunked_array(chunks, kind.value_type))
    if any(is_kind(kind) for is_kind in _UNSUPPORTED) or (types.is_decimal(kind) and kind.scale > DIGITS):
        raise pa.ArrowTypeError(str(kind))
    wanted = pa.decimal128(DIGITS, kind.scale) if types.is_decimal(kind) else _PLAINER.get(kind, kind)
    return column if wanted == kind else column.cast(wanted)


# Types that some engine does not support, and that none replaces.
_UNSUPPORTED = (pa.types.is_union, pa.types.is_interval, pa.types.is_list_view, pa.types.is_large_list_view)
# Types that some engine does not support, each with the type that replaces it.
_PLAINER = {pa.binary_view(): pa.large_binary(), pa.float16(): pa.float32()}


def _storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)


def split_lines(table: pa.Table, name: str = "split_line") -> pa.ChunkedArray:
    """Return the numbers of the lines of split entries, 0 for an entry of one line."""
    if name not in table.column_names:
        return pa.chunked_array([pa.repeat(pa.scalar(0, COUNT), len(table))])
    return pc.fill_null(pc.cast(table.column(name), COUNT), 0)


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


def dated(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times without a zone as dates where every time is midnight; other columns unchanged."""
    kind = column.type
    return days(column) if pa.types.is_timestamp(kind) and kind.tz is None and are_days(column) else column


def are_days(times: pa.ChunkedArray) -> bool:
    """Whether timestamps without a time zone are calendar dates: each of them is midnight."""
    return pc.all(pc.equal(pc.floor_temporal(times, unit="day"), times)).as_py() is not False
