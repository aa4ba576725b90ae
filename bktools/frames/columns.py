"""The columns of frames that people give: checks them in one wording, and reads each in one type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.schema import COUNT, DATE, DIGITS, FLAG, MONEY, TEXT, TEXTS
from bktools.wording import Sentence

# Kinds of columns, in words, and the types that fit each.
KINDS: Mapping[str, Callable[[pa.DataType], bool]] = {
    "text": lambda kind: kind in (*TEXTS, pa.uuid()),
    "true or false": pa.types.is_boolean,
    "a date": lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
    "an exact number": lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind),
}

_UTC = {"UTC", "Etc/UTC", "Z", "+00:00"}


def require_columns(name: str, columns: Collection[str], needed: Collection[str], source: str) -> None:
    """Refuse a frame without a required column; `source` is the function that returns such a frame."""
    missing = [column for column in needed if column not in columns]
    if missing:
        facts = {"columns": ", ".join(missing), "count": len(missing), "function": source}
        raise InputError(Sentence("error.needs_columns", **facts), source=name)


def require_kinds(name: str, columns: pa.Schema, wanted: Mapping[str, str]) -> None:
    """Refuse a frame with a column of a wrong type; `wanted` has words of KINDS by column. Nulls fit all."""
    for column, words in wanted.items():
        kind = columns.field(column).type if column in columns.names else pa.null()
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_null(kind) or KINDS[words](kind)):
            raise wrong_kind(name, column, words, kind)


def wrong_kind(name: str, column: str, wanted: str, kind: pa.DataType) -> InputError:
    """Return the error for a column of the wrong type."""
    code = "number_for_text" if wanted == "text" and pa.types.is_integer(kind) else "wrong_kind"
    if wanted == "an exact number":
        code = "no_exact_numbers"
    held = "text" if kind in TEXTS else str(kind)
    return InputError(Sentence(f"error.{code}", column=column, wanted=wanted, held=held), source=name)


def refuse_gaps(name: str, gaps: Mapping[str, int]) -> None:
    """Refuse gaps in columns that must be filled; `gaps` has the number of empty rows by column."""
    for column, count in gaps.items():
        if count:
            raise InputError(Sentence("error.empty_cells", column=column, count=count), source=name)


def text_of(table: pa.Table, column: str, name: str = "entries") -> pa.ChunkedArray:
    """Return a column as text, nulls where the table lacks it; refuse one whose values cannot be text."""
    if column not in table.column_names:
        return pa.chunked_array([pa.nulls(len(table), TEXT)])
    try:
        return pc.cast(table.column(column), TEXT)
    except pa.ArrowException:
        raise wrong_kind(name, column, "text", table.schema.field(column).type) from None


def days_of(table: pa.Table, name: str = "entries") -> pa.ChunkedArray:
    """Return the days of the column `date`, nulls where there is none; refuse a column without dates."""
    if "date" not in table.column_names:
        return pa.chunked_array([pa.nulls(len(table), DATE)])
    require_kinds(name, table.schema, {"date": "a date"})
    return days(table.column("date"))


def months_in(table: pa.Table, name: str = "entries") -> pa.ChunkedArray:
    """Return the months of the column `date`, such as 2026-10, as `days_of` returns its days."""
    return pc.utf8_slice_codeunits(pc.cast(days_of(table, name), TEXT), 0, len("2026-10"))


def amounts_of(table: pa.Table, name: str = "entries") -> pa.ChunkedArray:
    """Return the amounts, nulls where the table lacks them; refuse other values than numbers."""
    amounts = (
        table.column("amount") if "amount" in table.column_names else pa.chunked_array([pa.nulls(len(table))])
    )
    if amounts.null_count == len(amounts) and not pa.types.is_decimal(amounts.type):
        return pa.chunked_array([pa.nulls(len(amounts), MONEY)])
    require_kinds(name, table.schema, {"amount": "an exact number"})
    return amounts


def with_types(table: pa.Table, kinds: Mapping[str, pa.DataType], name: str) -> pa.Table:
    """Return a table with one type a column, in the order of the table.

    Parameters
    ----------
    table : pyarrow.Table
        As `in_memory` returns it.
    kinds : mapping
        The type of a column, where it has one: TEXT, FLAG, COUNT, DATE or MONEY. Of other columns only text
        is made TEXT.
    name : str
        That of the frame in messages.

    Raises
    ------
    InputError
        When the values of a column do not fit its type.
    """
    return pa.table(
        [_with_type(table, field, kinds.get(field.name), name) for field in table.schema], table.column_names
    )


_WANTED = {FLAG: "true or false", COUNT: "a whole number", DATE: "a date", TEXT: "text"}


def _with_type(table: pa.Table, field: pa.Field, kind: pa.DataType | None, name: str) -> pa.ChunkedArray:
    column, is_text = table.column(field.name), field.type in TEXTS
    if kind == MONEY:
        return amounts_of(table, name)
    if kind == DATE and not is_text:
        return days_of(pa.table({"date": column}), name)
    kind = kind or (TEXT if is_text else field.type)
    if kind == FLAG and not (pa.types.is_boolean(field.type) or column.null_count == len(column)):
        raise wrong_kind(name, field.name, _WANTED[FLAG], field.type)
    try:
        # Days that are text, as in a CSV file, are ISO 8601.
        return pc.cast(column, kind)
    except pa.ArrowException:
        raise wrong_kind(name, field.name, _WANTED[kind], field.type) from None


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


def in_one_scale(*amounts: pa.ChunkedArray, scale: int = 0) -> list[pa.ChunkedArray]:
    """Return exact amounts with the decimals of the finest column; of 76 digits where 38 are not enough.

    Amounts that are text have `scale` decimals at most.
    """
    scale = max((getattr(column.type, "scale", 0) for column in amounts), default=0) or scale
    try:
        return [pc.cast(column, pa.decimal128(DIGITS, scale)) for column in amounts]
    except pa.ArrowInvalid:
        return [pc.cast(column, pa.decimal256(2 * DIGITS, scale)) for column in amounts]


def tables_in_one_scale(*tables: pa.Table, column: str = "amount") -> list[pa.Table]:
    """Return tables whose amounts are as `in_one_scale` returns them; one without the column stays."""
    places = [place for place, table in enumerate(tables) if column in table.column_names]
    scaled = list(tables)
    for place, amounts in zip(
        places, in_one_scale(*(tables[place][column] for place in places)), strict=True
    ):
        scaled[place] = with_column(scaled[place], column, amounts)
    return scaled


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


def dated(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times without a zone as dates where every time is midnight; other columns unchanged."""
    kind = column.type
    return days(column) if pa.types.is_timestamp(kind) and kind.tz is None and are_days(column) else column


def are_days(times: pa.ChunkedArray) -> bool:
    """Whether timestamps without a time zone are calendar dates: each of them is midnight."""
    return pc.all(pc.equal(pc.floor_temporal(times, unit="day"), times)).as_py() is not False
