"""A file of an ERP as a table of text with headings, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.contract.accounts import CompanyInFile

# How many cells of a row are known headings.
Score = Callable[[Sequence[str]], int]


class Broken(NamedTuple):
    """A cell without a value: its column, its line, and the problem with the way out."""

    place: int
    line: int
    why: str


@dataclass(frozen=True)
class Table:
    """Cells of a file as text, with where each came from.

    Parameters
    ----------
    source : str
        The path.
    headings : tuple of str
        As they are in the file.
    columns : list of pyarrow.ChunkedArray
        Text per heading; an empty cell is an empty text.
    lines : numpy.ndarray
        Line of the file each row starts on.
    heading_line : int
        Line of the headings.
    delimiter, encoding, sheet : str or None
        What was found, where the file has such a thing.
    numeric : frozenset of int
        Columns of a workbook or Parquet file whose cells are numbers, so that their decimal mark is a point.
    notes : tuple of str
        What a person should know.
    sha256 : str
        Of the file's bytes.
    broken : tuple of Broken
        Cells below the headings that hold no value though something was meant to be there.
    other_sheets : tuple of str
        The workbook's other sheets, the likeliest first, where the caller named none.
    why_not_others : str
        Why they were not taken, for a refusal.
    title : str
        What is above the headings.
    company : CompanyInFile, optional
        The company that a file of a format names.
    """

    source: str
    headings: tuple[str, ...]
    columns: list[pa.ChunkedArray]
    lines: npt.NDArray[np.int64]
    heading_line: int
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    numeric: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    sha256: str = ""
    broken: tuple[Broken, ...] = ()
    other_sheets: tuple[str, ...] = ()
    why_not_others: str = ""
    title: str = ""
    company: CompanyInFile | None = None

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Table:
        """Return the table with those rows alone."""
        if chosen.all():
            return self
        flags = pa.array(chosen)
        return replace(self, columns=[column.filter(flags) for column in self.columns], lines=self.lines[chosen])

    def head(self, rows: int) -> Table:
        """Return the table with its first rows alone."""
        if len(self.lines) <= rows:
            return self
        return replace(self, columns=[column.slice(0, rows) for column in self.columns], lines=self.lines[:rows])

    def provenance(
        self, rows: int, places: Mapping[str, int], notes: Sequence[str], *, others: str = "columns not read"
    ) -> dict[str, Any]:
        """Return the provenance of a frame; `others` describes the columns that are no field."""
        unread = [heading for place, heading in enumerate(self.headings) if place not in places.values() and heading]
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
