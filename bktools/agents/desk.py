"""`Desk`: the tools of an assistant, each a plain function whose answer is a dictionary of facts."""

from __future__ import annotations

import inspect
import secrets
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
from bktools.agents import workers
from bktools.agents.folders import Folders
from bktools.caller import command, in_shell, settings_text
from bktools.errors import ArgumentError, InputError
from bktools.export.plan_file import write_plan
from bktools.inputs import mappings
from bktools.journal.journal import Journal
from bktools.journal.records import this_process
from bktools.journal.statements import exported_elsewhere, not_booked

Facts = dict[str, Any]
Kind = Literal["chart", "entries", "ledger"]
FilePath = Annotated[str, Field(description="A file below the folders of the server.")]
Month = Annotated[str, Field(description="Such as 2026-10.", pattern=r"^\d{4}-\d{2}$")]
Keys = Annotated[
    list[str],
    Field(description="category, account, employee, supplier, month, cost_centre, company or a column."),
]
Source = Annotated[str, Field(description="A file of entries, or the name of a table of an earlier answer.")]

READERS: Mapping[Kind, Callable[..., pd.DataFrame]] = {
    "chart": bktools.read_chart_of_accounts,
    "entries": bktools.read_entries,
    "ledger": bktools.read_general_ledger,
}
# By kind of file, the command with which a person answers what is asked about its columns.
ASKED_WITH = {"chart": "reconcile --chart", "entries": "spend", "ledger": "ledger"}
# Options of the readers that a saved mapping may hold.
OPTIONS = {
    name: f"--{name.replace('columns', 'column').replace('_', '-')}"
    for name in inspect.signature(bktools.read_entries).parameters
    | inspect.signature(bktools.read_general_ledger).parameters
}
# Lines of a page of the guide in one answer.
PAGE_LINES = 50


@dataclass(frozen=True)
class Desk:
    """The tools of an assistant for one company.

    Parameters
    ----------
    service : ReadingService
        The client, which cannot create anything.
    company : str
        UUID of the company: no tool takes another one.
    folders : Folders
        Where files are read, and results are written.
    environment : str, optional
        The environment that was named at the start; None for the configured one.
    step : callable
        Told the name of each step of a tool; raises when the call was cancelled.
    """

    service: bktools.Service
    company: str
    folders: Folders
    environment: str | None
    step: Callable[[str], None]

    def check(self) -> Facts:
        """Check configuration, service, company, clock, journal and disk. Begin with it."""
        checked = bktools.check(self.environment, company=self.company)
        return {"outcomes": _counts(checked["outcome"]), "checks": _rows(checked)}

    def load_categories(self) -> Facts:
        """Load the company's bookkeeping categories, each with its account."""
        categories = bktools.load_categories(self.company, service=self.service)
        about = categories.attrs["bktools"]
        return {
            "categories": len(categories),
            "archived": int(categories["archived"].sum()),
            "without_account": int(categories["account_id"].isna().sum()),
            "fetched_at": about["fetched_at"],
            "not_known": [] if about["complete"] else about["complaints"],
            **self.folders.keep("categories", categories),
        }

    def load_employees(self) -> Facts:
        """Load the company's employees."""
        employees = bktools.load_employees(self.company, service=self.service)
        about = employees.attrs["bktools"]
        return {
            "employees": len(employees),
            "fetched_at": about["fetched_at"],
            "not_known": [] if about["complete"] else about["complaints"],
            **self.folders.keep("employees", employees),
        }

    def read_file(self, *, path: FilePath, kind: Kind) -> Facts:
        """Read a chart of accounts, accounting entries or a general ledger: how it is read, what is asked.

        What is asked, a person answers with the command in person_runs; later calls use the saved answer.
        """
        try:
            frame = self._read(kind, path)
        except InputError as error:
            if not error.settings:
                raise
            answer = f"{self._word(path)} {settings_text(error.settings)} --save-mapping NAME"
            asked = f"bktools {ASKED_WITH[kind]} {answer}"
            return {"asked": str(error).splitlines(), "person_runs": asked, "not_known": [error.field]}
        about = frame.attrs["bktools"]
        days = frame["date"].dropna() if "date" in frame else pd.Series(dtype="object")
        return {
            "rows": len(frame),
            "days": [f"{days.min():%Y-%m-%d}", f"{days.max():%Y-%m-%d}"] if len(days) else [],
            "amounts": _sums(frame),
            "headings": about["columns"],
            "notes": about["notes"],
            "not_known": about.get("in_question", {}),
            **self.folders.keep(kind, frame),
        }

    def reconcile(self, *, chart: FilePath) -> Facts:
        """Compare the ERP's chart of accounts with the accounts and categories of the service."""
        accounts = self._read("chart", chart)
        self.step("categories")
        categories = bktools.load_categories(self.company, service=self.service)
        known = bktools.load_accounts(self.company, service=self.service)
        found = bktools.reconcile_accounts(accounts, known, categories)
        actions = _counts(found.actions["action"])
        create = f"accounts create --chart {self._word(chart)} --apply"
        return {
            "accounts": actions,
            "coverage": _counts(found.coverage["state"]),
            "findings": _rows(found.summary[found.summary["severity"] != ""]),
            "looks_like_another_company": found.another_chart or None,
            "not_known": list(found.unchecked),
            **({"person_runs": self._for_person(create, self._company)} if "create" in actions else {}),
            **self.folders.keep("reconcile_findings", found.findings),
        }

    def plan_export(
        self, *, entries: FilePath, ledger: FilePath | None = None, month: Month | None = None
    ) -> Facts:
        """Check entries and write the plan of their export to a file. Nothing is sent: a person sends it.

        With a ledger, entries that the books hold already, or may hold, are held back.
        """
        tables = self._tables(max_age=0)
        rows = self._read("entries", entries, **_named(tables), required=("category_id",))
        postings = self._read("ledger", ledger) if ledger else None
        self.step("plan")
        settings = self.service.settings
        with Journal(settings) as journal:
            elsewhere = exported_elsewhere(journal, self.company)
            cleared = not_booked(journal, self.company)
        plan = bktools.compose_export_jobs(
            rows,
            **tables,
            history=bktools.load_export_jobs(entries=True, service=self.service),
            ledger=postings,
            exported_elsewhere=[*elsewhere],
            not_booked=[*cleared],
            company=self.company,
            period=month,
        )
        facts: Facts = {
            "plan_id": plan.plan_id,
            "ready": int(plan.batches["entries"].sum()),
            "jobs": len(plan.batches),
            "amounts": plan.amounts,
            "findings": _rows(plan.needs_action.drop(columns=["message", "to_do"])),
            "not_known": list(plan.unchecked),
            **self.folders.keep("plan_not_ready", plan.not_ready),
            "findings_table": self.folders.keep("plan_findings", plan.findings)["table"],
        }
        if len(plan.batches):
            file = self.folders.results / f"export-{plan.plan_id}.plan"
            # Under another name first: a repeated call replaces the file, and a link of that name.
            new = file.with_name(f"{disk.TEMPORARY}{secrets.token_hex(8)}")
            write_plan(plan, new, made_for=settings.identity, made_by=f"{this_process()} (bktools mcp)")
            disk.replace(new, file)
            send = f"export submit {in_shell(str(file))} --plan {plan.plan_id} --apply"
            facts |= {"plan": file, "person_runs": self._for_person(send)}
        return facts

    def verify(self, *, ledger: FilePath, month: Month | None = None) -> Facts:
        """Check that exported entries arrived in the general ledger; by default those of its months."""
        postings = self._read("ledger", ledger)
        self.step("match")
        exported = bktools.load_export_jobs(self.company, entries=True, service=self.service)
        # An entry is of the month of its close, or of its date where the journal has no close.
        months = exported["period"].fillna(exported["date"].dt.strftime("%Y-%m"))
        days = postings["date"].dt.strftime("%Y-%m")
        first, last = (month, month) if month else (days.min(), days.max())
        match = bktools.match_ledger(exported[months.between(first, last).fillna(value=False)], postings)
        return {
            "months": [first, last],
            "has_arrived": match.has_arrived,
            "entries": match.counts,
            "habits": dict(match.habits),
            "open_accounts": len(match.open_accounts),
            "not_known": list(match.unchecked),
            "entries_table": self.folders.keep("verified_entries", match.entries)["table"],
            **self.folders.keep("verify_findings", match.findings),
        }

    def close_month(
        self, *, chart: FilePath, entries: FilePath, month: Month, ledger: FilePath | None = None
    ) -> Facts:
        """Prepare the close of a month: reconcile, plan the export, write the report. Nothing is sent."""
        tables = self._tables(refresh=True)
        paths = {"chart": chart, "entries": entries, **({"ledger": ledger} if ledger else {})}
        accounts = self._read("chart", chart)
        rows = self._read("entries", entries, **_named(tables), required=("category_id",))
        options: Facts = {**_named(tables), "company": self.company, "month": month}
        options |= {"ledger": self._read("ledger", ledger)} if ledger else {}
        self.step("close")
        settings, journal = workers.without_secrets(self.service.settings)
        options["folder"] = self.folders.results / f"month-end-{month}"
        facts = workers.in_process(
            workers.CLOSE_SECONDS, workers.dry_close, settings, journal, accounts, rows, options
        )
        to_do, of_month = facts.pop("to_do"), facts.pop("entries")
        files = " ".join(f"--{name} {self._word(path)}" for name, path in paths.items())
        out = in_shell(str(self.folders.roots[0] / f"month-end-{month}"))
        apply = f"month-end {files} --month {month} --out {out} --apply"
        return {
            **facts,
            "person_runs": self._for_person(apply, self._company),
            "entries_table": self.folders.keep("close_entries", of_month)["table"],
            **self.folders.keep("close_to_do", to_do),
        }

    def spend(self, *, entries: Source, by: Keys) -> Facts:
        """Add up entries by keys, exactly and by currency."""
        names = self._names(by)
        sums = bktools.spend(self._entries(entries, names), by=by, **names)
        return {"sums": _rows(sums), **self.folders.keep("spend", sums)}

    def versus(self, *, this: Source, that: Source, by: Keys, threshold: str | None = None) -> Facts:
        """Compare two months of entries, or a month and a budget: differences of at least the threshold."""
        names = self._names(by)
        now, before = (self._entries(side, names) for side in (this, that))
        changes = bktools.versus(now, before, by=by, threshold=threshold, **names)
        below = changes.attrs["bktools"]["below_threshold"]
        return {
            "differences": _rows(changes),
            "below_threshold": below,
            **self.folders.keep("versus", changes),
        }

    def findings(self, *, table: str, code: str | None = None) -> Facts:
        """List the rows of a table of findings, not-ready entries or to-dos; with a code, those of it."""
        rows = pl.read_parquet(self._table(table))
        of_code = next((name for name in ("check", "reason", "status") if name in rows.columns), None)
        if of_code is None:
            raise ArgumentError("table", "must be one of findings, which has a check or a reason", table)
        chosen = rows if code is None else rows.filter(pl.col(of_code) == code)
        seen = ("severity", of_code, "about", "message", "to_do", "who", "amount", "currency", "entries")
        shown = chosen.select([name for name in seen if name in chosen.columns])
        counts = rows[of_code].value_counts(sort=True).rows()
        return {"codes": dict(counts), "rows": len(chosen), "findings": shown.head(50).to_dicts()}

    def query(self, *, sql: str) -> Facts:
        """Run one SELECT of DuckDB's SQL over the tables of earlier answers; 200 rows at most."""
        files = {name: str(path) for name, path in self.folders.tables.items()}
        columns, rows = workers.in_process(workers.QUERY_SECONDS, workers.rows_of, sql, files)
        most = workers.MOST_ROWS
        return {
            "columns": columns,
            "limit": most,
            "rows_in_all": len(rows) if len(rows) <= most else f"more than {most}",
            "rows": [list(row) for row in rows[:most]],
        }

    def guide(self, *, topic: str | None = None, from_line: Annotated[int, Field(ge=1)] = 1) -> Facts:
        """Read the guide of bktools: its pages, or one of them."""
        pages = {
            page.name.removesuffix(".md"): page.read_text(encoding="utf-8").splitlines()
            for page in resources.files("bktools").joinpath("guide").iterdir()
        }
        if topic is None:
            return {"pages": {name: lines[0].removeprefix("# ") for name, lines in sorted(pages.items())}}
        if topic not in pages:
            raise ArgumentError("topic", f"must be one of {', '.join(sorted(pages))}", topic)
        shown = pages[topic][from_line - 1 : from_line - 1 + PAGE_LINES]
        return {"lines_in_all": len(pages[topic]), "from_line": from_line, "text": shown}

    def _for_person(self, text: str, *options: str) -> str:
        named = () if self.environment is None else ("--environment", in_shell(self.environment))
        return " ".join(["bktools", text, *options, *named])

    @property
    def _company(self) -> str:
        return f"--company {self.company}"

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
        """Read a file as a command does: with the mapping that a person saved for its headings."""
        self.step(kind)
        file = self.folders.file(path)
        mapping = mappings.mapping_for(file, kind, dict.fromkeys(OPTIONS))
        saved = mappings.arguments(file, mapping, dict.fromkeys(OPTIONS)) if mapping else {}
        own: Facts = {name: value for name, value in saved.items() if value is not None}
        own |= {"company": self.company} if kind != "ledger" else {}
        own |= {"money": "decimal"} if kind != "chart" else {}
        return READERS[kind](file, **own, **others)

    def _entries(self, source: str, names: Facts) -> Any:
        if source in self.folders.tables:
            return str(self._table(source))
        return self._read("entries", source, **_named(names))

    def _names(self, by: Sequence[str]) -> Facts:
        return self._tables() if {"category", "account", "employee"} & {*by} else {}

    def _table(self, name: str) -> Path:
        if name not in self.folders.tables:
            raise ArgumentError("table", "must be the name of a table of an earlier answer", name)
        return self.folders.tables[name]


# In the order of a close.
TOOLS = (
    "check",
    "load_categories",
    "load_employees",
    "read_file",
    "reconcile",
    "plan_export",
    "close_month",
    "verify",
    "spend",
    "versus",
    "findings",
    "query",
    "guide",
)


def adapter(desk: Desk, tool: str) -> TypeAdapter[Facts]:
    """Return the check of a tool's arguments, with their schema; it looks for their types in this file."""
    return TypeAdapter(getattr(desk, tool))


def call(desk: Desk, tool: str, arguments: Mapping[str, Any]) -> Facts:
    """Check the arguments of a tool and return its answer."""
    if tool not in TOOLS:
        raise ArgumentError("tool", f"must be one of {', '.join(TOOLS)}", tool)
    try:
        # Messages name options, because it is a person in a terminal who follows their advice.
        with command(OPTIONS):
            facts: Facts = adapter(desk, tool).validate_python(ArgsKwargs((), dict(arguments)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        raise ArgumentError(".".join(map(str, first["loc"])), f"is refused: {first['msg']}") from None
    return facts


def _named(tables: Facts) -> Facts:
    return {name: tables[name] for name in ("categories", "employees") if name in tables}


def _rows(frame: pd.DataFrame) -> list[Facts]:
    rows: list[Facts] = bktools.to_arrow(frame).to_pylist()
    return rows


def _counts(column: pd.Series) -> dict[str, int]:
    return {str(value): int(count) for value, count in column.value_counts().items()}


def _sums(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the exact sum of the amounts by currency; empty where a column of these is missing."""
    if not {"amount", "currency"} <= {*frame.columns}:
        return {}
    sums = _rows(bktools.spend(frame, by=[]))
    return {row["currency"]: row["amount"] for row in sums}
