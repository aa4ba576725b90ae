"""`to_csv`: writes a frame as CSV for spreadsheets or programs."""

from __future__ import annotations

import io
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import IO, Literal, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa

from bktools import disk
from bktools.currencies import MINOR_UNITS, USUAL
from bktools.errors import ArgumentError, InputError
from bktools.frames.money import currency_column
from bktools.frames.tables import in_memory
from bktools.wording import Sentence

c = pl.col

# A spreadsheet reads a cell that begins with one of these signs as a formula, or hides the sign. The
# full-width signs come from East Asian keyboards. Text that begins with apostrophes and a sign gets one more,
# so that removing one restores it.
SIGNS = r"[=+\-@\t\r\n＝＋－＠]"
FORMULA = f"^'*{SIGNS}"

# Text that a spreadsheet would read as a number, a date or a flag, and change: 0400, 12345678901234567, 1E5,
# 1.10, 5%, 1-2, 3/4, 10:30, Mar 5, 1. Dez, true, +49 221 101.
_MONTH = r"(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*"
CHANGED = (
    r"(?i)^\s*("
    r"0\d+|\d{16,}|\d+([.,]\d*)+|\d+([.,]\d*)*(e[+-]?\d+|\s*%)"
    r"|\d{1,4}[-/.:]\d{1,4}([-/.:]\d{1,4})?"
    rf"|{_MONTH}[ .-]*\d{{1,4}}|\d{{1,4}}[ .-]*{_MONTH}([ .-]*\d{{1,4}})?"
    r"|true|false"
    # A telephone number cannot be a harmful formula, and needs no apostrophe.
    r"|\+\d[\d ()/-]*"
    r")\s*$"
)

# A code that a spreadsheet reads as a number, and shows as it stands.
NUMBER = r"^\s*\d+\s*$"


class Profile(NamedTuple):
    """The format of a CSV file; one for a spreadsheet has a BOM, CRLF, and text that is no formula there."""

    delimiter: str
    decimal: str
    for_spreadsheet: bool


# Rows that are written at once.
ROWS_AT_ONCE = 50_000

PROFILES = {
    "excel": Profile(",", ".", for_spreadsheet=True),
    "excel-eu": Profile(";", ",", for_spreadsheet=True),
    "machine": Profile(",", ".", for_spreadsheet=False),
}


def to_csv(frame: pd.DataFrame, path: str | PathLike[str], profile: str = "excel") -> Path:
    """Write a frame as CSV. The file is written completely or not at all.

    Parameters
    ----------
    frame : DataFrame
        Any frame. It is not changed; its index is not written.
    path : path
        File to write. Only you can read a new file; an existing one is replaced and keeps its permissions,
        also through a link.
    profile : str
        "excel": UTF-8 with BOM, comma, CRLF. "excel-eu": semicolon and decimal comma. In both, text and
        headings that a spreadsheet would read as a formula get an apostrophe in front; codes such as 0400 are
        written as ="0400", and so is every number of such a column.
        "machine": UTF-8 without BOM, comma, LF, unchanged values.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        When the profile is unknown.
    InputError
        When a column cannot be written as text (mixed types, lists, durations), or two columns have one name.
    StorageError
        When the file cannot be written; an existing file is unchanged.

    Notes
    -----
    Amounts have the decimals of the currency beside them, none for JPY, and an amount with more keeps them.
    Timestamps as ISO 8601 in UTC, each with the decimals that it has, null as an empty cell, flags as true
    and false. Times without a time zone are written as dates when every time of the column is midnight,
    otherwise without a zone.

    Examples
    --------
    >>> import bktools, pandas as pd, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = bktools.to_csv(pd.DataFrame({"code": ["0400", "=1+1"]}), f"{folder}/codes.csv")
    ...     pd.read_csv(path)["code"].to_list()
    ['="0400"', "'=1+1"]
    """
    return disk.write_whole(Path(path), csv_of(frame, profile))


def csv_of(frame: pd.DataFrame, profile: str) -> Callable[[IO[bytes]], None]:
    """Return the function that writes a frame as `to_csv` does, to a file that is open for bytes."""
    form = profile_named(profile)
    rows = as_texts(in_memory(frame), form).with_columns(pl.all().replace("", None))
    if form.for_spreadsheet:
        headings = pl.DataFrame({"heading": rows.columns}, schema={"heading": pl.String})
        rows.columns = headings.select(_guarded(c.heading)).to_series().to_list()

    # An empty cell alone in its line would be no row.
    quoted: Literal["always", "necessary"] = (
        "always" if rows.width == 1 and rows.to_series().has_nulls() else "necessary"
    )

    def write(file: IO[bytes]) -> None:
        for begin in range(0, max(len(rows), 1), ROWS_AT_ONCE):
            # Polars writes to memory, because its errors of a drive have no number that advice could go by.
            part = io.BytesIO()
            rows.slice(begin, ROWS_AT_ONCE).write_csv(
                part,
                include_bom=form.for_spreadsheet and not begin,
                include_header=not begin,
                separator=form.delimiter,
                line_terminator="\r\n" if form.for_spreadsheet else "\n",
                quote_style=quoted,
            )
            file.write(part.getbuffer())

    return write


def profile_named(name: str) -> Profile:
    """Return the profile of a name; raise `ArgumentError` for an unknown one."""
    if name not in PROFILES:
        raise ArgumentError("profile", Sentence("rule.one_of", choices=", ".join(PROFILES)), name)
    return PROFILES[name]


def as_texts(table: pa.Table, form: Profile) -> pl.DataFrame:
    """Return a table whose cells are the texts of a file of this format."""
    kinds = {field.name: field.type for field in table.schema}
    for name, kind in kinds.items():
        if pa.types.is_nested(kind) or pa.types.is_duration(kind) or isinstance(kind, pa.BaseExtensionType):
            raise InputError(Sentence("error.not_written_as_text", column=name, kind=str(kind)))
    rows = pl.DataFrame(pa.table([*map(in_utc, table.columns)], table.column_names))
    texts = [_as_text(name, kind, rows, form) for name, kind in rows.schema.items()]
    try:
        return rows.select(texts)
    except pl.exceptions.PolarsError:
        binary = next(name for name, kind in rows.schema.items() if kind == pl.Binary)
        raise InputError(Sentence("error.bytes_not_utf8", column=binary)) from None


def in_utc(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times with a zone in UTC: Polars knows no zone such as +02:00."""
    is_zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return column.cast(pa.timestamp(column.type.unit, "UTC")) if is_zoned else column


def _as_text(name: str, kind: pl.DataType, rows: pl.DataFrame, form: Profile) -> pl.Expr:
    column = pl.col(name)
    text = column.cast(pl.String)
    if isinstance(kind, pl.Datetime):
        return column.dt.to_string(f"%Y-%m-%dT%H:%M:%S%.f{'Z' if kind.time_zone else ''}")
    if kind == pl.Time:
        return column.dt.to_string("%H:%M:%S%.f")
    if kind.is_decimal() or kind.is_float():
        text = text.str.replace(".", form.decimal, literal=True)
        currency = currency_column(name, rows.columns) if kind.is_decimal() else None
        return text if currency is None else _in_minor_units(text, pl.col(currency), form.decimal)
    if form.for_spreadsheet and not (kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean):
        return _guarded(text)
    return text


def _in_minor_units(amount: pl.Expr, currency: pl.Expr, decimal: str) -> pl.Expr:
    """Return amounts without zeros beyond the decimals of their currency, such as 3590 of JPY."""
    units = currency.cast(pl.String).replace_strict(MINOR_UNITS, default=USUAL, return_dtype=pl.Int64)
    for places in {USUAL, *MINOR_UNITS.values()}:
        kept = rf"(\{decimal}\d{{{places}}})0+$" if places else rf"()\{decimal}0+$"
        amount = pl.when(units == places).then(amount.str.replace(kept, "${1}")).otherwise(amount)
    return amount


def _guarded(text: pl.Expr) -> pl.Expr:
    is_changed = text.str.contains(CHANGED)
    # All codes of a column are written in one way.
    is_code = is_changed | (is_changed.any() & text.str.contains(NUMBER))
    led = pl.when(text.str.contains(FORMULA)).then(pl.format("'{}", text)).otherwise(text)
    return pl.when(is_code).then(pl.format('="{}"', text)).otherwise(led).alias(text.meta.output_name())
