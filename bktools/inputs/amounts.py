"""Text of cells → exact decimals, by the marks that the whole column shows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError, InputError
from bktools.inputs import values
from bktools.inputs.table import Table

# Marks between thousands that no one uses before decimals: spaces of several widths and apostrophes.
_SPACES = " \u00a0\u202f\u2009'\u2019"
_LONGEST = 38


def _pattern(decimal: str, thousands: str) -> str:
    mark = f"[{decimal}]"
    grouped = rf"[1-9]\d{{0,2}}(?:[{thousands}]\d{{3}})+"
    return rf"^(?:\d+|{grouped})(?:{mark}\d+)?$|^{mark}\d+$"


_PATTERNS = {".": _pattern(".", f",{_SPACES}"), ",": _pattern(",", f".{_SPACES}")}
_PLAIN = r"^-?\d+(?:\.\d+)?$"


def amounts(table: Table, place: int, decimal: str | None) -> pa.ChunkedArray:
    """Return a column of exact amounts, with the largest scale in the column; empty cells are null.

    Parameters
    ----------
    table : Table
        The file.
    place : int
        The column.
    decimal : str, optional
        `"."` or `","`; without it the column must show which it is.

    Raises
    ------
    InputError
        When a value is no amount, or the column could be read in both ways.
    """
    if decimal not in (None, ".", ","):
        raise ArgumentError("decimal", "must be . or ,", decimal)
    column = values.or_null(values.trimmed(table.columns[place]))
    numbers = _signed(column)
    unsigned = pc.utf8_ltrim(numbers, "-")
    if decimal is None and place in table.numeric:
        decimal = "."
    decimal = decimal or _decimal_mark(table, place, unsigned)
    values.refuse(table, place, ~_fits(unsigned, decimal), f"must hold amounts whose decimal mark is {decimal!r}")
    plain = pc.replace_substring_regex(numbers, rf"[^0-9{decimal}-]", "")
    return _exact(table, place, pc.replace_substring(plain, decimal, "."))


def _signed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return amounts whose sign, if any, is a minus in front."""
    if pc.all(pc.match_substring_regex(column, _PLAIN)).as_py() is not False:
        return column
    column = pc.replace_substring(column, "\N{MINUS SIGN}", "-")
    column = pc.replace_substring_regex(column, r"^\((.*)\)$", r"-\1")
    column = pc.replace_substring_regex(column, r"^([^-].*?)\s*-$", r"-\1")
    column = pc.replace_substring_regex(column, r"^-\s+", "-")
    return pc.replace_substring_regex(column, r"^\+\s*", "")


def _fits(unsigned: pa.ChunkedArray, decimal: str) -> values.Mask:
    return values.mask(pc.fill_null(pc.match_substring_regex(unsigned, _PATTERNS[decimal]), True))  # noqa: FBT003


def _decimal_mark(table: Table, place: int, unsigned: pa.ChunkedArray) -> str:
    point, comma = _fits(unsigned, "."), _fits(unsigned, ",")
    if point.all() and comma.all() and pc.any(pc.match_substring_regex(unsigned, "[.,]")).as_py():
        marked = values.mask(pc.fill_null(pc.match_substring_regex(unsigned, "[.,]"), False))  # noqa: FBT003
        first = int(marked.argmax())
        raise InputError(
            f"{table.headings[place]!r} holds amounts such as {unsigned[first].as_py()!r} that could be thousands or"
            " decimals: set decimal=\".\" or decimal=\",\" (command line: --decimal)",
            source=table.source,
            line=int(table.lines[first]),
        )
    if point.all() or comma.all():
        return "." if point.all() else ","
    values.refuse(table, place, ~point & ~comma, "must hold amounts")
    raise InputError(
        f"{table.headings[place]!r} mixes decimal marks: a point on {values.lines_of(table, ~comma)}, a comma on"
        f" {values.lines_of(table, ~point)}; write all amounts alike",
        source=table.source,
    )


def _exact(table: Table, place: int, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    at = pc.find_substring(numbers, ".")
    fraction = pc.if_else(pc.less(at, 0), 0, pc.subtract(pc.subtract(pc.binary_length(numbers), at), 1))
    scale = pc.max(fraction).as_py() or 0
    whole = pc.subtract(pc.binary_length(pc.utf8_ltrim(numbers, "-0")), fraction)
    too_long = pc.fill_null(pc.greater(pc.add(whole, scale), _LONGEST), False)  # noqa: FBT003 - Arrow's own
    values.refuse(table, place, values.mask(too_long), f"must have at most {_LONGEST} digits at a scale of {scale}")
    return pc.cast(numbers, pa.decimal128(_LONGEST, scale))
