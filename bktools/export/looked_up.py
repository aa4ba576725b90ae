"""Entries that a ledger does not hold, as evidence for a company that needs it (`journal.right_journal`).

A restored journal, or one that is new to this computer, may lack what was sent. A ledger of a later day shows
what is booked, if it is known where this company's accounting system books.
"""

from __future__ import annotations

import datetime as dt

import pyarrow.compute as pc

from bktools.errors import PlanError
from bktools.export.plan import ExportPlan
from bktools.frames.columns import days_of
from bktools.journal.claims import LookedUp

_BY_HAND = "look them up by hand, and record those that are not booked (bktools export not-booked)"


def looked_up(plan: ExportPlan, company_id: str, since: str) -> LookedUp:
    """Return what a plan's ledger shows not to be booked; raise `PlanError` as `not_in_the_books`.

    `since` is the day (UTC) of the restore, or of the first use on this machine, as 2026-11-24.
    """
    ended = dt.datetime.combine(dt.date.fromisoformat(since), dt.time.max, dt.UTC)
    entries = not_in_the_books(plan, company_id, ended)
    books = plan.books
    return LookedUp(
        str(books["exported_at"]), f"{books['source']} (SHA-256 {books['sha256']})", frozenset(entries)
    )


def not_in_the_books(
    plan: ExportPlan, company_id: str, since: dt.datetime, exported_at: dt.date | None = None
) -> list[str]:
    """Return the IDs of a company's ready entries in a plan whose ledger shows that they are not booked.

    Parameters
    ----------
    plan : ExportPlan
        Composed with `ledger=` and `history=`.
    company_id : str
        The company.
    since : datetime
        When everything that may have been sent had ended: the ledger was exported on a later day.
    exported_at : date, optional
        The day of the ledger's export, where its file does not say it.

    Raises
    ------
    PlanError
        When the ledger shows nothing: none was asked, it was exported too early, holds no batch that was
        accepted, or ends before every entry.
    """
    books = plan.books
    if not books:
        raise PlanError(
            "the plan asked no ledger that shows how it books: compose it with --ledger FILE; "
            "nothing was sent"
        )
    exported_on = books["exported_at"]
    day = dt.date.fromisoformat(exported_on) if exported_on else exported_at
    if day is None:
        raise PlanError(
            f"{books['source']} does not say when it was exported: compose the plan again with --exported-at "
            "DATE, the day of its export; nothing was sent"
        )
    if day <= since.date():
        raise PlanError(
            f"{books['source']} was exported on {day}, and may lack what was sent until {since.date()}: "
            f"compose the plan again with a ledger exported on {since.date() + dt.timedelta(days=1)} or "
            "later; nothing was sent"
        )
    if not books["batches"]:
        raise PlanError(
            f"{books['source']} holds none of the batches that were accepted before, "
            f"so it does not show where the company's entries are booked: {_BY_HAND}; nothing was sent"
        )
    first, last = (dt.date.fromisoformat(books[name]) for name in ("first", "last"))
    days = days_of(plan.rows)
    is_within = pc.and_(pc.greater_equal(days, first), pc.less_equal(days, last))
    is_own = pc.equal(plan.rows.column("company_id"), company_id)
    # A split entry is one: each of its lines must be within.
    ids = plan.rows.filter(is_own).column("id")
    outside = {
        *plan.rows.filter(pc.and_(is_own, pc.invert(pc.fill_null(is_within, False)))).column("id").to_pylist()
    }
    inside = [entry_id for entry_id in ids.unique().to_pylist() if entry_id not in outside]
    if not inside:
        raise PlanError(
            f"no ready entry of company {company_id} is dated from {first} to {last}, "
            f"which {books['source']} covers: nothing was sent"
        )
    # What the verdict leaves open waits, and so does what the ledger may book after the day of its export.
    until = min(last, day)
    due = {entry: dt.date.fromisoformat(date) for entry, date in books.get("due", {}).items()}
    shown = [entry_id for entry_id in inside if entry_id in due and due[entry_id] <= until]
    if not shown:
        later = max([due[entry_id] for entry_id in inside if entry_id in due], default=None)
        way = f"compose the plan again with a ledger that reaches {later}" if later else _BY_HAND
        raise PlanError(
            f"{books['source']} does not show of any ready entry of company {company_id} that it is not "
            f"booked, or booked later: {way}; nothing was sent"
        )
    return shown
