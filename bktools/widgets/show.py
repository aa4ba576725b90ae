"""`show`: a frame as a person reads it, in a notebook and on a terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from bktools import views
from bktools.consoles import laid_out, readable, room
from bktools.contract.rules import text as checked_text
from bktools.contract.rules import whole_number
from bktools.frames.names import IDENTIFIERS, in_reading_order
from bktools.frames.tables import in_memory, parquet, source_of
from bktools.settings import SANDBOX
from bktools.visible import visible_line
from bktools.widgets.grid import cell, display_grid, grid_class, grid_of, instead_of
from bktools.wording import Words, words
from bktools.wording.numbers import MINUS, NUMBER_STYLES, number, percent

SHOWN_ROWS = 20
GRID_ROWS = 5_000

# The looks of columns. Longer text wraps, and has room for some words beside columns that do not.
TO_THE_RIGHT = views.TO_THE_RIGHT + views.ON_ONE_LINE
AS_TEXT = ";min-width:9em"
LONGEST_ON_ONE_LINE = 16
WHOLE = {*IDENTIFIERS, "date", "month", "currency"}
# Columns in percent, and whether they are changes, which have a sign.
PERCENTS = {"share": False, "percent": True}


@dataclass(frozen=True, repr=False, eq=False)
class Shown:
    """A frame as text, for a notebook and for a terminal."""

    columns: Sequence[str]
    # The first rows, as many as a grid has.
    table: pa.Table
    count: int
    total: int
    title: str = ""
    # What to add to a command so that it shows everything, and its headings by the names of columns.
    whole: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def headings(self) -> list[str]:
        """The headings of the columns."""
        return [self.titles.get(name, name) for name in self.columns]

    def __repr__(self) -> str:
        texts = words()
        rows = _texts(self.table.slice(0, self.count), self.columns, texts)
        head, *cells = ([views.short(text) for text in line] for line in (self.headings, *rows))
        numbers = {place for place, name in enumerate(self.columns) if _is_number(self.table, name)}
        # A value without spaces is a word, a code or an ID to copy: it is shown whole or not at all.
        unbroken = {place for place, own in enumerate(zip(*cells, strict=True)) if " " not in "".join(own)}
        lines, drawn = laid_out(cells, room(), headings=head, whole=unbroken, to_the_right=numbers)
        left_out = texts("command.left_out", names=", ".join(head[drawn:])) if head[drawn:] else ""
        notes = "; ".join(filter(None, [self._more(self.count), left_out]))
        if notes and self.total and self.whole:
            notes = texts("command.all_of_it", notes=notes, way=self.whole)
        ends = filter(None, [notes, self.no_percent])
        return readable("\n".join([*filter(None, [self.title]), *lines, *ends]))

    def _repr_html_(self) -> str:
        rows = _texts(self.table.slice(0, self.count), self.columns, words())
        longest = [max(map(len, cells), default=0) for cells in zip(*rows, strict=True)] or [0] * len(
            self.columns
        )
        looks = [
            TO_THE_RIGHT
            if _is_number(self.table, name)
            else views.ON_ONE_LINE
            if name in WHOLE or letters <= LONGEST_ON_ONE_LINE
            else AS_TEXT
            for name, letters in zip(self.columns, longest, strict=True)
        ]
        table = views.table(self.headings, rows, total=len(rows), shown=len(rows), looks=looks)
        notes = " ".join(filter(None, [self._more(self.count), self.no_percent]))
        return (views.heading(self.title) if self.title else "") + table + views.note(notes)

    def _grid(self) -> Any:
        columns = [
            {
                "label": heading,
                "kind": "number" if _is_number(self.table, name) else "date" if name == "date" else "text",
                "point": NUMBER_STYLES[words().language].point,
            }
            for name, heading in zip(self.columns, self.headings, strict=True)
        ]
        # Days in the order of their text: the grid sorts and filters them.
        texts = _texts(self.table, self.columns, words(), days=words("en"))
        rows = [[cell(text) for text in row] for row in texts]
        summary = " · ".join(filter(None, [self.title, self._more(len(self.table)), self.no_percent]))
        return grid_of(columns, rows, page=self.count, summary=summary)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        try:
            grid_class()
        except ImportError:
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        else:
            grid = self._grid()
            display_grid(grid, instead_of(grid, self._repr_html_(), repr(self)))

    def _more(self, drawn: int) -> str:
        left = self.total - drawn
        texts = words()
        return (
            texts("command.more_rows", count=left) if left > 0 else "" if self.total else texts("list.none")
        )

    @property
    def no_percent(self) -> str:
        """Return why a percentage is missing, where one is."""
        texts = words()
        rows = _texts(self.table, [name for name in self.columns if name in (*PERCENTS, "currency")], texts)
        sign = NUMBER_STYLES[texts.language].no_percent
        return texts("report.no_percent") if any(sign in row for row in rows) else ""


def _is_number(table: pa.Table, name: str) -> bool:
    kind, types = table.schema.field(name).type, pa.types
    return bool(types.is_decimal(kind) or types.is_integer(kind) or types.is_floating(kind))


def in_a_pipe(table: pa.Table) -> list[list[str]]:
    """Return rows as text in the reader's language for a program: no groups of thousands, one minus sign."""
    texts = words()
    style = NUMBER_STYLES[texts.language]
    plainly = str.maketrans({style.thousands: "", MINUS: "-"})
    names = table.column_names
    numbers = [_is_number(table, name) for name in names]
    return [
        [
            text.translate(plainly)
            if is_number and text != style.no_percent
            else visible_line(" ".join(text.split())).replace(MINUS, "-")
            for text, is_number in zip(row, numbers, strict=True)
        ]
        for row in _texts(table, names, texts)
    ]


def show(
    frame: Any, rows: int = SHOWN_ROWS, *, title: str = "", titles: Mapping[str, str] | None = None
) -> Shown:
    """Show a frame as a person reads it; in a notebook it can be sorted and searched.

    Parameters
    ----------
    frame : DataFrame
        Of pandas, Polars, Arrow, DuckDB or PySpark, or the path of a Parquet file. It is not changed.
    rows : int
        Largest number of rows to show at once, 1 or more.
    title : str
        A heading.
    titles : mapping of str, optional
        Headings in place of names of columns, such as {"this": "October", "that": "September"}. A column that
        is renamed in the frame is money no longer: what is money is known by its name.

    Returns
    -------
    Shown
        At the end of a cell a grid: a click on a heading sorts, the field above searches all columns, of the
        first 5,000 rows. Without the extra `notebook`, and where the notebook is opened again, a table of the
        first rows; text with `print`. Money has thousands separators and the decimals of its currency, the
        columns `share` and `percent` a percent sign, dates are ISO, flags are yes and no, a missing value is
        empty. Printed text is cut after 300 letters. On a terminal, and in a notebook, a line is no longer
        than its width: texts go on in the next line of their column, then the last columns are left out and
        named.

        A frame whose first column is an identifier is arranged: money and names first, identifiers last.
        Others keep their order.

    Raises
    ------
    ArgumentError
        When it is not a frame, or `rows` is not a whole number of 1 or more.
    InputError
        When two columns have one name, or a column holds values of several types.

    Notes
    -----
    Uses no interface of the service.

    Examples
    --------
    >>> import bktools
    >>> entries = bktools.read_entries("data/accounting_entries.csv")
    >>> print(bktools.show(entries[["id", "amount", "currency", "date"]], rows=2))
    date        amount  currency  id
    2026-10-24  108.33  EUR       c01e13ec-a01a-4e84-a1e0-d06c7ae97acb
    2026-10-31  109.43  EUR       b192d9f1-b568-44d3-bc24-8b8f8476dacd
    … and 318 more rows
    """
    count = whole_number("rows", rows, smallest=1)
    most = max(count, GRID_ROWS)
    whole: Any = parquet(frame) if isinstance(frame, str | Path) else in_memory(frame)
    is_table = isinstance(whole, pa.Table)
    table: pa.Table = whole.slice(0, most) if is_table else in_memory(whole.head(most))
    names = table.column_names
    where = words()("report.sandbox") if source_of(frame).get("environment") == SANDBOX else ""
    return Shown(
        columns=in_reading_order(names) if {*names[:1]} & {*IDENTIFIERS} else names,
        table=table,
        count=count,
        total=len(whole) if is_table else whole.count_rows(),
        title=" · ".join(filter(None, [checked_text("title", title), where])),
        titles=titles or {},
    )


def _texts(
    table: pa.Table, columns: Sequence[str], texts: Words, *, days: Words | None = None
) -> list[tuple[str, ...]]:
    """Return rows as text; days in a language of their own where one is named."""
    currencies = table.column("currency").to_pylist() if "currency" in columns else [None] * len(table)
    cells = []
    for name in columns:
        column = table.column(name)
        language = days if days and pa.types.is_temporal(column.type) else texts
        cells.append(_column(name, column, currencies, language))
    return list(zip(*cells, strict=True))


def _column(name: str, column: pa.ChunkedArray, currencies: Sequence[str | None], texts: Words) -> list[str]:
    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if pa.types.is_decimal(kind) or (name == "amount" and is_number):
        pairs = zip(column.to_pylist(), currencies, strict=True)
        return [texts.amount(value, currency) for value, currency in pairs]
    values = column.to_pylist()
    if name in PERCENTS and is_number:
        percents = (None if value is None else round(Decimal(str(value)), 1) for value in values)
        # A row without a currency, such as a category that was renamed, has no figures.
        return [
            percent(share, texts.language, signed=PERCENTS[name]) if (share, currency) != (None, None) else ""
            for share, currency in zip(percents, currencies, strict=True)
        ]
    return [_text(value, texts) for value in values]


def _text(value: Any, texts: Words) -> str:
    match value:
        case None:
            return ""
        case bool():
            return texts("report.yes" if value else "report.no")
        case int() | float() | Decimal():
            return number(Decimal(f"{value:.10g}") if isinstance(value, float) else value, texts.language)
        case dt.datetime():
            return f"{texts.day(value)} {value:%H:%M:%S}{' UTC' if value.tzinfo else ''}"
        case dt.date():
            return texts.day(value)
        case _:
            return str(value)
