"""Converts frames of any supported tool to Arrow tables with the types that the query reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.currencies import MINOR_UNITS
from bktools.frames.engine import scannable
from bktools.frames.schema import DATE, MONEY, TEXT, days, plain

FLAGS = ("approved", "archived")
IDS = ("id", "company_id", "category_id", "employee_id", "account_id", "entry_id", "state", "tax_code_external_id")

# The required columns of each frame, and the function that returns such a frame.
REQUIRED = {
    "entries": (("id", "company_id"), "read_entries"),
    "categories": (("id", "company_id", "archived", "account_id"), "load_categories"),
    "accounts": (("id", "archived"), "load_accounts"),
    "employees": (("id",), "load_employees"),
    "history": (("entry_id", "state"), "load_export_jobs(entries=True)"),
}

# Columns that are read where the frame has them, and are null elsewhere.
KEPT = {
    "categories": ("name",),
    "accounts": ("code", "external_id", "name", "tax_code_external_id", "state", "updated_at"),
    "employees": ("first_name", "last_name", "email"),
    "history": (
        "company_id",
        "batch_id",
        "period",
        "date",
        "amount",
        "currency",
        "category_id",
        "category_name",
        "employee_id",
        "supplier",
        "tax_code",
        "split_line",
    ),
}


def arrow_of(frame: Any, name: str) -> pa.Table:
    """Return a frame of any tool, or a Parquet file, as an Arrow table; text, numbers and dates are not copied.

    Parameters
    ----------
    frame : DataFrame, pyarrow.Table, Polars frame, DuckDB relation, PySpark frame or path
        A frame that is not in memory is collected.
    name : str
        One of `REQUIRED`. Entries keep all columns, other frames only those in `REQUIRED` and `KEPT`.

    Raises
    ------
    ArgumentError
        When the frame is of another kind.
    InputError
        When a column is missing, has mixed types or is a flag that is not True or False, or two columns have one name.
    """
    needed, source = REQUIRED[name]
    columns = None if name == "entries" else [*needed, *KEPT.get(name, ())]
    scanned: Any = scannable(frame, f"the {name}", columns)
    for column in needed:
        if column not in scanned.schema.names:
            raise InputError(f"the {name} have no column {column}: give them as {source} returns them")
    try:
        table = scanned if isinstance(scanned, pa.Table) else scanned.to_table()
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot be read as Parquet ({error})", source=f"the {name} {frame}") from None
    if columns is not None:
        for column in columns:
            if column not in table.column_names:
                table = table.append_column(column, pa.nulls(len(table), TEXT))
        table = table.select(columns)
    return typed(table, name)


def typed(table: pa.Table, name: str) -> pa.Table:
    """Return a table with text IDs, boolean flags, and one type for all text."""
    table = plain(table, f"the {name}")
    for place, field in enumerate(table.schema):
        kind, wanted = field.type, _wanted(field)
        if kind == wanted:
            continue
        column = table.column(place)
        if wanted == pa.bool_() and column.null_count < len(column):
            raise InputError(f"the column {field.name} of the {name} holds {kind}, it must be True or False")
        try:
            table = table.set_column(place, field.name, pc.cast(column, wanted))
        except pa.ArrowException:
            raise InputError(
                f"the column {field.name} of the {name} holds {kind}, it must be text: convert it first"
            ) from None
    return table


def _wanted(field: pa.Field) -> pa.DataType:
    if field.name in FLAGS:
        return pa.bool_()
    is_text = pa.types.is_string(field.type) or pa.types.is_string_view(field.type)
    return TEXT if field.name in IDS or is_text else field.type


def numbered(table: pa.Table, name: str, *, first: int = 0) -> pa.Table:
    """Return a table with a column that counts its rows."""
    return table.append_column(name, pa.array(np.arange(first, first + len(table))))


def with_lines(entries: pa.Table) -> pa.Table:
    """Return entries with the number of their line; those that have none are counted."""
    return entries if "line" in entries.column_names else numbered(entries, "line", first=1)


def days_of(entries: pa.Table) -> pa.ChunkedArray:
    """Return the calendar day of each entry, null without a date.

    Raises
    ------
    InputError
        When the column `date` does not hold dates.
    """
    if "date" not in entries.column_names:
        return pa.chunked_array([pa.nulls(len(entries), DATE)])
    kind = entries.schema.field("date").type
    if not (pa.types.is_null(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise InputError(f"the column date of the entries holds {kind}, not dates: read them with read_entries")
    return days(entries.column("date"))


def amounts_of(entries: pa.Table) -> pa.ChunkedArray:
    """Return the amounts of entries, which are exact.

    Raises
    ------
    InputError
        When the amounts are floats, whose sums are not exact, or not numbers.
    """
    amounts = entries.column("amount")
    kind = amounts.type
    if pa.types.is_null(kind):
        return pc.cast(amounts, MONEY)
    if not (pa.types.is_decimal(kind) or pa.types.is_integer(kind)):
        raise InputError(
            f"the column amount of the entries holds {kind}, whose sums are not exact: give decimals, as read_entries "
            "returns them"
        )
    return amounts


def decimals_of(amounts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the decimals that amounts need, counted in numbers of decimals that currencies have; null without an amount.

    An amount that needs more than any currency has its own number of digits after the point.
    """
    kind = amounts.type
    scale = max(getattr(kind, "scale", 0), 0)
    if scale and kind.precision == scale:
        # Rounding needs a digit before the point.
        amounts = pc.cast(amounts, pa.decimal256(kind.precision + 1, scale))
    needed = pc.if_else(pc.is_valid(amounts), pa.scalar(scale, pa.int8()), pa.scalar(None, pa.int8()))
    for units in sorted({units for units in MINOR_UNITS.values() if units < scale}, reverse=True):
        is_enough = pc.equal(pc.round(amounts, units, "towards_zero"), amounts)
        needed = pc.if_else(is_enough, pa.scalar(units, pa.int8()), needed)
    return needed


def text_column(entries: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of entries as text, nulls where they lack it.

    Raises
    ------
    InputError
        When its values cannot be text.
    """
    if name not in entries.column_names:
        return pa.chunked_array([pa.nulls(len(entries), TEXT)])
    try:
        return pc.cast(entries.column(name), TEXT)
    except pa.ArrowException:
        kind = entries.schema.field(name).type
        raise InputError(f"the column {name} of the entries holds {kind}, it must be text: convert it first") from None
