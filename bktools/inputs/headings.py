"""Raw table → table: below the first row with all needed fields, else the first with two known ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import setting
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.assignment import assign, has_code_and_name
from bktools.inputs.fields import fields_of, has_needed, most, needed_in
from bktools.inputs.notes import damaged
from bktools.inputs.options import Options, checked, skipped
from bktools.inputs.question import Problem, Problems, question
from bktools.inputs.raw.source import Source
from bktools.inputs.reading import Reading
from bktools.inputs.table import HEAD_ROWS, RawTable, Table, ranges
from bktools.inputs.titles import under_titles
from bktools.inputs.values.amounts import has_digits, money
from bktools.inputs.values.days import is_day

# Rows that are shown where no headings are known.
_SHOWN_ROWS, _SHOWN_CHARACTERS = 5, 100
# A row is about as full as most with this share of their cells.
_FULL = 0.6


def opened(source: Source, options: Options) -> Reading:
    """Return a file's table with the columns of its fields; what is open is in its problems."""
    raw_tables, text = source.read(options)
    readings = [own for raw in raw_tables if (own := _below_headings(raw, source, options)) is not None]
    if not readings:
        for raw in raw_tables:
            top, is_known = _find_headings(raw, source.kind, options, source.name)
            if top is not None and is_known:
                raise damaged(source.name, "no_rows", raw.head_lines[max(top, 0)])
        option = setting("delimiter") if source.form == "text" else None
        raise question(source.name, source.kind, options, [Problem("nothing", {"option": option})])
    reading = readings[0] if len(raw_tables) == 1 else _of_sheets(readings, raw_tables)
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


def _below_headings(raw: RawTable, source: Source, options: Options) -> Reading | None:
    """Return the rows below their headings, None without any; problems and notes name the others."""
    top, is_known = _find_headings(raw, source.kind, options, source.name)
    if top is None:
        return None
    table = rows_below(raw, top, source.name)
    above = {
        line: row for line, row in zip(raw.head_lines[: max(top, 0)], raw.head, strict=False) if _filled(row)
    }
    currency = _currency_above([*above.values()])
    titles = [[*filter(None, map(str.strip, row))] for row in [*above.values()][::-1]]
    table = replace(table, is_known=is_known, currency=currency, above=titles, sha256=source.sha256)
    reading = Reading(source, options, table, notes=[*raw.notes], whole=table.columns)
    if not is_known:
        rows = [*zip(raw.head_lines, raw.head, strict=True)]
        shown = [f"  {line}: {'; '.join(row)}"[:_SHOWN_CHARACTERS] for line, row in rows if _filled(row)]
        shown = shown[len(above) :][:_SHOWN_ROWS]
        reading.problems.ask("headings", [{"headings": table.heading_line}], shown=shown)
    _leave_skipped(reading)
    if above:
        reading.note("rows_above", count=len(above), lines=[*above][:4])
    if top >= 0:
        _leave_other_language(reading)
        _keep_one_table(reading)
        _ask_above(reading, above)
    _ask_of_wide_rows(reading)
    if not len(reading.table.lines):
        return None
    reading.table = replace(reading.table, numeric=_numeric(reading.table, raw))
    assign(reading)
    if reading.kind == "ledger":
        under_titles(reading)
    return reading


def _find_headings(raw: RawTable, kind: str, options: Options, source: str) -> tuple[int | None, bool]:
    """Return the place of the row of headings (-1: none), and whether it is known rather than proposed."""
    line = options.get("headings")
    if line is not None:
        if line and line not in raw.head_lines:
            raise damaged(source, "headings_too_low", line=line)
        return (raw.head_lines.index(line) if line else -1), True
    named = {terms.normal(heading): field for field, heading in options.get("columns", {}).items() if heading}
    with_two: list[int] = []
    for place, row in enumerate(raw.head):
        by_cell = [
            fields_of(cell, kind) | ({named.get(terms.normal(cell), "")} - {""})
            for cell in dict.fromkeys(filter(str.strip, row))
        ]
        known, figures = sum(map(bool, by_cell)), sum(map(is_figure, row))
        # A row that names all needed fields may have few numbers, too.
        if known > 1 and figures <= known and has_needed(kind, frozenset().union(*by_cell)):
            return place, True
        with_two += [place] if known > 1 and not figures else []
    if with_two:
        return with_two[0], True
    # A list of accounts may have one column.
    least = 1 if kind == "chart" and max(map(_filled, raw.head)) == 1 else 2
    counts = Counter(count for row in raw.head if (count := _filled(row)) >= least)
    usual = max(counts, key=lambda count: (counts[count], count), default=0)
    full = next((at for at, row in enumerate(raw.head) if least <= _filled(row) >= _FULL * usual), None)
    return (-1 if full is not None and _is_data(raw.head, full) else full), False


def _is_data(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether a row has a day, an amount, a code and a name as below, or a cell that is there again below.

    A day of another form than all days below it is none of an entry: some banks write there what the file is.
    """
    below = [{*column} for column in zip_longest(*rows[place + 1 :], fillvalue="")]
    for cell, column in zip(rows[place], below, strict=False):
        forms = {_is_year_first(one) for one in column if is_day(one)}
        if is_day(cell) and forms == {not _is_year_first(cell)}:
            return False
    return any(
        is_figure(cell)
        or (cell.strip() and cell in column)
        or (has_code_and_name(cell) and most(column, has_code_and_name, 0.5))
        for cell, column in zip_longest(rows[place], below[: len(rows[place])], fillvalue="")
    )


def _is_year_first(day: str) -> bool:
    return day.strip()[:4].isdigit()


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


def rows_below(raw: RawTable, top: int, source: str) -> Table:
    """Return the rows that hold something below the headings at a place; -1: there are none."""
    names = _names(raw, top)
    columns = [_below(column, top + 1) for column in raw.columns]
    table = Table(
        source,
        _made_unique(names),
        columns[: len(names)],
        raw.lines[top + 1 :],
        raw.head_lines[top] if top >= 0 else 0,
        beyond=[column for column in columns[len(names) :] if not cells.are_blank(column)],
        delimiter=raw.delimiter,
        encoding=raw.encoding,
        sheet=raw.sheet,
    )
    return table.rows(cells.any_filled(table, [*table.columns, *table.beyond]))


def _names(raw: RawTable, top: int) -> list[str]:
    names = [" ".join(cell.split()) for cell in raw.head[top]] if top >= 0 else [""] * len(raw.columns)

    def is_empty(place: int) -> bool:
        # Cells of a sheet have no end; those of a text have the width of its headings.
        is_endless = raw.sheet is not None and top >= 0
        return is_endless or cells.are_blank(raw.columns[place].slice(top + 1))

    while names and not names[-1] and is_empty(len(names) - 1):
        names.pop()
    for place in range(1, len(names)):
        # The heading of an amount may stand over the currency beside it alone.
        beside = raw.columns[place - 1].slice(top + 1, HEAD_ROWS).to_pylist()
        names[place] = names[place] or (names[place - 1] if most(beside, terms.currencies_of, 1) else "")
    return names


def _made_unique(names: Sequence[str]) -> tuple[str, ...]:
    counts = Counter(names)
    numbered = {place: f"column {place}" for place in range(1, len(names) + 1)}
    return tuple(
        numbered[place] if not name else name if counts[name] == 1 else f"{name} ({numbered[place]})"
        for place, name in enumerate(names, 1)
    )


def _leave_skipped(reading: Reading) -> None:
    """Leave out the rows of an option, and the lines of comments of a text."""
    table = reading.table
    if table.sheet is None and table.columns:
        comments = cells.matches(table.columns[0], r"^\s*#(?:\s|$)")
        reading.note_rows("comments", comments)
        reading.table = table = table.rows(~comments)
    rows = np.zeros(len(table.lines), dtype=bool)
    for lines, pattern in skipped(reading.options):
        if pattern is None:
            rows |= np.isin(table.lines, [*lines])
        else:
            whole = pc.binary_join_element_wise(*table.columns, *table.beyond, pa.scalar("  ", schema.TEXT))
            rows |= cells.matching(whole, pattern)
    reading.note_rows("rows_skipped", rows)
    reading.table = table.rows(~rows)


def _wordy(columns: Sequence[pa.ChunkedArray]) -> list[int]:
    """Return the places of rows of which no cell begins as a figure."""
    wordy = np.ones(len(columns[0]) if columns else 0, dtype=bool)
    # The column with most figures first: a date leaves no row to look at.
    shares = [sum(cell[:1].isdigit() for cell in column.slice(0, 50).to_pylist()) for column in columns]
    for place in sorted(np.flatnonzero(shares).tolist(), key=lambda one: -shares[one]):
        if wordy.any():
            wordy &= ~cells.matches(columns[place], r"^[-+( ]?\d")
    return np.flatnonzero(wordy).tolist()


def _leave_other_language(reading: Reading) -> None:
    """Leave out a first row that names the fields of the headings again, in another language."""
    table, kind = reading.table, reading.kind
    row = [cell for column in table.columns for cell in column.slice(0, 1).to_pylist()]
    pairs = [
        (fields_of(one, kind), fields_of(other, kind))
        for one, other in zip(table.headings, row, strict=False)
    ]
    known = [(one, other) for one, other in pairs if one and other]
    if _are_headings(row, kind) and len(known) > 1 and all(one & other for one, other in known):
        reading.note("headings_again", line=int(table.lines[0]))
        reading.table = table.rows(np.arange(len(table.lines)) > 0)


def _keep_one_table(reading: Reading) -> None:
    """Leave out the rows below a second row of headings; that there is one is a problem."""
    table = reading.table
    names = [*filter(None, map(terms.bare, table.headings))]
    places = _wordy(table.columns)
    columns = [column.take(pa.array(places, pa.int64())).to_pylist() for column in table.columns]
    again = {
        place: [*map(terms.normal, filter(str.strip, row))]
        for place, row in zip(places, zip(*columns, strict=True), strict=True)
        if _filled(row) * 2 > len(names) and _are_headings(row, reading.kind)
    }
    if not again:
        return
    flags = np.isin(np.arange(len(table.lines)), [*again])
    lines, last = table.lines_of(flags), int(table.lines[-1])
    is_beyond = (flags & cells.any_filled(table, table.beyond)).any()
    are_same = not is_beyond and all(row == [*map(terms.normal, names)] for row in again.values())
    if are_same or lines == [last]:
        # The same headings, as on each page or below each account; others without a row are no table.
        reading.note_rows("headings_repeated", flags, head=table.heading_line)
        reading.table = table.rows(~flags)
    else:
        choices: list[dict[str, Any]] = [{"headings": lines[-1]}]
        first = table.lines < lines[0]
        # No command leaves one row of a file.
        choices += [{"skip_rows": f"{lines[0]}-{last}"}] if first.sum() > 1 else []
        reading.ask_of_rows("tables", flags, choices, head=table.heading_line)
        if not first.any():
            # What else is open, the rows below the other headings say alone.
            reading.raise_problems()
        reading.table = table.rows(first)


def _ask_above(reading: Reading, above: dict[int, list[str]]) -> None:
    """Ask about rows above the headings that hold a day and an amount."""
    skip = {line for lines, _ in skipped(reading.options) for line in lines}
    entries = [
        line
        for line, row in above.items()
        if reading.kind != "chart" and _filled(row) > 2 and _is_entry(row) and line not in skip
    ]
    if entries:
        choices, head = [{"skip_rows": ranges(entries)}], reading.table.heading_line
        reading.problems.ask("above", choices, lines=entries[:4], count=len(entries), head=head)


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
        rows = zip(*(column.filter(pa.array(wide)).to_pylist() for column in table.columns), strict=True)
        # Rows of another table have no day and amount below the headings of this one.
        choices = [] if any(map(_is_entry, rows)) else [table.skip(wide)]
        facts = {"width": len(table.headings), "head": table.heading_line}
        reading.ask_of_rows("width", wide, choices, is_doubtful=True, **facts)


def _numeric(table: Table, raw: RawTable) -> frozenset[int]:
    """Return the columns of which each filled cell is a number of the workbook."""
    rows = table.lines - raw.lines[0]
    return frozenset(
        place
        for place, (column, numbers) in enumerate(zip(table.columns, raw.numbers, strict=False))
        if (filled := ~cells.blank(column)).any() and numbers[rows][filled].all()
    )


def _currency_above(rows: Sequence[Sequence[str]]) -> str:
    """Return the currency that stands above the table: Currency: EUR, or beside an amount."""
    filled = [[*filter(None, map(str.strip, row))] for row in rows]
    for row in filled:
        for name, value in pairwise(row):
            if "currency" in fields_of(name.rstrip(":"), "entries") and terms.currencies_of(value):
                return value
    units = (amount.currency for row in filled for cell in row if (amount := money(cell)) and amount.digits)
    return next(filter(None, units), "")


def _of_sheets(readings: Sequence[Reading], raw_tables: Sequence[RawTable]) -> Reading:
    """Return the sheet that has all needed fields, or sheets with equal headings as one; else it is asked."""
    most = max(map(_known_fields, readings))
    same = [one for one in readings if _known_fields(one) == most]
    best = sorted(same, key=lambda one: -len(one.table.lines))
    reading, tables = best[0], [one.table for one in best]
    names = [table.sheet for table in tables]
    if len(best) > 1 and reading.table.is_known and len({table.headings for table in tables}) == 1:
        return _joined(same, raw_tables)
    if len(best) > 1:
        sheets = ", ".join(f"{table.sheet} ({len(table.lines)})" for table in tables)
        # What else is open, each sheet says alone.
        problem = Problem("sheets", {"sheets": sheets}, [{"sheet": name} for name in names])
        raise question(reading.source.name, reading.kind, reading.options, [problem])
    if unread := [raw.sheet for raw in raw_tables if raw.sheet not in names]:
        reading.note("sheet_read", name=reading.table.sheet, names=unread)
    return reading


def _known_fields(reading: Reading) -> int:
    """Return how many needed fields a sheet has under headings that are known; a proven one has more."""
    is_proven = bool(reading.totals)
    return needed_in(reading.kind, frozenset(reading.places)) + is_proven if reading.table.is_known else 0


def _joined(readings: Sequence[Reading], raw_tables: Sequence[RawTable]) -> Reading:
    """Return sheets with the same headings as one, whose lines are counted on from sheet to sheet."""
    whole, tables = readings[0], [one.table for one in readings]
    last_lines = {raw.sheet: int(raw.lines[-1]) for raw in raw_tables}
    before = np.cumsum([0, *(last_lines[table.sheet] for table in tables)])
    columns = zip(*(table.columns for table in tables), strict=True)
    whole.table = replace(
        whole.table,
        columns=[*map(cells.end_to_end, columns)],
        lines=np.concatenate([table.lines + end for table, end in zip(tables, before, strict=False)]),
        numeric=frozenset.intersection(*(table.numeric for table in tables)),
        beyond=(),
    )
    whole.problems += [one for other in readings[1:] for one in other.problems if one not in whole.problems]
    whole.note("sheets_together", names=[table.sheet for table in tables])
    return whole


def read_headed(path: str | PathLike[str], headings: Collection[str], sheet: str) -> Table:
    """Return a sheet below the row with most of these headings, as bktools itself wrote it."""
    source = Source(path, "entries")
    raw = source.read(checked({"sheet": sheet})).raw_tables[0]
    top = max(range(len(raw.head)), key=lambda at: len({*headings}.intersection(raw.head[at])))
    table = rows_below(raw, top, source.name)
    for place, column in enumerate(table.columns):
        cells.refuse(table, place, cells.matches(column, cells.LACKS_VALUE), "broken_cell")
    return replace(table, sha256=source.sha256)
