"""A file of an ERP as a table of text with headings, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.contract.accounts import CompanyInFile
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs.refusals import refusal

ROWS_A_CHUNK = 1 << 16

# How many cells of a row are known headings.
Score = Callable[[Sequence[str]], int]


class Broken(NamedTuple):
    """A cell without a value: its column, its line, and the problem with the way out."""

    place: int
    line: int
    why: str


@dataclass(frozen=True)
class Table:
    """Cells of a file as text, with where each came from; an empty cell is an empty text."""

    source: str
    headings: tuple[str, ...]
    columns: list[pa.ChunkedArray]
    # The line of the file on which each row starts.
    lines: npt.NDArray[np.int64]
    heading_line: int
    # The delimiter, encoding and sheet that were found, where the file has them.
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    # Columns of a workbook or Parquet file whose cells are numbers, so that their decimal mark is a point.
    numeric: frozenset[int] = frozenset()
    # Notes that a person should know.
    notes: tuple[str, ...] = ()
    sha256: str = ""
    # Cells below the headings that hold no value though something was meant to be there.
    broken: Sequence[Broken] = ()
    # The workbook's other sheets, likeliest first, if the caller named none, and why they were not taken.
    other_sheets: tuple[str, ...] = ()
    why_not_others: str = ""
    # The text above the headings.
    title: str = ""
    # Field to column, and the company, where the file's format says them.
    places: Mapping[str, int] = field(default_factory=dict)
    company: CompanyInFile | None = None

    def error(
        self,
        why: str,
        line: int | None = None,
        *,
        field: str = "",
        details: Sequence[str] = (),
        **settings: Any,
    ) -> InputError:
        """Return an error that names the file and a line of it; the settings are arguments that settle it."""
        values = [(name, value) for name, value in settings.items() if value]
        return refusal(why, self.source, line, field=field, details=details, settings=values)

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Table:
        """Return the table with those rows alone."""
        if chosen.all():
            return self
        flags = pa.array(chosen)
        return replace(
            self, columns=[column.filter(flags) for column in self.columns], lines=self.lines[chosen]
        )

    def head(self, rows: int) -> Table:
        """Return the table with its first rows alone."""
        if len(self.lines) <= rows:
            return self
        return replace(
            self, columns=[column.slice(0, rows) for column in self.columns], lines=self.lines[:rows]
        )

    def provenance(
        self, rows: int, places: Mapping[str, int], notes: Sequence[str], *, others: str = "columns not read"
    ) -> dict[str, Any]:
        """Return the provenance of a frame; `others` describes the columns that are no field."""
        unread = [
            heading for place, heading in enumerate(self.headings) if place not in places.values() and heading
        ]
        left = [f"{others}: {', '.join(map(repr, unread))}"] if unread else []
        about = {
            "source": self.source,
            "sha256": self.sha256,
            "rows": rows,
            "columns": {field: self.headings[place] for field, place in places.items()},
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "sheet": self.sheet,
            "heading_line": self.heading_line,
            "notes": [*self.notes, *notes, *left],
        }
        return about if self.company is None else {**about, "company_in_file": self.company}


class Rows:
    """Rows of text, added one at a time and kept as Arrow's columns, which take less memory."""

    def __init__(self, *headings: str) -> None:
        self.headings = headings
        self._rows: list[tuple[str, ...]] = []
        self._lines: list[int] = []
        self._chunks: list[list[pa.Array]] = [[] for _ in headings]

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, line: int, *cells: str) -> None:
        """Add a row and the line of the file it is on."""
        self._rows.append(cells)
        self._lines.append(line)
        if len(self._rows) == ROWS_A_CHUNK:
            self._pack()

    def add_fields(self, line: int, **fields: str) -> None:
        """Add a row by the names of its columns; those that are left out are empty."""
        self.add(line, *(fields.get(heading, "") for heading in self.headings))

    def _pack(self) -> None:
        for chunks, cells in zip(self._chunks, zip(*self._rows, strict=True), strict=bool(self._rows)):
            chunks.append(pa.array(cells, schema.TEXT))
        self._rows = []

    def columns(self) -> tuple[list[pa.ChunkedArray], npt.NDArray[np.int64]]:
        """Return the rows as columns, and the line of each."""
        self._pack()
        return [pa.chunked_array(chunks, schema.TEXT) for chunks in self._chunks], np.array(
            self._lines, dtype=np.int64
        )

    def table(self, source: str, **about: Any) -> Table:
        """Return the rows as a table, with what else is known of it."""
        return Table(source, self.headings, *self.columns(), **about)
