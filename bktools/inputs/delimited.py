"""Delimited text → columns of text, to the letter."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting
from bktools.errors import InputError
from bktools.frames.delimited import SIGNS
from bktools.inputs import cells
from bktools.inputs.encoding import to_utf8
from bktools.inputs.heading_row import Head, is_figure, read_head
from bktools.inputs.regular_text import Body, regular_body
from bktools.inputs.table import Rows, Score, Table

_LONGEST_TITLE = 1 << 12

# ="0400" keeps a spreadsheet from reading a number; a quote inside is doubled.
_KEPT = r'(?s)^="((?:[^"]|"")+)"$'
# `to_csv` puts an apostrophe before what a spreadsheet takes for a formula, even after apostrophes.
_LED = f"^'('*{SIGNS})"
_FORMULA = f"^{SIGNS}"
_NUMBER = r"^[+-][\d.,]+$"


def read_delimited(
    data: bytes, score: Score, *, delimiter: str | None, encoding: str | None, prefer: str, source: str
) -> Table:
    """Return the cells of a delimited text, those that were written for a spreadsheet as it shows them.

    Bytes that do not fit the encoding, a row of more cells than headings, and a quote that is not closed are
    an `InputError`.
    """
    text, read_as = to_utf8(data, encoding, source)
    head = read_head(text, score, delimiter=delimiter, prefer=prefer, source=source)
    _refuse_cut_off(text, head, source)
    body = regular_body(text, first_line=head.body_line, width=len(head.cells), delimiter=head.delimiter)
    columns, lines = body or careful_body(text, head, source)
    table = Table(
        source,
        head.cells,
        columns,
        lines,
        head.line,
        delimiter=head.delimiter,
        encoding=read_as,
        notes=head.notes,
        title=b" ".join(text[:_LONGEST_TITLE].split(b"\n")[: head.line - 1]).decode(errors="replace"),
    )
    return _as_shown(table, text)


def _refuse_cut_off(text: bytes, head: Head, source: str) -> None:
    """Refuse a text whose last line has no end and is shorter than the line before.

    The line before has a figure where this one begins.
    """
    end = text.rfind(b"\n")
    if end < 0:
        return
    lines = (text[text.rfind(b"\n", 0, end) + 1 : end], text[end + 1 :])
    whole, cut = (line.decode().split(head.delimiter) for line in lines)
    if len(whole) == len(head.cells) > len(cut) > 1 and is_figure(whole[0]) and is_figure(cut[0]):
        raise InputError(
            f"the last line has {len(cut)} of {len(whole)} cells and no end: the file seems to be cut off; "
            "export it again, or delete the line",
            source=source,
            line=text.count(b"\n") + 1,
        )


def careful_body(text: bytes, head: Head, source: str) -> Body:
    """Return the rows below the headings to the letter; refuse a row with more cells than headings."""
    rows = Rows(*head.cells)
    width = len(head.cells)
    line = 1
    lines = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")
    reader = csv.reader(lines, delimiter=head.delimiter, strict=True)
    try:
        for own in reader:
            if line >= head.body_line and own:
                if any(cell.strip() for cell in own[width:]):
                    why = (
                        f"{len(own)} cells, but {width} headings (line {head.line}): "
                        f"put a cell that holds the delimiter {head.delimiter!r} in quotes, "
                        f"or name another one with {setting('delimiter')}"
                    )
                    raise InputError(why, source=source, line=line)
                rows.add(line, *own[:width], *[""] * (width - len(own)))
            line = reader.line_num + 1
    except csv.Error as error:
        why = f"a quoted cell that starts here is not closed properly ({error}); double the quotes inside it"
        if "field limit" in str(error):
            why = (
                f"a cell has more than {csv.field_size_limit():,} characters: "
                "is a quote before it not closed?"
            )
        raise InputError(why, source=source, line=line) from None
    return Body(*rows.columns())


def _as_shown(table: Table, text: bytes) -> Table:
    """Return the table with ="0400" as 0400, and without the apostrophes by which `to_csv` leads formulas.

    An apostrophe is taken away only where the whole file is as `to_csv` writes it for spreadsheets, and where
    one leads every formula. Anywhere else it may belong to the text.
    """
    is_of_to_csv = (
        table.encoding == "utf-8-sig" and table.delimiter in {",", ";"} and not text.startswith(b'"')
    )
    is_led = is_of_to_csv and b"'" in text and b"\r\n" in text and not any(map(_has_formula, table.columns))
    # A search for one byte is much faster than one for two.
    if b"=" in text and b'="' in text:
        remark = 'rows with cells such as ="0400", read as the text in it'
        table = _replaced(table, _KEPT, remark, doubled='"')
    if is_led:
        remark = "rows with text led by an apostrophe for a spreadsheet, read without"
        table = _replaced(table, _LED, remark)
    return table


def _has_formula(column: pa.ChunkedArray) -> bool:
    is_bare = (
        cells.matches(column, _FORMULA) & ~cells.matches(column, _NUMBER) & ~cells.matches(column, _KEPT)
    )
    return bool(is_bare.any())


def _replaced(table: Table, pattern: str, remark: str, *, doubled: str = "") -> Table:
    """Return the table with what the pattern's group holds in place of the cells that it matches."""
    matches = [cells.matches(column, pattern) for column in table.columns]
    columns = [*table.columns]
    for place, rows in enumerate(matches):
        if rows.any():
            meant = pc.replace_substring_regex(columns[place], pattern, r"\1")
            meant = pc.replace_substring(meant, doubled * 2, doubled) if doubled else meant
            columns[place] = pc.if_else(pa.array(rows), meant, columns[place])
    notes = cells.counted(table, {remark: np.logical_or.reduce(matches)})
    return replace(table, columns=columns, notes=(*table.notes, *notes))
