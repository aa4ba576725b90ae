"""`to_csv`: a frame as a file that opens right where it goes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk
from bktools.errors import ArgumentError
from bktools.frames.schema import to_arrow
from bktools.progress import progress as progress_bar

# A spreadsheet takes a cell that begins so for a formula (or hides the sign). Text that has apostrophes there already is
# given one more, so that one can always be taken away again.
FORMULA = r"^'*[=+\-@\t\r]"

# Text that a spreadsheet would take for a number, a date or a flag and change: 0400, 12345678901234567, 1E5, 1.10, 5%,
# 1-2, 3/4, 10:30, Mar 5, 1. Dez, true, +49 221 101.
_MONTH = r"(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*"
CHANGED = (
    r"(?i)^\s*("
    r"0\d+|\d{16,}|\d+([.,]\d*)+|\d+([.,]\d*)*(e[+-]?\d+|\s*%)"
    r"|\d{1,4}[-/.:]\d{1,4}([-/.:]\d{1,4})?"
    rf"|{_MONTH}[ .-]*\d{{1,4}}|\d{{1,4}}[ .-]*{_MONTH}([ .-]*\d{{1,4}})?"
    r"|true|false"
    # A telephone number has nothing a formula could do, and reads better without an apostrophe.
    r"|\+\d[\d ()/-]*"
    r")\s*$"
)

LARGEST_PLAIN_SCALE = 6
ROWS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Profile:
    """How a file is written.

    Parameters
    ----------
    delimiter, decimal : str
        Between cells; before the fraction.
    encoding : str
        Of the file.
    line_end : str
        Of each line.
    guarded : bool
        Whether text is kept from being taken for a formula, a number or a date.
    """

    delimiter: str
    decimal: str
    encoding: str
    line_end: str
    guarded: bool


PROFILES = {
    "excel": Profile(",", ".", "utf-8-sig", "\r\n", guarded=True),
    "excel-eu": Profile(";", ",", "utf-8-sig", "\r\n", guarded=True),
    "machine": Profile(",", ".", "utf-8", "\n", guarded=False),
}


def to_csv(frame: pd.DataFrame, path: str | Path, profile: str = "excel", *, progress: bool | None = None) -> Path:
    """Write a frame as CSV; the whole file or none of it.

    Parameters
    ----------
    frame : DataFrame
        Any frame; it is not changed, its index is not written.
    path : path
        File to write; one that is there is replaced. Readable by you alone.
    profile : str
        "excel": UTF-8 with BOM, comma, CRLF. "excel-eu": semicolon and decimal comma. In both, text that a spreadsheet
        would take for a formula is led by an apostrophe, and codes such as 0400 are written as ="0400". "machine":
        UTF-8 without BOM, comma, LF, values as they are.
    progress : bool, optional
        A bar; by default where somebody can see it.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        When there is no such profile.
    StorageError
        When the file cannot be written; one that was there is as it was.

    Notes
    -----
    Money is written exactly, timestamps as ISO 8601 in UTC, null as an empty cell, flags as true and false.

    Examples
    --------
    >>> import bktools, pandas as pd, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = bktools.to_csv(pd.DataFrame({"code": ["0400", "=1+1"]}), f"{folder}/codes.csv")
    ...     pd.read_csv(path)["code"].to_list()
    ['="0400"', "'=1+1"]
    """
    if profile not in PROFILES:
        raise ArgumentError("profile", f"must be one of {', '.join(PROFILES)}", profile)
    form = PROFILES[profile]
    table = to_arrow(frame)
    columns = {name: _as_text(column, form) for name, column in zip(table.column_names, table.columns, strict=True)}
    text = pd.DataFrame({name: column.to_pandas() for name, column in columns.items()}, columns=table.column_names)

    def write(file: IO[bytes]) -> None:
        with progress_bar(f"write {Path(path).name}", total=len(text), shown=progress) as bar:
            for begin in range(0, max(len(text), 1), ROWS_AT_ONCE):
                part = text.iloc[begin : begin + ROWS_AT_ONCE]
                part.to_csv(
                    file,
                    index=False,
                    header=begin == 0,
                    sep=form.delimiter,
                    # The mark stands at the beginning of the file, not of each part.
                    encoding=form.encoding if begin == 0 else "utf-8",
                    lineterminator=form.line_end,
                    doublequote=True,
                )
                bar.update(len(part))

    return disk.write_whole(path, write)


def _as_text(column: pa.ChunkedArray, form: Profile) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_timestamp(kind):
        if kind.tz is None:
            # A calendar date.
            return pc.strftime(column, format="%Y-%m-%d")
        return _instants(column)
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        text = _plain(column) if pa.types.is_decimal(kind) else column.cast(pa.string())
        return text if form.decimal == "." else pc.replace_substring(text, ".", form.decimal)
    if pa.types.is_large_string(kind) or pa.types.is_string(kind):
        return _guarded(column.cast(pa.large_string())) if form.guarded else column
    if pa.types.is_dictionary(kind):
        return _as_text(column.cast(kind.value_type), form)
    return column.cast(pa.large_string())


def _instants(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as ISO 8601 in UTC, with as many decimals of a second as any of them has."""
    utc = column.cast(pa.timestamp(column.type.unit, "UTC"))
    for unit in ("s", "ms", "us", "ns"):
        shorter = utc.cast(pa.timestamp(unit, "UTC"), safe=False)
        if pc.all(pc.equal(shorter.cast(utc.type), utc)).as_py() is not False:
            break
    return pc.strftime(shorter, format="%Y-%m-%dT%H:%M:%SZ")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.string())
    if column.type.scale <= LARGEST_PLAIN_SCALE:
        return text
    # Arrow writes 0.00000001 as 1E-8.
    values = [None if value is None else format(value, "f") for value in column.to_pylist()]
    return pa.chunked_array([pa.array(values, pa.string())])


def _guarded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    apostrophe, equals, quote, nothing = (pa.scalar(text, pa.large_string()) for text in ("'", '="', '"', ""))
    led = pc.binary_join_element_wise(apostrophe, column, nothing)
    kept = pc.binary_join_element_wise(equals, column, quote, nothing)
    guarded = pc.if_else(pc.match_substring_regex(column, FORMULA), led, column)
    return pc.if_else(pc.match_substring_regex(column, CHANGED), kept, guarded)
