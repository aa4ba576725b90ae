"""Text of cells → exact decimals, by the marks that the whole column shows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError
from bktools.inputs import cells
from bktools.inputs.table import Table
from bktools.inputs.words import CURRENCY_CODES, CURRENCY_SIGNS

# Marks between thousands that no one uses before decimals: spaces of several widths and apostrophes.
_SPACES = " \u00a0\u202f\u2009'\u2019"
LONGEST = 38
_FIRST_ROWS = 1000
_DAY_AND_MONTH = r"^\d{1,2}[.,]\d{1,2}$"


def _pattern(decimal: str, thousands: str) -> str:
    mark = f"[{decimal}]"
    grouped = rf"[1-9]\d{{0,2}}(?:[{thousands}]\d{{3}})+"
    return rf"^(?:\d+|{grouped})(?:{mark}\d+)?$|^{mark}\d+$"


_PATTERNS = {".": _pattern(".", f",{_SPACES}"), ",": _pattern(",", f".{_SPACES}")}
_OF_ARABIC = (("\N{ARABIC DECIMAL SEPARATOR}", "."), ("\N{ARABIC THOUSANDS SEPARATOR}", ","))
# Minus signs of typographers, brackets, a sign behind or apart → one minus in front.
_SIGNS = (
    ("\N{MINUS SIGN}", "-"),
    (r"^\(\s*([^-()]*?)\s*\)$", r"-\1"),
    (r"^([^-]*?)\s*-$", r"-\1"),
    (r"^-\s+", "-"),
    (r"^\+\s*", ""),
)
# A currency on either side: a sign, or a code of three letters.
_CURRENCY = rf"(?:[{CURRENCY_SIGNS}]|kr\.?|zł|Kč|Ft|lei|Fr\.|R\$|{CURRENCY_CODES})"
_WITH_CURRENCY = (
    rf"^(?P<sign>[-+(]?)\s*(?P<front>{_CURRENCY}?)\s*(?P<number>-?[\d.,][\d.,'\s\x{{A0}}\x{{202F}}]*?)"
    rf"\s*(?P<behind>{_CURRENCY}?)(?P<end>[-)]?)$"
)
# Ends of bank and ledger reports: where a debit is positive, a credit is negative.
_SIDES = (
    (r"(?i)^(\d.*\d)\s*CR\.?$", r"-\1"),
    (r"(?i)^(\d)\s*CR\.?$", r"-\1"),
    (r"(?i)^(.*\d)\s*DR\.?$", r"\1"),
)
# Signs that accountants write for nothing.
_NIL = r"^[-–—]$"
# Amounts without anything but digits, marks, and perhaps a minus in front.
_PLAIN = r"^-?[\d.,]+$"


def amounts(table: Table, place: int, decimal: str | None) -> pa.ChunkedArray:
    """Return a column of exact amounts, with the largest scale in the column; empty cells are null.

    Without the decimal mark, the column must show which it is; that of cells that are numbers is a point,
    whatever mark the texts of the file have. A value that is no amount is an `InputError`.
    """
    if decimal not in (None, ".", ","):
        raise ArgumentError(name_of("decimal"), "must be . or ,", decimal)
    plain = _read_plain(table, place, decimal)
    if plain is not None:
        return plain
    column = cells.or_null(cells.trimmed(table.columns[place]))
    numbers = _signed(column)
    unsigned = pc.replace_substring_regex(numbers, "^-", "")
    decimal = "." if place in table.numeric else decimal or _decimal_mark(table, place, unsigned)
    cells.refuse(
        table, place, ~_fits(unsigned, decimal), f"must hold amounts whose decimal mark is {decimal!r}"
    )
    bare = pc.replace_substring_regex(numbers, rf"[^0-9{decimal}-]", "")
    return _exact(table, place, pc.replace_substring(bare, decimal, "."))


def _read_plain(table: Table, place: int, decimal: str | None) -> pa.ChunkedArray | None:
    """Return amounts with two decimals, or a workbook's numbers, in few steps; None for other amounts."""
    column = table.columns[place]
    if place in table.numeric and cells.matches(column, r"^(?:-?\d{1,20}(?:\.\d{1,15})?)?$").all():
        return _exact(table, place, cells.or_null(column))
    for mark in (mark for mark in ".," if mark == ("." if place in table.numeric else decimal or mark)):
        look = rf"^(?:-?\d{{1,30}}[{mark}]\d\d)?$"
        some = column.slice(0, _FIRST_ROWS)
        if (
            cells.matches(some, look).all()
            and cells.matches(some, r"\d").any()
            and cells.matches(column, look).all()
        ):
            return pc.cast(cells.or_null(pc.replace_substring(column, mark, ".")), pa.decimal128(LONGEST, 2))
    return None


def _signed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return amounts whose sign, if any, is one minus in front."""
    if cells.matches(column, _PLAIN).all():
        return column
    if not cells.matches(column, _NIL).all():
        # A dash is zero, but only in a column that has other amounts.
        column = pc.replace_substring_regex(column, _NIL, "0")
    for pattern, instead in _OF_ARABIC:
        column = pc.replace_substring(column, pattern, instead)
    column = _without_currency(column)
    for pattern, instead in (*_SIDES, *_SIGNS):
        column = pc.replace_substring_regex(column, pattern, instead)
    return column


def _without_currency(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return amounts without the currency beside them, if it is the same one everywhere."""
    parts = pc.extract_regex(column, _WITH_CURRENCY)
    texts = {
        text for side in ("front", "behind") for text in pc.unique(pc.struct_field(parts, side)).to_pylist()
    }
    if len(texts - {None, ""}) != 1:
        return column
    return pc.if_else(
        pc.is_valid(parts),
        pc.binary_join_element_wise(
            *(pc.struct_field(parts, part) for part in ("sign", "number", "end")),
            pa.scalar("", column.type),
            null_handling="replace",
        ),
        column,
    )


def _fits(unsigned: pa.ChunkedArray, decimal: str) -> cells.Mask:
    return cells.matches(unsigned, _PATTERNS[decimal])


def _decimal_mark(table: Table, place: int, unsigned: pa.ChunkedArray) -> str:
    point, comma = _fits(unsigned, "."), _fits(unsigned, ",")
    marked = cells.mask(pc.match_substring_regex(unsigned, "[.,]"))
    if point.all() and comma.all() and marked.any():
        first = int(marked.argmax())
        example = unsigned[first].as_py()
        # Money hardly has three decimals, as each of these amounts would have.
        likely = _mark_beside(table, place) or ("," if "." in example else ".")
        other = "." if likely == "," else ","
        raise table.error(
            f"{table.headings[place]!r} holds amounts such as {example!r} that could be thousands or "
            "decimals",
            int(table.lines[first]),
            details=[f"Or with the other mark: {setting('decimal', other)}"],
            decimal=likely,
        )
    if point.all() or comma.all():
        return "." if point.all() else ","
    cells.refuse(table, place, ~point & ~comma, "must hold amounts")
    raise table.error(
        f"{table.headings[place]!r} mixes decimal marks: a point on {cells.lines_of(table, ~comma)}, "
        f"a comma on {cells.lines_of(table, ~point)}; write all amounts alike"
    )


def _mark_beside(table: Table, place: int) -> str | None:
    """Return the decimal mark that another column of amounts with decimals shows, None without one."""
    for beside, column in enumerate(table.columns):
        numbers = pc.replace_substring_regex(
            cells.or_null(cells.trimmed(column.slice(0, _FIRST_ROWS))), r"^-", ""
        )
        marked = cells.matches(numbers, r"[.,]\d{1,2}$") & cells.mask(pc.is_valid(numbers))
        fitting = [mark for mark in _PATTERNS if marked.any() and _fits(numbers, mark).all()]
        if beside != place and len(fitting) == 1 and not cells.matches(numbers, _DAY_AND_MONTH).all():
            return fitting[0]
    return None


def _exact(table: Table, place: int, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    scale = pc.max(pc.utf8_length(pc.replace_substring_regex(numbers, r"^[^.]*\.?", ""))).as_py() or 0
    # Arrow's cast overflows without a word.
    fitting = rf"^-?0*\d{{0,{LONGEST - scale}}}(?:\.|$)" if scale <= LONGEST else "^$"
    rule = f"must have at most {LONGEST} digits at a scale of {scale}"
    cells.refuse(table, place, ~cells.matches(numbers, fitting), rule)
    return pc.cast(numbers, pa.decimal128(LONGEST, scale))
