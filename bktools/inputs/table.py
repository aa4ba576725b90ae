"""Text cells of a file: `RawTable` before anything is known of headings, `Table` below them."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.contract.accounts import CompanyInFile
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs.notes import Note, damaged

ROWS_A_CHUNK = 1 << 13
# The rows in which headings are looked for, and those whose cells show the type of a column.
HEAD_ROWS, SAMPLE_ROWS = 200, 3000

Mask = npt.NDArray[np.bool_]
Lines = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RawTable:
    """Cells of a sheet, or of one reading of a text: all rows as columns of one width."""

    columns: Sequence[pa.ChunkedArray]
    lines: Lines
    # How many cells the first rows of a text have; those of a sheet have no end.
    widths: Sequence[int] = ()
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    # By column of a sheet: the cells that are numbers.
    numbers: Sequence[Mask] = ()
    notes: Sequence[Note] = ()

    @cached_property
    def head(self) -> list[list[str]]:
        """The first rows."""
        columns = (column.slice(0, HEAD_ROWS).to_pylist() for column in self.columns)
        rows = [[*row] for row in zip(*columns, strict=True)]
        return [row[:width] for row, width in zip(rows, self.widths, strict=True)] if self.widths else rows

    @cached_property
    def head_lines(self) -> list[int]:
        """The lines of the first rows."""
        lines: list[int] = self.lines[:HEAD_ROWS].tolist()
        return lines


@dataclass(frozen=True)
class Table:
    """Rows below their headings as columns of text; an empty cell is an empty text."""

    source: str
    headings: tuple[str, ...]
    columns: Sequence[pa.ChunkedArray]
    # The line of the file on which each row starts.
    lines: Lines
    # 0 for a file without headings.
    heading_line: int
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    # Columns of a workbook or Parquet file whose cells are numbers, so that their decimal mark is a point.
    numeric: frozenset[int] = frozenset()
    notes: tuple[Note, ...] = ()
    sha256: str = ""
    # Cells right of the headings.
    beyond: Sequence[pa.ChunkedArray] = ()
    # Field to column, and the company, where the file's format says them.
    places: Mapping[str, int] = field(default_factory=dict)
    company: CompanyInFile | None = None
    # Whether the row of headings is known, rather than proposed.
    is_known: bool = True
    # The texts of each row above the headings, the nearest first.
    above: Sequence[Sequence[str]] = ()
    # The currency that stands above the table, as a code or a sign.
    currency: str = ""

    def error(self, code: str, line: int | None = None, /, **facts: Any) -> InputError:
        """Return an error that names the file and a line of it."""
        return damaged(self.source, code, line, **facts)

    def rows(self, chosen: Mask) -> Table:
        """Return the table with those rows alone."""
        if chosen.all():
            return self
        flags = pa.array(chosen)
        columns, beyond = ([column.filter(flags) for column in own] for own in (self.columns, self.beyond))
        return replace(self, columns=columns, beyond=beyond, lines=self.lines[chosen])

    @cached_property
    def samples(self) -> list[list[str]]:
        """Cells of each column in the first rows that are about as full as most: no titles or footers."""
        first = [column.slice(0, SAMPLE_ROWS).to_pylist() for column in self.columns]
        counts = [sum(1 for cell in row if cell.strip()) for row in zip(*first, strict=True)]
        usual = max(set(counts), key=counts.count, default=0)
        full = [row for row, count in enumerate(counts) if count * 10 >= usual * 6]
        return [[cells[row] for row in full] for cells in first]

    @cached_property
    def named(self) -> dict[str, int]:
        """The column of each heading; of a heading that is there twice, the first one."""
        return {heading: place for place, heading in reversed(list(enumerate(self.headings)))}

    def choice(self, field_name: str, place: int) -> dict[str, Any]:
        """Return the option that takes a column for a field."""
        return {"columns": {field_name: self.headings[place]}}

    def lines_of(self, rows: Mask) -> list[int]:
        """Return the lines of rows; a line that is two postings counts once."""
        return list(dict.fromkeys(self.lines[rows].tolist()))

    def skip(self, rows: Mask) -> dict[str, Any]:
        """Return the option that leaves rows out."""
        return {"skip_rows": ranges(self.lines_of(rows))}


@contextmanager
def no_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: cells are new objects by the million, and all of them are used."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def ranges(lines: Sequence[int]) -> str:
    """Return lines as `skip_rows` takes them: 3,7-9."""
    spans: list[list[int]] = []
    for line in sorted(set(lines)):
        if spans and line == spans[-1][1] + 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


class Rows:
    """Rows of text, added one at a time and kept as Arrow's columns, which take less memory."""

    def __init__(self, *headings: str) -> None:
        self.headings = headings
        self._rows: list[Sequence[str]] = []
        self._lines: list[int] = []
        self._chunks: list[list[pa.Array]] = [[] for _ in headings]

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: int, *cells: str) -> None:
        """Add a row and the line of the file it is on; shorter rows end with empty cells."""
        self._rows.append(cells)
        self._lines.append(line)
        if len(self._rows) == ROWS_A_CHUNK:
            self._pack()

    def add_fields(self, line: int, **fields: str) -> None:
        """Add a row by the names of its columns; those that are left out are empty."""
        self.add(line, *(fields.get(heading, "") for heading in self.headings))

    def _pack(self) -> None:
        columns = list(zip_longest(*self._rows, fillvalue=""))
        count, before = len(self._rows), len(self._lines) - len(self._rows)
        self._chunks += [[_empty(before)] for _ in columns[len(self._chunks) :]]
        for place, chunks in enumerate(self._chunks):
            chunks.append(pa.array(columns[place], schema.TEXT) if place < len(columns) else _empty(count))
        self._rows = []

    def raw_table(self) -> RawTable:
        """Return the rows as columns, and the line of each."""
        self._pack()
        columns = [pa.chunked_array(chunks, schema.TEXT) for chunks in self._chunks]
        return RawTable(columns, np.array(self._lines, dtype=np.int64))

    def table(self, source: str, **about: Any) -> Table:
        """Return the rows as a table, with what else is known of it."""
        raw = self.raw_table()
        return Table(source, self.headings, raw.columns, raw.lines, **about)


def _empty(count: int) -> pa.Array:
    return pa.repeat(pa.scalar("", schema.TEXT), count)


def stacked(first: RawTable, second: RawTable) -> RawTable:
    """Return the rows of both, of the width of the wider ones."""
    width = max(len(first.columns), len(second.columns))
    columns = [
        pa.chunked_array(
            [
                chunk
                for own in (first, second)
                for chunk in (own.columns[at].chunks if at < len(own.columns) else [_empty(len(own.lines))])
            ],
            schema.TEXT,
        )
        for at in range(width)
    ]
    return RawTable(columns, np.concatenate([first.lines, second.lines]))
