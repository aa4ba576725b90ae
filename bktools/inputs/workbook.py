"""Workbooks → rows of text: numbers as Excel shows them, dates in ISO form."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import python_calamine as calamine

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.inputs.table import Score, Table

_SAMPLE_ROWS = 50


def read_workbook(data: bytes, score: Score, *, sheet: str | int | None, source: str) -> Table:
    """Return the sheet asked for, or the first visible one with most headings that are known.

    Raises
    ------
    InputError
        When the workbook cannot be read, is locked, or has no such sheet or no cells.
    """
    try:
        book = calamine.load_workbook(io.BytesIO(data))
        names = _names(book, sheet, source)
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in names}
    except calamine.PasswordError:
        raise InputError("the workbook is locked with a password: save it without", source=source) from None
    except calamine.CalamineError as error:
        raise InputError(f"is no workbook that can be read ({error}); save it again as XLSX", source=source) from None
    heads = {
        name: _head([[_text(cell) for cell in row] for row in rows[:_SAMPLE_ROWS]], score)
        for name, rows in sheets.items()
    }
    name = max(names, key=lambda one: heads[one][0])
    points, at = heads[name]
    if points < 0:
        raise InputError("the workbook has no cells", source=source)
    below = [(line, row) for line, row in enumerate(sheets[name][at + 1 :], at + 2) if any(cell != "" for cell in row)]
    others = [other for other in book.sheet_names if other != name]
    headings = tuple(_text(cell) for cell in sheets[name][at])
    columns = [pa.array([_text(row[place]) for _, row in below], schema.TEXT) for place in range(len(headings))]
    return Table(
        source=source,
        headings=headings,
        columns=[pa.chunked_array([column]) for column in columns],
        lines=np.array([line for line, _ in below], dtype=np.int64),
        heading_line=at + 1,
        sheet=name,
        numeric=_numeric([row for _, row in below]),
        notes=(f"read the sheet {name!r}; not read: {', '.join(map(repr, others))}",) if others else (),
    )


def _names(book: calamine.CalamineWorkbook, sheet: str | int | None, source: str) -> list[str]:
    names = book.sheet_names
    if isinstance(sheet, bool) or not isinstance(sheet, str | int | None):
        raise ArgumentError("sheet", "must be the name of a sheet, or its position from 0", sheet)
    if isinstance(sheet, int):
        if not 0 <= sheet < len(names):
            raise InputError(f"there is no sheet {sheet}, positions are 0 to {len(names) - 1}", source=source)
        return [names[sheet]]
    if sheet is not None:
        if sheet not in names:
            raise InputError(f"there is no sheet {sheet!r}; found: {', '.join(map(repr, names))}", source=source)
        return [sheet]
    visible = [
        one.name
        for one in book.sheets_metadata
        if one.visible == calamine.SheetVisibleEnum.Visible and one.typ == calamine.SheetTypeEnum.WorkSheet
    ]
    return visible or names


def _head(rows: list[list[str]], score: Score) -> tuple[int, int]:
    """Return how well the best row serves as headings, and where it is; less than nothing when there are no cells."""
    filled = [at for at, row in enumerate(rows) if any(cell.strip() for cell in row)]
    if not filled:
        return -1, 0
    best = max(filled, key=lambda at: score(rows[at]))
    points = score(rows[best])
    several = [at for at in filled if sum(bool(cell.strip()) for cell in rows[at]) > 1]
    return points, best if points else (several or filled)[0]


def _text(cell: object) -> str:
    """Return a cell as text; a whole number has no decimals, so that account 400 is not 400.0."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        # Fifteen digits are what Excel keeps and shows: a sum stored as 0.30000000000000004 is 0.3 there.
        return str(int(cell)) if cell.is_integer() else _without_exponent(f"{cell:.15g}")
    if isinstance(cell, dt.datetime) and cell.time() == dt.time():
        return cell.date().isoformat()
    return cell.isoformat() if isinstance(cell, dt.date | dt.time) else str(cell)


def _without_exponent(number: str) -> str:
    return f"{Decimal(number):f}" if "e" in number else number


def _numeric(rows: Sequence[Sequence[object]]) -> frozenset[int]:
    width = len(rows[0]) if rows else 0
    kinds = [{type(row[place]) for row in rows if row[place] != ""} for place in range(width)]
    return frozenset(place for place, found in enumerate(kinds) if found and found <= {int, float})
