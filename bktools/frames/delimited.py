"""`to_csv`: writes a frame as CSV for spreadsheets or programs."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import IO, Literal, NamedTuple, overload

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools import disk
from bktools.currencies import MINOR_UNITS, USUAL
from bktools.errors import ArgumentError, InputError
from bktools.frames.columns import dated, wall_times
from bktools.frames.incoming import arrow_of
from bktools.frames.money import currency_column
from bktools.frames.schema import BYTES, TEXT, TEXTS
from bktools.wording import Sentence

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

# Types that Arrow writes as the file needs them.
WRITTEN_PLAINLY = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_null,
    pa.types.is_date,
    pa.types.is_time,
)


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


@overload
def to_csv(frame: pd.DataFrame, path: str | PathLike[str], profile: str = "excel") -> Path: ...


@overload
def to_csv(frame: pd.DataFrame, path: IO[bytes], profile: str = "excel") -> None: ...


def to_csv(
    frame: pd.DataFrame,
    path: str | PathLike[str] | IO[bytes],
    profile: str = "excel",
) -> Path | None:
    """Write a frame as CSV. The file is written completely or not at all.

    Parameters
    ----------
    frame : DataFrame
        Any frame. It is not changed; its index is not written.
    path : path, file or buffer
        File to write. Only you can read a new file; an existing one is replaced and keeps its permissions,
        also through a link. A file or a buffer that is open for bytes gets the content at its position, and
        stays open.
    profile : str
        "excel": UTF-8 with BOM, comma, CRLF. "excel-eu": semicolon and decimal comma. In both, text and
        headings that a spreadsheet would read as a formula get an apostrophe in front; codes such as 0400 are
        written as ="0400", and so is every number of such a column.
        "machine": UTF-8 without BOM, comma, LF, unchanged values.

    Returns
    -------
    Path or None
        The file; None for an open file or a buffer.

    Raises
    ------
    ArgumentError
        When the profile is unknown, or the target is neither a path nor a file.
    InputError
        When a column cannot be written as text (mixed types, lists, durations), or two columns have one name.
    StorageError
        When the file cannot be written; an existing file is unchanged.

    Notes
    -----
    Amounts have the decimals of the currency beside them, none for JPY, and an amount with more keeps them.
    Timestamps as ISO 8601 in UTC, null as an empty cell, flags as true and false. Times without a time zone
    are written as dates when every time of the column is midnight, otherwise without a zone.

    Examples
    --------
    >>> import bktools, pandas as pd, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = bktools.to_csv(pd.DataFrame({"code": ["0400", "=1+1"]}), f"{folder}/codes.csv")
    ...     pd.read_csv(path)["code"].to_list()
    ['="0400"', "'=1+1"]
    """
    form = profile_named(profile)
    table = arrow_of(frame)
    names = table.column_names
    columns = {name: as_text(column, form, name) for name, column in zip(names, table.columns, strict=True)}
    columns |= in_minor_units(table, columns, form.decimal)
    headings = as_text(pa.chunked_array([pa.array(names, TEXT)]), form, "").to_pylist()
    rows = pl.DataFrame(pa.table([*columns.values()], headings)).with_columns(pl.all().replace("", None))

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

    return written(path, write)


def written(target: str | PathLike[str] | IO[bytes], write: Callable[[IO[bytes]], object]) -> Path | None:
    """Write a content to a path, or to a file or a buffer that is open for bytes; return the path."""
    if isinstance(target, str | PathLike):
        return disk.write_whole(Path(target), write)
    if hasattr(target, "encoding") or not hasattr(target, "write"):
        raise ArgumentError("path", Sentence("rule.target"), target)
    write(target)
    return None


def profile_named(name: str) -> Profile:
    """Return the profile of a name; raise `ArgumentError` for an unknown one."""
    if name not in PROFILES:
        raise ArgumentError("profile", Sentence("rule.one_of", choices=", ".join(PROFILES)), name)
    return PROFILES[name]


def as_text(column: pa.ChunkedArray, form: Profile, name: str) -> pa.ChunkedArray:
    """Return a column as the text of its cells in a file of this format."""
    column = dated(column)
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _times(column)
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        text = _plain(column) if pa.types.is_decimal(kind) else column.cast(pa.string())
        return text if form.decimal == "." else pc.replace_substring(text, ".", form.decimal)
    if kind in (*TEXTS, *BYTES) or pa.types.is_fixed_size_binary(kind):
        try:
            text = column.cast(TEXT)
        except pa.ArrowInvalid:
            raise InputError(Sentence("error.bytes_not_utf8", column=name)) from None
        return _guarded(text) if form.for_spreadsheet else text
    if pa.types.is_dictionary(kind):
        return as_text(column.cast(kind.value_type), form, name)
    if any(is_kind(kind) for is_kind in WRITTEN_PLAINLY):
        return column.cast(TEXT)
    raise InputError(Sentence("error.not_written_as_text", column=name, kind=str(kind)))


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times as ISO 8601, in UTC where they have a zone, with the decimals of the most precise one."""
    zone = column.type.tz and "UTC"
    times = column.cast(pa.timestamp(column.type.unit, zone))
    for unit in ("s", "ms", "us", "ns"):
        shorter = times.cast(pa.timestamp(unit, zone), safe=False)
        if pc.all(pc.equal(shorter.cast(times.type), times)).as_py() is not False:
            break
    # Not with `strftime`, which needs a database of zones even for times without one; Windows has none.
    text = pc.replace_substring(wall_times(shorter).cast(pa.string()), " ", "T", max_replacements=1)
    return pc.binary_join_element_wise(text, "Z", "") if zone else text


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return decimals as text; Arrow would write 0.00000001 as 1E-8."""
    return pc.cast(pl.Series(pl.from_arrow(column)).cast(pl.String).to_arrow(), TEXT)


def in_minor_units(
    table: pa.Table, columns: Mapping[str, pa.ChunkedArray], decimal: str
) -> dict[str, pa.ChunkedArray]:
    """Return columns of money without zeros beyond the decimals of their currency, such as 3590 of JPY."""
    money = {}
    for name in (field.name for field in table.schema if pa.types.is_decimal(field.type)):
        currency = currency_column(name, columns)
        if currency is None or pa.types.is_null(table.schema.field(currency).type):
            continue
        text = columns[name]
        for code in pc.unique(table.column(currency)).to_pylist():
            units = MINOR_UNITS.get(str(code), USUAL)
            zeros, kept = (rf"(\{decimal}\d{{{units}}})0+$", r"\1") if units else (rf"\{decimal}0+$", "")
            shorter = pc.replace_substring_regex(text, zeros, kept)
            text = pc.if_else(pc.fill_null(pc.equal(table.column(currency), code), False), shorter, text)
        money[name] = text
    return money


def _guarded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    apostrophe, equals, quote, nothing = (pa.scalar(text, TEXT) for text in ("'", '="', '"', ""))
    led = pc.binary_join_element_wise(apostrophe, column, nothing)
    unchanged = pc.binary_join_element_wise(equals, column, quote, nothing)
    guarded = pc.if_else(pc.match_substring_regex(column, FORMULA), led, column)
    is_changed = pc.match_substring_regex(column, CHANGED)
    if pc.any(is_changed).as_py():
        # All codes of a column are written in one way.
        is_changed = pc.or_(is_changed, pc.match_substring_regex(column, NUMBER))
    return pc.if_else(is_changed, unchanged, guarded)
