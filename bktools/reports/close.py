"""The results of a close, from which its folder, its report and its workbook are written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from bktools.consoles import readable
from bktools.export import ExportPlan
from bktools.frames.schema import number_of_entries
from bktools.reconcile import Reconciliation
from bktools.close.record import PeriodRecord


@dataclass(frozen=True, eq=False, repr=False)
class Close:
    """The results of a month-end close.

    Parameters
    ----------
    period : str
        The month, as 2026-10.
    environment, company : str
        Name of the environment, and UUID of the company.
    applied : bool
        True when the close wrote to the service.
    begun_at : datetime
        Start of the close, in UTC.
    categories, employees, chart, entries : DataFrame
        The tables that were loaded and read.
    before, after : Reconciliation
        Before and after accounts were created; one and the same unless `applied`.
    accounts : DataFrame
        Outcomes of creating the accounts.
    plan : ExportPlan
        The export jobs.
    jobs : DataFrame
        Outcomes of their submission.
    history : DataFrame
        All export jobs of the company in the journal, those of earlier closes included.
    left_out : int
        Entries dated after the period.
    times : mapping
        Seconds a step.
    folder : Path, optional
        Folder of the files.
    kept : Path, optional
        Folder to which an earlier close was moved.
    prepared_by, approved_by : str
        The persons; `prepared_by` is the system's user where nobody was named.
    stays_open : str
        Why an approved close did not close its period; "" otherwise.
    record : PeriodRecord, optional
        What all closes of the period exported and held back, from the journal.
    known : DataFrame, optional
        The accounts that the journal knows, with where they come from.
    sent : DataFrame, optional
        Every entry that the journal had before this close, as `load_export_jobs(entries=True)` returns it.
    changes : DataFrame, optional
        What changed since the last close of an earlier month, as `compare` returns it; None where there is none.
    """

    period: str
    environment: str
    company: str
    applied: bool
    begun_at: dt.datetime
    categories: pd.DataFrame
    employees: pd.DataFrame
    chart: pd.DataFrame
    entries: pd.DataFrame
    before: Reconciliation
    after: Reconciliation
    accounts: pd.DataFrame
    plan: ExportPlan
    jobs: pd.DataFrame
    history: pd.DataFrame
    left_out: int = 0
    times: Mapping[str, float] = field(default_factory=dict)
    folder: Path | None = None
    kept: Path | None = None
    prepared_by: str = ""
    approved_by: str | None = None
    stays_open: str = ""
    record: PeriodRecord | None = None
    known: pd.DataFrame | None = None
    sent: pd.DataFrame | None = None
    changes: pd.DataFrame | None = None

    @property
    def unchecked(self) -> list[str]:
        """What was not compared and not checked, because it was not told."""
        return [*self.after.unchecked, *self.plan.unchecked]

    def __repr__(self) -> str:
        ready, not_ready = number_of_entries(self.plan.rows), number_of_entries(self.plan.not_ready)
        lines = [
            f"Month-end {self.period} of company {self.company}, {where(self)}",
            f"  accounts: {_listed(outcomes(self.accounts))}",
            f"  entries: {ready:,} ready, {not_ready:,} not ready",
            f"  export jobs: {_listed(outcomes(self.jobs))}",
            *(f"  {line}" for line in (self.record.lines if self.record else ())),
        ]
        if not self.applied:
            lines.append("  nothing was written to the service: use apply=True to do it")
        if self.folder is not None:
            lines.append(f"  written to {self.folder}")
        return readable("\n".join(lines))


def where(close: Close) -> str:
    """Return the name of the environment, where invented books are told from real ones."""
    return "sandbox (not real books)" if close.environment == "sandbox" else close.environment


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none"


def outcomes(frame: pd.DataFrame) -> dict[str, int]:
    """Return how many rows have each outcome."""
    return {str(outcome): int(count) for outcome, count in frame["outcome"].value_counts().items()}
