"""Checks the columns of frames that people give: required ones, types and gaps, in one wording."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.schema import DATE, DIGITS, MONEY, TEXT, TEXTS, days
from bktools.wording.numbers import counted

# Kinds of columns, in words, and the types that fit each.
KINDS: Mapping[str, Callable[[pa.DataType], bool]] = {
    "text": lambda kind: kind in (*TEXTS, pa.uuid()),
    "true or false": pa.types.is_boolean,
    "a date": lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
    "an exact number": lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind),
}


def require_columns(name: str, columns: Collection[str], needed: Collection[str], source: str) -> None:
    """Refuse a frame without a required column; `source` is the function that returns such a frame."""
    missing = [column for column in needed if column not in columns]
    if missing:
        raise InputError(
            f"needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: "
            f"give it as {source} returns it",
            source=name,
        )


def require_kinds(name: str, columns: pa.Schema, wanted: Mapping[str, str]) -> None:
    """Refuse a frame with a column of a wrong type; `wanted` has words of KINDS by column. Nulls fit all."""
    for column, words in wanted.items():
        kind = columns.field(column).type if column in columns.names else pa.null()
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_null(kind) or KINDS[words](kind)):
            raise wrong_kind(name, column, words, kind)


def wrong_kind(name: str, column: str, wanted: str, kind: pa.DataType) -> InputError:
    """Return the error for a column of the wrong type."""
    why = " (a number has lost its leading zeros)" if wanted == "text" and pa.types.is_integer(kind) else ""
    if wanted == "an exact number":
        why = ": make it numbers"
    held = "text" if kind in TEXTS else str(kind)
    return InputError(f"column {column} must be {wanted}, is {held}{why}", source=name)


def refuse_gaps(name: str, gaps: Mapping[str, int]) -> None:
    """Refuse gaps in columns that must be filled; `gaps` has the number of empty rows by column."""
    for column, count in gaps.items():
        if count:
            raise InputError(f"column {column} is empty in {counted(count, 'row')}: fill it", source=name)


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


def amounts_of(table: pa.Table, name: str = "entries") -> pa.ChunkedArray:
    """Return the amounts, nulls where the table lacks them; refuse other values than numbers."""
    amounts = (
        table.column("amount") if "amount" in table.column_names else pa.chunked_array([pa.nulls(len(table))])
    )
    if amounts.null_count == len(amounts) and not pa.types.is_decimal(amounts.type):
        return pa.chunked_array([pa.nulls(len(amounts), MONEY)])
    require_kinds(name, table.schema, {"amount": "an exact number"})
    return amounts


def with_column(table: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return a table with a column, in the place of the one of this name, or behind the others."""
    if name not in table.column_names:
        return table.append_column(name, values)
    return table.set_column(table.column_names.index(name), name, values)


def with_missing(table: pa.Table, columns: pa.Schema) -> pa.Table:
    """Return a table with columns; one that it lacks is null."""
    for column in columns:
        if column.name not in table.column_names:
            table = table.append_column(column.name, pa.nulls(len(table), column.type))
    return table


def in_one_scale(*amounts: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Return exact amounts with the decimals of the finest column; of 76 digits where 38 are not enough."""
    scale = max((getattr(column.type, "scale", 0) for column in amounts), default=0)
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
