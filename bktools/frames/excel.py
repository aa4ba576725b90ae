"""`to_excel`: one workbook with a sheet for each table: text stays text, amounts are numbers, no formulas."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk
from bktools.errors import ArgumentError, InputError
from bktools.frames.delimited import in_utc
from bktools.frames.money import digits
from bktools.frames.tables import in_memory
from bktools.wording import Sentence, words

# Limits of a workbook.
MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
MAX_CHARACTERS = 32_767

# Excel's numbers are binary and keep 15 decimal digits exactly.
EXACT_DIGITS = 15
NUMBERS = (Decimal, float, int)

FIRST_DATE = dt.date(1900, 3, 1)
NARROWEST, WIDEST = 8, 60
WIDTH_SAMPLE = 500


def to_excel(tables: pd.DataFrame | Mapping[str, pd.DataFrame], path: str | PathLike[str]) -> Path:
    """Write frames as an Excel workbook, one sheet each; the file is written whole or not at all.

    Parameters
    ----------
    tables : DataFrame or mapping of str to DataFrame
        One frame, or frames by the name of their sheet (31 characters at most); they are not changed, their
        indexes are not written.
    path : path
        File to write, ending in .xlsx. A new file is readable by you alone; an existing one is replaced and
        keeps its permissions.

    Returns
    -------
    Path
        The file. Each sheet has frozen headings and a filter on each column.

    Raises
    ------
    ArgumentError
        When there is no table, a sheet cannot have its name, or the file does not end in .xlsx.
    InputError
        When a table or a text is larger than a workbook can hold, a column holds values of several types, or
        two columns have one name.
    StorageError
        When the file cannot be written; an existing file stays unchanged.

    Notes
    -----
    Text is text, whatever it looks like (0400, =SUM(1)); amounts and counts are numbers, and text where they
    have more than the 15 digits that Excel keeps; dates and times are Excel's, times to the millisecond and
    in UTC where they have a time zone; null is an empty cell. Source of the columns: interface, section 2.

    Examples
    --------
    >>> import bktools, pandas as pd, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame = pd.DataFrame({"code": ["0400", "=1+1"]})
    ...     path = bktools.to_excel({"accounts": frame}, f"{folder}/accounts.xlsx")
    ...     pd.read_excel(path, dtype="str", engine="calamine")["code"].to_list()
    ['0400', '=1+1']
    """
    if Path(path).suffix.lower() != ".xlsx":
        raise ArgumentError("path", Sentence("rule.xlsx"), str(path))
    return disk.write_whole(Path(path), excel_of(tables))


def excel_of(tables: pd.DataFrame | Mapping[str, pd.DataFrame]) -> Callable[[IO[bytes]], None]:
    """Return the function that writes frames as `to_excel` does, to a file that is open for bytes."""
    named = {"table": tables} if isinstance(tables, pd.DataFrame) else dict(tables)
    arrow = {name: in_memory(frame, f"the table {name!r}") for name, frame in named.items()}
    if not arrow:
        raise ArgumentError("tables", Sentence("rule.at_least_one_table"))
    for name, table in arrow.items():
        if why := too_large(table):
            raise InputError(Sentence("error.too_large_for_sheet", name=name, why=why))

    def write(file: IO[bytes]) -> None:
        import xlsxwriter

        with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
            book.set_properties({"title": "bktools", "created": dt.datetime.now(dt.UTC)})
            try:
                sheets = [book.add_worksheet(name) for name in arrow]
            except xlsxwriter.exceptions.XlsxInputError as error:
                raise ArgumentError("tables", Sentence("rule.sheet_names", why=str(error))) from None
            for sheet, table in zip(sheets, arrow.values(), strict=True):
                _write_sheet(sheet, table, book)

    return write


def too_large(table: pa.Table) -> str | None:
    """Return the reason why a sheet cannot hold a table, None when it can."""
    if len(table) >= MAX_ROWS:
        return words()("error_part.rows_of_sheet", count=len(table), most=MAX_ROWS - 1)
    if table.num_columns > MAX_COLUMNS:
        return words()("error_part.columns_of_sheet", count=table.num_columns, most=MAX_COLUMNS)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_large_string(column.type):
            longest = pc.max(pc.utf8_length(column)).as_py() or 0
            if longest > MAX_CHARACTERS:
                facts = {"count": longest, "column": name, "most": MAX_CHARACTERS}
                return words()("error_part.characters_of_cell", **facts)
    return None


HEADING = {"bold": True, "bottom": 1, "valign": "top"}
# Excel's text format: a value typed over a code stays text.
AS_TEXT, DAY = "@", "yyyy-mm-dd"


def _write_sheet(sheet: Any, table: pa.Table, book: Any) -> None:
    heading, text = book.add_format(HEADING), book.add_format({"num_format": AS_TEXT, "valign": "top"})
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        sheet.write_string(0, place, str(name), heading)
        form = _format_of(column.type)
        side = {"align": "left"} if form.startswith(DAY) else {}
        look = book.add_format({"num_format": form, "valign": "top"} | side)
        values = in_utc(column).to_pylist()
        for row, value in enumerate(values, start=1):
            write_cell(sheet, row, place, value, look, text)
        sheet.set_column(place, place, width_of(str(name), map(str, values[:WIDTH_SAMPLE])), look)
    sheet.freeze_panes(1, 0)
    if table.num_columns:
        sheet.autofilter(0, 0, table.num_rows, table.num_columns - 1)


def width_of(title: str, texts: Iterable[str], widest: int = WIDEST) -> int:
    """Return the width of a column with these texts, in digits."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    # The arrow of the filter covers three characters of the heading.
    return min(max(longest + 1, len(title) + 3, NARROWEST), widest)


def _format_of(kind: pa.DataType) -> str:
    """Return the number format of a column of some type."""
    types = pa.types
    if types.is_decimal(kind):
        return f"#,##0{'.' if kind.scale > 0 else ''}{'0' * kind.scale}"
    if types.is_integer(kind):
        return "0"
    if types.is_floating(kind) or types.is_boolean(kind):
        return "General"
    if types.is_date(kind):
        return DAY
    if types.is_timestamp(kind):
        return f"{DAY} hh:mm:ss.000" + (' "UTC"' if kind.tz else "")
    return AS_TEXT


def write_cell(sheet: Any, row: int, place: int, value: Any, form: Any, text: Any) -> None:
    """Write a value in Excel's own type, or as text in another format where Excel rounds or lacks it.

    None, and a float that is no number, leave the cell empty.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return
    failed: int = 1
    if isinstance(value, bool):
        failed = sheet.write_boolean(row, place, value, form)
    elif isinstance(value, NUMBERS) and is_exact(value):
        failed = sheet.write_number(row, place, value, form)
    elif isinstance(value, dt.date):
        time = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        time = time.replace(tzinfo=None)
        failed = time.date() < FIRST_DATE or sheet.write_datetime(row, place, time, form)
    if failed:
        sheet.write_string(row, place, _text(value), text)


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def is_exact(value: Decimal | float) -> bool:
    """Return whether Excel's numbers keep every digit of a decimal; of a float, whether it is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    return digits(Decimal(value)) <= EXACT_DIGITS
