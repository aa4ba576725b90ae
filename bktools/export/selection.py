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
from bktools.frames.schema import TEXT
from bktools.frames.sums import numbers_of_entries
from bktools.frames.tables import in_memory, text_of
from bktools.inputs import cells
from bktools.inputs.headings import opened
from bktools.inputs.raw.source import Source
from bktools.wording import Sentence, reason_of


def selected(rows: pa.Table, selection: Any, entries: Any) -> pa.Table:
    """Return the selected rows; a mask of pandas selects by the labels of `entries`, the rows as given."""
    if selection is None:
        return rows
    mask = selected_rows(selection, entries, rows)
    return _whole_entries(rows, pa.array(mask))


def selected_rows(selection: Any, entries: Any, rows: pa.Table) -> np.ndarray[Any, Any]:
    """Return a boolean mask of the rows that a selection names: by position, or by ID."""
    chosen = _ids_of(selection)
    if isinstance(chosen, pd.Series) and pd.api.types.infer_dtype(chosen, skipna=True) == "boolean":
        has_labels = isinstance(selection, pd.Series) and isinstance(entries, pd.DataFrame)
        mask = _checked_mask(chosen, entries)
        return (_aligned(mask, entries) if has_labels else mask).to_numpy(dtype=bool)
    return _by_id(chosen, pc.ascii_lower(rows.column("id")))


def _whole_entries(rows: pa.Table, mask: pa.Array) -> pa.Table:
    """Return the rows of a mask, and the other lines of their split entries."""
    numbers = numbers_of_entries(rows).to_arrow()
    return rows.filter(pc.is_in(numbers, value_set=numbers.filter(mask)))


def _ids_of(selection: Any) -> pa.ChunkedArray | pd.Series:
    """Return the IDs of a frame or a file, or other values as a Series, which may be a mask."""
    if isinstance(selection, str | uuid.UUID) and UUID_PATTERN.match(str(selection)):
        return pd.Series([selection])
    if isinstance(selection, str | os.PathLike):
        return _ids_of_file(Path(selection))
    if hasattr(selection, "columns"):
        table = in_memory(selection, "the selection", ("id",))
        if "id" not in table.column_names:
            raise InputError(Sentence("plan.selection_without_ids"))
        return text_of(table, "id", "selection")
    if hasattr(selection, "to_pandas"):
        # A column of Arrow or Polars.
        return selection.to_pandas()
    try:
        return selection if isinstance(selection, pd.Series) else pd.Series([*selection])
    except TypeError:
        raise InputError(Sentence("plan.no_selection", kind=type(selection).__name__)) from None


def _checked_mask(mask: pd.Series, entries: Any) -> pd.Series:
    """Return a mask with a value for each row of the entries; refuse any other one."""
    # Paths, lazy frames and relations have rows in no certain order.
    has_order = hasattr(entries, "__len__") and hasattr(entries, "columns")
    if not has_order or hasattr(entries, "to_arrow_table"):
        raise InputError(Sentence("plan.mask_without_order", kind=type(entries).__name__))
    if len(mask) != len(entries):
        raise InputError(Sentence("plan.mask_of_other_length", rows=len(mask), entries=len(entries)))
    if mask.isna().any():
        raise InputError(Sentence("plan.mask_with_gaps"))
    return mask


def _aligned(mask: pd.Series, entries: pd.DataFrame) -> pd.Series:
    """Return a pandas mask in the order of the entries, matched by labels."""
    if mask.index.equals(entries.index):
        return mask
    is_same = mask.index.is_unique and entries.index.is_unique and entries.index.isin(mask.index).all()
    if not is_same:
        raise InputError(Sentence("plan.mask_of_other_index"))
    return mask.loc[entries.index]


def _by_id(chosen: pa.ChunkedArray | pd.Series, ids: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return a mask of the rows with some IDs; a selection of unknown ones was made from other entries."""
    texts = pa.array([*map(str, chosen)], TEXT) if isinstance(chosen, pd.Series) else pc.cast(chosen, TEXT)
    wanted = pc.unique(pc.fill_null(pc.ascii_lower(pc.utf8_trim_whitespace(texts)), "an empty ID"))
    missing = wanted.filter(pc.invert(pc.is_in(wanted, value_set=ids.combine_chunks()))).sort().to_pylist()
    if missing:
        raise InputError(Sentence("plan.unknown_entries", entries=missing))
    is_wanted: np.ndarray[Any, Any] = pc.is_in(ids, value_set=wanted).to_numpy()
    return is_wanted


def _ids_of_file(path: Path) -> pa.ChunkedArray:
    """Return the IDs of a file: a list with one ID per line, or a table with a column of IDs."""
    try:
        listed = _listed(path)
    except OSError as error:
        reason = reason_of(error)
        raise InputError(Sentence("plan.selection_unreadable", path=path, reason=reason)) from error
    if listed is not None:
        return listed
    reading = opened(Source(path, "entries"), {})
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
        raise InputError(Sentence("plan.selection_not_utf8"), source=str(path), line=line) from None
    return pa.chunked_array([pa.array(lines, pa.large_string())])
