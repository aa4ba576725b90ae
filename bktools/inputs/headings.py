"""Grid → table: below the first row with all fields that a kind needs, else the first with two known ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import assign
from bktools.inputs.fields import fields_of, has_needed, needed_in
from bktools.inputs.grids.source import Source
from bktools.inputs.notes import damaged
from bktools.inputs.options import Options, checked, skipped
from bktools.inputs.question import Problems, question
from bktools.inputs.reading import Reading
from bktools.inputs.table import Grid, Table, ranges
from bktools.inputs.titles import under_titles
from bktools.inputs.values.amounts import has_digits, money
from bktools.inputs.values.days import is_day

# Rows that are shown where no headings are known.
_SHOWN_ROWS, _SHOWN_CHARACTERS = 5, 100
# A row is about as full as most with this share of their cells.
_FULL = 0.6
_COMMENT = re.compile(r"\s*#(?:\s|$)")
# The width of a file without headings is one that more than this share of rows reaches.
_SOME = 0.05


def opened(source: Source, options: Options) -> Reading:
    """Return a file's table with the columns of its fields; what is open is in its problems."""
    grids, text = source.read(options)
    readings = [own for grid in grids if (own := _below_headings(grid, source, options)) is not None]
    if not readings:
        problems = Problems()
        problems.ask("nothing")
        raise question(source.name, source.kind, options, problems)
    reading = readings[0] if len(grids) == 1 else _of_sheets(readings, grids)
    if text and text.others:
        asked = Problems()
        asked.ask(
            "encoding" if text.is_whole else "encoding_of_no_line",
            [{"encoding": name} for name, _ in text.others],
            readings="; ".join(f"{name}: {word}" for name, word in text.others),
        )
        reading.problems[:0] = asked
    elif text and not text.is_whole:
        reading.note("letters_replaced", encoding=text.encoding)
    return reading


def _below_headings(grid: Grid, source: Source, options: Options) -> Reading | None:
    """Return the rows below their headings, None without any; problems and notes name the others."""
    top, is_known = find_headings(grid, source.kind, options, source.name)
    if top is None:
        return None
    first = next((at for at, row in enumerate(grid.head) if _filled(row)), 0)
    start = top + 1 if top >= 0 else first
    is_again = is_known and 0 < start < len(grid.head) and _are_headings(grid.head[start], source.kind)
    is_again &= top >= 0
    reading = Reading(source, options, rows_below(grid, top, start + is_again, source.name))
    reading.notes += grid.notes
    if not is_known:
        rows = [*zip(grid.head_lines, grid.head, strict=True)][first : first + _SHOWN_ROWS]
        shown = [f"  {line}: {'; '.join(row)}"[:_SHOWN_CHARACTERS] for line, row in rows]
        line = grid.head_lines[top] if top >= 0 else 0
        reading.problems.ask("headings", [{"headings": line}], shown=shown)
    if is_again:
        reading.note("headings_again", line=grid.head_lines[start])
    _leave_skipped(reading)
    _leave_comments(reading)
    if top > first and any(map(_filled, grid.head[:top])):
        above = [line for line, row in zip(grid.head_lines, grid.head[:top], strict=False) if _filled(row)]
        reading.note("rows_above", count=len(above), lines=above[:4])
    if top >= 0:
        _keep_one_table(reading)
        _ask_above(reading, grid, top)
    _ask_of_wide_rows(reading)
    if not len(reading.table.lines):
        return None
    currency = _currency_above(grid.head[: max(top, 0)])
    numeric = _numeric(reading.table, grid)
    sha256 = source.file.sha256
    above_headings = [cell.strip() for cell in grid.head[top - 1] if cell.strip()] if top > 0 else []
    reading.table = replace(
        reading.table,
        is_known=is_known,
        currency=currency,
        numeric=numeric,
        sha256=sha256,
        above=above_headings,
    )
    assign(reading)
    if reading.kind == "ledger":
        under_titles(reading)
    return reading


def find_headings(grid: Grid, kind: str, options: Options, source: str) -> tuple[int | None, bool]:
    """Return the place of the row of headings (-1: none), and whether it is known rather than proposed."""
    line = options.get("headings")
    if line is not None:
        if line and line not in grid.head_lines:
            raise damaged(source, "headings_too_low", line=line)
        return (grid.head_lines.index(line) if line else -1), True
    asked = options.get("columns") or {}
    named = {terms.normal(heading): field for field, heading in asked.items() if heading}
    with_two: list[int] = []
    # A line of comments has headings where nothing else has.
    for place, row in sorted(enumerate(grid.head), key=lambda one: _is_comment(one[1])):
        if with_two and _is_comment(row):
            break
        by_cell = [
            fields_of(cell, kind) | ({named.get(terms.normal(cell), "")} - {""})
            for cell in dict.fromkeys(filter(str.strip, row))
        ]
        if sum(map(bool, by_cell)) > 1 and not any(map(is_figure, row)):
            with_two.append(place)
            if has_needed(kind, frozenset().union(*by_cell)):
                return place, True
    if with_two:
        return with_two[0], True
    counts = Counter(count for row in grid.head if (count := _filled(row)) > 1)
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    full = next((at for at, row in enumerate(grid.head) if 1 < _filled(row) >= _FULL * usual), None)
    return (-1 if full is not None and _is_data(grid.head, full) else full), False


def _is_data(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether a row has a day or an amount, or a cell that is there again below."""
    below = [{*column} for column in zip_longest(*rows[place + 1 :], fillvalue="")]
    return any(
        is_figure(cell) or (cell.strip() and cell in column)
        for cell, column in zip_longest(rows[place], below[: len(rows[place])], fillvalue="")
    )


def _is_comment(row: Sequence[str]) -> bool:
    """Whether a row begins with # and a space, or has nothing but the mark; #1001 is a number."""
    return bool(row and _COMMENT.match(row[0])) and (row[0].strip() != "#" or _filled(row) == 1)


def is_figure(cell: str) -> bool:
    """Whether a cell is a day or an amount."""
    return is_day(cell) or has_digits(cell)


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def _are_headings(row: Sequence[str], kind: str) -> bool:
    known = {terms.normal(cell) for cell in row if cell.strip() and fields_of(cell, kind)}
    return len(known) > 1 and not any(map(is_figure, row))


def _below(column: pa.ChunkedArray, start: int) -> pa.ChunkedArray:
    """Return the cells from a place on, in chunks of their own."""
    # PyArrow 19 mixes texts up in `if_else` where a chunk is a slice of another one.
    chunks = [
        chunk.take(pa.array(np.arange(len(chunk)))) if chunk.offset else chunk
        for chunk in column.slice(start).chunks
    ]
    return pa.chunked_array(chunks, schema.TEXT)


def rows_below(grid: Grid, top: int, start: int, source: str) -> Table:
    """Return the rows from a place on that hold something, below the headings at another."""
    names = _names(grid, top, start)
    columns = [_below(column, start) for column in grid.columns]
    table = Table(
        source,
        _made_unique(names),
        columns[: len(names)],
        grid.lines[start:],
        grid.head_lines[top] if top >= 0 else 0,
        beyond=[column for column in columns[len(names) :] if not cells.are_blank(column)],
        delimiter=grid.delimiter,
        encoding=grid.encoding,
        sheet=grid.sheet,
        broken=grid.broken,
    )
    return table.rows(cells.any_filled(table, [*table.columns, *table.beyond]))


def _names(grid: Grid, top: int, start: int) -> list[str]:
    if top < 0:
        widths = Counter(len(row) for row in grid.head[start:] if _filled(row))
        least = sum(widths.values()) * _SOME
        return [""] * max((width for width, count in widths.items() if count > least), default=0)
    names = [" ".join(cell.split()) for cell in grid.head[top]]
    # Cells of a sheet have no end; those of a text have the width of its headings.
    while (
        names
        and not names[-1]
        and (grid.sheet is not None or cells.are_blank(grid.columns[len(names) - 1].slice(start)))
    ):
        names.pop()
    return names


def _made_unique(names: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(names)
    numbered = {place: f"column {place}" for place in range(1, len(names) + 1)}
    return tuple(
        numbered[place] if not name else name if counts[name] == 1 else f"{name} ({numbered[place]})"
        for place, name in enumerate(names, 1)
    )


def _leave_skipped(reading: Reading) -> None:
    """Leave out the rows of an option; their dates still tell the order of day and month."""
    table = reading.table
    rows = np.zeros(len(table.lines), dtype=bool)
    for lines, pattern in skipped(reading.options):
        if pattern is None:
            rows |= np.isin(table.lines, [*lines])
        else:
            whole = pc.binary_join_element_wise(*table.columns, *table.beyond, pa.scalar("  ", schema.TEXT))
            rows |= cells.matching(whole, pattern)
    reading.note_rows("rows_skipped", rows)
    left_out = table.rows(rows).columns if rows.any() else []
    reading.table = replace(table.rows(~rows), left_out=left_out)


def _leave_comments(reading: Reading) -> None:
    """Leave out the lines of comments of a text."""
    table = reading.table
    if table.sheet is not None or not table.columns:
        return
    may_be = cells.matches(table.columns[0], f"^{_COMMENT.pattern}").copy()
    for place in np.flatnonzero(may_be):
        may_be[place] = _is_comment([column[place].as_py() for column in table.columns])
    reading.note_rows("comments", may_be)
    reading.table = table.rows(~may_be)


def _wordy(columns: Sequence[pa.ChunkedArray]) -> list[int]:
    """Return the places of rows of which no cell begins as a figure."""
    wordy = np.ones(len(columns[0]) if columns else 0, dtype=bool)
    # The column with most figures first: a date leaves no row to look at.
    shares = [sum(cell[:1].isdigit() for cell in column.slice(0, 50).to_pylist()) for column in columns]
    for place in sorted(np.flatnonzero(shares).tolist(), key=lambda one: -shares[one]):
        if wordy.any():
            wordy &= ~cells.matches(columns[place], r"^[-+( ]?\d")
    return np.flatnonzero(wordy).tolist()


def _keep_one_table(reading: Reading) -> None:
    """Leave out the rows below a second row of headings; that there is one is a problem."""
    table = reading.table
    names = [*filter(None, (re.sub(r"^column \d+$| \(column \d+\)$", "", name) for name in table.headings))]
    wordy = _wordy(table.columns)
    columns = [column.take(pa.array(wordy, pa.int64())).to_pylist() for column in table.columns]
    rows = [*zip(wordy, zip(*columns, strict=True), strict=True)] if wordy else []
    again = {
        place: row
        for place, row in rows
        if _filled(row) * 2 > len(names) and _are_headings(row, reading.kind)
    }
    if not again:
        return
    flags = np.isin(np.arange(len(table.lines)), [*again])
    lines, last = table.lines_of(flags), int(table.lines[-1])
    wanted = [*map(terms.normal, names)]
    are_same = all([terms.normal(cell) for cell in row if cell.strip()] == wanted for row in again.values())
    if are_same and not (flags & cells.any_filled(table, table.beyond)).any():
        # The same headings, as printed on each page, or below each account.
        reading.note_rows("headings_repeated", flags, head=table.heading_line)
        reading.table = table.rows(~flags)
    else:
        choices: list[dict[str, Any]] = [{"headings": lines[-1]}, {"skip_rows": f"{lines[0]}-{last}"}]
        reading.ask_of_rows("tables", flags, choices, head=table.heading_line)
        reading.table = table.rows(table.lines < lines[0])


def _ask_above(reading: Reading, grid: Grid, top: int) -> None:
    """Ask about rows above the headings that hold a day and an amount."""
    left_out = {line for lines, _ in skipped(reading.options) for line in lines}
    above = [
        line
        for row, line in zip(grid.head[:top], grid.head_lines, strict=False)
        if _filled(row) > 2 and _is_entry(row) and line not in left_out
    ]
    if above:
        choices = [{"skip_rows": ranges(above)}]
        head = grid.head_lines[top]
        reading.problems.ask("above", choices, lines=above[:4], count=len(above), head=head)


def _is_entry(row: Sequence[str]) -> bool:
    """Whether a row has a day and an amount."""
    return any(map(is_day, row)) and any(has_digits(cell) and not is_day(cell) for cell in row)


def _ask_of_wide_rows(reading: Reading) -> None:
    """Note cells right of the headings of a sheet, which are another table; in a text they are a shift."""
    table = reading.table
    wide = cells.any_filled(table, table.beyond)
    if table.sheet is not None:
        reading.note_rows("cells_beside", wide)
    elif wide.any():
        shown = [
            column.filter(pa.array(wide)).slice(0, 50).to_pylist()
            for column in (*table.columns, *table.beyond)
        ]
        is_entry = reading.kind == "chart" or any(map(_is_entry, zip(*shown, strict=True)))
        choices = [] if is_entry else [table.skip(wide)]
        width = len(table.headings)
        reading.ask_of_rows("width", wide, choices, width=width, head=table.heading_line)


def _numeric(table: Table, grid: Grid) -> frozenset[int]:
    """Return the columns of which each filled cell is a number of the workbook."""
    rows = table.lines - grid.lines[0]
    return frozenset(
        place
        for place, (column, numbers) in enumerate(zip(table.columns, grid.numbers, strict=False))
        if (filled := ~cells.blank(column)).any() and numbers[rows][filled].all()
    )


def _currency_above(rows: Sequence[Sequence[str]]) -> str:
    """Return the currency that stands above the table: Currency: EUR, or beside an amount."""
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    # A value may stand in the line below its word, too.
    below = [[row[0], after[0]] for row, after in pairwise(filled) if len(row) == 1 and after]
    for row in (*filled, *below):
        for name, value in pairwise(row):
            if "currency" in fields_of(name.rstrip(":"), "entries") and terms.currencies_of(value):
                return value
    units = (amount.currency for row in filled for cell in row if (amount := money(cell)) and amount.digits)
    return next(filter(None, units), "")


def _of_sheets(readings: Sequence[Reading], grids: Sequence[Grid]) -> Reading:
    """Return the sheet that has all needed fields, or sheets with the same headings as one; else it is asked.

    A sheet may lack some headings of another one.
    """
    most = max(map(_known_fields, readings))
    best = sorted(
        (one for one in readings if _known_fields(one) == most), key=lambda one: -len(one.table.lines)
    )
    reading, tables = best[0], [one.table for one in best]
    names = [table.sheet for table in tables]
    every = max((table.headings for table in tables), key=len)
    are_same = all([*own.headings] == [one for one in every if one in own.headings] for own in tables)
    if len(best) > 1 and reading.table.is_known and are_same:
        ends = {grid.sheet: int(grid.lines[-1]) for grid in grids}
        ordered = sorted(best, key=lambda one: [*ends].index(one.table.sheet))
        return _joined(ordered, ends)
    if len(best) > 1:
        sheets = ", ".join(f"{table.sheet} ({len(table.lines)})" for table in tables)
        reading.problems.ask("sheets", [{"sheet": name} for name in names], sheets=sheets)
    elif unread := [grid.sheet for grid in grids if grid.sheet not in names]:
        reading.note("sheet_read", name=reading.table.sheet, names=unread)
    return reading


def _known_fields(reading: Reading) -> int:
    """Return how many needed fields a sheet has under headings that are known; a proven one has more."""
    is_proven = bool(reading.proofs)
    return needed_in(reading.kind, frozenset(reading.places)) + is_proven if reading.table.is_known else 0


def _joined(readings: Sequence[Reading], ends: Mapping[str | None, int]) -> Reading:
    """Return sheets as the one with most headings, whose lines are counted on from sheet to sheet."""
    whole = max(readings, key=lambda one: len(one.table.headings))
    tables = [one.table for one in readings]
    before = np.cumsum([0, *(ends[table.sheet] for table in tables)])

    def chunks_of(table: Table, heading: str) -> Sequence[pa.Array]:
        if heading in table.named:
            chunks: Sequence[pa.Array] = table.columns[table.named[heading]].chunks
            return chunks
        return [pa.repeat(pa.scalar("", schema.TEXT), len(table.lines))]

    whole.table = replace(
        whole.table,
        columns=[
            pa.chunked_array([chunk for table in tables for chunk in chunks_of(table, heading)], schema.TEXT)
            for heading in whole.table.headings
        ],
        lines=np.concatenate([table.lines + end for table, end in zip(tables, before, strict=False)]),
        numeric=frozenset.intersection(*(table.numeric for table in tables)),
        beyond=(),
    )
    others = [one for other in readings if other is not whole for one in other.problems]
    whole.problems += [one for one in others if one not in whole.problems]
    whole.note("sheets_together", names=[table.sheet for table in tables])
    return whole


def read_headed(path: str | PathLike[str], headings: Collection[str], sheet: str) -> Table:
    """Return a sheet below the row with most of these headings, as bktools itself wrote it."""
    source = Source(path, "entries")
    grid = source.read(checked({"sheet": sheet})).grids[0]
    known = {*headings}
    top = max(range(len(grid.head)), key=lambda at: len(known.intersection(grid.head[at])))
    table = rows_below(grid, top, top + 1, source.name)
    for (line, _), text in table.broken().items():
        raise table.error("broken_cell", line, value=text)
    return replace(table, sha256=source.file.sha256)
