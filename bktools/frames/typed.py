"""`typed`: turns a frame of any tool into one Arrow table, typed once, for checks, batches and views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_LENGTH
from bktools.frames.columns import (
    amounts_of,
    days_of,
    refuse_gaps,
    require_columns,
    text_of,
    with_missing,
    with_types,
    without_columns,
)
from bktools.frames.incoming import in_memory
from bktools.frames.schema import ACCOUNTS, CATEGORIES, ENTRIES, EXPORTED_ENTRIES, TEXT


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
}


def _shape(source: str, needed: str, others: str = "") -> Shape:
    names = needed.split()
    return Shape(source, tuple(names), {name: TYPES.get(name, TEXT) for name in [*names, *others.split()]})


SHAPES: Mapping[str, Shape] = {
    "entries": Shape("read_entries", ("id", "company_id"), TYPES),
    "categories": _shape("load_categories", "id company_id archived account_id", "name"),
    "accounts": _shape(
        "load_accounts", "id archived", "code external_id name tax_code_external_id state updated_at"
    ),
    "employees": _shape("load_employees", "id", "first_name last_name email"),
    "history": _shape("load_export_jobs(entries=True)", "entry_id state", " ".join(EXPORTED_ENTRIES.names)),
}


def checked(table: pa.Table, name: str, shape: Shape) -> pa.Table:
    """Return a frame in the types of a shape; refuse one that lacks a column, or has gaps or other types."""
    require_columns(name, table.column_names, shape.needed, shape.source)
    table = with_types(table, shape.types, name)
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
        place = table.column_names.index(column)
        ids = table.column(place)
        # An ID of another kind is shown as the file has it.
        lower = pc.if_else(pc.equal(pc.binary_length(ids), UUID_LENGTH), pc.ascii_lower(ids), ids)
        table = table.set_column(place, column, lower)
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
