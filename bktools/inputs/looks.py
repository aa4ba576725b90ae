"""What the values of a column look like: evidence for columns whose heading is not known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_REGEX
from bktools.errors import InputError
from bktools.inputs import amounts, cells
from bktools.inputs.problems import kept
from bktools.inputs.table import Table

# Fewer rows show nothing.
_LEAST_ROWS = 3
_MOST = 0.9
_FIRST_ROWS = 100
# A look per kind of value; the first that fits a column is its own.
LOOKS = {
    "uuid": UUID_REGEX,
    "date": r"^\s*(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:[T ].*)?$",
    "code": r"^\s*\d[0-9A-Za-z]*(?:[.\-/ ]\d[0-9A-Za-z]*)*\s*$",
    "amount": r"^\s*[-+(]?[^0-9A-Za-z]?\d[\d.,' ]*[-)]?\s*$",
    "name": r"\pL{2}",
}


def look(column: pa.ChunkedArray) -> str:
    """Return the name of the look that most values of a column have, "" where none has."""
    filled = column.filter(pa.array(~cells.blank(column)))
    for name, pattern in LOOKS.items():
        if len(filled) >= _LEAST_ROWS and cells.matches(filled, pattern).mean() >= _MOST:
            return name
    return ""


# Days without a year, and codes with zeros in front, have the look of amounts.
_DAY = r"^(?:0?[1-9]|[12]\d|3[01])\.(?:0[1-9]|1[0-2])\.?$"
_ZEROS = r"^0\d"
_CENTS = r"[.,]\d\d\D*$"
_EMAIL = r"^[^@\s]+@[^@\s]+\.[^@\s]+$"


def columns_like(table: Table, field: str) -> list[int]:
    """Return the columns that could be a date, an amount or an employee: nearly every cell is filled, and all fit."""
    fits = {"date": _are_dates, "amount": _are_amounts, "employee_id": _are_emails}.get(field)
    if fits is None:
        return []
    # The first rows tell nearly every other column apart, however long the file is.
    head = table.rows(np.arange(len(table.lines)) < _FIRST_ROWS)
    likely = [place for place in range(len(table.columns)) if fits(head, place)]
    return [place for place in likely if fits(table, place)]


def _are_dates(table: Table, place: int) -> bool:
    return bool(cells.matches(_filled(table, place), LOOKS["date"]).all()) and _is_full(table, place)


def _are_emails(table: Table, place: int) -> bool:
    return bool(cells.matches(_filled(table, place), _EMAIL).all()) and _is_full(table, place)


def _are_amounts(table: Table, place: int) -> bool:
    column = _filled(table, place)
    if not _is_full(table, place) or not cells.matches(column, _CENTS).any():
        return False
    if cells.matches(column, _DAY).all() or cells.matches(column, _ZEROS).any():
        return False
    unread: list[InputError] = []
    with kept(unread):
        amounts.amounts(table, place, None)
    # An amount that could be read in two ways is one.
    return not unread or bool(unread[0].settings)


def _filled(table: Table, place: int) -> pa.ChunkedArray:
    column = cells.trimmed(table.columns[place])
    return column.filter(pc.not_equal(column, ""))


def _is_full(table: Table, place: int) -> bool:
    return len(_filled(table, place)) >= max(1, _MOST * len(table.lines))


def columns_of_chart(table: Table, field: str, _: Mapping[str, int]) -> list[int]:
    """Return the columns that could be code or name: each value once, but for a few."""
    if field not in ("code", "name"):
        return []
    found: dict[str, list[int]] = {"code": [], "name": []}
    for place, column in enumerate(table.columns):
        kind = look(column)
        if kind in found and pc.count_distinct(column).as_py() >= _MOST * len(column):
            found[kind].append(place)
    # Codes stand before names.
    found["code"] = found["code"][:1]
    return found[field]
