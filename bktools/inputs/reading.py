"""A file that is being read: its table, each field's column, what is open, and what to know.

It is read by the steps of its kind; what a step finds open is asked before the next one begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.caller import is_command, warn_caller
from bktools.errors import FileNoteWarning, InputError
from bktools.frames import schema
from bktools.inputs import cells, terms
from bktools.inputs.fields import Column, of_kind
from bktools.inputs.formats.format import Books, Total
from bktools.inputs.notes import Note, note
from bktools.inputs.options import Options
from bktools.inputs.question import Problems, answered, question, wrong_cells
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Mask, Table


@dataclass
class Reading:
    """The state of one reading with its options."""

    source: Source
    options: Options
    table: Table
    places: dict[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    notes: list[Note] = field(default_factory=list)
    # The typed columns, those that are no field, and what `frame.attrs["bktools"]` says beside.
    result: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    others: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    # The file's own names of what the service has IDs for, by field.
    own_names: dict[str, int] = field(default_factory=dict)
    # Fields that such a file may lack, as a budget lacks dates.
    may_lack: frozenset[str] = frozenset()
    # The totals that the file states of its postings, and what else contradicts them.
    totals: list[Total] = field(default_factory=list)
    doubts: list[Note] = field(default_factory=list)
    # The lines of postings whose amount has the other sign.
    turned: frozenset[int] = frozenset()
    # The columns with all rows, also those that are left out.
    whole: Sequence[pa.ChunkedArray] = ()
    # The columns of a table that were looked at.
    _seen: dict[int, Column] = field(default_factory=dict)
    _seen_of: Table | None = None
    # What the file's format says; None for a table of no format.
    books: Books | None = None

    def __post_init__(self) -> None:
        """Keep the file's own headings, and what its format states of the postings."""
        self.file_headings = self.table.headings
        if self.books is not None:
            self.totals += self.books.totals
            self.doubts += self.books.doubts

    @property
    def kind(self) -> str:
        """The kind of file that it is read as."""
        return self.source.kind

    def has(self, *fields: str) -> bool:
        """Whether each of the fields has a column."""
        return {*fields} <= self.places.keys()

    @property
    def asked(self) -> Mapping[str, str]:
        """The headings that options name, by field; "" leaves a field out."""
        asked: Mapping[str, str] = self.options.get("columns", {})
        return asked

    def is_asked(self, name: str) -> bool:
        """Whether an option names a field's column, or leaves the field out."""
        return name in self.asked

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the cells of a field."""
        return self.table.columns[self.places[name]]

    def heading(self, name: str) -> str:
        """Return the heading over the cells of a field."""
        return self.table.headings[self.places[name]]

    def seen(self, place: int) -> Column:
        """Return a column with its heading and cells that show its type."""
        if self._seen_of is not self.table:
            self._seen_of, self._seen = self.table, {}
        if place not in self._seen:
            table = self.table
            self._seen[place] = Column(table.headings[place], table.columns[place], table.samples[place])
        return self._seen[place]

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

    def add(self, name: str, column: pa.ChunkedArray, heading: str | None = None) -> None:
        """Add a column to the table for a field."""
        table = self.table
        self.places[name] = len(table.columns)
        headings = (*table.headings, heading or name)
        self.table = replace(table, headings=headings, columns=[*table.columns, column])

    def put(self, name: str, column: pa.ChunkedArray) -> None:
        """Put other cells into the column of a field."""
        columns = [*self.table.columns]
        columns[self.places[name]] = column
        self.table = replace(self.table, columns=columns)

    def leave(self, *fields: str) -> None:
        """Take these fields' columns for no field."""
        for name in fields:
            self.places.pop(name, None)

    def note(self, code: str, **facts: Any) -> None:
        """Add a note, once."""
        new = note(code, **facts)
        self.notes += [new] if new not in self.notes else []

    def ask_of_rows(
        self, code: str, rows: Mask, choices: Sequence[Mapping[str, Any]] = (), /, **facts: Any
    ) -> None:
        """Add a problem with rows, which its sentence counts and names, where there are any."""
        if rows.any():
            lines = self.table.lines_of(rows)
            self.problems.ask(code, choices, count=len(lines), lines=lines[:4], **facts)

    def note_rows(self, code: str, rows: Mask, /, **facts: Any) -> None:
        """Add a note about rows, which its sentence counts and names, where there are any."""
        self.notes += cells.noted(self.table, code, rows, **facts)

    def refuse(self, name: str, wrong: Mask, code: str, /, **facts: Any) -> None:
        """Raise an error that names the first wrong cell of a field, as `cells.refuse` does."""
        cells.refuse(self.table, self.places[name], wrong, code, **facts)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Add an error that is raised meanwhile to the problems and go on."""
        try:
            yield
        except InputError as error:
            self.problems.append(wrong_cells(error))

    def raise_problems(self) -> None:
        """Raise the question about all that is open; do nothing when nothing is."""
        if self.problems:
            # A format has no columns to choose from.
            columns = self._shown_columns() if self.books is None else ()
            raise question(self.source.name, self.kind, self.options, self.problems, columns)

    def _shown_columns(self) -> list[str]:
        """Return a line for each column with its first different cells, for a question."""
        lines = []
        for heading, column in list(zip(self.table.headings, self.table.columns, strict=True))[:30]:
            filled = [cell.strip() for cell in column.slice(0, 1000).to_pylist() if cell.strip()]
            lines.append(f"  {heading[:30]:30} {', '.join(dict.fromkeys(filled[:50]))[:70]}"[:104].rstrip())
        return lines

    def provenance(self) -> dict[str, Any]:
        """Return what `frame.attrs["bktools"]` says of the file."""
        table, own = self.table, self.own_names | self.places
        unread = [
            heading
            for place, heading in enumerate(self.file_headings)
            if place not in own.values() and heading
        ]
        notes = [*table.notes, *self.notes]
        if unread:
            notes.append(
                note("columns_as_text" if self.kind == "entries" else "columns_not_read", names=unread)
            )
        about = {
            "source": table.source,
            "sha256": table.sha256,
            "rows": len(table.lines),
            "columns": {name: table.headings[place] for name, place in own.items()},
            "delimiter": table.delimiter,
            "encoding": table.encoding,
            "sheet": table.sheet,
            "heading_line": table.heading_line,
            "headings": [*filter(None, map(terms.bare, self.file_headings))] if table.heading_line else [],
            "options": self.options,
            "notes": [one.sentence() for one in notes],
            "note_facts": [{"code": one.code, **one.facts} for one in notes],
        }
        if table.company is not None:
            about["company_in_file"] = table.company
        return about | self.about

    def warn_of_notes(self) -> None:
        """Warn the caller of a reader of its notes; a command prints them."""
        notes = [one for one in (*self.table.notes, *self.notes) if not one.is_quiet]
        if notes and not is_command():
            shown = "".join(f"\n- {one.sentence()}" for one in notes)
            warn_caller(f"{self.table.source}:{shown}", FileNoteWarning)


Step = Callable[[Reading], None]
Finish = Callable[[Reading, pa.Table], pa.Table]


def read_by_steps(
    begin: Callable[[Options], Reading],
    steps: Sequence[Step],
    options: Options,
    columns: pa.Schema,
    *,
    finish: Finish = lambda _, table: table,
    money: str = "float",
) -> pd.DataFrame:
    """Return those columns of a schema that a file has, or raise the one question about it.

    A step puts typed columns into the result of the reading; fields of text are read here.
    """

    def read(options: Options) -> pd.DataFrame:
        reading = begin(options)
        for step in steps:
            step(reading)
            reading.raise_problems()
        result = reading.result
        result |= _texts(reading) | {"line": reading.lines()}
        table = pa.table({name: result[name] for name in columns.names if name in result} | reading.others)
        table = finish(reading, table)
        reading.raise_problems()
        about = reading.provenance()
        reading.warn_of_notes()
        return schema.to_pandas(table, about, money=money)

    return answered(read, options)


def _texts(reading: Reading) -> dict[str, pa.ChunkedArray]:
    """Return the fields of text that no step has read."""
    return {
        field.name: reading.or_null(field.name)
        for field in of_kind(reading.kind).values()
        if field.holds.is_text
        and reading.has(field.name)
        and field.name not in reading.result
        and not (field.seldom and reading.blank(field.name).all())
    }
