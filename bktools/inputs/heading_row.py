"""Where the headings of a delimited text are, and which delimiter makes them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError, InputError
from bktools.inputs.table import Score

DELIMITERS = (",", ";", "\t", "|")

MOST_COLUMNS = 16_384

_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 50
_SHOWN_CELLS = 4
# The score of a heading that the caller named.
NAMED = 100
_MOST = 0.9
# A code, an amount with or without a currency, a date or a UUID: no word.
_FIGURE = re.compile(
    r"[-+(]?[$€£]?\d[\d.,:/'\u00a0 -]*\)?(?: ?[$€£])?\Z"
    r"|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z"
)


_PARTS = re.compile(r"\d[./,-]\d")


class Row(NamedTuple):
    """A row, the line it starts on and the line after it (from 1)."""

    line: int
    next_line: int
    cells: tuple[str, ...]


class Head(NamedTuple):
    """The headings, how many of them are known, the line they start on and the line after them (from 1).

    In a file without headings the cells are names made here, and the body starts on the same line.
    """

    cells: tuple[str, ...]
    known: int
    line: int
    body_line: int
    notes: tuple[str, ...] = ()
    delimiter: str = ""


def read_head(text: bytes, score: Score, *, delimiter: str | None, prefer: str, source: str) -> Head:
    """Return the headings of a delimited text: the row with most known headings, else the first with cells.

    Without a delimiter it is the one that makes most of the headings, of equals the one to `prefer`. `score`
    says how many cells of a row are known headings; `source` is the file, for errors.
    """
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\0'):
        raise ArgumentError(name_of("delimiter"), "must be one character such as ; or a tab", delimiter)
    # To the end of its line: headings that were cut would be other headings.
    sample = text[: text.find(b"\n", _SAMPLE_BYTES) + 1 or len(text)].decode(errors="ignore")
    first = sample.split("\n", 1)[0].strip('\r" ').casefold()
    # Excel's own line: it says the delimiter and is no row.
    skip = 1 if len(first) == len("sep=;") and first.startswith("sep=") else 0
    if skip and delimiter is None and first[-1] in DELIMITERS:
        delimiter = first[-1]
    candidates = [delimiter] if delimiter else sorted(DELIMITERS, key=lambda one: one != prefer)
    rows_of = {one: rows for one in candidates if (rows := _rows(sample, one, skip))}
    if not rows_of:
        raise InputError("the file has no rows", source=source)
    _refuse_wide(rows_of, source)
    scores = {one: [score(row.cells) for row in rows] for one, rows in rows_of.items()}
    best = max(rows_of, key=lambda one: _quality(rows_of[one], scores[one]))
    return head_of(rows_of[best], scores[best])._replace(delimiter=best)


def head_of(rows: Sequence[Row], scores: Sequence[int]) -> Head:
    """Return the headings of a table's first rows; `scores` counts the known headings of each row."""
    at, known = _heading_at([row.cells for row in rows], scores)
    row = rows[at]
    if known or not _is_data([row.cells for row in rows[at:]]):
        return Head(row.cells, known, row.line, row.next_line)
    shown = ", ".join(map(repr, row.cells[:_SHOWN_CELLS]))
    names = "its columns are named column 1, column 2, …"
    note = f"the file has no headings: its first row ({shown}) is data, and {names}"
    return Head(made_headings(len(row.cells)), known, row.line, row.line, (note,))


def _refuse_wide(rows_of: Mapping[str, Sequence[Row]], source: str) -> None:
    for delimiter, rows in rows_of.items():
        widest = max(rows, key=lambda row: len(row.cells))
        if len(widest.cells) > MOST_COLUMNS:
            raise InputError(
                f"{len(widest.cells):,} cells: a table has at most {MOST_COLUMNS:,} columns, "
                f"as in a spreadsheet; if {delimiter!r} does not stand between cells, "
                f"set {setting('delimiter')}",
                source=source,
                line=widest.line,
            )


def _rows(sample: str, delimiter: str, skip: int) -> list[Row]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    rows: list[Row] = []
    line = 1
    # Errors below are told when the body is read.
    with suppress(csv.Error):
        for cells in reader:
            if line > skip and any(cell.strip() for cell in cells):
                rows.append(Row(line, reader.line_num + 1, tuple(cells)))
            line = reader.line_num + 1
            if len(rows) == _SAMPLE_ROWS:
                break
    return rows


def _quality(rows: list[Row], scores: list[int]) -> tuple[int, int, int]:
    widths = [len(row.cells) for row in rows]
    usual = max(set(widths), key=widths.count)
    return max(scores), int(usual > 1) * widths.count(usual), usual


def _heading_at(rows: Sequence[Sequence[str]], known: Sequence[int]) -> tuple[int, int]:
    """Return which row is likeliest the headings, and how many known headings it has.

    `known` has that number of each row. It is the row with most known headings, unless it has as many
    figures, or most rows below it fill more than twice its cells, as a table does below the name of its
    company. Without known headings it is the first row that is as wide.
    """
    widths = [sum(bool(cell.strip()) for cell in row) for row in rows]
    scores = []
    for at, row in enumerate(rows):
        below = sorted(widths[at + 1 :]) or [0]
        is_wide = 2 * widths[at] >= below[len(below) // 2]
        points, figures = known[at], sum(map(is_figure, row))
        scores.append(
            points if points > (figures > 0) and 2 * points > figures and (is_wide or points >= NAMED) else 0
        )
    if any(scores):
        best = max(range(len(rows)), key=scores.__getitem__)
        return best, scores[best]
    usual = sorted(width for width in widths if width > 1) or [1]
    return next(at for at, width in enumerate(widths) if 2 * width > usual[len(usual) // 2]), 0


def is_figure(cell: str) -> bool:
    """Whether a cell is a code, an amount, a date or a UUID."""
    return _FIGURE.match(cell.strip()) is not None


def made_headings(count: int) -> tuple[str, ...]:
    """Return headings for a file that has none."""
    return tuple(f"column {place}" for place in range(1, count + 1))


def _is_data(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is data: it has a figure where nearly all other cells of a column have one.

    A row that is alone is data where it has a date or an amount with decimals; a year may be a heading.
    """
    if len(rows) == 1:
        return any(is_figure(cell) and _PARTS.search(cell) for cell in rows[0])
    for place, cell in enumerate(rows[0]):
        below = [row[place] for row in rows[1:] if place < len(row) and row[place].strip()]
        if is_figure(cell) and below and sum(map(is_figure, below)) >= _MOST * len(below):
            return True
    return False
