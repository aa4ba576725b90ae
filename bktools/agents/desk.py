"""`Desk`: the tools of an assistant. Each runs a command of bktools that reads or plans."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import polars as pl
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from bktools.agents.answers import MOST_ROWS, Command, Facts
from bktools.agents.folders import Folders
from bktools.caller import in_shell
from bktools.errors import ArgumentError, BktoolsError

Kind = Literal["chart", "entries", "ledger"]
FilePath = Annotated[str, Field(description="A file below the folders of the server.")]
Month = Annotated[str, Field(description="Such as 2026-10.", pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]
Source = Annotated[str, Field(description="A file of entries, or the name of a table of an earlier answer.")]
Keys = Annotated[
    list[str],
    Field(description="category, account, employee, supplier, month, cost_centre, company or a column."),
]
First = Annotated[int, Field(ge=1)]
Where = Annotated[dict[str, str] | None, Field(description="Columns with the text of the value wanted.")]

# In the order of a close.
TOOLS = (
    *("check", "load_categories", "load_employees", "read_file", "reconcile", "plan_export", "close_month"),
    *("verify", "rows", "spend", "versus", "guide"),
)
# Where a command writes its tables, and a plan, in the folder of its call.
RESULT, PLAN = "result", "export.plan"
# Seconds: a close of 100,000 entries takes about a minute.
LONGEST = 1800.0


@dataclass(frozen=True)
class Call:
    """A command that a tool runs, with a folder of its own for the results.

    Parameters
    ----------
    command : str
        Its name, such as "export compose".
    options : mapping
        The values by the names of the options; None for an option that is not used.
    written : mapping
        The files and folders that it writes to the folder, by the names of the options.
    files : sequence
        The arguments that are no options.
    tables : tuple of str
        The CSV files that the answer has, by their names in `RESULT`, the most telling one first.
    for_person : callable, optional
        Takes the facts of the answer and the folder; returns the command that a person may run, or None.
    """

    command: str
    options: Mapping[str, Any]
    written: Mapping[str, str]
    files: Sequence[object] = ()
    tables: tuple[str, ...] = ()
    for_person: Callable[[Facts, Path], str | None] = lambda *_: None

    def line(self, folder: Path) -> list[str]:
        """Return the words of the command; a value cannot be read as another option."""
        words = [*self.command.split(), "--format=json", "--profile=machine", "--quiet"]
        for name, value in self.options.items():
            for each in value if isinstance(value, list) else [value]:
                words += [] if each is None else [f"--{name}={each}"]
        words += [f"--{name}={folder / value}" for name, value in self.written.items()]
        return [*words, "--", *map(str, self.files)]

    def tables_in(self, folder: Path) -> list[Path]:
        """Return the files of the tables that the command wrote to its folder."""
        files = [folder / RESULT / f"{name}.csv" for name in self.tables]
        return [file for file in files or [folder / f"{self.command}.csv"] if file.is_file()]


@dataclass(frozen=True)
class Desk:
    """The tools of an assistant.

    Parameters
    ----------
    environment, company : mapping
        The options that select both, in each command: no tool takes others.
    folders : Folders
        Where files are read, and results are written.
    """

    environment: Mapping[str, str]
    company: Mapping[str, str]
    folders: Folders

    @property
    def books(self) -> Mapping[str, str]:
        """The options that select environment and company."""
        return {**self.environment, **self.company}

    def check(self) -> Call:
        """Check configuration, service, company, journal and disk. Begin with it."""
        return self._table("check", self.books)

    def load_categories(self) -> Call:
        """Load the company's bookkeeping categories, each with its account."""
        return self._table("categories", self.books)

    def load_employees(self) -> Call:
        """Load the company's employees."""
        return self._table("employees", self.books)

    def read_file(self, *, path: FilePath, kind: Kind) -> Call:
        """Read a chart of accounts, accounting entries or a general ledger: how it is read, what is asked.

        What is asked is an error: a person answers it with the command that it names, and --save-mapping
        NAME. Later calls read the file with that mapping.
        """
        return self._table(kind, {}, self.folders.file(path))

    def reconcile(self, *, chart: FilePath) -> Call:
        """Compare the ERP's chart of accounts with the accounts and categories of the service."""
        options = {"chart": self.folders.file(chart), **self.books}
        creates = _line("accounts create", options)
        return Call(
            "reconcile",
            options,
            {"out": RESULT},
            tables=("findings", "actions", "coverage"),
            for_person=lambda facts, _: creates if facts["accounts"].get("create") else None,
        )

    def plan_export(
        self, *, entries: FilePath, ledger: FilePath | None = None, month: Month | None = None
    ) -> Call:
        """Check entries and write the plan of their export to a file. Nothing is sent: a person sends it.

        With a ledger, entries that the books hold already, or may hold, are held back.
        """

        def submit(facts: Facts, folder: Path) -> str | None:
            options = {"plan": facts["plan_id"], **self.environment}
            return _line("export submit", options, folder / PLAN) if facts["entries"] else None

        return Call(
            "export compose",
            {"ledger": self._file(ledger), "month": month, **self.books},
            {"csv": RESULT, "out": PLAN},
            [self.folders.file(entries)],
            tables=("export_findings", "export_not_ready", "export_entries"),
            for_person=submit,
        )

    def close_month(
        self, *, chart: FilePath, entries: FilePath, month: Month, ledger: FilePath | None = None
    ) -> Call:
        """Prepare the close of a month: reconcile, plan the export, write the report. Nothing is sent."""
        files = {"chart": self._file(chart), "entries": self._file(entries), "ledger": self._file(ledger)}
        options = {**files, "month": month, **self.books}
        sent = {**options, "out": self.folders.roots[0] / f"month-end-{month}"}
        return Call(
            "month-end",
            options,
            {"out": RESULT},
            tables=("to_do", "entries"),
            for_person=lambda *_: _line("month-end", sent),
        )

    def verify(self, *, ledger: FilePath, month: Month | None = None) -> Call:
        """Check that exported entries arrived in the general ledger; by default those of its months."""
        options = {"ledger": self._file(ledger), "month": month, **self.books}
        tables = ("ledger_findings", "ledger_entries", "ledger_open_groups")
        return Call("verify", options, {"out": RESULT}, tables=tables)

    def rows(self, *, table: str, where: Where = None, from_row: First = 1) -> Facts:
        """List the rows of a table of an earlier answer, 50 at most: all, or those with some values.

        Such as the findings of one check, or the entries of one supplier.
        """
        rows = pl.read_csv(self.folders.table(table), infer_schema=False)
        if unknown := {*(where or {})} - {*rows.columns}:
            raise ArgumentError(
                "where", f"must name columns of the table: {', '.join(rows.columns)}", min(unknown)
            )
        rows = rows.filter(*(pl.col(column) == value for column, value in (where or {}).items()))
        shown = rows.slice(from_row - 1, MOST_ROWS).to_dicts()
        return {"rows_in_all": len(rows), "from_row": from_row, "rows": shown}

    def spend(self, *, entries: Source, by: Keys) -> Call:
        """Add up entries by keys, exactly and by currency."""
        return self._table("spend", {"by": by, **self.books}, self._source(entries))

    def versus(self, *, this: Source, that: Source, by: Keys, threshold: str | None = None) -> Call:
        """Compare two months of entries, or a month and a budget: differences of at least the threshold."""
        options = {"by": by, "threshold": threshold, **self.books}
        return self._table("versus", options, self._source(this), self._source(that))

    def guide(self, *, topic: str | None = None) -> Call:
        """Read the guide of bktools: the lines of a page, of all that have a word, or of all pages."""
        return self._table("guide", {}, *filter(None, [topic]))

    def _table(self, command: str, options: Mapping[str, Any], *files: object) -> Call:
        """Return the call of a command whose result is one table."""
        return Call(command, options, {"output": f"{command}.csv"}, files)

    def _file(self, path: str | None) -> Path | None:
        return None if path is None else self.folders.file(path)

    def _source(self, source: str) -> Path:
        return (self.folders.table if source in self.folders.tables else self.folders.file)(source)


def _line(command: str, options: Mapping[str, Any], *files: object) -> str:
    """Return a command for a person, who sends with it."""
    values = [f"--{name} {in_shell(str(value))}" for name, value in options.items() if value is not None]
    return " ".join(["bktools", command, *(in_shell(str(file)) for file in files), *values, "--apply"])


def adapter(desk: Desk, tool: str) -> TypeAdapter[Call | Facts]:
    """Return the check of a tool's arguments, with their schema; it looks for their types in this file."""
    return TypeAdapter(getattr(desk, tool))


async def answer(desk: Desk, tool: str, arguments: Mapping[str, Any]) -> Facts:
    """Check the arguments of a tool, run its command, and return the answer as facts."""
    if tool not in TOOLS:
        raise ArgumentError("tool", f"must be one of {', '.join(TOOLS)}", tool)
    try:
        call = adapter(desk, tool).validate_python(ArgsKwargs((), dict(arguments)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ArgumentError(".".join(map(str, first["loc"])), f"is refused: {first['msg']}") from None
    if not isinstance(call, Call):
        return dict(call)
    folder = desk.folders.new(tool)
    facts = await run(call, folder)
    if "error" in facts:
        return facts
    command = call.for_person(facts, folder)
    tables = [desk.folders.summary(file) for file in call.tables_in(folder)]
    # Rows that the file of a table has are not listed twice.
    shown = {
        name: value for name, value in facts.items() if not (isinstance(value, list) and name in call.tables)
    }
    return {
        "folder_of_results": folder,
        **({"person_runs": Command(command)} if command else {}),
        "tables": tables,
        **(shown or desk.rows(table=tables[0]["table"])),
    }


async def run(call: Call, folder: Path) -> Facts:
    """Return what a command prints as JSON; the command of a late or cancelled call is killed.

    It runs without --apply, and with a service that is only read.
    """
    variables = os.environ | {"BKTOOLS_READ_ONLY": "1"}
    try:
        with anyio.fail_after(LONGEST):
            line = [sys.executable, "-m", "bktools", *call.line(folder)]
            done = await anyio.run_process(line, input=b"", check=False, env=variables)
        # The result of some commands is a table alone.
        facts: Facts = {} if not done.stdout and call.tables_in(folder) else json.loads(done.stdout)
    except TimeoutError:
        raise BktoolsError(f"took longer than {LONGEST:g} s and was ended: ask for less at once") from None
    except ValueError:
        raise BktoolsError("its process ended without an answer, such as for lack of memory") from None
    return facts
