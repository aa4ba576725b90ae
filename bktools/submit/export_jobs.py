"""`submit_export_jobs`: sends the batches of a plan, all companies concurrently, each batch once.

A company has one sender: a thread that holds its lock, with its own connection to the journal. A batch whose
outcome is unknown stops its company until a person resolves it.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Container, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import ArgumentError, PlanError, StorageError
from bktools.export.plan import ExportPlan
from bktools.frames.schema import ENTRY_DATA, to_pandas
from bktools.journal.journal import MAYBE_BOOKED, NOT_IN_LEDGER
from bktools.journal.records import this_user
from bktools.journal.right_journal import first_export_question, needs_ledger_since
from bktools.journal.statements import (
    record_exported_elsewhere,
    record_first_export,
    record_of_ledger,
)
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.ledger.holdings import WITHOUT_ACCOUNTS, Held
from bktools.progress import note
from bktools.progress import progress as progress_bar
from bktools.service import Service
from bktools.service.workers import Stopped, as_they_end, pause
from bktools.settings import require_writable
from bktools.submit.outcome_frame import outcome_frame
from bktools.submit.sender import OUTCOME_SCHEMA, OutcomeRow, Run, Sender, row_planned, row_without_sending
from bktools.wording import Sentence, words

# Companies that are sent concurrently. Most of their time they wait for the end of a job.
COMPANIES = 32

# The IDs of the batches of each company, in their order.
OfCompany = Mapping[str, Sequence[str]]


def submit_export_jobs(
    plan: ExportPlan,
    *,
    apply: bool = False,
    wait: float | dt.timedelta = 300.0,
    first_export: bool = False,
    by: str | None = None,
    progress: bool | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Submit a plan of export jobs. Default: a dry run that sends nothing.

    All companies are sent concurrently, and each company one job at a time, in the order of the plan. A
    company that is refused or in doubt does not stop the others. The service's rate limit is waited for, as
    long as it asks.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it.
    apply : bool
        True to write to the service.
    wait : float or timedelta
        Seconds that a company's job gets to end before its next batch is sent, at most its `expiresIn`
        (default: an hour); 0 or more. The service refuses a batch while a job of the company is in progress.
        Then its outcome is UNKNOWN, because a gateway may have repeated this very request.
    first_export : bool
        True to record that the companies of the plan were exported by nobody else, and from no other or
        earlier computer. It is asked once, before the first export of a company from this machine.
    by : str, optional
        Name of the person who says so; kept permanently. Needed with `first_export`.
    progress : bool, optional
        Show a bar. Default: in a terminal or a notebook.
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    DataFrame
        One row per batch, company by company: batch_id, company_id, entries (count), outcome, job_id,
        message. Outcomes: ACCEPTED (the job was created; it may not be completed), REJECTED (refused, nothing
        was booked), UNKNOWN (it may have been booked; the message says how to resolve it), PLANNED (not sent,
        run again), BLOCKED (not sent, because an earlier batch of the company is UNKNOWN or was refused,
        another process is sending for the company, the service cannot be reached, its entries were exported
        before with other data, or a person must first say that this is the company's first export). Without
        `apply`: PLANNED for batches that would be sent, SENDING for batches that another process is sending.

    Raises
    ------
    PlanError
        When the plan was changed after it was composed, was composed with another journal, or holds entries
        that another batch sent; nothing is sent.
    ArgumentError
        When the argument is no plan, `wait` is no number of seconds, or `by` is missing
        or a placeholder; nothing is sent.
    JournalError, StorageError
        When this is not the right journal (an old copy, for example), or it cannot be written. A batch is
        sent only after it is in the journal.

    Notes
    -----
    Export jobs: interface, sections 4.2 and 7.1. Each entry is booked at most once per journal.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> with bktools.Sandbox() as service:
    ...     entries = pd.DataFrame({
    ...         "id": ["123e4567-e89b-42d3-a456-426614174000"], "company_id": [service.settings.company]})
    ...     plan = bktools.compose_export_jobs(entries)
    ...     sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    ...     again = bktools.submit_export_jobs(plan, apply=True, service=service)
    >>> sent["outcome"].to_list(), sent["job_id"].equals(again["job_id"])
    (['ACCEPTED'], True)
    """
    if not isinstance(plan, ExportPlan):
        raise ArgumentError(
            "plan", Sentence("rule.made_by", function="compose_export_jobs", kind=type(plan).__name__)
        )
    apply = rules.flag("apply", apply)
    service = service_or_default(service)
    if apply:
        require_writable(service.settings)
    says = rules.a_name("by", by) if rules.flag("first_export", first_export) else ""
    with open_for_writing(service.settings) as journal:
        for company_id in sorted({*plan.batches["company_id"]}) if apply and says else ():
            record_first_export(journal, company_id, by=says)
        rows = submit(journal, plan, service, apply=apply, wait=wait, progress=progress)
    table = pa.Table.from_pylist(rows, schema=OUTCOME_SCHEMA)
    about = {"environment": service.settings.environment, "plan": plan.plan_id, "applied": apply}
    return outcome_frame(to_pandas(table, about | {"unchecked": list(plan.unchecked)}))


def seconds_of(wait: float | dt.timedelta) -> float:
    """Return the seconds of a `wait`; refuse another thing."""
    wait = rules.plain(wait)
    if isinstance(wait, dt.timedelta):
        wait = wait.total_seconds()
    if isinstance(wait, bool) or not isinstance(wait, int | float) or math.isnan(wait) or wait < 0:
        raise ArgumentError("wait", Sentence("rule.seconds"), wait)
    return float(wait)


def submit(
    journal: WritableJournal,
    plan: ExportPlan,
    service: Service,
    *,
    apply: bool,
    wait: float | dt.timedelta,
    month: str | None = None,
    by: str | None = None,
    progress: bool | None = None,
) -> list[OutcomeRow]:
    """Send the batches of a plan as `submit_export_jobs` does; return a row for each.

    The journal keeps the `month` of a close with each entry, by default that of the entry's date, and the
    entries that the plan's ledger was proven to hold, as found `by` a person, by default the system's user.
    """
    seconds = seconds_of(wait)
    # Only the journal that a plan was composed with knows the earlier exports.
    if plan.journal not in {"", journal.id}:
        about = {"plan": plan.plan_id, "before": plan.journal, "now": journal.id}
        raise PlanError(Sentence("submit.another_journal", **about))
    # Check every batch before sending the first.
    of_company: dict[str, list[str]] = {}
    for batch in plan.requests():
        if reason := journal.obstacle(batch):
            raise PlanError(str(reason))
        of_company.setdefault(batch.company_id, []).append(batch.batch_id)
    if not apply:
        return _planned(journal, plan, of_company)
    if WITHOUT_ACCOUNTS in plan.unchecked:
        raise PlanError(Sentence("submit.ledger_without_accounts", source=plan.books["source"] or "frame"))
    _record_books(journal, plan, by or this_user())
    with progress_bar("export jobs", total=len(plan.batches), unit="batch", shown=progress) as bar:
        return _send_all(journal, Run(plan, service, month, seconds, bar, progress), of_company)


def _record_books(journal: WritableJournal, plan: ExportPlan, by: str) -> None:
    """Record what the plan's ledger holds, may hold and lacks: a plan without the ledger knows it, too.

    Without a history, what it holds may have been sent from here.
    """
    books, company_id = plan.books, plan.books.get("company_id")
    if not plan.journal or not company_id:
        return
    ledger = f"{books['source'] or 'frame'} (SHA-256 {books['sha256']})"
    maybe = _held(plan, Held.MAYBE_BOOKED, journal.entries_of(MAYBE_BOOKED))
    # A company whose journal lacks nothing needs no evidence.
    lacks = books["lacks"] if needs_ledger_since(journal) else []
    for code, entries in (
        (MAYBE_BOOKED, [{"entry_id": entry, "voucher": _voucher(row)} for entry, row in maybe.items()]),
        (NOT_IN_LEDGER, [{"entry_id": entry} for entry in lacks]),
    ):
        if entries:
            record_of_ledger(journal, code, company_id, entries, day=books["exported_at"], ledger=ledger)
    booked = _held(plan, Held.ALREADY_BOOKED, journal.exported_elsewhere())
    # What others may have exported is asked first.
    if not booked or first_export_question(journal, company_id) is not None:
        return
    known = [_known(row) for row in booked.values()]
    word = {"by": by, "evidence": f"general ledger {ledger}", "source": ledger}
    event = record_exported_elsewhere(journal, company_id, known, **word)
    undo = f'{journal.command(f"export undo-import {event}", company_id)} --by NAME --evidence "..."'
    done = words()("done.elsewhere", count=len(known), by=by)
    note(f"{done}. {words()('done.undo', command=undo)}")


def _held(plan: ExportPlan, reason: str, known: Container[str]) -> dict[str, dict[str, Any]]:
    """Return the entries of the ledger's company that are held back for a reason, by ID, but known ones."""
    rows = plan.held.filter(pc.equal(plan.held["reason"], reason)).to_pylist()
    is_own = {row["id"]: row for row in rows if row["company_id"].lower() == plan.books["company_id"]}
    # The lines of a split entry have one ID.
    return {entry: row for entry, row in is_own.items() if entry not in known}


def _known(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what a statement keeps of an entry that the ledger holds: its data, and the voucher."""
    known = {name: str(value) for name, value in row.items() if value is not None and name in ENTRY_DATA}
    return {"entry_id": row["id"], **known, "voucher": _voucher(row)}


def _voucher(row: Mapping[str, Any]) -> str:
    return json.loads(row["facts"]).get("voucher") or ""


def _planned(journal: WritableJournal, plan: ExportPlan, of_company: OfCompany) -> list[OutcomeRow]:
    rows = []
    for batch_ids in of_company.values():
        # Requests are made one at a time, to save memory.
        for batch in map(plan.request, batch_ids):
            row = row_without_sending(journal, batch, plan.plan_id)
            rows.append(row or row_planned(journal, batch, plan.books))
    return rows


def _send_all(journal: WritableJournal, run: Run, of_company: OfCompany) -> list[OutcomeRow]:
    calls = [partial(_company, journal, run, *of_one) for of_one in of_company.items()]
    threads = min(len(calls), COMPANIES) or 1
    with closing(as_they_end(calls, threads, ending=run.ending)) as ended:
        rows = dict(ended)
    # A worker that must stop hands on no part of the rows.
    pause(0)
    if len(run.errors) > 1:
        # The errors' lines are the only record of the service's answers.
        raise StorageError("; ".join(map(str, run.errors))) from run.errors[0]
    for error in run.errors:
        raise error
    return [row for number in sorted(rows) for row in rows[number]]


def _company(
    journal: WritableJournal, run: Run, company_id: str, batch_ids: Sequence[str]
) -> list[OutcomeRow]:
    try:
        run.go_on()
        # A thread needs its own connection to the journal.
        with journal.another_connection() as connected:
            return Sender(connected, run, company_id).send(batch_ids)
    except Stopped:
        pass
    except Exception as error:  # noqa: BLE001 - raised when the others have ended
        run.fail(error)
    return []
