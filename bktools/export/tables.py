"""Converts frames of any supported tool to Arrow tables with the types that the query reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.columns import require_columns, text_of, with_column, with_missing, wrong_kind
from bktools.frames.engine import in_memory
from bktools.frames.schema import FLAG, TEXT

# Columns that composing adds to the entries.
ADDED = ("batch_id", "reason", "message", "exported_amount", "exported_currency")

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
        "company_id", "batch_id", "period", "date", "amount", "currency", "category_id", "category_name", "employee_id",
        "supplier", "tax_code", "split_line",
    ),
}  # fmt: skip


def arrow_of(frame: Any, name: str) -> pa.Table:
    """Return a frame of any tool, or a Parquet file, as an Arrow table; text, numbers and dates are not copied.

    Entries keep all columns but those that composing adds, and their IDs are in lower case, as they are sent; other
    frames keep only those in `REQUIRED` and `KEPT`.
    """
    needed, source = REQUIRED[name]
    columns = None if name == "entries" else [*needed, *KEPT.get(name, ())]
    table = in_memory(frame, f"the {name}", columns)
    require_columns(name, table.column_names, needed, source)
    if columns is None:
        table = typed(without_added(table), name)
        for column in needed:
            table = with_column(table, column, pc.ascii_lower(table.column(column)))
        return table
    return typed(with_missing(table, pa.schema(dict.fromkeys(columns, TEXT))).select(columns), name)


def typed(table: pa.Table, name: str) -> pa.Table:
    """Return a table with text IDs, boolean flags, and one type for all text."""
    for field in table.schema:
        column = table.column(field.name)
        if field.name in FLAGS:
            if not (pa.types.is_boolean(field.type) or column.null_count == len(column)):
                raise wrong_kind(name, field.name, "true or false", field.type)
            table = with_column(table, field.name, pc.cast(column, FLAG))
        elif field.name in IDS or pa.types.is_string(field.type) or pa.types.is_string_view(field.type):
            table = with_column(table, field.name, text_of(table, field.name, name))
    return table


def without_added(entries: pa.Table) -> pa.Table:
    """Return entries without the columns that composing adds."""
    return entries.drop_columns([name for name in ADDED if name in entries.column_names])


def numbered(table: pa.Table, name: str, *, first: int = 0) -> pa.Table:
    """Return a table with a column that counts its rows."""
    return table.append_column(name, pa.array(np.arange(first, first + len(table))))


def with_lines(entries: pa.Table) -> pa.Table:
    """Return entries with the number of their line; those that have none are counted."""
    return entries if "line" in entries.column_names else numbered(entries, "line", first=1)
