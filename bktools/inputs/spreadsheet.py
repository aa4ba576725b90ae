"""Cells that were written for a spreadsheet → the text that it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.delimited import SIGNS
from bktools.inputs import cells
from bktools.inputs.table import Table

# ="0400" keeps a spreadsheet from reading a number; a quote inside is doubled.
_KEPT = r'(?s)^="((?:[^"]|"")+)"$'
# `to_csv` leads by an apostrophe what a spreadsheet takes for a formula, whatever apostrophes are there already.
_LED = f"^'+{SIGNS}"
_FORMULA = f"^{SIGNS}"
_NUMBER = r"^[+-][\d.,]+$"


def as_shown(table: Table, text: bytes) -> Table:
    """Return the table with ="0400" as 0400, and without the apostrophes by which `to_csv` leads formulas.

    An apostrophe is taken away only where the whole file is as `to_csv` writes it for spreadsheets, with no formula that
    none leads. Anywhere else it may belong to the text.

    Parameters
    ----------
    table : Table
        Cells to the letter.
    text : bytes
        The file they are from, as UTF-8 without a mark.
    """
    is_for_spreadsheets = b"'" in text and _is_for_spreadsheets(table, text)
    if b'="' in text:
        table = _replaced(table, _KEPT, _inside, 'rows with cells such as ="0400", read as the text in it')
    if is_for_spreadsheets:
        table = _replaced(
            table, _LED, _after_apostrophe, "rows with text led by an apostrophe for a spreadsheet, read without"
        )
    return table


def _is_for_spreadsheets(table: Table, text: bytes) -> bool:
    """Whether a file may be one that `to_csv` wrote: its mark and line ends, quotes and apostrophes only where needed."""
    form = table.encoding == "utf-8-sig" and table.delimiter in {",", ";"} and not text.startswith(b'"')
    return form and b"\r\n" in text and not any(map(_has_formula, table.columns))


def _has_formula(column: pa.ChunkedArray) -> bool:
    is_bare = cells.matches(column, _FORMULA) & ~cells.matches(column, _NUMBER) & ~cells.matches(column, _KEPT)
    return bool(is_bare.any())


def _inside(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring(pc.replace_substring_regex(column, _KEPT, r"\1"), '""', '"')


def _after_apostrophe(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_slice_codeunits(column, 1)


def _replaced(table: Table, pattern: str, meant: Callable[[pa.ChunkedArray], pa.ChunkedArray], remark: str) -> Table:
    found = [cells.matches(column, pattern) for column in table.columns]
    columns = [
        pc.if_else(pa.array(rows), meant(column), column) if rows.any() else column
        for column, rows in zip(table.columns, found, strict=True)
    ]
    notes = cells.counted(table, {remark: np.logical_or.reduce(found)})
    return replace(table, columns=columns, notes=(*table.notes, *notes))
