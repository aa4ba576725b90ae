"""What an analyst selected, as rows of the entries."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_PATTERN
from bktools.errors import InputError
from bktools.frames.engine import collect, lazy_frames
from bktools.frames.schema import TEXT, plain, to_arrow
from bktools.inputs import cells, headings
from bktools.inputs.columns import Vocabulary
from bktools.inputs.file import read_table

SHOWN = 3

MASKS = (pd.Series, np.ndarray, list, tuple, pa.BooleanArray, pd.api.extensions.ExtensionArray)

FLAGS = ("approved", "archived")
# Types of IDs that are made text: bytes that are no text, and lists, are refused.
NO_IDS = (
    pa.types.is_null, pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary,
)  # fmt: skip
IDS = ("id", "company_id", "category_id", "employee_id", "account_id", "entry_id", "state")
KINDS = "a filtered frame of the entries, a mask with a value a row, entry IDs, or a file with them"


def in_memory(entries: Any) -> bool:
    """Whether rows have an order, so that a mask can select them: pandas, Arrow and eager Polars frames."""
    return bool(nw.dependencies.is_into_dataframe(entries))


def arrow_of(frame: Any, name: str) -> pa.Table:
    """Return a frame in memory as an Arrow table with columns of the types that everything here reads.

    Raises
    ------
    InputError
        When it has two columns of one name, one of mixed types, or a flag that is none.
    """
    native = frame if isinstance(frame, pd.DataFrame | pa.Table) else nw.from_native(frame, eager_only=True).to_arrow()
    return typed(to_arrow(native, f"the {name}"), name)


def typed(table: pa.Table, name: str) -> pa.Table:
    """Return a table whose IDs are text, whose flags are flags, and whose types every engine and `take` know."""
    table = plain(table, f"the {name}")
    for place, field in enumerate(table.schema):
        column = table.column(place)
        wanted = _wanted(field, is_empty=not len(table))
        if wanted is None:
            continue
        if field.name in FLAGS and not (pa.types.is_null(field.type) or not len(table)):
            raise InputError(f"the column {field.name} of the {name} holds {field.type}, it must be True or False")
        try:
            table = table.set_column(place, field.name, pc.cast(column, wanted))
        except pa.ArrowException:
            raise InputError(
                f"the column {field.name} of the {name} holds {field.type}, it must be text: convert it first"
            ) from None
    return table


def _wanted(field: pa.Field, *, is_empty: bool) -> pa.DataType | None:
    """Return the type that a column must have, None for the one it has."""
    kind = field.type
    if field.name in FLAGS:
        return None if pa.types.is_boolean(kind) else pa.bool_()
    if field.name in IDS and (is_empty or any(is_kind(kind) for is_kind in NO_IDS)):
        return None if pa.types.is_large_string(kind) else TEXT
    return None


def as_mask(selection: Any, entries: Any) -> np.ndarray[Any, Any] | None:
    """Return a boolean mask by position, or None when the selection is not a mask.

    Raises
    ------
    InputError
        When it is a mask of other rows than the entries have.
    """
    values = mask_values(selection)
    if values is None:
        return None
    if len(values) != len(entries):
        raise InputError(f"the selection is a mask of {len(values)} rows, the entries have {len(entries)}")
    if values.isna().any():
        raise InputError("the selection is a mask with empty values: fill them with True or False")
    if isinstance(selection, pd.Series) and isinstance(entries, pd.DataFrame):
        values = _aligned(selection, entries)
    return values.to_numpy(dtype=bool)


def mask_values(selection: Any) -> pd.Series | None:
    """Return a mask as a Series, None for a selection that is no mask."""
    if isinstance(selection, np.ndarray) and selection.ndim != 1:
        raise InputError(f"the selection has {selection.ndim} dimensions: give {KINDS}")
    if nw.dependencies.is_into_series(selection) and not isinstance(selection, pd.Series):
        selection = nw.from_native(selection, series_only=True).to_pandas()
    elif not isinstance(selection, MASKS):
        return None
    values = selection if isinstance(selection, pd.Series) else pd.Series(selection)
    return values if pd.api.types.infer_dtype(values, skipna=True) == "boolean" else None


def _aligned(mask: pd.Series, entries: pd.DataFrame) -> pd.Series:
    """Return a mask in the order of the entries: pandas' own masks mean labels, not places."""
    if mask.index.equals(entries.index):
        return mask
    is_same = mask.index.is_unique and entries.index.is_unique and entries.index.isin(mask.index).all()
    if not is_same:
        raise InputError(
            "the selection is a mask with another index than the entries: make it from these entries, or give its "
            "values alone (mask.to_list())"
        )
    return mask.loc[entries.index]


def as_ids(selection: Any) -> pa.Array:
    """Return the entry IDs that a frame, a file or a list names, in lower case, each once.

    Raises
    ------
    InputError
        When it names none in a way that is known.
    """
    if isinstance(selection, os.PathLike) or (isinstance(selection, str) and not UUID_PATTERN.match(selection)):
        found = _ids_of_file(Path(selection))
    elif isinstance(selection, str | uuid.UUID):
        found = pa.chunked_array([[str(selection)]])
    elif nw.dependencies.is_into_dataframe(selection) or hasattr(selection, "columns"):
        (lazy,) = lazy_frames(selection)
        if "id" not in lazy.collect_schema().names():
            raise InputError(f"the selection has no column id: give {KINDS}")
        found = collect(lazy.select("id")).column("id")
    else:
        try:
            found = pa.chunked_array([pa.array([str(value) for value in selection], pa.large_string())])
        except TypeError:
            raise InputError(f"the selection is a {type(selection).__name__}: give {KINDS}") from None
    text = pc.cast(found, pa.large_string())
    return pc.unique(pc.fill_null(pc.ascii_lower(pc.utf8_trim_whitespace(text)), "an empty ID"))


def refuse_missing(wanted: pa.Array, ids: pa.ChunkedArray) -> None:
    """Refuse a selection that names entries that are not there: it was made from something else."""
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=ids.combine_chunks()))).sort().to_pylist()
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise InputError(f"the selection names entries that are not there: {', '.join(missing[:SHOWN])}{more}")


def _ids_of_file(path: Path) -> pa.ChunkedArray:
    """Return the IDs of a file: a list, one a line, or a table with a column of them."""
    try:
        listed = _listed(path)
    except OSError as error:
        raise InputError(f"the selection {path} cannot be read: {error.strerror}") from error
    if listed is not None:
        return listed
    vocabulary = Vocabulary(headings.ENTRIES, None)
    table = read_table(path, vocabulary.score)
    places = vocabulary.assign(table.headings, table.source, required=("id",))
    table = cells.without_blank_rows(table, [places["id"]])
    return cells.uuids(table, places["id"], required=True)


def _listed(path: Path) -> pa.ChunkedArray | None:
    with path.open("rb") as file:
        first = file.readline(100).strip().removeprefix(b"\xef\xbb\xbf")
    if not UUID_PATTERN.match(first.decode("latin-1")):
        return None
    try:
        lines = path.read_text(encoding="utf-8-sig").split()
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 here: save the list as UTF-8", source=str(path), line=line) from None
    return pa.chunked_array([pa.array(lines, pa.large_string())])
