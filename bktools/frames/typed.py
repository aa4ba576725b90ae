"""`typed`: turns a frame of any tool into one Arrow table, typed once, for checks, batches and views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.currencies import MINOR_UNITS
from bktools.frames.columns import (
    amounts_of,
    days_of,
    require_columns,
    text_of,
    with_column,
    with_missing,
    wrong_kind,
)
from bktools.frames.incoming import in_memory
from bktools.frames.schema import COUNT, DATE, FLAG, TEXT

FLAGS = ("approved", "archived")
COUNTS = ("split_line", "split_lines")


@dataclass(frozen=True)
class Shape:
    """The columns of a frame.

    Parameters
    ----------
    source : str
        The function that returns such a frame.
    needed : tuple of str
        Required columns.
    kept : tuple of str, optional
        Columns to read; those that the frame lacks are null. None keeps all columns as they are.
    left_out : tuple of str
        Columns that are never kept, because a later step adds them.
    """

    source: str
    needed: tuple[str, ...]
    kept: tuple[str, ...] | None = ()
    left_out: tuple[str, ...] = ()


# Columns that composing adds to the entries.
COMPOSED = ("batch_id", "reason", "message", "facts", "exported_amount", "exported_currency")

SHAPES: Mapping[str, Shape] = {
    "entries": Shape("read_entries", ("id", "company_id"), None, COMPOSED),
    "categories": Shape("load_categories", ("id", "company_id", "archived", "account_id"), ("name",)),
    "accounts": Shape(
        "load_accounts",
        ("id", "archived"),
        ("code", "external_id", "name", "tax_code_external_id", "state", "updated_at"),
    ),
    "employees": Shape("load_employees", ("id",), ("first_name", "last_name", "email")),
    "history": Shape(
        "load_export_jobs(entries=True)",
        ("entry_id", "state"),
        (
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
    ),
}

# Columns whose values are text in every frame.
TEXTS = (
    "id",
    "company_id",
    "category_id",
    "employee_id",
    "account_id",
    "entry_id",
    "state",
    "tax_code_external_id",
    "currency",
    "category_name",
    "tax_code",
    "supplier",
    "description",
    "export_status",
)


def typed(frame: Any, name: str) -> pa.Table:
    """Return a frame of SHAPES as an Arrow table with one type a column; text, numbers, dates are not copied.

    Text is large_string, flags are boolean, and amounts are exact numbers. Entries keep all columns, have
    their IDs in lower case, as they are sent, and the number of their `line`.

    Raises
    ------
    InputError
        When a required column is missing, or a column has the wrong type.
    """
    shape = SHAPES[name]
    columns = None if shape.kept is None else [*shape.needed, *shape.kept]
    table = in_memory(frame, f"the {name}", columns)
    require_columns(name, table.column_names, shape.needed, shape.source)
    if columns is not None:
        table = _typed(with_missing(table, pa.schema(dict.fromkeys(columns, TEXT))).select(columns), name)
        return _dated(table, name) if "date" in columns else table
    return entries_of(table, name)


def entries_of(table: pa.Table, name: str = "entries") -> pa.Table:
    """Return an Arrow table of entries as `typed` does."""
    shape = SHAPES["entries"]
    table = _typed(table.drop_columns([name for name in shape.left_out if name in table.column_names]), name)
    for column in shape.needed:
        table = with_column(table, column, pc.ascii_lower(table.column(column)))
    if "amount" in table.column_names:
        table = with_column(table, "amount", amounts_of(table, name))
    return table if "line" in table.column_names else numbered(table, "line", first=1)


def _typed(table: pa.Table, name: str) -> pa.Table:
    for field in table.schema:
        column = table.column(field.name)
        if field.name in FLAGS:
            if not (pa.types.is_boolean(field.type) or column.null_count == len(column)):
                raise wrong_kind(name, field.name, "true or false", field.type)
            table = with_column(table, field.name, pc.cast(column, FLAG))
        elif field.name in COUNTS:
            table = with_column(table, field.name, _cast(column, COUNT, name, field, "a whole number"))
        elif field.name in TEXTS or pa.types.is_string(field.type) or pa.types.is_string_view(field.type):
            table = with_column(table, field.name, text_of(table, field.name, name))
    return table


def _dated(table: pa.Table, name: str) -> pa.Table:
    """Return a table whose `date` has calendar days; days that are text, as in a CSV file, are ISO 8601."""
    column = table.column("date")
    if column.type == TEXT:
        column = _cast(column, DATE, name, table.schema.field("date"), "a date")
    return with_column(table, "date", days_of(with_column(table, "date", column), name))


def _cast(
    column: pa.ChunkedArray, kind: pa.DataType, name: str, field: pa.Field, wanted: str
) -> pa.ChunkedArray:
    """Return a column in another type; one whose values do not fit is an error that says what is wanted."""
    try:
        return pc.cast(column, kind)
    except pa.ArrowException:
        raise wrong_kind(name, field.name, wanted, field.type) from None


def numbered(table: pa.Table, name: str, *, first: int = 0) -> pa.Table:
    """Return a table with a column that counts its rows."""
    return table.append_column(name, pa.array(np.arange(first, first + len(table))))


def decimals_of(amounts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the decimals that amounts need, as a number of decimals of some currency; null for no amount.

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
