"""The row of headings: the first with all fields that a kind needs, else the first with two known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.amounts import has_digits
from bktools.inputs.days import is_day
from bktools.inputs.notes import Note, note
from bktools.inputs.options import Options
from bktools.inputs.question import Problems
from bktools.inputs.table import Grid, Lines, Mask, Table, ranges

NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "chart": ("code", "name"),
    "accounts": ("id",),
    "entries": ("date", "amount"),
    "ledger": ("account_code", "date", "amount"),
}
# Rows that are shown where no headings are known.
_SHOWN_ROWS, _SHOWN_CHARACTERS, _SHOWN_WIDE = 5, 100, 50
# A row is about as full as most with this share of their cells.
_FULL = 0.6
# The width of a file without headings is one that more than this share of rows reaches.
_SOME = 0.05


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def is_figure(cell: str) -> bool:
    """Whether a cell is a day or an amount."""
    return is_day(cell) or has_digits(cell)


def _are_headings(row: Sequence[str], kind: str) -> bool:
    known = {words.normal(cell) for cell in row if cell.strip() and words.fields_of(cell, kind)}
    return len(known) > 1 and not any(map(is_figure, row))


def find_headings(grid: Grid, kind: str, options: Options, source: str) -> tuple[int | None, bool]:
    """Return the place of the row of headings (-1: none), and whether it is known rather than proposed."""
    if options.headings is not None:
        if options.headings and options.headings not in grid.head_lines:
            raise InputError(
                f"the line {options.headings} is none of the first lines of the file", source=source
            )
        return (grid.head_lines.index(options.headings) if options.headings else -1), True
    named = {words.normal(heading): field for field, heading in options.columns.items() if heading}
    with_two: list[int] = []
    for place, row in enumerate(grid.head):
        fields: dict[str, frozenset[str]] = {}
        for cell in filter(str.strip, row):
            own = words.fields_of(cell, kind) | ({named.get(words.normal(cell), "")} - {""})
            fields |= {cell: own} if own else {}
        if len(fields) > 1 and not any(map(is_figure, row)):
            with_two.append(place)
            every = frozenset().union(*fields.values())
            every |= {"amount"} if {"debit", "credit"} & every else set()
            if every >= {*NEEDED[kind]}:
                return place, True
    if with_two:
        return with_two[0], True
    counts = Counter(count for row in grid.head if (count := _filled(row)) > 1)
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    full = next((at for at, row in enumerate(grid.head) if 1 < _filled(row) >= _FULL * usual), None)
    return (-1 if full is not None and any(map(is_figure, grid.head[full])) else full), False


class _Rows(NamedTuple):
    """The rows below the headings: columns of the headings' width, lines, and the lines of wider rows."""

    columns: list[pa.ChunkedArray]
    lines: Lines
    # The whole cells of rows that are wider.
    wider: dict[int, Sequence[str]]

    def where(self, rows: Mask) -> _Rows:
        flags = pa.array(rows)
        lines = self.lines[rows]
        kept = {*lines.tolist()} if self.wider else set()
        wider = {line: row for line, row in self.wider.items() if line in kept}
        return _Rows([column.filter(flags) for column in self.columns], lines, wider)


def table_of(grid: Grid, kind: str, options: Options, problems: Problems, source: str) -> Table | None:
    """Return the rows below their headings, None without any; problems and notes name the others."""
    top, is_known = find_headings(grid, kind, options, source)
    if top is None:
        return None
    first = next((at for at, row in enumerate(grid.head) if _filled(row)), 0)
    if not is_known:
        shown = [
            f"  {line}: {'; '.join(row)}"[:_SHOWN_CHARACTERS]
            for row, line in list(zip(grid.head, grid.head_lines, strict=True))[first : first + _SHOWN_ROWS]
        ]
        problems.ask("headings", [{"headings": grid.head_lines[top] if top >= 0 else 0}], shown=shown)
    start = top + 1 if top >= 0 else first
    notes = list(grid.notes)
    if top >= 0 and is_known and start < len(grid.head) and _are_headings(grid.head[start], kind):
        notes.append(note("headings_again", line=grid.head_lines[start]))
        start += 1
    names = _names(grid, top, start)
    rows = _below(grid, start, len(names))
    rows, left_out = _without_skipped(rows, options, notes)
    if top > first and any(_filled(row) for row in grid.head[:top]):
        notes.append(note("rows_above", first=grid.head_lines[first], last=grid.head_lines[top - 1]))
    head_line = grid.head_lines[top] if top >= 0 else 0
    if top >= 0:
        rows = _one_table(rows, names, head_line, kind, problems)
        _ask_above(grid, top, options, problems)
    _ask_of_wide_rows(grid, rows, names, head_line, kind, problems, notes)
    table = _table(grid, names, rows, head_line, source)
    return replace(
        table,
        notes=tuple(notes),
        is_known=is_known,
        left_out=left_out,
        currency=_currency_above(grid.head[: max(top, 0)]),
    )


def rows_below(grid: Grid, top: int, source: str) -> Table:
    """Return the rows below the headings of a format, which needs no question."""
    names = _names(grid, top, top + 1)
    return _table(grid, names, _below(grid, top + 1, len(names)), grid.head_lines[top], source)


def _table(grid: Grid, names: Sequence[str], rows: _Rows, head_line: int, source: str) -> Table:
    return Table(
        source,
        _made_unique(names),
        rows.columns,
        rows.lines,
        head_line,
        delimiter=grid.delimiter,
        encoding=grid.encoding,
        sheet=grid.sheet,
        numeric=_numeric(rows, grid) if grid.numbers else frozenset(),
        broken=grid.broken,
    )


def _names(grid: Grid, top: int, start: int) -> list[str]:
    if top >= 0:
        names = [" ".join(cell.split()) for cell in grid.head[top]]
        # Cells of a sheet have no end; those of a text have the width of its headings.
        while (
            names and not names[-1] and (grid.sheet is not None or not _is_used(grid, start, len(names) - 1))
        ):
            names.pop()
        return names
    widths = Counter(len(row) for row in grid.head[start:] if _filled(row))
    rows = sum(widths.values())
    return [""] * max((width for width, count in widths.items() if count > rows * _SOME), default=0)


def _is_used(grid: Grid, start: int, place: int) -> bool:
    """Whether any row below the headings holds something in a column."""
    is_in_head = any(place < len(row) and row[place].strip() for row in grid.head[start:])
    return is_in_head or (place < len(grid.columns) and not cells.are_blank(grid.columns[place]))


def _made_unique(names: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(names)
    numbered = {place: f"column {place}" for place in range(1, len(names) + 1)}
    return tuple(
        numbered[place] if not name else name if counts[name] == 1 else f"{name} ({numbered[place]})"
        for place, name in enumerate(names, 1)
    )


def _below(grid: Grid, start: int, width: int) -> _Rows:
    """Return the rows that hold something, of the headings' width."""
    head = [(row, line) for row, line in zip(grid.head[start:], grid.head_lines[start:], strict=True)]
    columns = []
    for place in range(width):
        own = pa.array([row[place] if place < len(row) else "" for row, _ in head], schema.TEXT)
        rest = grid.columns[place] if place < len(grid.columns) else _empty(len(grid.lines))
        columns.append(pa.chunked_array([own, *rest.chunks], schema.TEXT))
    lines = np.concatenate([np.array([line for _, line in head], np.int64), grid.lines])
    wider = {line: row for row, line in head if any(cell.strip() for cell in row[width:])}
    wider |= {line: row for line, row in grid.wider.items() if any(cell.strip() for cell in row[width:])}
    for column in grid.columns[width:]:
        for at in np.flatnonzero(~cells.blank(column)).tolist():
            # The cells of a few rows show what the others are.
            own_cells = [other[at].as_py() for other in grid.columns] if len(wider) < _SHOWN_WIDE else []
            wider.setdefault(int(grid.lines[at]), own_cells)
    rows = _Rows(columns, lines, wider)
    is_blank = np.ones(len(lines), dtype=bool)
    for column in columns:
        if is_blank.any():
            is_blank &= cells.blank(column)
    is_blank &= ~np.isin(lines, [*wider]) if wider else True
    return rows.where(~is_blank) if is_blank.any() else rows


def _empty(count: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.repeat(pa.scalar("", schema.TEXT), count)])


def _without_skipped(rows: _Rows, options: Options, notes: list[Note]) -> tuple[_Rows, list[pa.ChunkedArray]]:
    """Return the rows that no option leaves out, and the columns of the others."""
    skipped = np.zeros(len(rows.lines), dtype=bool)
    for lines, pattern in options.skipped():
        if pattern is None:
            skipped |= np.isin(rows.lines, [*lines])
        else:
            skipped |= _containing(rows.columns, pattern)
            skipped |= np.isin(
                rows.lines, [n for n, row in rows.wider.items() if pattern.search("  ".join(row))]
            )
    if not skipped.any():
        return rows, []
    left = rows.where(skipped)
    notes.append(note("rows_skipped", count=len(left.lines), lines=left.lines[:4].tolist()))
    return rows.where(~skipped), left.columns


def _containing(columns: Sequence[pa.ChunkedArray], pattern: re.Pattern[str]) -> Mask:
    whole = pc.binary_join_element_wise(*columns, pa.scalar("  ", schema.TEXT))
    return cells.mask(cells.each(whole, lambda text: bool(pattern.search(text)), schema.FLAG))


def _wordy(columns: Sequence[pa.ChunkedArray]) -> list[int]:
    """Return the places of rows of which no cell begins as a figure."""
    count = len(columns[0]) if columns else 0
    wordy = np.ones(count, dtype=bool)
    shares = {
        place: sum(cell[:1].isdigit() for cell in column.slice(0, 50).to_pylist())
        for place, column in enumerate(columns)
    }
    # The column with most figures first: a date leaves no row to look at.
    for place in sorted((place for place in shares if shares[place]), key=lambda one: -shares[one]):
        if wordy.any():
            wordy &= ~cells.matches(columns[place], r"^[-+( ]?\d")
    return np.flatnonzero(wordy).tolist()


def _one_table(rows: _Rows, names: Sequence[str], head_line: int, kind: str, problems: Problems) -> _Rows:
    """Return the rows above a second row of headings; that there is one is a problem."""
    wordy = _wordy(rows.columns)
    taken = [column.take(pa.array(wordy, pa.int64())).to_pylist() for column in rows.columns] if wordy else []
    again = [
        place
        for place, row in zip(wordy, zip(*taken, strict=True), strict=True)
        if _filled(row) * 2 > len(names) and _are_headings(row, kind)
    ]
    if not again:
        return rows
    lines = [int(rows.lines[place]) for place in again]
    wanted = [words.normal(name) for name in names if name]
    repeated = ([column[place].as_py() for column in rows.columns] for place in again)
    are_same = all([words.normal(cell) for cell in row if cell.strip()] == wanted for row in repeated)
    if are_same and not {*lines} & rows.wider.keys():
        # The same headings, as printed on each page.
        flags = np.isin(rows.lines, lines)
        problems.ask(
            "headings_repeated",
            [{"skip_rows": ranges(lines)}],
            lines=lines[:4],
            count=len(lines),
            head=head_line,
        )
        return rows.where(~flags)
    last = int(rows.lines[-1])
    choices: list[dict[str, Any]] = [{"headings": lines[-1]}, {"skip_rows": f"{lines[0]}-{last}"}]
    problems.ask("tables", choices, lines=lines[:4], count=len(lines), head=head_line)
    return rows.where(rows.lines < lines[0])


def _ask_above(grid: Grid, top: int, options: Options, problems: Problems) -> None:
    """Ask about rows above the headings that hold a day and an amount."""
    skipped = {line for lines, _ in options.skipped() for line in lines}
    above = [
        line
        for row, line in zip(grid.head[:top], grid.head_lines, strict=False)
        if _filled(row) > 2
        and any(map(is_day, row))
        and any(has_digits(cell) and not is_day(cell) for cell in row)
        and line not in skipped
    ]
    if above:
        choices = [{"skip_rows": ranges(above)}]
        problems.ask("above", choices, lines=above[:4], count=len(above), head=grid.head_lines[top])


def _ask_of_wide_rows(
    grid: Grid,
    rows: _Rows,
    names: Sequence[str],
    head_line: int,
    kind: str,
    problems: Problems,
    notes: list[Note],
) -> None:
    """Note cells right of the headings of a sheet, which are another table; in a text they are a shift."""
    lines = sorted({*rows.wider}.intersection(rows.lines.tolist())) if rows.wider else []
    if not lines:
        return
    if grid.sheet is not None:
        notes.append(note("cells_beside", count=len(lines), lines=lines[:4]))
        return
    is_entry = kind == "chart" or any(
        any(map(is_day, row)) and any(is_figure(cell) and not is_day(cell) for cell in row)
        for row in (rows.wider[line] for line in lines)
    )
    choices = [] if is_entry else [{"skip_rows": ranges(lines)}]
    problems.ask("width", choices, lines=lines[:4], count=len(lines), width=len(names), head=head_line)


def _numeric(rows: _Rows, grid: Grid) -> frozenset[int]:
    """Return the columns of which each filled cell is a number of the workbook."""
    places = rows.lines - grid.head_lines[0]
    return frozenset(
        place
        for place, column in enumerate(rows.columns)
        if place < len(grid.numbers)
        and (filled := ~cells.blank(column)).any()
        and grid.numbers[place][places][filled].all()
    )


def _currency_above(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return what the currency can be that stands above the table behind a heading for it: Currency: EUR."""
    for row in rows:
        texts = [cell.strip() for cell in row if cell.strip()]
        for name, value in pairwise(texts):
            if "currency" in words.fields_of(name.rstrip(":"), "entries") and words.currencies_of(value):
                return words.currencies_of(value)
    return ()


def joined(grids: Sequence[Grid], tables: Sequence[Table]) -> Table:
    """Return sheets with equal headings as one table, whose lines are counted on from sheet to sheet."""
    first, lines, end = tables[0], [], 0
    for grid, table in zip(grids, tables, strict=True):
        lines.append(table.lines + end)
        end += int(max([*grid.head_lines, *grid.lines[-1:].tolist()]))
    columns = [
        pa.chunked_array([chunk for table in tables for chunk in table.columns[place].chunks], schema.TEXT)
        for place in range(len(first.columns))
    ]
    numeric = frozenset.intersection(*(table.numeric for table in tables))
    notes = (*first.notes, note("sheets_together", names=[table.sheet for table in tables]))
    return replace(first, columns=columns, lines=np.concatenate(lines), numeric=numeric, notes=notes)
