"""A file of an ERP → a table of text with headings, whatever the file is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bktools.errors import InputError
from bktools.inputs import delimited
from bktools.inputs import encoding as encodings
from bktools.inputs.delimited import Lines, Score

_TEXT_SUFFIXES = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": "\t"}


@dataclass(frozen=True)
class Table:
    """Cells of a file as text, with where each came from.

    Parameters
    ----------
    source : str
        The path.
    sha256 : str
        Of the file's bytes.
    headings : tuple of str
        As they stand in the file.
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
    """

    source: str
    sha256: str
    headings: tuple[str, ...]
    columns: list[pa.ChunkedArray]
    lines: Lines
    heading_line: int
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    numeric: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()

    def rows(self, kept: npt.NDArray[np.bool_]) -> Table:
        """Return the table with those rows alone."""
        if kept.all():
            return self
        chosen = pa.array(kept)
        return replace(self, columns=[column.filter(chosen) for column in self.columns], lines=self.lines[kept])

    def provenance(self, rows: int, places: Mapping[str, int], notes: Sequence[str]) -> dict[str, Any]:
        """Return what a frame says of where it came from."""
        return {
            "source": self.source,
            "sha256": self.sha256,
            "rows": rows,
            "columns": {field: self.headings[place] for field, place in places.items()},
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "sheet": self.sheet,
            "heading_line": self.heading_line,
            "notes": [*self.notes, *notes],
        }


def read_table(
    path: str | PathLike[str],
    score: Score,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Table:
    """Return the cells of a CSV, TSV, Excel or Parquet file as text.

    Raises
    ------
    InputError
        When there is no such file, or it cannot be read as a table.
    """
    source = str(path)
    data = _bytes(Path(path), source)
    sha256 = hashlib.sha256(data).hexdigest()
    suffix = Path(path).suffix.casefold()
    text, found, notes = encodings.to_utf8(data, encoding, source)
    head = delimited.read_head(text, score, delimiter=delimiter, prefer=_TEXT_SUFFIXES.get(suffix, ","), source=source)
    body = delimited.read_body(text, head, source)
    if not len(body.lines):
        raise InputError("the file has headings but no rows below them", source=source)
    return Table(
        source, sha256, head.cells, body.columns, body.lines, head.line, head.delimiter, found, notes=tuple(notes)
    )


def _bytes(path: Path, source: str) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("there is no such file", source=source) from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", source=source) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=source) from None
    if not data.strip():
        raise InputError("the file is empty", source=source)
    return data
