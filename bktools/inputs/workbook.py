"""Workbooks → columns of text: numbers as Excel shows them, dates in ISO form."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.caller import setting
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError, SheetNotFoundError
from bktools.frames.unpacking import MIB, archive_size
from bktools.inputs import workbook_process
from bktools.inputs.heading_row import NAMED, Head, Row, head_of
from bktools.inputs.table import Broken, Score, Table
from bktools.inputs.words import normal
from bktools.visible import first_of

# The limits of the other process: this much, and more by the workbook's unpacked size.
MEMORY, MEMORY_PER_BYTE = 512 * MIB, 16
SECONDS, SECONDS_PER_BYTE = 20.0, 1 / MIB
BUSY = 10

_SAMPLE_ROWS = 50
_SHOWN_SHEETS = 10
_ZIP = b"PK"
_NO_CELLS = Head((), -1, 0, 0)
_UNSEEN = (
    "cells with an error such as #DIV/0! look empty in workbooks of this kind: "
    "where amounts are missing, save it as XLSX"
)
_FAILURES = {
    "locked": "the workbook is locked with a password: save it without",
    "damaged": "is not a readable workbook ({why}); save it again as XLSX",
    "too large": "takes more memory or time to read than a workbook of its size should: "
    "delete what lies far below and to the right of the table, or save the table as CSV (UTF-8)",
}


class _Sheet(NamedTuple):
    """The columns of a sheet: the text of each cell, which cells are filled, and which are numbers."""

    columns: list[pa.LargeStringArray]
    filled: list[npt.NDArray[np.bool_]]
    numbers: list[npt.NDArray[np.bool_]]

    def rows(self, count: int) -> list[tuple[str, ...]]:
        """Return the first rows."""
        return [*zip(*(column.slice(0, count).to_pylist() for column in self.columns), strict=True)]


def read_workbook(
    data: bytes, score: Score, *, sheet: str | int | None, sheet_names: frozenset[str], source: str
) -> Table:
    """Return the sheet asked for, or the first visible one with most headings that are known.

    A sheet with known headings that has one of the names, such as Chart of Accounts, goes before others, and
    none of them is proposed beside it.

    A workbook that cannot be read, is locked, unpacks to more than it may, or has no such sheet or no cells
    is an `InputError`.
    """
    sheet = rules.plain(sheet)
    if isinstance(sheet, bool) or not isinstance(sheet, str | int | None):
        raise ArgumentError("sheet", "must be the name of a sheet, or its position from 0", sheet)
    book = _parsed(data, sheet, source)
    names: list[str] = book["names"]
    _refuse_missing(names, sheet, source)
    sheets: dict[str, _Sheet] = book["sheets"]
    heads = {name: _head(own, score) for name, own in sheets.items()}
    has_own_name = {name for name in sheets if heads[name].known > 0 and normal(name) in sheet_names}
    name = max(sheets, key=lambda one: (heads[one].known // NAMED, one in has_own_name, heads[one].known))
    head = heads[name]
    if head == _NO_CELLS:
        hidden = [other for other in names if other not in sheets]
        way = (
            f" on a sheet that is shown: read a hidden one with {setting('sheet', hidden[0])}"
            if hidden
            else ""
        )
        raise InputError(f"the workbook has no cells{way}", source=source)
    above = head.body_line - 1
    filled = [own[above:] for own in sheets[name].filled]
    # Rows without a cell are none.
    is_row = np.logical_or.reduce(filled)
    rows = pa.array(is_row)
    others = [other for other in names if other != name]
    likely = sorted(others, key=lambda other: -heads.get(other, _NO_CELLS).known)
    notes = [f"read the sheet {name!r}; not read: {', '.join(map(repr, others))}"] * bool(others)
    notes += [*head.notes, *[_UNSEEN] * (book["broken"] is None)]
    return Table(
        source,
        head.cells,
        [pa.chunked_array([column[above:].filter(rows)]) for column in sheets[name].columns],
        np.flatnonzero(is_row) + head.body_line,
        head.line,
        sheet=name,
        numeric=frozenset(
            place
            for place, (own, numbers) in enumerate(zip(filled, sheets[name].numbers, strict=True))
            if own.any() and numbers[above:][own].all()
        ),
        title=" ".join(cell for row in sheets[name].rows(head.line - 1) for cell in row),
        other_sheets=tuple(likely) if sheet is None and name not in has_own_name else (),
        why_not_others=_not_taken(name, others, heads, likely[0]) if likely else "",
        notes=tuple(notes),
        broken=[
            _broken(name, *cell)
            for cell in (book["broken"] or {}).get(name, ())
            if cell[0] + 1 >= head.body_line
        ],
    )


def _not_taken(name: str, others: Sequence[str], heads: Mapping[str, Head], likeliest: str) -> str:
    """Return why the other sheets were not taken, and the option that chooses the likeliest of them."""

    def known(sheet: str) -> str:
        # Headings that the caller named count a hundred.
        count = max(heads[sheet].known % NAMED, heads[sheet].known // NAMED)
        return f"{count or 'no'} known heading{'s' * (count != 1)}"

    listed = []
    for other in others:
        why = f"has {known(other)}" if other in heads else "is hidden or no table"
        why = "is empty" if heads.get(other) == _NO_CELLS else why
        listed.append(f"{other!r} {why}")
    return (
        f"read the sheet {name!r} with {known(name)}; {first_of(listed, _SHOWN_SHEETS)}: choose one with"
        f" {setting('sheet', likeliest)}"
    )


def _parsed(data: bytes, sheet: str | int | None, source: str) -> dict[str, Any]:
    """Parse the workbook in another process, which a hostile file ends instead of this one."""
    size = archive_size(data, kind="workbook", source=source) if data.startswith(_ZIP) else len(data)
    seconds = SECONDS + SECONDS_PER_BYTE * size
    limits = {"memory": MEMORY + MEMORY_PER_BYTE * size, "seconds": ceil(seconds)}
    request = json.dumps({"sheet": sheet, **limits}).encode()
    try:
        # By its path, so that nothing is found in the present folder, or imported beside the parser.
        done = subprocess.run(  # noqa: S603 - a file of ours
            [sys.executable, "-P", workbook_process.__file__],
            input=request + b"\n" + data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The process limits its own processor time: a busy machine refuses no file that it could read.
            timeout=BUSY * seconds,
            check=True,
        )
        book = _book(done.stdout)
    except (subprocess.SubprocessError, MemoryError, ValueError):
        book = {"failure": "too large"}
    except OSError as error:
        raise InputError(f"no other process can be started to read it ({error})", source=source) from None
    if "failure" in book:
        raise InputError(_FAILURES[book["failure"]].format(why=book.get("why")), source=source)
    return book


def _book(answer: bytes) -> dict[str, Any]:
    """Return the other process's answer, with the columns of each sheet."""
    end = answer.index(b"\n") + 1
    book: dict[str, Any] = json.loads(answer[:end])
    cells = memoryview(answer)[end:]

    def taken(count: int) -> memoryview:
        nonlocal cells
        part, cells = cells[:count], cells[count:]
        return part

    for name, sizes in book.get("sheets", {}).items():
        columns = [_column(taken(size), taken(numbers)) for size, numbers in sizes]
        book["sheets"][name] = (
            _Sheet(*map(list, zip(*columns, strict=True))) if columns else _Sheet([], [], [])
        )
    return book


def _column(
    texts: memoryview, numbers: memoryview
) -> tuple[pa.LargeStringArray, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the texts of a column, which of its cells hold something, and which of them are numbers."""
    data = np.frombuffer(texts, np.uint8)
    is_end = data == 0
    ends = np.flatnonzero(is_end)
    # The NUL behind each cell is left out.
    offsets = np.concatenate([[0], ends - np.arange(len(ends))])
    column = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data[~is_end]))
    is_number = np.frombuffer(numbers, np.bool_) if len(numbers) else np.zeros(len(ends), dtype=bool)
    return column, np.diff(offsets) > 0, is_number


def _refuse_missing(names: Sequence[str], sheet: str | int | None, source: str) -> None:
    if isinstance(sheet, int) and not 0 <= sheet < len(names):
        raise SheetNotFoundError(
            f"there is no sheet {sheet}, positions are 0 to {len(names) - 1}", source=source
        )
    if isinstance(sheet, str) and sheet not in names:
        raise SheetNotFoundError(
            f"there is no sheet {sheet!r}; found: {', '.join(map(repr, names))}", source=source
        )


def _broken(sheet: str, row: int, place: int, what: str) -> Broken:
    from xlsxwriter.utility import xl_rowcol_to_cell

    return Broken(
        place, row + 1, f"the cell {xl_rowcol_to_cell(row, place)} of the sheet {sheet!r} holds {what}"
    )


def _head(sheet: _Sheet, score: Score) -> Head:
    sample = [Row(line, line + 1, row) for line, row in enumerate(sheet.rows(_SAMPLE_ROWS), 1)]
    filled = [row for row in sample if any(cell.strip() for cell in row.cells)]
    return head_of(filled, [score(row.cells) for row in filled]) if filled else _NO_CELLS
