"""Columns of cells: which are empty, which are null; problems with cells and options to settle them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.inputs.refusals import settle
from bktools.inputs.table import Table
from bktools.inputs.words import normal
from bktools.visible import first_of

Mask = npt.NDArray[np.bool_]

_SHOWN_LINES = 3
_FIRST_ROWS, _MANY_ROWS, _FEW_TEXTS = 1000, 50_000, 200
_SHOWN_CHARACTERS = 60
_LONGEST_HEADING = 40


def mask(flags: pa.ChunkedArray | pa.Array, *, null: bool = False) -> Mask:
    """Return Arrow's flags as numpy's, with a value for nulls."""
    result: Mask = pc.fill_null(flags, null).to_numpy(zero_copy_only=False).astype(bool)
    return result


def trimmed(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without white space at its ends."""
    return pc.utf8_trim_whitespace(column)


def blank(column: pa.ChunkedArray) -> Mask:
    """Return where a cell holds nothing but white space."""
    # Without a copy of the column, which trimming makes.
    return mask(pc.or_(pc.equal(pc.binary_length(column), 0), pc.utf8_is_space(column)))


def are_blank(column: pa.ChunkedArray) -> bool:
    """Whether no cell of a column holds anything."""
    return bool(blank(column.slice(0, _FIRST_ROWS)).all() and blank(column).all())


def or_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text to the letter, where cells that hold nothing but white space are null."""
    empty = blank(column)
    # A column without an empty cell is not copied.
    return pc.if_else(pa.array(empty), pa.scalar(None, schema.TEXT), column) if empty.any() else column


def matches(column: pa.ChunkedArray, pattern: str) -> Mask:
    """Return where text matches a pattern; a null does."""
    if len(column) > _MANY_ROWS and pc.count_distinct(column.slice(0, _FIRST_ROWS)).as_py() < _FEW_TEXTS:
        # A pattern costs more than finding the different texts.
        encoded = pc.dictionary_encode(column).combine_chunks()
        return mask(pc.match_substring_regex(encoded.dictionary, pattern).take(encoded.indices), null=True)
    return mask(pc.match_substring_regex(column, pattern), null=True)


def heading_of(table: Table, place: int) -> str:
    """Return a column's name in options: its heading, or its number.

    The number stands where the heading is empty, long or not unique.
    """
    heading = table.headings[place]
    names = [normal(text) for text in table.headings]
    is_clear = normal(heading) and names.count(normal(heading)) == 1 and len(heading) <= _LONGEST_HEADING
    return heading if is_clear else f"column {place + 1}"


def lines_of(table: Table, rows: Mask) -> str:
    """Return where rows stand, in words: the first three lines and how many more."""
    lines = table.lines[rows]
    return f"line{'s' if len(lines) > 1 else ''} {first_of(lines.tolist(), _SHOWN_LINES)}"


def counted(table: Table, rows_per_remark: Mapping[str, Mask]) -> list[str]:
    """Return a note per remark that holds for some rows: how many, and on which lines."""
    return [
        f"{remark}: {rows.sum()} ({lines_of(table, rows)})"
        for remark, rows in rows_per_remark.items()
        if rows.any()
    ]


def quoted(value: object) -> str:
    """Return a value for a message of one line."""
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"


def refuse(
    table: Table,
    place: int,
    wrong: Mask,
    rule: str,
    *,
    instead: Mapping[str, str] | None = None,
    fill_down: str = "",
) -> None:
    """Raise an error that names the first wrong cell and how many there are; do nothing when none is wrong.

    `rule` is a phrase that follows the heading, with the way out. `instead` has field to heading, and
    `fill_down` has fields, with which the file is read in spite of such cells.
    """
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    many = f" ({wrong.sum()} such cells: {lines_of(table, wrong)})" if wrong.sum() > 1 else ""
    message = f"{table.headings[place]!r} {rule}, got {quoted(table.columns[place][first].as_py())}{many}"
    line = int(table.lines[first])
    raise table.error(message, line, columns=instead, fill_down=fill_down)


def uuids(
    table: Table, place: int, *, required: bool, instead: Mapping[str, str] | None = None
) -> pa.ChunkedArray:
    """Return a column of UUIDs in lower case; empty cells are null where they may be."""
    if required:
        refuse(table, place, blank(table.columns[place]), "must not be empty")
    column = table.columns[place] if required else or_null(table.columns[place])
    rule = "must hold UUIDs such as 123e4567-e89b-42d3-a456-426614174000"
    refuse(table, place, ~matches(column, rules.UUID_REGEX), rule, instead=instead)
    return pc.ascii_lower(column)


def refuse_broken(table: Table, places: Collection[int]) -> None:
    """Refuse a column that has an error in a cell in place of a value, or a formula without a value."""
    broken = [cell for cell in table.broken if cell.place in places]
    if broken:
        many = f" ({len(broken)} such cells)" if len(broken) > 1 else ""
        raise table.error(f"{broken[0].why}{many}", broken[0].line)


def without_blank_rows(table: Table, places: Collection[int], *, others: Collection[int] = ()) -> Table:
    """Return the rows in which at least one of the columns, or of the others, holds something."""
    empty = np.ones(len(table.lines), dtype=bool)
    for place in (*places, *others):
        # A column that is full in the rows that are left settles it.
        if empty.any():
            empty &= blank(table.columns[place])
    if empty.all():
        raise table.error("no row below the headings holds anything", table.heading_line)
    return table.rows(~empty)


def raise_all(problems: Sequence[InputError], table: Table) -> None:
    """Raise the one problem as it is, or several as one error; do nothing when there is none.

    The other sheets of a workbook are told where a column was not found, which may be on another one.
    """
    if not problems:
        return
    error = problems[0]
    if len(problems) > 1:
        whys = [f"line {each.line}: {each.why}" if each.line else each.why for each in problems]
        listed = "; ".join(f"({number}) {why}" for number, why in enumerate(whys, 1))
        unsettled = [f"({number})" for number, each in enumerate(problems, 1) if not each.settings]
        details = [*dict.fromkeys(one for each in problems for one in each.details)]
        if unsettled and len(unsettled) < len(problems):
            details.insert(0, f"No option settles {' and '.join(unsettled)}: correct the file")
        error = table.error(f"{len(problems)} problems: {listed}", details=details)
        settle(error, [one for each in problems for one in each.settings])
    if table.other_sheets and "columns" in dict(error.settings):
        error.details += (table.why_not_others,)
    error.sheets = table.other_sheets
    raise error


def currency_code(code: str | None) -> str | None:
    """Return the caller's currency in capitals; refuse anything but a code of three letters."""
    if code is not None and not (isinstance(code, str) and re.fullmatch("[A-Za-z]{3}", code)):
        raise ArgumentError(name_of("currency"), "must be a code of three letters such as EUR", code)
    return None if code is None else code.upper()


def option(field: str, heading: str = "HEADING") -> str:
    """Return the argument or option that maps a field to a heading."""
    return setting("columns", {field: heading})


def leave_out(field: str) -> str:
    """Return the argument or option that leaves a field out."""
    return option(field, "")


def question(
    table: Table,
    message: str,
    columns: Mapping[str, str],
    line: int | None = None,
    *,
    details: Sequence[str] = (),
) -> InputError:
    """Return a problem that naming columns settles; "" leaves a field out."""
    return table.error(message, line, details=details, columns=columns)
