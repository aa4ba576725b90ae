"""`Desk`: the tools of an assistant. Each calls public functions of bktools and returns an `Answer`."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import polars as pl
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

import bktools
from bktools import disk
from bktools.agents.answers import MOST_ROWS, Answer, Command, Facts
from bktools.agents.dry_run import dry_run, table_of
from bktools.agents.folders import Folders
from bktools.caller import command, in_shell
from bktools.close import verification
from bktools.errors import ArgumentError
from bktools.export.plan_file import write_plan
from bktools.inputs.notes import note_sentences
from bktools.journal.export_jobs import earlier_exports
from bktools.journal.journal import Journal
from bktools.journal.records import this_process
from bktools.journal.right_journal import first_export

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

# Lines of a page of the guide in one answer.
PAGE_LINES = 50
# In the order of a close.
TOOLS = (
    *("check", "load_categories", "load_employees", "read_file", "reconcile", "plan_export", "close_month"),
    *("verify", "rows", "spend", "versus", "guide"),
)


@dataclass(frozen=True)
class Desk:
    """The tools of an assistant for one company.

    Parameters
    ----------
    service : ReadingService
        The client, which cannot create anything.
    company : str
        UUID of the company: no tool takes another one.
    environment : str
        The options that select the environment in a command of a person, such as " --sandbox".
    read : callable
        Reads a file as commands do: takes a reader of bktools, the kind of file, the path, the names of
        mappings, and further arguments of the reader.
    folders : Folders
        Where files are read, and results are written.
    step : callable
        Told the name of each step of a tool; raises when the call was cancelled.
    """

    service: bktools.Service
    company: str
    environment: str
    read: Callable[..., pd.DataFrame]
    folders: Folders
    step: Callable[[str], None]

    def check(self) -> Answer:
        """Check configuration, service, company, clock, journal and disk. Begin with it."""
        return Answer({"checks": bktools.check(self.service.settings.environment, company=self.company)})

    def load_categories(self) -> Answer:
        """Load the company's bookkeeping categories, each with its account."""
        categories = bktools.load_categories(self.company, service=self.service)
        return Answer({"categories": categories}, not_known=categories.attrs["bktools"]["complaints"])

    def load_employees(self) -> Answer:
        """Load the company's employees."""
        employees = bktools.load_employees(self.company, service=self.service)
        return Answer({"employees": employees}, not_known=employees.attrs["bktools"]["complaints"])

    def read_file(self, *, path: FilePath, kind: Kind) -> Answer:
        """Read a chart of accounts, accounting entries or a general ledger: how it is read, what is asked.

        What is asked is an error: a person answers it with bktools chart, entries or ledger and
        --save-mapping NAME. Later calls read the file with that mapping.
        """
        frame = self._read(kind, path)
        about = frame.attrs["bktools"]
        return Answer({kind: frame}, {"headings": about["columns"]}, not_known=note_sentences(about))

    def reconcile(self, *, chart: FilePath) -> Answer:
        """Compare the ERP's chart of accounts with the accounts and categories of the service."""
        accounts = self._read("chart", chart)
        tables = self._tables()
        reconciliation = bktools.reconcile_accounts(accounts, tables["accounts"], tables["categories"])
        creates = (reconciliation.actions["action"] == "create").any()
        create = f"accounts create --chart {self._word(chart)} --apply{self._company}"
        return Answer(
            {
                "summary": reconciliation.summary,
                "findings": reconciliation.findings,
                "actions": reconciliation.actions,
                "coverage": reconciliation.coverage,
            },
            {"looks_like_another_company": reconciliation.another_chart or None},
            not_known=reconciliation.unchecked,
            person_runs=self._for_person(create) if creates else None,
        )

    def plan_export(
        self, *, entries: FilePath, ledger: FilePath | None = None, month: Month | None = None
    ) -> Answer:
        """Check entries and write the plan of their export to a file. Nothing is sent: a person sends it.

        With a ledger, entries that the books hold already, or may hold, are held back.
        """
        self.folders.file(entries)
        tables = self._tables(max_age=0)
        rows = self._read("entries", entries, **_named(tables), required=("category_id",))
        postings = self._read("ledger", ledger) if ledger else None
        self.step("plan")
        with Journal(self.service.settings) as journal:
            before, question = earlier_exports(journal, self.company), first_export(journal, self.company)
        plan = bktools.compose_export_jobs(
            rows,
            **tables,
            **before,
            ledger=postings,
            company=self.company,
            month=month,
        )
        return Answer(
            {
                "summary": plan.needs_action,
                "findings": plan.findings,
                "not_ready": plan.not_ready,
                "ready": plan.entries,
            },
            {"plan_id": plan.plan_id, "jobs": len(plan.batches), "nothing_sent": True},
            not_known=[*plan.unchecked, *map(str, filter(None, [question]))],
            person_runs=self._plan_file(plan) if len(plan.batches) else None,
        )

    def close_month(
        self, *, chart: FilePath, entries: FilePath, month: Month, ledger: FilePath | None = None
    ) -> Answer:
        """Prepare the close of a month: reconcile, plan the export, write the report. Nothing is sent."""
        self.step("close")
        folder = self.folders.results() / f"month-end-{month}"
        files = {"chart": chart, "entries": entries, "ledger": ledger}
        named = " ".join(f"--{name} {self._word(path)}" for name, path in files.items() if path)
        line = f"month-end {named} --month {month}{self._company}"
        close = dry_run([*shlex.split(f"{line}{self.environment}"), "--out", str(folder)])
        planned = Path(close["folder"])
        apply = f"{line} --out {in_shell(str(self.folders.roots[0] / folder.name))} --apply"
        return Answer(
            {name: table_of(planned / f"{name}.csv") for name in ("to_do", "entries")},
            {
                "month": close["period"],
                "state": close["state"],
                "accounts_to_create": sum(close["accounts"].values()),
                "folder": planned,
                **{name: close[name] for name in ("entries", "reasons", "to_do", "by_role", "against")},
            },
            not_known=[*close["not_checked"], *filter(None, [close["question"]])],
            person_runs=self._for_person(apply),
        )

    def verify(self, *, ledger: FilePath, month: Month | None = None) -> Answer:
        """Check that exported entries arrived in the general ledger; by default those of its months."""
        postings = self._read("ledger", ledger)
        self.step("match")
        verified = verification.verify(self.service, self.company, postings, month=month)
        match = verified.match
        in_doubt = [
            {"batch_id": one.batch_id, "outcome": one.outcome, "why": one.text}
            for one in verified.settlements
        ]
        return Answer(
            {
                "findings": match.findings,
                "entries": match.entries,
                "open_groups": match.open_groups,
                "open_accounts": match.open_accounts,
            },
            {
                "months": verified.months,
                "has_arrived": verified.has_arrived,
                "habits": match.habits,
                "batches_in_doubt": in_doubt,
                "moved": verified.moved,
            },
            not_known=match.unchecked,
        )

    def rows(self, *, table: str, where: Where = None, from_row: First = 1) -> Answer:
        """List the rows of a table of an earlier answer, 50 at most: all, or those with some values.

        Such as the findings of one check, or the entries of one supplier.
        """
        rows = pl.read_parquet(self.folders.table(table))
        if unknown := {*(where or {})} - {*rows.columns}:
            raise ArgumentError(
                "where", f"must name columns of the table: {', '.join(rows.columns)}", min(unknown)
            )
        for column, value in (where or {}).items():
            rows = rows.filter(pl.col(column).cast(pl.String) == value)
        shown = bktools.to_arrow(rows.slice(from_row - 1, MOST_ROWS)).to_pylist()
        return Answer(facts={"rows_in_all": len(rows), "from_row": from_row, "rows": shown})

    def spend(self, *, entries: Source, by: Keys) -> Answer:
        """Add up entries by keys, exactly and by currency."""
        names = self._names(by)
        return Answer({"spend": bktools.spend(self._entries(entries, names), by=by, **names)})

    def versus(self, *, this: Source, that: Source, by: Keys, threshold: str | None = None) -> Answer:
        """Compare two months of entries, or a month and a budget: differences of at least the threshold."""
        names = self._names(by)
        now, before = (self._entries(side, names) for side in (this, that))
        changes = bktools.versus(now, before, by=by, threshold=threshold, **names)
        return Answer({"versus": changes}, {"left_out": changes.attrs["bktools"]["below_threshold"]})

    def guide(self, *, topic: str | None = None, from_line: First = 1) -> Answer:
        """Read the guide of bktools: its pages, or one of them."""
        folder = resources.files("bktools").joinpath("guide")
        pages = {page.name.removesuffix(".md"): page for page in folder.iterdir()}
        if topic is None:
            return Answer(facts={"pages": sorted(pages)})
        if topic not in pages:
            raise ArgumentError("topic", f"must be one of {', '.join(sorted(pages))}", topic)
        lines = pages[topic].read_text(encoding="utf-8").splitlines()
        text = lines[from_line - 1 : from_line - 1 + PAGE_LINES]
        return Answer(facts={"lines_in_all": len(lines), "from_line": from_line, "text": text})

    def _plan_file(self, plan: bktools.ExportPlan) -> Command:
        """Write the file of a plan; return the command that sends it, and no other plan of this name."""
        file = self.folders.results() / f"export-{plan.plan_id}.plan"
        # Under another name first: a repeated call replaces the file.
        new = file.with_name(f"{disk.TEMPORARY}{secrets.token_hex(8)}")
        made_for = self.service.settings.identity
        write_plan(plan, new, made_for=made_for, made_by=f"{this_process()} (bktools mcp)")
        disk.replace(new, file)
        return self._for_person(f"export submit {in_shell(str(file))} --plan {plan.plan_id} --apply")

    def _for_person(self, text: str) -> Command:
        return Command(f"bktools {text}{self.environment}")

    @property
    def _company(self) -> str:
        return f" --company {self.company}"

    def _word(self, path: str) -> str:
        """Return the real path of a file as a word of a command."""
        return in_shell(str(self.folders.file(path)))

    def _tables(self, **age: Any) -> Facts:
        self.step("categories")
        categories = bktools.load_categories(self.company, service=self.service, **age)
        self.step("employees")
        employees = bktools.load_employees(self.company, service=self.service, **age)
        accounts = bktools.load_accounts(self.company, service=self.service)
        return {"categories": categories, "employees": employees, "accounts": accounts}

    def _read(self, kind: Kind, path: str, **others: Any) -> pd.DataFrame:
        self.step(kind)
        file = self.folders.file(path)
        match kind:
            case "chart":
                return self.read(bktools.read_chart_of_accounts, kind, file, None, company=self.company)
            case "entries":
                own = {"company": self.company, "money": "decimal"}
                return self.read(bktools.read_entries, kind, file, None, **own, **others)
            case "ledger":
                return self.read(bktools.read_general_ledger, kind, file, None, money="decimal")

    def _entries(self, source: str, names: Facts) -> Any:
        if source in self.folders.tables:
            return str(self.folders.table(source))
        return self._read("entries", source, **_named(names))

    def _names(self, by: Sequence[str]) -> Facts:
        return self._tables() if {"category", "account", "employee"} & {*by} else {}


def adapter(desk: Desk, tool: str) -> TypeAdapter[Answer]:
    """Return the check of a tool's arguments, with their schema; it looks for their types in this file."""
    return TypeAdapter(getattr(desk, tool))


def call(desk: Desk, tool: str, arguments: Mapping[str, Any]) -> Facts:
    """Check the arguments of a tool, keep the tables of its answer, and return it as facts."""
    if tool not in TOOLS:
        raise ArgumentError("tool", f"must be one of {', '.join(TOOLS)}", tool)
    try:
        # Messages name commands, because it is a person in a terminal who follows their advice.
        with command({}):
            answer = adapter(desk, tool).validate_python(ArgsKwargs((), dict(arguments)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ArgumentError(".".join(map(str, first["loc"])), f"is refused: {first['msg']}") from None
    kept = [desk.folders.keep(name, frame) for name, frame in answer.tables.items()]
    return {
        **answer.facts,
        "not_known": list(answer.not_known),
        **({"person_runs": answer.person_runs} if answer.person_runs else {}),
        **({"tables": [summary for summary, _ in kept], "first_rows": kept[0][1]} if kept else {}),
    }


def _named(tables: Facts) -> Facts:
    return {name: tables[name] for name in ("categories", "employees") if name in tables}
