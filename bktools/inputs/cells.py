"""Columns of cells: which are empty, which match a pattern, and what each different text means."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.frames import schema
from bktools.inputs.notes import Note, note
from bktools.inputs.table import Mask, Table

_SHOWN_LINES = 3
_FIRST_ROWS, _MANY_ROWS, _FEW_TEXTS = 1000, 50_000, 200
_SHOWN_CHARACTERS = 60
# What stands in a cell of a workbook in place of a value: an error, or a formula.
LACKS_VALUE: Final = r"^(?:=|#(?:[A-Z0/]+[!?]|N/A)$)"


def mask(flags: pa.ChunkedArray | pa.Array, *, null: bool = False) -> Mask:
    """Return Arrow's flags as numpy's, with a value for nulls."""
    result: Mask = pc.fill_null(flags, null).to_numpy(zero_copy_only=False).astype(bool)
    return result


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without white space at its ends."""
    return pc.utf8_trim_whitespace(column)


def blank(column: pa.ChunkedArray) -> Mask:
    """Return where a cell holds nothing but white space."""
    # Without a copy of the column, which trimming makes.
    return mask(pc.or_(pc.equal(pc.binary_length(column), 0), pc.utf8_is_space(column)))


def are_blank(column: pa.ChunkedArray) -> bool:
    """Whether no cell of a column holds anything."""
    return bool(blank(column.slice(0, _FIRST_ROWS)).all() and blank(column).all())


def any_filled(table: Table, columns: Iterable[pa.ChunkedArray]) -> Mask:
    """Return the rows of which one of these columns holds something."""
    filled = np.zeros(len(table.lines), dtype=bool)
    for column in columns:
        # A column that is full settles it.
        if not filled.all():
            filled |= ~blank(column)
    return filled


def or_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text to the letter, where cells that hold nothing but white space are null."""
    empty = blank(column)
    # A column without an empty cell is not copied.
    return pc.if_else(pa.array(empty), pa.scalar(None, schema.TEXT), column) if empty.any() else column


def matches(column: pa.ChunkedArray, pattern: str) -> Mask:
    """Return where text matches a pattern; a null does."""
    if len(column) > _MANY_ROWS and pc.count_distinct(column.slice(0, _FIRST_ROWS)).as_py() < _FEW_TEXTS:
        # A pattern costs more than finding the different texts.
        encoded = pc.dictionary_encode(column).combine_chunks()
        return mask(pc.match_substring_regex(encoded.dictionary, pattern).take(encoded.indices), null=True)
    return mask(pc.match_substring_regex(column, pattern), null=True)


def unique(column: pa.ChunkedArray) -> list[str]:
    """Return the different texts of a column in their order."""
    texts: list[str] = pc.unique(column).to_pylist()
    return texts


def each(column: pa.ChunkedArray, meaning: Callable[[str], Any], kind: pa.DataType) -> pa.ChunkedArray:
    """Return what each cell means, asked once for each different text."""
    encoded = pc.dictionary_encode(column, null_encoding="encode").combine_chunks()
    meant = pa.array([meaning(text or "") for text in encoded.dictionary.to_pylist()], kind)
    return pa.chunked_array([meant.take(encoded.indices)], kind)


def matching(column: pa.ChunkedArray, pattern: re.Pattern[str]) -> Mask:
    """Return where text contains a pattern of Python."""
    return mask(each(column, lambda text: bool(pattern.search(text)), schema.FLAG))


def noted(table: Table, code: str, rows: Mask, /, **facts: Any) -> list[Note]:
    """Return a note about rows, which its sentence counts and names; none without any."""
    lines = table.lines_of(rows)
    return [note(code, count=len(lines), lines=lines[:4], **facts)] if lines else []


def refuse(table: Table, place: int, wrong: Mask, code: str, /, **facts: Any) -> None:
    """Raise an error that names the first wrong cell and how many there are; do nothing when none is wrong.

    `code` is that of a sentence of `file.error`.
    """
    lines = table.lines_of(wrong)
    if lines:
        cell = str(table.columns[place][int(np.argmax(wrong))].as_py())
        facts |= {
            "heading": table.headings[place],
            "value": cell if len(cell) <= _SHOWN_CHARACTERS else f"{cell[:_SHOWN_CHARACTERS]}…",
            "lines": lines[:_SHOWN_LINES],
            "count": len(lines),
            "more": len(lines) if len(lines) > 1 else None,
        }
        raise table.error(code, lines[0], **facts)


def uuids(table: Table, place: int, *, required: bool) -> pa.ChunkedArray:
    """Return a column of UUIDs in lower case; empty cells are null where they may be."""
    if required:
        refuse(table, place, blank(table.columns[place]), "empty")
    column = table.columns[place] if required else or_null(table.columns[place])
    refuse(table, place, ~matches(column, rules.UUID_REGEX), "no_uuid")
    return pc.ascii_lower(column)


def without_blank_rows(table: Table, places: Collection[int]) -> Table:
    """Return the rows in which at least one of the columns holds something."""
    filled = any_filled(table, (table.columns[place] for place in places))
    if not filled.any():
        raise table.error("no_rows", table.heading_line)
    return table.rows(filled)


def end_to_end(columns: Iterable[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Return the cells of several columns of text as one."""
    return pa.chunked_array([chunk for column in columns for chunk in column.chunks], schema.TEXT)


def duplicated(*keys: pa.ChunkedArray) -> Mask:
    """Return the rows that repeat an earlier one's keys; rows whose first key is null are not compared."""
    encoded = (pc.dictionary_encode(key, null_encoding="encode").combine_chunks() for key in keys)
    codes = pd.DataFrame({str(at): key.indices.to_numpy() for at, key in enumerate(encoded)})
    again: Mask = codes.duplicated().to_numpy() & ~mask(pc.is_null(keys[0]))
    return again
