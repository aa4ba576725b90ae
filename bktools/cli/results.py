"""The result of a command, in the chosen format. Where it is data, other text is on standard error.

`table`, `lists` and `text` give a command its options; `hand_over`, `say` and `report` follow them.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bktools.cli.exits import Exit
from bktools.cli.formats import SUFFIXES, to_json, write_table
from bktools.cli.options import OUTPUT, Group, expanded, option, profile_option
from bktools.cli.output import TextFormat, tell
from bktools.errors import ArgumentError
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd

STREAM = "-"


class TableFormat(StrEnum):
    """Formats of a table."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"


# The formats that standard output can have, as suffixes of files.
SUFFIX_OF = {"csv": ".csv", "json": ".json", "jsonl": ".jsonl", "markdown": ".md"}

_LIMIT = option("--limit COUNT", "Only the first COUNT rows of each list.", section=OUTPUT, min=1)
_SUMMARY = option(
    "--summary", "Counts and sums instead of rows, by each column of few values.", False, section=OUTPUT
)
_FORMAT = option(
    "--format FORMAT",
    "text, or json: one object, amounts as text, times in UTC.",
    TextFormat.TEXT,
    section=OUTPUT,
)


@dataclass(frozen=True)
class _Output:
    """The options of the output: a format, and the file of a table, whose suffix decides its format."""

    format: TableFormat | TextFormat = TextFormat.TEXT
    file: str = STREAM
    suffix: str = ""
    profile: str | None = None
    limit: int | None = None
    summary: bool = False


_NOTHING = _Output()
_output: ContextVar[_Output] = ContextVar("output", default=_NOTHING)


def _with(group: Callable[..., _Output], command: Callable[..., Exit | None]) -> Callable[..., None]:
    """Return a command with the options of a group, which follow its result; its exit code ends it."""

    @wraps(command)
    def run(output_options: _Output, **values: Any) -> None:
        before = _output.set(output_options)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_: tell(f"bktools: {message}")
                code = command(**values)
        finally:
            _output.reset(before)
        if code:
            raise typer.Exit(code)

    return expanded(run, output_options=Group(group))


def _for_text(format: TextFormat = _FORMAT) -> _Output:
    return _Output(format)


def _for_lists(
    format: TextFormat = _FORMAT,
    limit: int | None = _LIMIT,
    summary: bool = _SUMMARY,
) -> _Output:
    return _Output(format, limit=limit, summary=summary)


def _for_table(
    format: TableFormat | None = option(
        "--format FORMAT",
        f"On standard output: {', '.join(TableFormat)}. In JSON, amounts are text and times UTC.",
        section=OUTPUT,
        show_default="table",
    ),
    output: str | None = option(
        "--output FILE",
        f"Write all rows and columns to this file; its suffix decides: {' '.join(SUFFIXES)}. "
        "- is standard output.",
        section=OUTPUT,
    ),
    profile: str | None = profile_option(None, show_default="excel in a file, machine on standard output"),
    limit: int | None = _LIMIT,
    summary: bool = _SUMMARY,
) -> _Output:
    suffix = SUFFIX_OF.get(format or "", "")
    if output not in {None, STREAM}:
        of_file = Path(str(output)).suffix.lower()
        if of_file not in SUFFIXES:
            raise ArgumentError(
                "--output", f"must end in {', '.join(SUFFIXES)}, or be - for standard output", output
            )
        if format and of_file != suffix:
            raise ArgumentError(
                "--format", f"cannot be {format} with --output {output}, whose suffix decides: leave it out"
            )
        suffix = of_file
    return _Output(format or TableFormat.TABLE, output or STREAM, suffix, profile, limit, summary)


# Decorators of commands whose result is a table, has lists of many rows, or is text or one JSON object.
table = partial(_with, _for_table)
lists = partial(_with, _for_lists)
text = partial(_with, _for_text)


def reserve_output() -> None:
    """Keep standard output for data that the command writes itself: `say` goes to standard error."""
    if _output.get().format != TextFormat.TEXT:
        raise ArgumentError(
            "--format", "cannot be combined with - for standard output: both would be written there"
        )
    _output.set(replace(_output.get(), format=TableFormat.JSONL))


def is_for_people() -> bool:
    """Whether standard output is text to read, not data."""
    output = _output.get()
    return not output.suffix and output.format in {TextFormat.TEXT, TableFormat.TABLE}


def say(text: str) -> None:
    """Write a line of a result that is no table; where the result is data, a note on standard error."""
    if _output.get().format == TextFormat.TEXT:
        typer.echo(text)
    else:
        note(text.strip("\n"))


def report(*lines: str, **values: Any) -> None:
    """Write a result that is no table: lines for people (without empty ones), values as one JSON object."""
    for line in filter(None, lines):
        say(line)
    if _output.get().format == TextFormat.JSON:
        write_json({name: _part(value) for name, value in values.items()})
    elif is_part():
        for name, value in values.items():
            if _is_list(value):
                show_list(name.replace("_", " ").capitalize(), value)


def is_part() -> bool:
    """Whether --limit or --summary is given: lists are shown as these ask, and in no other way."""
    return _output.get().limit is not None or _output.get().summary


def show_list(title: str, rows: Any, *, most: int | None = None, whole: str = "--format json") -> None:
    """Print a list as --limit and --summary ask, by default its first rows; `whole` shows all of it."""
    from bktools.cli.tables import show

    if not is_for_people() or not len(rows):
        return
    part = _frame(_part(rows) if is_part() else rows[:most])
    first = (
        ""
        if _output.get().summary or len(part) == len(rows)
        else f" (the first {len(part):,} of {len(rows):,})"
    )
    typer.echo(f"\n{title}{first}:")
    show(part.dropna(axis="columns", how="all"), whole=whole)


def write_json(value: Any) -> None:
    """Write a value to standard output as JSON for people and programs."""
    import msgspec

    write_out(msgspec.json.format(to_json(value), indent=2) + b"\n")


def _part(value: Any) -> Any:
    """Return what --limit and --summary leave of a table or a list of rows; other values stay as they are."""
    if not is_part() or not _is_list(value):
        return value
    if _output.get().summary:
        from bktools.cli.summary import summary_of

        value = summary_of(_frame(value))
    return value[: _output.get().limit]


def _is_list(value: Any) -> bool:
    """Whether a value is a table or a list of rows."""
    is_rows = isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)
    return is_rows or hasattr(value, "itertuples")


def _frame(rows: Any) -> pd.DataFrame:
    import pandas as pd

    return rows if hasattr(rows, "itertuples") else pd.DataFrame(rows)


def hand_over(
    frame: pd.DataFrame, columns: list[str] | None = None, *, most: int = 50, text: str | None = None
) -> None:
    """Write a table as the options ask.

    People get the given columns in tables and Markdown, at most so many rows in a terminal, or a text
    instead. Files, CSV and JSON have all rows and columns.
    """
    from bktools.cli.tables import show
    from bktools.wording.numbers import counted

    output, rows = _output.get(), len(frame)
    frame = _part(frame)
    shown = frame if columns is None or output.summary else frame[columns]
    if len(frame) < rows and not output.summary:
        note(f"the first {len(frame):,} of {counted(rows, 'row')} (--limit {output.limit})")
    if not output.suffix:
        if text is None or is_part():
            show(shown, most=most, whole="--output FILE")
        else:
            typer.echo(text)
        return
    whole = shown if output.suffix == ".md" else frame
    if output.file != STREAM:
        write_table(whole, Path(output.file), output.suffix, output.profile or "excel")
        note(f"{counted(len(frame), 'row')} written to {output.file}")
        return
    content = io.BytesIO()
    write_table(whole, content, output.suffix, output.profile or "machine")
    write_out(content.getvalue())


def hand_over_rows(rows: list[tuple[Any, ...]], columns: list[str], shown: list[str] | None = None) -> None:
    """Write rows as a table; people get the columns `shown`."""
    import pandas as pd

    hand_over(pd.DataFrame(rows, columns=columns), shown)


def write_out(data: bytes) -> None:
    """Write data to standard output: in a terminal as visible text, elsewhere unchanged."""
    out: Any = sys.stdout
    if out.isatty():
        out.write(data.decode("utf-8", "replace"))
        return
    out.flush()
    out.buffer.write(data)
    out.buffer.flush()
