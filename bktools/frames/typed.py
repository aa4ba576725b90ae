"""`typed`: turns a frame of any tool into one Arrow table, typed once, for checks, batches and views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.columns import (
    amounts_of,
    days_of,
    require_columns,
    text_of,
    with_column,
    with_missing,
    with_types,
    without_columns,
)
from bktools.frames.incoming import in_memory
from bktools.frames.schema import ACCOUNTS, CATEGORIES, ENTRIES, EXPORTED_ENTRIES, TEXT


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
COMPOSED = ("batch_id", "reason", "message", "facts")

SHAPES: Mapping[str, Shape] = {
    "entries": Shape("read_entries", ("id", "company_id"), None, COMPOSED),
    "categories": Shape("load_categories", ("id", "company_id", "archived", "account_id"), ("name",)),
    "accounts": Shape(
        "load_accounts",
        ("id", "archived"),
        ("code", "external_id", "name", "tax_code_external_id", "state", "updated_at"),
    ),
    "employees": Shape("load_employees", ("id",), ("first_name", "last_name", "email")),
    "history": Shape("load_export_jobs(entries=True)", ("entry_id", "state"), tuple(EXPORTED_ENTRIES.names)),
}

# The types of columns in every frame; a line may be anything that names it.
TYPES: Mapping[str, pa.DataType] = {
    field.name: field.type
    for columns in (CATEGORIES, ACCOUNTS, EXPORTED_ENTRIES, ENTRIES)
    for field in columns
    if field.name != "line"
}


def typed(frame: Any, name: str) -> pa.Table:
    """Return a frame of SHAPES as an Arrow table with one type a column; text, numbers, dates are not copied.

    Text is large_string, flags are boolean, amounts are exact numbers, and times are the days that they are
    on. Entries keep all columns, have their IDs in lower case, as they are sent, and the number of their
    `line`.

    Raises
    ------
    InputError
        When a required column is missing, or a column has the wrong type.
    """
    shape = SHAPES[name]
    columns = None if shape.kept is None else [*dict.fromkeys((*shape.needed, *shape.kept))]
    table = in_memory(frame, f"the {name}", columns)
    require_columns(name, table.column_names, shape.needed, shape.source)
    if columns is not None:
        table = with_missing(table, pa.schema(dict.fromkeys(columns, TEXT))).select(columns)
        return with_types(table, TYPES, name)
    table = without_columns(table, shape.left_out)
    table = with_types(table, TYPES, name)
    for column in shape.needed:
        table = with_column(table, column, pc.ascii_lower(table.column(column)))
    if "line" in table.column_names:
        return table
    return table.append_column("line", pa.array(np.arange(1, len(table) + 1)))


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
