"""Delimited text → a raw table of cells, to the letter."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from bktools.caller import setting
from bktools.frames import schema
from bktools.frames.delimited import SIGNS
from bktools.inputs import cells
from bktools.inputs.fields import fields_of, side_of
from bktools.inputs.notes import damaged
from bktools.inputs.raw.encoding import Reading, read_text
from bktools.inputs.table import HEAD_ROWS, RawTable, Rows, stacked

# Where several part the rows alike, a comma may be a decimal mark.
_DELIMITERS = "\t;,|^~¢§¦"
# Lines in which the delimiter is looked for.
_SAMPLE_LINES, _SAMPLE_BYTES = 200, 1 << 18
# A sheet has no more columns either, each of which takes memory of its own; and the cells by which rows are
# shorter than the widest one fill the memory without being in the file.
_MOST_COLUMNS, _MOST_MISSING = 1 << 14, 100_000_000
# ="0400" keeps a spreadsheet from reading a number; a quote inside is doubled.
_KEPT = r'(?s)^="((?:[^"]|"")+)"$'
# `to_csv` puts an apostrophe before what a spreadsheet takes for a formula, even after apostrophes.
_LED = f"^'('*{SIGNS})"
_FORMULA, _NUMBER = f"^{SIGNS}", r"^[+-][\d.,]+$"

# A row and the line of the file that it starts on.
_Row: TypeAlias = tuple[int, list[str]]


def read_delimited(
    data: bytes,
    kind: str,
    *,
    source: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    has_quotes: bool = True,
) -> tuple[RawTable, Reading]:
    """Return the cells of a delimited text, and how its bytes were read.

    Without `has_quotes`, a quote is a character like any other.
    """
    reading = read_text(data, encoding, source, lambda text: _known(text, kind))
    text = reading.text
    if (first := re.match(rb"sep=(.)\r?\n", text)) and delimiter is None:
        delimiter, text = first[1].decode(), b"\n" + text[first.end() :]
    mark = delimiter or delimiter_of(text, kind)
    # A search for one byte is much faster than all that is done for quotes.
    has_quotes = has_quotes and b'"' in text
    for pad in "\t " if has_quotes else "":
        # Some programs write a tab behind each quoted cell, or spaces around it.
        if mark != pad and f'"{pad}{mark}'.encode() in text:
            text = re.sub(f'(?<!")"{pad}{re.escape(mark)}'.encode(), f'"{mark}'.encode(), text)
    raw = _raw_table(text, mark, source, has_quotes=has_quotes)
    return _as_shown(replace(raw, encoding=reading.encoding), text), reading


def delimiter_of(text: bytes, kind: str) -> str:
    """Return the delimiter under which most headings are known, then most rows are of one width.

    One that few lines have, under no known headings, is a mark of their texts: each line is one cell.
    """
    head = "\n".join(text[:_SAMPLE_BYTES].decode(errors="replace").splitlines()[:_SAMPLE_LINES])

    def fitness(mark: str) -> tuple[int, int, int]:
        rows = list(_rows_of(head, mark))
        widths = Counter(len(row) for row in rows if len(row) > 1)
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        known = max((sum(map(bool, (fields_of(cell, kind) for cell in row))) for row in rows), default=0)
        return known if known > 1 else 0, count, width

    by_mark = {mark: fitness(mark) for mark in _DELIMITERS if mark in head} or {",": fitness(",")}
    best = max(by_mark, key=by_mark.__getitem__)
    if by_mark[best][0]:
        return best
    widths = [len(row) for row in _rows_of(head, best) if row]
    are_texts = sum(width > 1 for width in widths) * 2 < len(widths)
    return next((mark for mark in _DELIMITERS if mark not in head), best) if are_texts else best


def _known(text: str, kind: str) -> set[str]:
    """Return the known headings and words for sides of the first lines, in small letters."""
    mark = delimiter_of(text.encode(), kind)
    lines = "\n".join(text.splitlines()[:60])
    cells_ = (cell.casefold().strip("# ") for row in _rows_of(lines, mark) for cell in row)
    return {cell for cell in cells_ if fields_of(cell, kind) or (len(cell) > 1 and side_of(cell))}


def _rows_of(text: str, mark: str) -> Iterator[list[str]]:
    # A sample may end within a quoted cell.
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True)
    except csv.Error:
        return


def _raw_table(text: bytes, mark: str, source: str, *, has_quotes: bool) -> RawTable:
    """Return the first rows as Python reads them; the others by Arrow where all have one width."""
    rows, widths = Rows(), list[int]()
    widest = count = 0
    for line, row in _careful_rows(text, mark, source, has_quotes=has_quotes):
        if not row:
            continue
        if len(rows) == HEAD_ROWS:
            usual = Counter(widths).most_common(1)[0][0]
            others = regular_body(text, first_line=line, width=usual, delimiter=mark, has_quotes=has_quotes)
            if others is not None:
                _refuse_cells(widest, (widest - usual) * len(others.lines), source, line)
                raw = stacked(rows.raw_table(), others)
                break
        rows.add(line, *row)
        widest, count = max(widest, len(row)), count + len(row)
        _refuse_cells(widest, widest * len(rows) - count, source, line)
        widths += [len(row)] * (len(rows) <= HEAD_ROWS)
    else:
        raw = rows.raw_table()
    return replace(raw, widths=widths, delimiter=mark)


def _refuse_cells(columns: int, missing: int, source: str, line: int) -> None:
    if columns > _MOST_COLUMNS:
        raise damaged(source, "too_many_columns", line, most=_MOST_COLUMNS)
    if missing > _MOST_MISSING:
        raise damaged(source, "too_many_cells", line, most=_MOST_MISSING)


def _careful_rows(text: bytes, mark: str, source: str, *, has_quotes: bool = True) -> Iterator[_Row]:
    """Yield each row and the line it starts on."""
    line = 1
    stream = io.TextIOWrapper(io.BytesIO(text), "utf-8", newline="")
    # Where quotes stand behind a space, the space is none of the cell.
    is_spaced = f'{mark} "'.encode() in text[:_SAMPLE_BYTES]
    # A quote that is not closed would swallow rows.
    reader = csv.reader(
        stream,
        delimiter=mark,
        skipinitialspace=is_spaced,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
    )
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        code = "long_cell" if "field limit" in str(error) else "unclosed_quote"
        facts = {"why": str(error), "most": csv.field_size_limit(), "option": setting("delimiter")}
        raise damaged(source, code, line, **facts) from None


def _as_shown(raw: RawTable, text: bytes) -> RawTable:
    """Return the raw table, ="0400" as 0400, without the apostrophes with which `to_csv` leads formulas.

    An apostrophe is taken away only where the whole file is as `to_csv` writes it for spreadsheets, and where
    one leads every formula. Anywhere else it may belong to the text.
    """
    is_of_to_csv = raw.encoding == "utf-8-sig" and raw.delimiter in {",", ";"} and not text.startswith(b'"')
    is_led = is_of_to_csv and b"'" in text and b"\r\n" in text and not any(map(_has_formula, raw.columns))
    # A search for one byte is much faster than one for two.
    if b"=" in text and b'="' in text:
        raw = _replaced(raw, _KEPT, '"')
    return _replaced(raw, _LED) if is_led else raw


def _has_formula(column: pa.ChunkedArray) -> bool:
    others = cells.matches(column, _NUMBER) | cells.matches(column, _KEPT)
    return bool((cells.matches(column, _FORMULA) & ~others).any())


def _replaced(raw: RawTable, pattern: str, doubled: str = "") -> RawTable:
    """Return the raw table with the pattern's group in place of the cells that it matches."""
    columns = []
    for column in raw.columns:
        rows, shown = cells.matches(column, pattern), column
        if rows.any():
            shown = pc.replace_substring_regex(column, pattern, r"\1")
            shown = pc.replace_substring(shown, doubled * 2, doubled) if doubled else shown
            shown = pc.if_else(pa.array(rows), shown, column)
        columns.append(shown)
    return replace(raw, columns=columns)


_BLOCK = 1 << 22
_LINE_FEED, _CARRIAGE_RETURN, _QUOTE = b'\n\r"'


def regular_body(
    text: bytes, *, first_line: int, width: int, delimiter: str, has_quotes: bool = True
) -> RawTable | None:
    """Return the rows from a line of the text on (from 1), None where the text is not regular.

    Without `has_quotes`, a quote is a character like any other.
    """
    # A search for a byte that is not there is much faster than a count.
    has_lone_returns = b"\r" in text and text.count(b"\r") != text.count(b"\r\n")
    if has_lone_returns or not (delimiter.isascii() and width):
        return None
    begin, end = 0, len(text)
    for _ in range(first_line - 1):
        begin = text.index(b"\n", begin) + 1
    while end > begin and text[end - 1] in (_LINE_FEED, _CARRIAGE_RETURN):
        end -= 1
    body = np.frombuffer(text, np.uint8, end - begin, begin)
    if not len(body) or (has_quotes and not _are_around_cells(body, delimiter)):
        return None
    names = [str(place) for place in range(width)]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(pa.py_buffer(body)),
            # Threads cost more than a small text.
            read_options=arrow_csv.ReadOptions(
                column_names=names, block_size=_BLOCK, use_threads=len(body) > _BLOCK
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter, quote_char='"' if has_quotes else False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, schema.TEXT), check_utf8=False
            ),
        )
    except pa.ArrowInvalid:
        # A row has another width, or does not fit into a block.
        return None
    count = text.count(b"\n", begin, end) + 1
    # There are other rows than lines where some are empty, or a quoted cell has several.
    is_regular = table.num_rows == count
    return RawTable(table.columns, np.arange(first_line, first_line + count)) if is_regular else None


def _are_around_cells(text: npt.NDArray[np.uint8], delimiter: str) -> bool:
    """Whether each quote opens or closes a cell, or is doubled inside of one."""
    quotes = np.flatnonzero(text == _QUOTE)
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    is_doubled = closing[:-1] + 1 == opening[1:]
    before = text[opening - 1]
    opens = (opening == 0) | (before == ord(delimiter)) | (before == _LINE_FEED)
    opens[1:] |= is_doubled
    after = text[np.minimum(closing + 1, len(text) - 1)]
    closes = (closing == len(text) - 1) | np.isin(after, [ord(delimiter), _LINE_FEED, _CARRIAGE_RETURN])
    closes[:-1] |= is_doubled
    return bool(opens.all() and closes.all())
