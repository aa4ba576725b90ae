"""Delimited text → a grid of cells, to the letter."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.delimited import SIGNS
from bktools.inputs import cells
from bktools.inputs.fields import fields_of
from bktools.inputs.grids.encoding import Reading, read_text
from bktools.inputs.grids.regular_text import regular_body
from bktools.inputs.notes import damaged, note
from bktools.inputs.table import HEAD_ROWS, Body, Grid, Rows, stacked

# Where several part the rows alike, a comma may be a decimal mark.
_DELIMITERS = "\t;,|"
# Lines in which the delimiter is looked for.
_SAMPLE_LINES, _SAMPLE_BYTES = 200, 1 << 18
# The share of lines that have the usual number of cells.
_MOST_LINES = 0.9
# Cells of a text that are held in memory at most.
_MOST_CELLS = 400_000_000
# ="0400" keeps a spreadsheet from reading a number; a quote inside is doubled.
_KEPT = r'(?s)^="((?:[^"]|"")+)"$'
# `to_csv` puts an apostrophe before what a spreadsheet takes for a formula, even after apostrophes.
_LED = f"^'('*{SIGNS})"
_FORMULA, _NUMBER = f"^{SIGNS}", r"^[+-][\d.,]+$"

# A row and the line of the file that it starts on.
_Row: TypeAlias = tuple[int, list[str]]


def read_delimited(
    data: bytes,
    kind: str,
    *,
    source: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    has_quotes: bool = True,
) -> tuple[Grid, Reading]:
    """Return the cells of a delimited text, and how its bytes were read.

    Without `has_quotes`, a quote is a character like any other.
    """
    reading = read_text(data, encoding, source, lambda text: _known(text, kind))
    text = reading.text
    if (first := re.match(rb"sep=(.)\r?\n", text)) and delimiter is None:
        delimiter, text = first[1].decode(), b"\n" + text[first.end() :]
    mark = delimiter or delimiter_of(text, kind)
    try:
        grid = _grid(text, mark, source, has_quotes=has_quotes)
    except InputError as error:
        grid = _by_lines(text, mark, error)
    return _as_shown(replace(grid, encoding=reading.encoding), text), reading


def delimiter_of(text: bytes, kind: str) -> str:
    """Return the delimiter under which most headings are known, then most rows are of one width."""
    head = "\n".join(text[:_SAMPLE_BYTES].decode(errors="replace").splitlines()[:_SAMPLE_LINES])

    def fitness(mark: str) -> tuple[int, int, int]:
        rows = list(_rows_of(head, mark))
        widths = Counter(len(row) for row in rows if len(row) > 1)
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        known = max((sum(map(bool, (fields_of(cell, kind) for cell in row))) for row in rows), default=0)
        return known if known > 1 else 0, count, width

    return max([mark for mark in _DELIMITERS if mark in head] or [","], key=fitness)


def _known(text: str, kind: str) -> set[str]:
    """Return the known headings of the first lines, in small letters."""
    mark = delimiter_of(text.encode(), kind)
    lines = "\n".join(text.splitlines()[:60])
    cells_ = (cell.casefold().strip("# ") for row in _rows_of(lines, mark) for cell in row)
    return {cell for cell in cells_ if fields_of(cell, kind)}


def _rows_of(text: str, mark: str) -> Iterator[list[str]]:
    # A sample may end within a quoted cell.
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True)
    except csv.Error:
        return


def _grid(text: bytes, mark: str, source: str, *, has_quotes: bool) -> Grid:
    """Return the first rows as Python reads them; the others by Arrow where all have one width."""
    head, widths = Rows(), []
    careful = _careful_rows(text, mark, source, has_quotes=has_quotes)
    for line, row in careful:
        if row:
            head.add(line, *row)
            widths.append(len(row))
        if len(widths) == HEAD_ROWS:
            break
    following = next(careful, None)
    body = head.body()
    if following:
        usual = Counter(widths).most_common(1)[0][0]
        others = regular_body(
            text, first_line=following[0], width=usual, delimiter=mark, has_quotes=has_quotes
        )
        body = stacked(body, others or _careful_body(following, careful, source))
    return Grid(body.columns, body.lines, widths, delimiter=mark)


def _careful_body(first: _Row, others: Iterable[_Row], source: str) -> Body:
    rows = Rows()
    cells_left = _MOST_CELLS
    for line, row in chain([first], others):
        cells_left -= len(row)
        if cells_left < 0:
            raise damaged(source, "too_many_cells", most=_MOST_CELLS)
        if row:
            rows.add(line, *row)
    return rows.body()


def _careful_rows(text: bytes, mark: str, source: str, *, has_quotes: bool = True) -> Iterator[_Row]:
    """Yield each row and the line it starts on."""
    line = 1
    stream = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")
    # Where quotes stand behind a space, the space is none of the cell.
    is_spaced = f'{mark} "'.encode() in text[:_SAMPLE_BYTES]
    # A quote that is not closed would swallow rows.
    reader = csv.reader(
        stream,
        delimiter=mark,
        skipinitialspace=is_spaced,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
    )
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        code = "long_cell" if "field limit" in str(error) else "unclosed_quote"
        raise damaged(source, code, line, why=str(error), most=csv.field_size_limit()) from None


def _by_lines(text: bytes, mark: str, error: InputError) -> Grid:
    """Return the rows of a text with quotes inside of quoted cells; raise the error if lines are no rows."""
    lines = text.decode(errors="replace").splitlines()
    rows = [next(csv.reader([line], delimiter=mark), []) for line in lines]
    widths = Counter(map(len, filter(None, rows)))
    usual, count = widths.most_common(1)[0] if widths else (0, 0)
    # A quote that is not closed would make fewer cells of its line.
    if usual < max(widths, default=0) or count < _MOST_LINES * sum(widths.values()):
        raise error
    body = Rows()
    for line, row in enumerate(rows, 1):
        if row:
            body.add(line, *row)
    head = [len(row) for row in rows if row][:HEAD_ROWS]
    return Grid(*body.body(), head, delimiter=mark, notes=[note("quotes_inside")])


def _as_shown(grid: Grid, text: bytes) -> Grid:
    """Return the grid with ="0400" as 0400, and without the apostrophes by which `to_csv` leads formulas.

    An apostrophe is taken away only where the whole file is as `to_csv` writes it for spreadsheets, and where
    one leads every formula. Anywhere else it may belong to the text.
    """
    is_of_to_csv = grid.encoding == "utf-8-sig" and grid.delimiter in {",", ";"} and not text.startswith(b'"')
    is_led = is_of_to_csv and b"'" in text and b"\r\n" in text and not any(map(_has_formula, grid.columns))
    # A search for one byte is much faster than one for two.
    if b"=" in text and b'="' in text:
        grid = _replaced(grid, _KEPT, "kept_texts", doubled='"')
    return _replaced(grid, _LED, "led_texts") if is_led else grid


def _has_formula(column: pa.ChunkedArray) -> bool:
    is_bare = (
        cells.matches(column, _FORMULA) & ~cells.matches(column, _NUMBER) & ~cells.matches(column, _KEPT)
    )
    return bool(is_bare.any())


def _replaced(grid: Grid, pattern: str, code: str, *, doubled: str = "") -> Grid:
    """Return the grid with the pattern's group in place of the cells that it matches."""
    columns = [_shown(column, pattern, doubled) for column in grid.columns]
    is_changed = any(new is not old for new, old in zip(columns, grid.columns, strict=True))
    return replace(grid, columns=columns, notes=(*grid.notes, *[note(code)] * is_changed))


def _shown(column: pa.ChunkedArray, pattern: str, doubled: str) -> pa.ChunkedArray:
    rows = cells.matches(column, pattern)
    if not rows.any():
        return column
    meant = pc.replace_substring_regex(column, pattern, r"\1")
    meant = pc.replace_substring(meant, doubled * 2, doubled) if doubled else meant
    return pc.if_else(pa.array(rows), meant, column)
