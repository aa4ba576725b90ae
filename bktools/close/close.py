"""`Close`: a month as data. Reports, tables and lines show it and compute nothing."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.actions import SEVERITIES, Action
from bktools.close.entries import unsent
from bktools.close.figures import Figures
from bktools.close.months import MISSING
from bktools.close.record import PeriodRecord, table_as_frame
from bktools.close.sentences import actions_table, label_of, valued
from bktools.consoles import readable
from bktools.export import ExportPlan
from bktools.frames.schema import to_pandas
from bktools.frames.sums import Sum, money_of
from bktools.frames.tables import source_of
from bktools.reconcile import Reconciliation
from bktools.settings import SANDBOX
from bktools.wording import Words

PLANNED, APPLIED, APPROVED = "planned", "applied", "approved"


@dataclass(frozen=True, eq=False)
class CloseRun:
    """What is about one run of a close, and not about the month.

    Parameters
    ----------
    applied : bool
        True when it wrote to the service.
    begun_at : datetime
        Its start, in UTC.
    prepared_by, approved_by : str
        Who ran it, and who approved it in this run; stays_open says why an approved period is not closed.
    question : str
        Of a dry run, what a person answers before the company's first export; "" where nothing is asked.
    plan : ExportPlan
        The export jobs of this run; jobs and created are the outcome of each job and of each created account.
    unchecked : tuple of str
        What was not compared and not checked, because a column is missing.
    sources : mapping
        Where each table that was read comes from.
    """

    applied: bool
    begun_at: dt.datetime
    prepared_by: str
    approved_by: str | None
    stays_open: str
    question: str
    plan: ExportPlan
    jobs: list[dict[str, Any]]
    created: list[dict[str, Any]]
    unchecked: tuple[str, ...]
    sources: Mapping[str, Mapping[str, Any]]

    def outcomes(self, name: str) -> dict[str, int]:
        """Return how many of the "jobs", or the accounts "created", have each outcome."""
        return dict(Counter(row["outcome"] for row in getattr(self, name)))

    @property
    def is_incomplete(self) -> bool:
        """Whether an export job was not sent, an account not created, or an approved period not closed."""
        not_sent = {*self.outcomes("jobs")} - {"ACCEPTED"}
        not_created = {*self.outcomes("created")} & {"REJECTED", "UNKNOWN"}
        return bool(self.stays_open or not_sent or not_created)


@dataclass(frozen=True, eq=False, repr=False)
class Close:
    """A month: what became of each entry, its figures, what is to be done, and changes since the last close.

    Parameters
    ----------
    period, environment, company : str
        The month, as 2026-10; name of the environment; UUID of the company.
    company_name : str
        The company's name in the settings, its UUID where it has none.
    currency : str, optional
        The company's own currency; the one of most entries where the settings do not tell it.
    actions : tuple of Action
        What is to be done: in doubt first, then what frees most money.
    by_role : tuple of Sum
        Each role with something to do: its errors and warnings, and the entries that wait for it.
    home_currency : str, optional
        The currency into which all amounts are converted; None without rates of exchange.
    words : Words
        The language of its sentences.
    figures : Figures
        All sums of the entries.
    record : PeriodRecord
        What all closes of the month did, from the journal.
    last_month : str
        The last month before it that was exported, "" for none.
    before, after : Reconciliation
        The chart of accounts beside the service, before and after accounts were created.
    run : CloseRun
        What is about this run.
    tables : mapping of str to pyarrow.Table
        entries, categories, employees, chart, accounts, coverage (of the categories), changes (the large
        ones) and all_changes, where there is an earlier close, budget (the large differences, and the sum of
        the others), all_budget and budget_total, where it was given, expected: what comes every month and is
        missing, and verified: the last verification of each month.
    folder, earlier_folder : Path, optional
        Folder of its files, and the one to which an earlier close was moved.
    html : str
        The head of its report, which a notebook shows.
    """

    period: str
    environment: str
    company: str
    company_name: str
    currency: str | None
    actions: tuple[Action, ...]
    by_role: tuple[Sum, ...]
    home_currency: str | None
    words: Words
    figures: Figures
    record: PeriodRecord
    last_month: str
    before: Reconciliation
    after: Reconciliation
    run: CloseRun
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    folder: Path | None = None
    earlier_folder: Path | None = None
    html: str = ""

    # The tables as frames. Entries: one row per line of an entry of the month, with its `fate`, as it was
    # sent, or as it is in the file. Accounts: those that the journal knows. The others: as they were read.
    entries = table_as_frame("entries")
    categories = table_as_frame("categories")
    employees = table_as_frame("employees")
    chart = table_as_frame("chart")
    accounts = table_as_frame("accounts")

    @cached_property
    def changes(self) -> pd.DataFrame | None:
        """The changes since the last close of an earlier month, as `compare` returns them; None if first."""
        table = self.tables.get("all_changes")
        return None if table is None else to_pandas(table, source_of(table))

    @property
    def changed(self) -> dict[str, Any]:
        """Facts of the changes: before, after, headline (lines), below_threshold, not_compared; or empty."""
        return source_of(self.tables["changes"]) if "changes" in self.tables else {}

    @cached_property
    def missing(self) -> pa.Table:
        """What comes every month and is missing in this one."""
        expected = self.tables["expected"]
        is_missing = pc.and_(pc.equal(expected["month"], self.period), pc.equal(expected["state"], MISSING))
        return expected.filter(is_missing)

    @cached_property
    def accrual(self) -> Sum:
        """The usual amounts of what is missing: a proposal for an accrual."""
        return Sum({}, money_of(self.missing, self.currency))

    @property
    def state(self) -> str:
        """One of planned, applied and approved, over all runs: approved is a month that a person closed."""
        if self.record.closed_by:
            return APPROVED
        return APPLIED if len(self.record.tables["closes"]) else PLANNED

    @property
    def is_complete(self) -> bool:
        """Whether applying it once more would create, send, record and approve nothing."""
        record, run = self.record.tables, self.run
        waiting = {*unsent(self.tables["entries"])["id"].to_pylist()}
        known = {one for part in ("held_back", "in_books") for one in record[part]["entry_id"].to_pylist()}
        is_sent = "PLANNED" not in run.outcomes("jobs") | run.outcomes("created")
        is_kept = self.home_currency is None and run.approved_by is None
        return self.state != PLANNED and is_sent and is_kept and waiting <= known

    @property
    def title_state(self) -> str:
        """The state in a phrase."""
        return self.words(f"report.is_{self.state}", by=self.record.closed_by)

    @property
    def name(self) -> str:
        """The company by its name, or by the start of its UUID where it has none."""
        return self.company_name if self.has_name else self.words("report.company", id=self.company[:8])

    @property
    def has_name(self) -> bool:
        """Whether the company has a name."""
        return self.company_name != self.company

    @property
    def title(self) -> str:
        """Month, company and state in a line, and whether the books are real: the head of every page."""
        parts = [self.words("report.title", month=self.period), self.name, self.title_state]
        return " · ".join([*parts, self.environment_name] if self.is_sandbox else parts)

    @property
    def is_sandbox(self) -> bool:
        """Whether the books are invented."""
        return self.environment == SANDBOX

    @property
    def environment_name(self) -> str:
        """The name of the environment; of the sandbox, that its books are not real."""
        return self.words("report.sandbox") if self.is_sandbox else self.environment

    @property
    def for_programs(self) -> dict[str, Any]:
        """The month, its run and its figures for programs: amounts as text, so that none is rounded."""
        fates, reasons = dict[str, Any](), dict[str, dict[str, Any]]()
        for line in self.figures.statement:
            of_fate = reasons.setdefault(line["fate"], {}) if line["reason"] else fates
            of_fate[line["reason"] or line["fate"]] = line.for_programs
        run, home = self.run, self.figures.against_home
        return {
            "period": self.period,
            "environment": self.environment,
            "company": self.company,
            "company_name": self.company_name if self.has_name else None,
            "language": self.words.language,
            "state": self.state,
            "approved_by": self.record.closed_by,
            "entries": fates,
            "reasons": reasons,
            "to_do": self.severities,
            "by_role": {
                part["role"]: {name: part[name] for name in ("errors", "warnings")} | part.for_programs
                for part in self.by_role
            },
            "against": {
                "month": self.last_month or None,
                "currencies": {change.currency: change.for_programs for change in self.figures.against},
                "in_own": home and {"currency": home.currency, **home.for_programs},
            },
            "missing": self.accrual.for_programs,
            "applied": run.applied,
            "prepared_by": run.prepared_by,
            "stays_open": run.stays_open or None,
            "question": run.question or None,
            "accounts": run.outcomes("created"),
            "jobs": run.jobs,
            "plan_id": run.plan.plan_id,
            "not_checked": run.unchecked,
        }

    @property
    def severities(self) -> dict[str, int]:
        """Number of actions by severity."""
        severities = [action.severity for action in self.actions]
        return {name: severities.count(name) for name in SEVERITIES}

    @property
    def lines(self) -> list[str]:
        """What became of the entries, in a line each fate and reason."""
        return [
            f"{'  ' * bool(line['reason'])}{label_of(self.words, line)}: {valued(self.words, line)}"
            for line in self.figures.statement
        ]

    @cached_property
    def to_do(self) -> pd.DataFrame:
        """What is to be done, with figures and identifiers: one row per action and currency."""
        return to_pandas(actions_table(self.words, self.actions))

    def __repr__(self) -> str:
        to_do = ", ".join(self.words.counted(count, name) for name, count in self.severities.items())
        last = [self.words("report.written_to", folder=self.folder)] if self.folder else []
        # The title names the sandbox alone.
        head = self.title if self.is_sandbox else f"{self.title} · {self.environment_name}"
        return readable(
            "\n  ".join([head, *self.lines, self.words("report.to_do_counts", counts=to_do), *last])
        )

    def _repr_html_(self) -> str:
        return self.html
