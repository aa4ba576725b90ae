"""The result of a command: text or a table for people, data for programs.

Where standard output is data, everything else is on standard error.
"""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bktools.cli.formats import SUFFIXES, to_json, write_table
from bktools.cli.options import PROFILE, checked, option
from bktools.errors import ArgumentError
from bktools.progress import note
from bktools.wording import LANGUAGES, Sentence, Words, words
from bktools.wording.numbers import number

if TYPE_CHECKING:
    import pandas as pd


# Formats of a result that is no table, and of a table on standard output.
TextFormat = StrEnum("TextFormat", ["TEXT", "JSON"])
TableFormat = StrEnum("TableFormat", ["TABLE", "CSV", "JSON"])


def _check_output(file: Path) -> None:
    if file.suffix.lower() not in SUFFIXES:
        raise ArgumentError("--output", Sentence("rule.suffix", suffixes=", ".join(SUFFIXES)), str(file))


OUTPUT = option(
    "--output FILE",
    f"Write all rows and columns to this file; its suffix decides: {' '.join(SUFFIXES)}.",
    callback=checked(_check_output),
)


def by_name(rows: pd.DataFrame, names: Sequence[str], within: Sequence[str]) -> pd.DataFrame:
    """Return rows by their names, within groups that stay in their order."""
    places = rows.groupby([*within], dropna=False, sort=False).ngroup()
    ordered = rows.assign(place=places).sort_values(["place", *names], kind="stable")
    return rows.loc[ordered.index]


def counts(values: Iterable[str]) -> str:
    """Return the count of each value, the most frequent first; empty without values."""
    language = words().language
    return ", ".join(f"{number(count, language)} {value}" for value, count in Counter(values).most_common())


def in_order(frame: pd.DataFrame, column: str, values: Iterable[str]) -> pd.DataFrame:
    """Return the rows in the order of a column's values; others last."""
    ranks = {value: rank for rank, value in enumerate(values)}
    return frame.sort_values(
        column, key=lambda cells: cells.map(ranks).fillna(len(ranks)), kind="stable", ignore_index=True
    )


def show(
    frame: pd.DataFrame,
    *,
    most: int = 50,
    whole: str = "| cat",
    titles: Mapping[str, str] | None = None,
) -> None:
    """Print a frame: on a terminal what fits, elsewhere every row and column, separated by tabs.

    `whole` is what to add to the command so that it shows everything, for the note; `titles` are headings by
    the names of columns.
    """
    from bktools.frames.tables import in_memory
    from bktools.widgets.show import Shown, in_a_pipe

    texts, table = words(), in_memory(frame)
    names = table.column_names
    headings = {name: _heading(texts, name) for name in names} | {**(titles or {})}
    shown = Shown(names, table.slice(0, most), most, len(table), whole=whole, titles=headings)
    if sys.stdout.isatty():
        typer.echo(shown)
    else:
        lines = [[headings[name] for name in names], *in_a_pipe(table)]
        typer.echo("\n".join("\t".join(line) for line in lines))
        if shown.no_percent:
            note(shown.no_percent)


def _heading(texts: Words, name: str) -> str:
    """Return the heading of a column: in English its own name, which programs know it by."""
    key = f"report.column.{name}"
    return texts(key) if texts.language != LANGUAGES[0] and texts.has(key) else name


@dataclass(frozen=True)
class Text:
    """The option for a result that is no table: lines for people, or one JSON object for programs."""

    format: TextFormat = option("--format text|json", "In JSON amounts are text, times UTC.", TextFormat.TEXT)

    @property
    def is_for_people(self) -> bool:
        """Whether the result is shown to a person, not given to a program."""
        return self.format is TextFormat.TEXT

    def say(self, line: str) -> None:
        """Write a line of the result; where the result is data, a note on standard error."""
        if self.is_for_people:
            typer.echo(line)
        else:
            note(line.strip("\n"))

    def report(self, /, *lines: str, **values: Any) -> None:
        """Write the result: lines for people (without empty ones), values as one JSON object."""
        for line in filter(None, lines):
            self.say(line)
        if not self.is_for_people:
            write_json(values)


@dataclass(frozen=True)
class Table:
    """The options for a result that is a table: its format on standard output, or its file."""

    format: TableFormat = option("--format FORMAT", "table, csv or json.", TableFormat.TABLE)
    output: Path | None = OUTPUT
    profile: str = PROFILE

    @property
    def is_for_people(self) -> bool:
        """Whether the table is shown to a person, not given to a program or written to a file."""
        return self.format is TableFormat.TABLE and self.output is None

    def hand_over(
        self,
        frame: pd.DataFrame,
        *,
        columns: list[str] | None = None,
        most: int = 50,
        titles: Mapping[str, str] | None = None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Write a table to the file, or to standard output in the format.

        People get the given columns with their titles, in a terminal at most so many rows, and in place of
        codes their names, which are in a section of the wording by column. Files, CSV and JSON have all rows,
        columns and codes, files with the titles; CSV in a file has the profile, on standard output that for
        programs.
        """
        from bktools.frames.tables import in_memory

        if self.output is not None:
            # Exact first: by another name, amounts are not known as such.
            exact = in_memory(frame)
            titled = exact.rename_columns([(titles or {}).get(name, name) for name in exact.column_names])
            write_table(titled, self.output, self.output.suffix.lower(), self.profile)
            note(words()("command.written", count=len(frame), file=self.output))
        elif self.is_for_people:
            shown = frame if columns is None else frame[columns]
            for column, section in (names or {}).items():
                named = shown[column].map(partial(words().name, section), na_action="ignore")
                shown = shown.assign(**{column: named})
            show(shown, most=most, whole=f"--output {words()('placeholder.file')}", titles=titles)
        else:
            content = io.BytesIO()
            write_table(frame, content, f".{self.format}", "machine")
            _write_out(content.getvalue())

    def hand_over_rows(self, columns: str, rows: Sequence[Sequence[Any]], **shown: Any) -> None:
        """Write rows as a table, by the names of its columns; `shown` is as for `hand_over`."""
        import pandas as pd

        self.hand_over(pd.DataFrame(rows, columns=columns.split()), **shown)


def write_json(value: Any) -> None:
    """Write a value to standard output as JSON for people and programs."""
    import msgspec

    _write_out(msgspec.json.format(to_json(value), indent=2) + b"\n")


def _write_out(data: bytes) -> None:
    """Write data to standard output: in a terminal as visible text, elsewhere unchanged."""
    stream: Any = sys.stdout
    if stream.isatty():
        stream.write(data.decode("utf-8", "replace"))
        return
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()
