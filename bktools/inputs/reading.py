"""A file that is being read: its table, each field's column, what is open, and what to know."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import pyarrow as pa

from bktools.caller import is_command
from bktools.errors import FileNoteWarning, InputError, QuestionError
from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.columns import assigned, shown_columns
from bktools.inputs.heading_row import NEEDED, joined, rows_below, table_of
from bktools.inputs.notes import Note, note
from bktools.inputs.options import Options
from bktools.inputs.question import Problems, question
from bktools.inputs.source import Source
from bktools.inputs.table import Grid, Mask, Table


@dataclass
class Reading:
    """The state of one reading with its options."""

    source: Source
    options: Options
    table: Table
    places: dict[str, int]
    problems: Problems
    notes: list[Note]
    result: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    # Fields that such a file may lack, as a budget lacks dates.
    may_lack: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of file that it is read as."""
        return self.source.kind

    def has(self, *fields: str) -> bool:
        """Whether each of the fields has a column."""
        return {*fields} <= self.places.keys()

    def is_asked(self, name: str) -> bool:
        """Whether an option names a field's column, or leaves the field out."""
        return name in self.options.columns

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the cells of a field."""
        return self.table.columns[self.places[name]]

    def heading(self, name: str) -> str:
        """Return the heading over the cells of a field."""
        return self.table.headings[self.places[name]]

    def sample(self, name: str) -> list[str]:
        """Return cells of a field that show its type."""
        return self.table.samples[self.places[name]]

    def blank(self, name: str) -> Mask:
        """Return where the cells of a field hold nothing."""
        return cells.blank(self.column(name))

    def or_null(self, name: str) -> pa.ChunkedArray:
        """Return a field's text with nulls for empty cells, or only nulls if the file has no such column."""
        return cells.or_null(self.column(name)) if name in self.places else self.constant(None, schema.TEXT)

    def constant(self, value: object, kind: pa.DataType) -> pa.ChunkedArray:
        """Return a column that says the same in every row."""
        return pa.chunked_array([pa.repeat(pa.scalar(value, kind), len(self.table.lines))])

    def lines(self) -> pa.ChunkedArray:
        """Return the line of the file that each row starts on."""
        return pa.chunked_array([pa.array(self.table.lines, type=schema.COUNT)])

    def free(self) -> list[int]:
        """Return the columns that are no field."""
        return [place for place in range(len(self.table.headings)) if place not in self.places.values()]

    def leave(self, *fields: str) -> None:
        """Take these fields' columns for no field."""
        for name in fields:
            self.places.pop(name, None)

    def note(self, code: str, **facts: Any) -> None:
        """Add a note."""
        self.notes.append(note(code, **facts))

    def ask_of_rows(
        self, code: str, rows: Mask, choices: Sequence[Mapping[str, Any]] = (), **facts: Any
    ) -> None:
        """Add a problem with rows, which its sentence counts and names."""
        if rows.any():
            lines = self.table.lines_of(rows)
            self.problems.ask(code, choices, count=len(lines), lines=lines[:4], **facts)

    def note_rows(self, code: str, rows: Mask, **facts: Any) -> None:
        """Add a note about rows, which its sentence counts and names, where there are any."""
        self.notes += cells.noted(self.table, {code: rows}, **facts)

    def refuse(self, name: str, wrong: Mask, rule: str) -> None:
        """Raise an error that names the first wrong cell of a field, as `cells.refuse` does."""
        cells.refuse(self.table, self.places[name], wrong, rule)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Add an error that is raised meanwhile to the problems and go on."""
        try:
            yield
        except QuestionError:
            raise
        except InputError as error:
            place = f"line {error.line}: " if error.line else ""
            self.problems.ask("wrong_cells", text=f"{place}{error.why}")

    def raise_problems(self) -> None:
        """Raise the question about all that is open; do nothing when nothing is."""
        if self.problems:
            raise question(
                self.source.name, self.kind, self.options, self.problems, shown_columns(self.table)
            )

    def provenance(self, rows: int, own: Mapping[str, int], **more: Any) -> dict[str, Any]:
        """Return what `frame.attrs["bktools"]` says of the file; `own` are the columns that were read."""
        table = self.table
        unread = [
            heading for place, heading in enumerate(table.headings) if place not in own.values() and heading
        ]
        notes = [*table.notes, *self.notes]
        if unread:
            notes.append(
                note("columns_as_text" if self.kind == "entries" else "columns_not_read", names=unread)
            )
        about = {
            "source": table.source,
            "sha256": table.sha256,
            "rows": rows,
            "columns": {name: table.headings[place] for name, place in own.items()},
            "delimiter": table.delimiter,
            "encoding": table.encoding,
            "sheet": table.sheet,
            "heading_line": table.heading_line,
            "headings": [heading for heading in table.headings if heading] if table.heading_line else [],
            "options": self.options.stated(),
            "notes": [one.sentence() for one in notes],
            "note_facts": [{"code": one.code, **one.facts} for one in notes],
        }
        if table.company is not None:
            about["company_in_file"] = table.company
        return {**about, **more}

    def warn_of_notes(self) -> None:
        """Warn the caller of a reader of its notes; a command prints them."""
        notes = [one for one in (*self.table.notes, *self.notes) if not one.is_quiet]
        if notes and not is_command():
            shown = "".join(f"\n- {one.sentence()}" for one in notes)
            # From here: the reader, the function that asks its question, the public reader, and its caller.
            warnings.warn(f"{self.table.source}:{shown}", FileNoteWarning, stacklevel=6)


def opened(source: Source, options: Options) -> Reading:
    """Return a file's table with the columns of its fields; what is open is in its problems."""
    read = source.read(options)
    problems = Problems()
    notes: list[Note] = []
    if read.text and read.text.others:
        code = "encoding" if read.text.is_whole else "encoding_of_no_line"
        problems.ask(
            code,
            [{"encoding": name} for name, _ in read.text.others],
            readings="; ".join(f"{name}: {word}" for name, word in read.text.others),
        )
    elif read.text and not read.text.is_whole:
        notes.append(note("letters_replaced", encoding=read.text.encoding))
    if len(read.grids) > 1:
        table = _of_sheets(read.grids, source, options, problems, notes)
    else:
        table = table_of(read.grids[0], source.kind, options, problems, source.name)
    if table is None or not len(table.lines):
        problems.ask("nothing")
        raise question(source.name, source.kind, options, problems)
    table = replace(table, sha256=source.file.sha256)
    places = assigned(table, source.kind, options, problems)
    return Reading(source, options, table, places, problems, notes)


def _of_sheets(
    grids: Sequence[Grid], source: Source, options: Options, problems: Problems, notes: list[Note]
) -> Table | None:
    """Return the sheet that has all needed fields, or sheets with equal headings as one; else it is asked."""
    rated: list[tuple[int, Grid, Table, Problems]] = []
    for grid in grids:
        own = Problems()
        table = table_of(grid, source.kind, options, own, source.name)
        if table is not None and len(table.lines):
            places = assigned(table, source.kind, options, Problems())
            has_amount = {"debit", "credit"} & places.keys()
            known = [
                name for name in NEEDED[source.kind] if name in places or (name == "amount" and has_amount)
            ]
            rated.append((len(known) if table.is_known else 0, grid, table, own))
    if not rated:
        return None
    best = [one for one in rated if one[0] == max(known for known, *_ in rated)]
    _, grid, table, own = max(best, key=lambda one: len(one[2].lines))
    names = [other.sheet for _, _, other, _ in best]
    if len(best) > 1 and table.is_known and len({other.headings for _, _, other, _ in best}) == 1:
        for *_, others in best:
            problems.extend(problem for problem in others if problem not in problems)
        return joined([one[1] for one in best], [one[2] for one in best])
    problems.extend(own)
    if len(best) > 1:
        by_size = sorted(best, key=lambda one: -len(one[2].lines))
        problems.ask(
            "sheets",
            [{"sheet": other.sheet} for _, _, other, _ in by_size],
            sheets=", ".join(f"{other.sheet} ({len(other.lines)})" for _, _, other, _ in best),
        )
    elif unread := [one.sheet for one in grids if one.sheet not in names]:
        notes.append(note("sheet_read", name=table.sheet, names=unread))
    return table


def read_headed(path: str | PathLike[str], headings: Collection[str], sheet: str) -> Table:
    """Return a sheet below the row with most of these headings, as bktools itself wrote it."""
    source = Source(path, "entries")
    grid = source.read(Options(sheet=sheet)).grids[0]
    known = {*headings}
    top = max(range(len(grid.head)), key=lambda at: len(known.intersection(grid.head[at])))
    table = rows_below(grid, top, source.name)
    broken = table.broken()
    if broken:
        line, place = next(iter(broken))
        raise table.error(f"the cell {broken[line, place]}: save the workbook in a spreadsheet", line)
    return replace(table, sha256=source.file.sha256)
