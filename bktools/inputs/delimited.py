"""Delimited text → columns of text, to the letter.

Arrow's reader does the work on text whose quotes stand where they should; Python's exact reader takes the rest, and
names the line of what cannot be read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from bktools.caller import setting
from bktools.errors import InputError
from bktools.frames.delimited import SIGNS
from bktools.inputs import cells
from bktools.inputs.encoding import to_utf8
from bktools.inputs.heading_row import Head, has_figure, read_head, without_headings
from bktools.inputs.table import Score, Table

Lines = npt.NDArray[np.int64]

_MARKUP = (b"<?xml", b"<!doctype", b"<html", b"<head", b"<meta", b"<table", b"<div")
_CHUNK = 1 << 26
_LONGEST_TITLE = 1 << 12

# ="0400" keeps a spreadsheet from reading a number; a quote inside is doubled.
_KEPT = r'(?s)^="((?:[^"]|"")+)"$'
# `to_csv` leads by an apostrophe what a spreadsheet takes for a formula, whatever apostrophes are there already.
_LED = f"^'+{SIGNS}"
_FORMULA = f"^{SIGNS}"
_NUMBER = r"^[+-][\d.,]+$"


class Body(NamedTuple):
    """Cells below the headings, a column per heading, with the line each row starts on."""

    columns: list[pa.ChunkedArray]
    lines: Lines


def read_delimited(
    data: bytes, score: Score, *, delimiter: str | None, encoding: str | None, prefer: str, source: str
) -> Table:
    """Return the cells of a delimited text, those that were written for a spreadsheet as it shows them.

    Raises
    ------
    InputError
        When the bytes do not fit the encoding, a row has more cells than there are headings, or a quote is not closed.
    """
    text, found = to_utf8(data, encoding, source)
    if text[:64].lstrip().lower().startswith(_MARKUP):
        raise InputError("is HTML or XML, not a table: save it as CSV (UTF-8), XLSX or Parquet", source=source)
    head = read_head(text, score, delimiter=delimiter, prefer=prefer, source=source)
    _refuse_cut_off(text, head, source)
    body = read_body(text, head, source)
    table = Table(
        source=source,
        headings=head.cells,
        columns=body.columns,
        lines=body.lines,
        heading_line=head.line,
        delimiter=head.delimiter,
        encoding=found,
        notes=(without_headings(head.first_row),) if head.first_row else (),
        title=b" ".join(text[:_LONGEST_TITLE].split(b"\n")[: head.line - 1]).decode(errors="replace"),
    )
    return _as_shown(table, text)


def _refuse_cut_off(text: bytes, head: Head, source: str) -> None:
    """Raise an error where the last line has no end and is shorter than the line before, with a figure in front like it."""
    end = text.rfind(b"\n")
    if end < 0:
        return
    lines = (text[text.rfind(b"\n", 0, end) + 1 : end], text[end + 1 :])
    whole, cut = (line.decode().split(head.delimiter) for line in lines)
    if len(whole) == len(head.cells) > len(cut) > 1 and has_figure(whole[:1]) and has_figure(cut[:1]):
        raise InputError(
            f"the last line has {len(cut)} of {len(whole)} cells and no end: the file seems to be cut off; export it again,"
            " or delete the line",
            source=source,
            line=text.count(b"\n") + 1,
        )


def read_body(text: bytes, head: Head, source: str) -> Body:
    """Return the rows below the headings.

    Raises
    ------
    InputError
        When a row has more cells than there are headings, or a quote is not closed.
    """
    if b"\r" in text and text.count(b"\r") != text.count(b"\r\n"):
        # A lone carriage return ends a line too, or belongs to a cell: the exact reader knows.
        return read_exactly(text, head, source)
    offset = 0
    for _ in range(head.body_line - 1):
        offset = text.find(b"\n", offset) + 1
        if not offset:
            return _empty(head)
    body = memoryview(text)[offset:]
    lines = _record_lines(body, head)
    if lines is not None and len(head.cells) > 1:
        columns = _read_quickly(body, head, quoted=b'"' in text)
        if columns is not None and len(columns[0]) == len(lines):
            return Body(columns, lines)
    return read_exactly(text, head, source)


def _empty(head: Head) -> Body:
    return Body([pa.chunked_array([], type=pa.large_string()) for _ in head.cells], np.zeros(0, dtype=np.int64))


def _places(body: memoryview, byte: bytes) -> Lines:
    values = np.frombuffer(body, dtype=np.uint8)
    # In chunks: the comparison of a whole file would double its memory.
    parts = [np.flatnonzero(values[at : at + _CHUNK] == byte[0]) + at for at in range(0, len(values), _CHUNK)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _record_lines(body: memoryview, head: Head) -> Lines | None:
    """Return the line each record starts on; None when a quote stands where RFC 4180 has none."""
    values = np.frombuffer(body, dtype=np.uint8)
    newlines = _places(body, b"\n")
    quotes = _places(body, b'"')
    starts = np.concatenate([[0], newlines + 1])
    numbers = np.arange(head.body_line, head.body_line + len(starts), dtype=np.int64)
    if len(quotes):
        if not _well_quoted(values, quotes, head.delimiter):
            return None
        outside = np.searchsorted(quotes, starts) % 2 == 0
        starts, numbers = starts[outside], numbers[outside]
    # Lines without a character are no records.
    inside = starts < len(values)
    first = values[starts[inside]]
    filled: Lines = numbers[inside][(first != ord("\n")) & (first != ord("\r"))]
    return filled


def _well_quoted(values: npt.NDArray[np.uint8], quotes: Lines, delimiter: str) -> bool:
    if len(quotes) % 2:
        return False
    edges = np.frombuffer(delimiter.encode() + b'\r\n"', dtype=np.uint8)
    opening, closing = quotes[0::2], quotes[1::2]
    before = values[np.maximum(opening - 1, 0)]
    after = values[np.minimum(closing + 1, len(values) - 1)]
    opened = np.isin(before, edges) | (opening == 0)
    closed = np.isin(after, edges) | (closing == len(values) - 1)
    return bool(opened.all() and closed.all())


def _read_quickly(body: memoryview, head: Head, *, quoted: bool) -> list[pa.ChunkedArray] | None:
    names = [str(place) for place in range(len(head.cells))]
    if not len(body):
        return _empty(head).columns
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            read_options=arrow_csv.ReadOptions(column_names=names),
            parse_options=arrow_csv.ParseOptions(
                delimiter=head.delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                ignore_empty_lines=True,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.large_string()), null_values=[], strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        # A short or long row, a cell larger than a block: the exact reader takes it, or names its line.
        return None
    return list(table.columns)


def read_exactly(text: bytes, head: Head, source: str) -> Body:
    """Return the rows below the headings as Python's reader sees them, a cell at a time.

    Raises
    ------
    InputError
        When a row has more cells than there are headings, or a quote is not closed.
    """
    width = len(head.cells)
    columns: list[list[str]] = [[] for _ in head.cells]
    lines: list[int] = []
    line = 1
    reader = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=head.delimiter, strict=True)
    try:
        for cells in reader:
            if line >= head.body_line and cells:
                if len(cells) > width:
                    _refuse_surplus(cells, head, source, line)
                for place, column in enumerate(columns):
                    column.append(cells[place] if place < len(cells) else "")
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        why = f"a quoted cell that starts here is not closed properly ({error}); double the quotes inside it"
        if "field limit" in str(error):
            why = f"a cell has more than {csv.field_size_limit():,} characters: is a quote before it not closed?"
        raise InputError(why, source=source, line=line) from None
    return Body(
        [pa.chunked_array([pa.array(column, type=pa.large_string())]) for column in columns],
        np.array(lines, dtype=np.int64),
    )


def _refuse_surplus(cells: Sequence[str], head: Head, source: str, line: int) -> None:
    if any(cell.strip() for cell in cells[len(head.cells) :]):
        raise InputError(
            f"{len(cells)} cells, but {len(head.cells)} headings (line {head.line}): put a cell that holds the delimiter"
            f" {head.delimiter!r} in quotes, or set {setting('delimiter')}",
            source=source,
            line=line,
        )


def _as_shown(table: Table, text: bytes) -> Table:
    """Return the table with ="0400" as 0400, and without the apostrophes by which `to_csv` leads formulas.

    An apostrophe is taken away only where the whole file is as `to_csv` writes it for spreadsheets, and where one leads
    every formula. Anywhere else it may belong to the text.

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
    """Whether a file may be one that `to_csv` wrote, by its mark, line ends, quotes and apostrophes."""
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
