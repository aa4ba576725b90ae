"""The columns of frames that people give: checks them in one wording, and reads each in one type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.schema import AMOUNT_DIGITS, COUNT, DATE, DIGITS, FLAG, INSTANT, MONEY, TEXT, TEXTS
from bktools.wording import Sentence


class Kind(NamedTuple):
    """How messages call a type, and whether a column of some type may be read as one of it."""

    words: str
    fits: Callable[[pa.DataType], bool]


KINDS: Mapping[pa.DataType, Kind] = {
    TEXT: Kind("text", lambda kind: kind in TEXTS),
    FLAG: Kind("true or false", pa.types.is_boolean),
    COUNT: Kind("a whole number", lambda _: True),
    # Days and times that are text, as in a CSV file, are ISO 8601.
    DATE: Kind("a date", lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind) or kind in TEXTS),
    INSTANT: Kind("a date", lambda _: True),
    MONEY: Kind("an exact number", lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind)),
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
    facts = {"column": column, "wanted": KINDS[wanted].words, "held": "text" if kind in TEXTS else str(kind)}
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


def with_types(table: pa.Table, kinds: Mapping[str, pa.DataType], name: str) -> pa.Table:
    """Return a table whose columns have these types of KINDS, where it has the columns; `name` is its own."""
    for place, heading in enumerate(table.column_names):
        if heading in kinds:
            column = as_type(table.column(place), kinds[heading], heading, name)
            table = table.set_column(place, heading, column)
    return table


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
        with suppress(pa.ArrowInvalid):
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
