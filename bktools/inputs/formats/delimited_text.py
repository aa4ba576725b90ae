"""What the formats that are delimited text share: headings in the first lines, and columns by headings."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from bktools.inputs import cells
from bktools.inputs.delimited import read_delimited
from bktools.inputs.formats.format import File
from bktools.inputs.headings import rows_below
from bktools.inputs.notes import Note, note
from bktools.inputs.table import Table
from bktools.inputs.words import normal

_DELIMITERS = "\t|;,"
# A heading, headings of which a file has one, or new cells.
Column: TypeAlias = str | tuple[str, ...] | pa.ChunkedArray


def first_cells(file: File) -> list[str]:
    """Return the cells of the first line, by the delimiter that makes most."""
    line = file.text.splitlines()[:1]
    return max((next(csv.reader(line, delimiter=one), []) for one in _DELIMITERS), key=len)


def table_of(file: File, headings: Sequence[str], encoding: str | None, *notes: Note) -> Table:
    """Return the rows that hold something, below the row with most of these headings."""
    known = {normal(heading) for heading in headings}
    grid, reading = read_delimited(
        file.data(), "ledger", delimiter=None, encoding=file.encoding or encoding, source=file.source
    )
    top = max(range(len(grid.head)), key=lambda at: len({normal(cell) for cell in grid.head[at]} & known))
    table = rows_below(grid, top, top + 1, file.source)
    if not len(table.lines):
        raise file.error("the file has headings but no rows below them")
    table = replace(table, sha256=file.sha256, encoding=reading.encoding, notes=(*table.notes, *notes))
    return cells.without_blank_rows(table, range(len(table.headings)))


def place_of(table: Table, *headings: str) -> int | None:
    """Return the first column with one of these headings."""
    own = [normal(heading) for heading in table.headings]
    return next((own.index(normal(one)) for one in headings if normal(one) in own), None)


def required(table: Table, *headings: str) -> int:
    """Return the first column with one of these headings; none is an `InputError`."""
    place = place_of(table, *headings)
    if place is None:
        wanted = " or ".join(map(repr, headings))
        raise table.error(
            f"has no column {wanted}, which its format has: export it again", table.heading_line
        )
    return place


def chosen(table: Table, fields: Mapping[str, Column], *notes: Note) -> Table:
    """Return a table of the fields' columns, headed as in the table they come from; the notes are added."""
    headings, columns = [], []
    for field, column in fields.items():
        if isinstance(column, pa.ChunkedArray):
            headings.append(field)
            columns.append(column)
        else:
            place = required(table, *([column] if isinstance(column, str) else column))
            headings.append(table.headings[place])
            columns.append(table.columns[place])
    places = {field: place for place, field in enumerate(fields)}
    return replace(
        table, headings=tuple(headings), columns=columns, places=places, notes=(*table.notes, *notes)
    )


def accounts_of(table: Table, code: Column, name: Column, *notes: Note) -> Table:
    """Return the rows that show an account first, with its code and name."""
    accounts = chosen(table, {"code": code, "name": name}, *notes)
    pairs = list(zip(*(column.to_pylist() for column in accounts.columns), strict=True))
    first = {own: row for row, (own, _) in reversed([*enumerate(pairs)])}
    if renamed := len({*pairs}) - len(first):
        accounts = replace(accounts, notes=(*accounts.notes, note("several_names", count=renamed)))
    return accounts.rows(np.isin(np.arange(len(pairs)), [*first.values()]))
