"""What the values of a column look like: evidence for columns whose heading is not known."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_REGEX
from bktools.inputs import cells
from bktools.inputs.table import Table

# Fewer rows show nothing.
_LEAST_ROWS = 3
_MOST = 0.9
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


def columns_of_chart(table: Table) -> dict[str, list[int]]:
    """Return the columns that could be code and name: each value once, but for a few."""
    found: dict[str, list[int]] = {"code": [], "name": []}
    for place, column in enumerate(table.columns):
        kind = look(column)
        if kind in found and pc.count_distinct(column).as_py() >= _MOST * len(column):
            found[kind].append(place)
    # Codes stand before names.
    found["code"] = found["code"][:1]
    return found
