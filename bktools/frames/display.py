"""`show`: a frame as a person reads it, in a notebook and on a terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from bktools import views
from bktools.consoles import CUT, GAP, column_widths, cut, readable, room
from bktools.contract.rules import whole_number
from bktools.frames.currencies import shown
from bktools.frames.engine import scannable, source_of
from bktools.frames.names import IDENTIFIERS, in_reading_order
from bktools.frames.schema import are_days
from bktools.visible import visible_line, width

SHOWN_ROWS = 20
LONGEST_TEXT = 60

# The looks of columns. Longer text wraps, and has room for some words beside columns that do not.
TO_THE_RIGHT = views.TO_THE_RIGHT + views.ON_ONE_LINE
AS_TEXT = ";min-width:9em"
LONGEST_ON_ONE_LINE = 16
WHOLE = {*IDENTIFIERS, "date", "month", "currency"}


@dataclass(frozen=True, repr=False)
class Shown:
    """The first rows of a frame as text, for a notebook and for a terminal."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    to_the_right: Sequence[bool]
    total: int
    where: str

    def __repr__(self) -> str:
        lines = [[_cut(visible_line(cell)) for cell in line] for line in (self.columns, *self.rows)]
        # By place, because names that are cut may be equal.
        widths = {place: max(map(width, cells)) for place, cells in enumerate(zip(*lines, strict=True))}
        prose = {place for place in widths if not self.to_the_right[place] and self.columns[place] not in WHOLE}
        columns = room()
        fitting = widths if columns is None else column_widths(widths, prose, columns)
        told = [
            GAP.join(
                _padded(cut(line[place], fitting[place]), fitting[place], self.to_the_right[place]) for place in fitting
            ).rstrip()
            for line in lines
        ]
        left_out = ", ".join(lines[0][place] for place in widths if place not in fitting)
        notes = [self._more(), f"left out: {left_out}" if left_out else ""]
        return readable("\n".join([*told, *filter(None, notes)]))

    def _repr_html_(self) -> str:
        longest = [max(map(len, cells), default=0) for cells in zip(*self.rows, strict=True)] or [0] * len(self.columns)
        looks = [
            TO_THE_RIGHT
            if is_right
            else views.ON_ONE_LINE
            if name in WHOLE or letters <= LONGEST_ON_ONE_LINE
            else AS_TEXT
            for name, is_right, letters in zip(self.columns, self.to_the_right, longest, strict=True)
        ]
        table = views.table(self.columns, self.rows, total=len(self.rows), shown=len(self.rows), looks=looks)
        note = f"<p>{self._more()}</p>" if self._more() else ""
        mark = views.heading(self.where) if self.where else ""
        return f"{mark}{table}{note}"

    def _more(self) -> str:
        left = self.total - len(self.rows)
        return f"… and {left:,} more of {self.total:,} rows" if left else "" if self.rows else "no rows"


def show(frame: Any, rows: int = SHOWN_ROWS) -> Shown:
    """Show a frame as a person reads it: names and money first, identifiers last.

    Parameters
    ----------
    frame : DataFrame
        Of pandas, Polars, Arrow, DuckDB or PySpark, or the path of a Parquet file. It is not changed.
    rows : int
        Largest number of rows to show, 1 or more.

    Returns
    -------
    Shown
        A table in a notebook, at the end of a cell; text with `print`. Money has thousands separators and the decimals of
        its currency, dates are ISO, flags are yes and no, a missing value is empty. Text is shown as text, on one line;
        printed it is cut after 60 letters. On a terminal, and in a notebook, a line is no longer than its width: texts
        are cut first, then the last columns are left out and named.

    Raises
    ------
    ArgumentError
        When it is not a frame, or `rows` is not a whole number of 1 or more.
    InputError
        When two columns have one name, or a column holds values of several types.

    Examples
    --------
    >>> import bktools
    >>> entries = bktools.read_entries("data/accounting_entries.csv")
    >>> print(bktools.show(entries[["id", "amount", "currency", "date"]], rows=2))
    date        amount  currency  id
    2026-10-24  108.33  EUR       c01e13ec-a01a-4e84-a1e0-d06c7ae97acb
    2026-10-31  109.43  EUR       b192d9f1-b568-44d3-bc24-8b8f8476dacd
    … and 318 more of 320 rows
    """
    count = whole_number("rows", rows, smallest=1)
    found: Any = scannable(frame)
    total = len(found) if isinstance(found, pa.Table) else found.count_rows()
    table: pa.Table = found.slice(0, count) if isinstance(found, pa.Table) else found.head(count)
    names = in_reading_order(table.column_names)
    currencies = table.column("currency").to_pylist() if "currency" in names else [None] * len(table)
    texts = [_texts(name, table.column(name), currencies) for name in names]
    environment = source_of(frame).get("environment")
    return Shown(
        columns=names,
        rows=list(zip(*texts, strict=True)),
        to_the_right=[_is_number(table.schema.field(name).type) for name in names],
        total=total,
        where="sandbox (not real books)" if environment == "sandbox" else "",
    )


def _is_number(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in (pa.types.is_decimal, pa.types.is_integer, pa.types.is_floating))


def _texts(name: str, column: pa.ChunkedArray, currencies: Sequence[str | None]) -> list[str]:
    kind = column.type
    if pa.types.is_decimal(kind) or name == "amount":
        return [
            _text(value) if isinstance(value, str) else shown(value, currency)
            for value, currency in zip(column.to_pylist(), currencies, strict=True)
        ]
    if pa.types.is_timestamp(kind) and kind.tz is None and are_days(column):
        column = column.cast(pa.date32())
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case int() | Decimal():
            return f"{value:,}"
        case float():
            return f"{value:,.10g}"
        case dt.datetime():
            return value.isoformat(sep=" ", timespec="seconds")
        case _:
            return str(value)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}{CUT}"


def _padded(text: str, room: int, to_the_right: bool) -> str:  # noqa: FBT001 - an argument of map
    spaces = " " * (room - width(text))
    return spaces + text if to_the_right else text + spaces
