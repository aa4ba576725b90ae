"""`ExportPlan`: what would be exported, frozen. Submitting it is another room's work."""

from __future__ import annotations

import hashlib
import html
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bktools.contract import export_jobs
from bktools.errors import PlanError

SHOWN_ROWS = 20


@dataclass(frozen=True)
class ExportOptions:
    """The interface's options of an export job, the same for every batch of a plan."""

    employee_id: str | None = None
    is_interactive: bool = True
    vendor_based_bookkeeping: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class ExportPlan:
    """Entries that are ready, in batches; entries that are not, with the reason.

    Attributes
    ----------
    batches : DataFrame
        One row a batch, in the order of sending: batch_id, company_id, entries (count), first_date, last_date.
    entries : DataFrame
        One row an entry that is ready, with its batch_id.
    not_ready : DataFrame
        One row an entry that is not, with reason and message.
    totals : DataFrame
        Count and exact amount of the ready entries by company, currency and category.
    options : ExportOptions
        Options of the jobs.
    unchecked : tuple of str
        What was not given, so not checked.
    plan_id : str
        Digest of batches and options; the same entries give the same plan.
    provenance : dict
        Where the entries came from.
    """

    batches: pd.DataFrame
    entries: pd.DataFrame
    not_ready: pd.DataFrame
    totals: pd.DataFrame
    options: ExportOptions
    unchecked: tuple[str, ...]
    plan_id: str
    provenance: dict[str, Any] = field(default_factory=dict)

    def body(self, batch_id: str) -> bytes:
        """Return the request body of a batch, as it is sent.

        Raises
        ------
        PlanError
            When the plan has no such batch, or its entries are not those it was made with.
        """
        row = self.batches.loc[self.batches["batch_id"] == batch_id]
        if row.empty:
            raise PlanError(f"the plan has no batch {batch_id}")
        ids = self.entry_ids(batch_id)
        company = str(row["company_id"].iloc[0])
        if batch_digest(company, ids, self.options) != batch_id:
            raise PlanError(
                f"the entries of batch {batch_id} are not those it was planned with: compose the plan again"
            )
        return export_jobs.create_body(
            ids,
            company,
            employee_id=self.options.employee_id,
            is_interactive=self.options.is_interactive,
            vendor_based_bookkeeping=self.options.vendor_based_bookkeeping,
        )

    def entry_ids(self, batch_id: str) -> list[str]:
        """Return the entries of a batch, in the order of sending."""
        found: list[str] = self.entries.loc[self.entries["batch_id"] == batch_id, "id"].to_list()
        return found

    def verify(self) -> None:
        """Check that the plan is what it was when it was made.

        Raises
        ------
        PlanError
            When a batch, an entry or an option was changed, added, repeated or taken away.
        """
        listed = self.batches["batch_id"].to_list()
        if plan_digest(listed, self.options) != self.plan_id:
            raise PlanError("the batches of the plan are not those it was made with: compose it again")
        if not self.entries["id"].is_unique:
            raise PlanError("the plan has an entry twice: compose it again")
        if set(self.entries["batch_id"]) != set(listed):
            raise PlanError("the plan has entries of a batch it does not list: compose it again")
        counts = self.entries.groupby(["batch_id", "company_id"], observed=True).size().rename("entries").reset_index()
        if sorted(counts.to_numpy().tolist()) != sorted(
            self.batches[["batch_id", "company_id", "entries"]].to_numpy().tolist()
        ):
            raise PlanError("the entries of the plan do not fit its batches: compose it again")
        for batch_id in listed:
            self.body(batch_id)

    def to_csv(self, folder: str | Path) -> list[Path]:
        """Write `batches`, `entries`, `not_ready` and `totals` as CSV files into a folder; return their paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name in ("batches", "entries", "not_ready", "totals"):
            path = folder / f"export_{name}.csv"
            getattr(self, name).to_csv(path, index=False)
            paths.append(path)
        return paths

    def __repr__(self) -> str:
        reasons = self.not_ready["reason"].value_counts()
        head = f"{len(self.entries)} entries ready in {len(self.batches)} batches, {len(self.not_ready)} not ready"
        lines = [f"ExportPlan {self.plan_id}: {head}"]
        lines += [f"  not ready: {count:>6} {reason}" for reason, count in reasons.items()]
        lines += [f"  not checked: {phrase}" for phrase in self.unchecked]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown = self.batches.head(SHOWN_ROWS).to_html(index=False)
        return f"<pre>{html.escape(repr(self))}</pre>{shown}"


def batch_digest(company_id: str, entry_ids: list[str], options: ExportOptions) -> str:
    """Return the id of a batch: the same company, entries and options give the same one."""
    head = [company_id, options.employee_id, options.is_interactive, options.vendor_based_bookkeeping]
    digest = hashlib.sha256(json.dumps(head).encode())
    digest.update("\n".join(entry_ids).encode())
    return digest.hexdigest()[:20]


def plan_digest(batch_ids: list[str], options: ExportOptions) -> str:
    """Return the id of a plan."""
    head = [options.employee_id, options.is_interactive, options.vendor_based_bookkeeping]
    return hashlib.sha256(json.dumps([head, batch_ids]).encode()).hexdigest()[:20]
