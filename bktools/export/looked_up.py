"""Entries that a ledger does not hold, as evidence for a company that needs it (`journal.right_journal`).

A restored journal, or one that is new to this computer, may lack what was sent. A ledger of a later day shows
what is booked, if it is known where this company's accounting system books.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow.compute as pc

from bktools.errors import PlanError
from bktools.export.plan import ExportPlan
from bktools.frames.columns import days_of
from bktools.journal.claims import LookedUp
from bktools.wording import Sentence, words


def looked_up(plan: ExportPlan, company_id: str, since: str) -> LookedUp:
    """Return the ready entries of a company that the plan's ledger shows not to be booked.

    Parameters
    ----------
    plan : ExportPlan
        Composed with `ledger=` and `history=`.
    company_id : str
        The company.
    since : str
        The day (UTC) of the restore, or of the first use on this machine, as 2026-11-24: the ledger was
        exported on a later one.

    Raises
    ------
    PlanError
        When the ledger shows nothing: its day is unknown or too early, it holds no batch that was accepted,
        or it proves of no entry that it is not booked.
    """
    books = plan.books
    exported_at, due = books["exported_at"], books["due"]
    if not exported_at:
        raise _shows_nothing("ledger_without_day", plan)
    if exported_at <= since:
        next_day = dt.date.fromisoformat(since) + dt.timedelta(days=1)
        raise _shows_nothing("ledger_too_early", plan, since=since, next_day=str(next_day))
    if not books["batches"]:
        raise _shows_nothing("ledger_without_batches", plan)
    entries = _within(plan, company_id, books["first"], books["last"])
    if not entries:
        raise _shows_nothing("no_entry_in_days_of_ledger", plan, company=company_id)
    # What the verdict leaves open waits, and so does what the ledger may book after the day of its export.
    until = min(books["last"], exported_at)
    shown = [entry for entry in entries if entry in due and due[entry] <= until]
    if not shown:
        later = max((due[entry] for entry in entries if entry in due), default=None)
        code = "ledger_ends_too_early" if later else "ledger_leaves_all_open"
        raise _shows_nothing(code, plan, company=company_id, later=later)
    return LookedUp(exported_at, f"{books['source']} (SHA-256 {books['sha256']})", frozenset(shown))


def _within(plan: ExportPlan, company_id: str, first: str, last: str) -> list[str]:
    """Return the entries of a company that are dated in the days of a ledger, with all their lines."""
    rows = plan.rows.filter(pc.equal(plan.rows["company_id"], company_id))
    days = zip(rows["id"].to_pylist(), days_of(rows).to_pylist(), strict=True)
    outside = {entry for entry, day in days if day is None or not first <= day.isoformat() <= last}
    return [entry for entry in rows["id"].unique().to_pylist() if entry not in outside]


def _shows_nothing(code: str, plan: ExportPlan, **facts: Any) -> PlanError:
    about = {name: plan.books[name] for name in ("source", "exported_at", "first", "last")}
    key = f"submit.{code}"
    return PlanError(Sentence(key, **{name: {**about, **facts}[name] for name in words().facts_of(key)}))
