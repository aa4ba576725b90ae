"""What the formats that are delimited text share: the cells of the first line, and columns by headings."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from bktools.inputs import cells
from bktools.inputs.headings import rows_below
from bktools.inputs.notes import Note, note
from bktools.inputs.raw.delimited import read_delimited
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Table
from bktools.inputs.terms import normal

_DELIMITERS = "\t|;,"
# A heading, or new cells.
Column: TypeAlias = str | pa.ChunkedArray


def first_cells(file: Source) -> list[str]:
    """Return the cells of the first line, by the delimiter that makes most."""
    line = file.text.splitlines()[:1]
    return max((next(csv.reader(line, delimiter=one), []) for one in _DELIMITERS), key=len)


def table_of(file: Source, heading_line: int, encoding: str | None, form: str, *, has_quotes: bool) -> Table:
    """Return the rows below a line of headings that hold something."""
    raw, reading = read_delimited(
        file.data(), "ledger", encoding=encoding, source=file.name, has_quotes=has_quotes
    )
    if len(raw.head) < heading_line:
        raise file.error("no_rows")
    table = rows_below(raw, heading_line - 1, file.name)
    table = replace(
        table, sha256=file.sha256, encoding=reading.encoding, notes=(*raw.notes, note("format", name=form))
    )
    return cells.without_blank_rows(table, range(len(table.headings)))


def place_of(table: Table, heading: str) -> int | None:
    """Return the first column with a heading."""
    own = [normal(heading) for heading in table.headings]
    return own.index(normal(heading)) if normal(heading) in own else None


def required(table: Table, heading: str) -> int:
    """Return the first column with a heading; a table without one is an `InputError`."""
    place = place_of(table, heading)
    if place is None:
        raise table.error("no_column", table.heading_line, heading=heading)
    return place


def chosen(table: Table, fields: Mapping[str, Column], notes: Sequence[Note] = ()) -> Table:
    """Return a table of the fields' columns; a heading that is not there is an `InputError`."""
    headings, columns = [], []
    for field, column in fields.items():
        if isinstance(column, str):
            place = required(table, column)
            headings.append(table.headings[place])
            columns.append(table.columns[place])
        else:
            headings.append(field)
            columns.append(column)
    places = {field: place for place, field in enumerate(fields)}
    return replace(
        table, headings=tuple(headings), columns=columns, places=places, notes=(*table.notes, *notes)
    )


def accounts_of(table: Table, code: Column, name: str) -> Table:
    """Return the rows that show an account first, with its code and name."""
    accounts = chosen(table, {"code": code, "name": name})
    pairs = list(zip(*(column.to_pylist() for column in accounts.columns), strict=True))
    first = {own: row for row, (own, _) in reversed([*enumerate(pairs)])}
    return accounts.rows(np.isin(np.arange(len(pairs)), [*first.values()]))
