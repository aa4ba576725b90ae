"""What the formats that are delimited text share: their headings in the first lines, and their encoding."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from bktools.errors import InputError
from bktools.inputs import cells
from bktools.inputs.columns import normal
from bktools.inputs.encoding import utf8_error
from bktools.inputs.file import read_table
from bktools.inputs.formats.format import File
from bktools.inputs.table import Table

_DELIMITERS = "\t|;,"
# What ISO 8859 has no characters for.
_CONTROLS = bytes(range(0x80, 0xA0))


def first_cells(file: File, line: int = 0) -> list[str]:
    """Return the cells of one of the first lines, by the delimiter that makes most."""
    lines = file.text.splitlines()
    if line >= len(lines):
        return []
    return max((_cells(lines[line], delimiter) for delimiter in _DELIMITERS), key=len)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def table_of(file: File, headings: frozenset[str], encoding: str | None) -> Table:
    """Return the rows that hold something, below the row with most of these headings (as `normal` gives them)."""

    def score(row: Sequence[str]) -> int:
        return len({normal(cell) for cell in row} & headings)

    table = read_table(file.path, score, encoding=file.encoding or encoding)
    return cells.without_blank_rows(table, range(len(table.headings)))


def place_of(table: Table, *headings: str) -> int | None:
    """Return the first column with one of these headings."""
    found = [normal(heading) for heading in table.headings]
    return next((found.index(normal(one)) for one in headings if normal(one) in found), None)


def required(table: Table, *headings: str) -> int:
    """Return the first column with one of these headings; none is an `InputError`."""
    place = place_of(table, *headings)
    if place is None:
        raise InputError(
            f"has no column {' or '.join(map(repr, headings))}, which its format has: export it again",
            source=table.source,
            line=table.heading_line,
        )
    return place


def is_utf8(file: File) -> tuple[bool, bool]:
    """Return whether the whole file is UTF-8, and whether one of its bytes is from 0x80 to 0x9F."""
    whole, has_controls = True, False
    for _, line in file.lines():
        if not line.isascii():
            has_controls = has_controls or len(line.translate(None, _CONTROLS)) < len(line)
            whole = whole and utf8_error(line) is None
    return whole, has_controls
