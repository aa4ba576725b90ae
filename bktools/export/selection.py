"""Selects the rows of the entries by a frame, a mask, IDs or a file."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_PATTERN
from bktools.errors import InputError
from bktools.frames.columns import text_of
from bktools.frames.incoming import in_memory
from bktools.frames.schema import TEXT
from bktools.inputs import cells
from bktools.inputs.headings import opened
from bktools.inputs.options import Options
from bktools.inputs.source import Source
from bktools.visible import first_of

SHOWN = 3

MASKS = (pd.Series, np.ndarray, list, tuple, pa.BooleanArray, pd.api.extensions.ExtensionArray)

KINDS = "a filtered frame of the entries, a mask with one value for each row, entry IDs, or a file with them"


def selected(rows: pa.Table, selection: Any, entries: Any) -> pa.Table:
    """Return the selected rows; a mask of pandas selects by the labels of `entries`, the rows as given."""
    if selection is None:
        return rows
    return _whole_entries(rows, pa.array(selected_rows(selection, entries, rows)))


def _whole_entries(rows: pa.Table, mask: pa.Array) -> pa.Table:
    """Return the rows of a mask, and the other lines of their split entries."""
    if "split_line" not in rows.column_names:
        return rows.filter(mask)
    is_split = pc.greater(rows.column("split_line"), 0)
    ids = pc.if_else(is_split, rows.column("id"), pa.scalar(None, TEXT))
    chosen = ids.filter(mask).drop_null().combine_chunks()
    return rows.filter(pc.or_(mask, pc.is_in(ids, value_set=chosen)))


def selected_rows(selection: Any, entries: Any, rows: pa.Table) -> np.ndarray[Any, Any]:
    """Return a boolean mask of the rows that a selection names: by position, or by ID."""
    mask = _as_mask(selection, entries)
    if mask is not None:
        return mask
    wanted, ids = _as_ids(selection), pc.ascii_lower(rows.column("id"))
    # A selection that names unknown entries was made from other entries.
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=ids.combine_chunks()))).sort().to_pylist()
    if missing:
        raise InputError(f"the selection names unknown entries: {first_of(missing, SHOWN)}")
    is_wanted: np.ndarray[Any, Any] = pc.is_in(ids, value_set=wanted).to_numpy()
    return is_wanted


def _as_mask(selection: Any, entries: Any) -> np.ndarray[Any, Any] | None:
    """Return a boolean mask by position, or None when the selection is not a mask."""
    values = _mask_values(selection)
    if values is None:
        return None
    # Paths, lazy frames and relations have rows in no certain order.
    if (
        not hasattr(entries, "__len__")
        or not hasattr(entries, "columns")
        or hasattr(entries, "to_arrow_table")
    ):
        raise InputError(
            f"a mask cannot select from a {type(entries).__name__}, because its rows have no order: "
            "filter it instead"
        )
    if len(values) != len(entries):
        raise InputError(f"the selection is a mask of {len(values)} rows, the entries have {len(entries)}")
    if values.isna().any():
        raise InputError("the selection is a mask with empty values: fill them with True or False")
    if isinstance(selection, pd.Series) and isinstance(entries, pd.DataFrame):
        values = _aligned(selection, entries)
    return values.to_numpy(dtype=bool)


def _mask_values(selection: Any) -> pd.Series | None:
    """Return a mask as a Series, None for any other selection."""
    if isinstance(selection, np.ndarray) and selection.ndim != 1:
        raise InputError(f"the selection has {selection.ndim} dimensions: give {KINDS}")
    if hasattr(selection, "to_pandas") and not hasattr(selection, "columns"):
        # A column of Arrow or Polars.
        selection = selection.to_pandas()
    elif not isinstance(selection, MASKS):
        return None
    values = selection if isinstance(selection, pd.Series) else pd.Series(selection)
    return values if pd.api.types.infer_dtype(values, skipna=True) == "boolean" else None


def _aligned(mask: pd.Series, entries: pd.DataFrame) -> pd.Series:
    """Return a pandas mask in the order of the entries, matched by labels."""
    if mask.index.equals(entries.index):
        return mask
    is_same = mask.index.is_unique and entries.index.is_unique and entries.index.isin(mask.index).all()
    if not is_same:
        raise InputError(
            "the selection is a mask with another index than the entries: make it from these entries, "
            "or give its values (mask.to_list())"
        )
    return mask.loc[entries.index]


def _as_ids(selection: Any) -> pa.Array:
    """Return the distinct entry IDs of a frame, a file or a list, in lower case."""
    if isinstance(selection, os.PathLike) or (
        isinstance(selection, str) and not UUID_PATTERN.match(selection)
    ):
        ids = _ids_of_file(Path(selection))
    elif isinstance(selection, str | uuid.UUID):
        ids = pa.chunked_array([[str(selection)]])
    elif hasattr(selection, "collect_schema") or hasattr(selection, "columns"):
        table = in_memory(selection, "the selection", ("id",))
        if "id" not in table.column_names:
            raise InputError(f"the selection has no column id: give {KINDS}")
        ids = text_of(table, "id", "selection")
    else:
        try:
            ids = pa.chunked_array([pa.array([str(value) for value in selection], pa.large_string())])
        except TypeError:
            raise InputError(f"the selection is a {type(selection).__name__}: give {KINDS}") from None
    text = pc.cast(ids, pa.large_string())
    return pc.unique(pc.fill_null(pc.ascii_lower(pc.utf8_trim_whitespace(text)), "an empty ID"))


def _ids_of_file(path: Path) -> pa.ChunkedArray:
    """Return the IDs of a file: a list with one ID per line, or a table with a column of IDs."""
    try:
        listed = _listed(path)
    except OSError as error:
        raise InputError(f"the selection {path} cannot be read: {error.strerror}") from error
    if listed is not None:
        return listed
    reading = opened(Source(path, "entries"), Options())
    if not reading.has("id"):
        reading.problems.ask("no_column_like_it", field="id", headings=[])
    reading.raise_problems()
    place = reading.places["id"]
    return cells.uuids(cells.without_blank_rows(reading.table, [place]), place, required=True)


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
