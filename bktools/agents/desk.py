"""`Desk`: the tools of an assistant. Each runs a command of bktools that reads or plans."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import polars as pl
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from bktools.agents.answers import MOST_ITEMS, Command, Facts
from bktools.agents.folders import Folders, summary, table_of
from bktools.caller import in_shell
from bktools.errors import ArgumentError, BktoolsError
from bktools.wording import Sentence

Kind = Literal["chart", "entries", "ledger"]
FilePath = Annotated[str, Field(description="A file below the folders of the server.")]
Month = Annotated[str, Field(description="Such as 2026-10.", pattern=r"^\d{4}-(0[1-9]|1[0-2])$")]
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


@dataclass(frozen=True)
class Call:
    """A command that a tool runs, with a folder of its own for the results.

    Parameters
    ----------
    folder : Path
        Its folder.
    command : str
        Its name, such as "export compose".
    options : mapping
        The values by the names of the options; None for an option that is not used.
    files : sequence
        The arguments that are no options.
    tables : tuple of str
        The CSV files that it writes for the answer, the most telling one first.
    person_runs : str
        The command with which a person sends what was prepared, "" where there is nothing to send.
    """

    folder: Path
    command: str
    options: Mapping[str, object]
    files: Sequence[object] = ()
    tables: tuple[str, ...] = ()
    person_runs: str = ""

    @property
    def line(self) -> list[str]:
        """The words of the command; a value cannot be read as another option."""
        words = [*self.command.split(), "--format=json", "--profile=machine", "--quiet"]
        for name, value in self.options.items():
            for each in value if isinstance(value, list) else [value]:
                words += [] if each is None else [f"--{name}={each}"]
        return [*words, "--", *map(str, self.files)]


@dataclass(frozen=True)
class Desk:
    """The tools of an assistant.

    Parameters
    ----------
    books : mapping
        The options that select environment and company, in each command: no tool takes others.
    folders : Folders
        Where files are read, and results are written.
    """

    books: Mapping[str, str]
    folders: Folders

    def check(self) -> Call:
        """Check configuration, service, company and journal. Begin with it."""
        return self._call("check", self.books)

    def load_categories(self) -> Call:
        """Load the company's bookkeeping categories, each with its account."""
        return self._call("categories", self.books)

    def load_employees(self) -> Call:
        """Load the company's employees."""
        return self._call("employees", self.books)

    def read_file(self, *, path: FilePath, kind: Kind) -> Call:
        """Read a chart of accounts, accounting entries or a general ledger: how it is read, what is asked.

        What is asked is an error: a person answers it with the command that it names, and --save-mapping
        NAME. Later calls read the file with that mapping.
        """
        return self._call(kind, {}, self.folders.file(path))

    def reconcile(self, *, chart: FilePath) -> Call:
        """Compare the ERP's chart of accounts with the accounts and categories of the service."""
        options = {"chart": self.folders.file(chart), **self.books}
        tables = ("findings", "actions", "coverage")
        return self._call(
            "reconcile", options, tables=tables, person_runs=_applied("accounts create", options)
        )

    def plan_export(
        self, *, entries: FilePath, ledger: FilePath | None = None, month: Month | None = None
    ) -> Call:
        """Check entries and write the plan of their export to a file. Nothing is sent: a person sends it.

        With a ledger, entries that the books hold already, or may hold, are held back.
        """
        file, options = self.folders.file(entries), {"ledger": self._file(ledger), "month": month}
        folder = self.folders.new("plan_export")
        plan = folder / "export.plan"
        return Call(
            folder,
            "export compose",
            {**options, **self.books, "csv": folder, "out": plan},
            [file],
            ("export_findings", "export_not_ready", "export_entries"),
            _applied("export submit", {"environment": self.books["environment"]}, plan),
        )

    def close_month(
        self, *, chart: FilePath, entries: FilePath, month: Month, ledger: FilePath | None = None
    ) -> Call:
        """Prepare the close of a month: reconcile, plan the export, write the report. Nothing is sent."""
        files = {"chart": self._file(chart), "entries": self._file(entries), "ledger": self._file(ledger)}
        options = {**files, "month": month, **self.books}
        sent = {**options, "out": self.folders.roots[0] / f"month-end-{month}"}
        return self._call(
            "month-end", options, tables=("to_do", "entries"), person_runs=_applied("month-end", sent)
        )

    def verify(self, *, ledger: FilePath, month: Month | None = None) -> Call:
        """Check that exported entries arrived in the general ledger; by default those of its months."""
        options = {"ledger": self._file(ledger), "month": month, **self.books}
        tables = ("ledger_findings", "ledger_entries", "ledger_open_groups")
        return self._call("verify", options, tables=tables)

    def rows(self, *, file: FilePath, where: Where = None, from_row: First = 1) -> Facts:
        """List the rows of a table of an earlier answer, 50 at most: all, or those with some values.

        Such as the findings of one check, or the entries of one supplier.
        """
        rows = table_of(self.folders.file(file))
        if unknown := {*(where or {})} - {*rows.columns}:
            columns = Sentence("agent.columns", columns=", ".join(rows.columns))
            raise ArgumentError("where", columns, min(unknown))
        rows = rows.filter(*(pl.col(column) == value for column, value in (where or {}).items()))
        shown = rows.slice(from_row - 1, MOST_ITEMS).to_dicts()
        return {"rows_in_all": len(rows), "from_row": from_row, "rows": shown}

    def spend(self, *, entries: FilePath, by: Keys) -> Call:
        """Add up entries by keys, exactly and by currency."""
        return self._call("spend", {"by": by, **self.books}, self._file(entries))

    def versus(self, *, this: FilePath, that: FilePath, by: Keys, threshold: str | None = None) -> Call:
        """Compare two months of entries, or a month and a budget: differences of at least the threshold."""
        options = {"by": by, "threshold": threshold, **self.books}
        return self._call("versus", options, self._file(this), self._file(that))

    def guide(self, *, topic: str | None = None) -> Call:
        """Read the guide of bktools: the lines of a page, of all that have a word, or of all pages."""
        return self._call("guide", {}, *filter(None, [topic]))

    def _call(
        self,
        command: str,
        options: Mapping[str, object],
        *files: object,
        tables: tuple[str, ...] = (),
        person_runs: str = "",
    ) -> Call:
        """Return the call of a command that writes its tables to a folder, or one table to a file."""
        folder = self.folders.new(command)
        written = {"out": folder} if tables else {"output": folder / f"{command}.csv"}
        return Call(folder, command, {**options, **written}, files, tables or (command,), person_runs)

    def _file(self, path: str | None) -> Path | None:
        return None if path is None else self.folders.file(path)


def _applied(command: str, options: Mapping[str, object], *files: object) -> str:
    """Return a command for a person, who sends with it."""
    values = [f"--{name} {in_shell(str(value))}" for name, value in options.items() if value is not None]
    return " ".join(["bktools", command, *(in_shell(str(file)) for file in files), *values, "--apply"])


def adapter(desk: Desk, tool: str) -> TypeAdapter[Call | Facts]:
    """Return the check of a tool's arguments, with their schema; it looks for their types in this file."""
    return TypeAdapter(getattr(desk, tool))


async def answer(desk: Desk, tool: str, arguments: Mapping[str, Any]) -> Facts:
    """Check the arguments of a tool, run its command, and return the answer as facts."""
    if tool not in TOOLS:
        raise ArgumentError("tool", Sentence("rule.one_of", choices=", ".join(TOOLS)), tool)
    try:
        call = adapter(desk, tool).validate_python(ArgsKwargs((), dict(arguments)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        named = ".".join(map(str, first["loc"]))
        raise ArgumentError(named, Sentence("agent.refused", why=first["msg"])) from None
    if not isinstance(call, Call):
        return dict(call)
    facts = await run(call)
    if "error" in facts:
        return facts
    files = [call.folder / f"{name}.csv" for name in call.tables]
    tables = [summary(file) for file in files if file.is_file()]
    # Rows that the file of a table has are not listed twice.
    shown = {
        name: value for name, value in facts.items() if not (isinstance(value, list) and name in call.tables)
    }
    return {
        "folder_of_results": call.folder,
        **({"person_runs": Command(call.person_runs)} if call.person_runs else {}),
        "tables": tables,
        **(shown or desk.rows(file=str(tables[0]["file"]))),
    }


async def run(call: Call) -> Facts:
    """Return what a command prints as JSON; the command of a cancelled call is killed.

    It runs without --apply, and with a service that is only read.
    """
    line, variables = [sys.executable, "-m", "bktools", *call.line], os.environ | {"BKTOOLS_READ_ONLY": "1"}
    done = await anyio.run_process(line, input=b"", check=False, env=variables)
    if not (done.stdout or done.returncode):
        return {}  # the result of some commands is a table alone
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        raise BktoolsError(Sentence("agent.no_answer")) from None
