"""`submit_export_jobs`: sends the batches of a plan, all companies concurrently, each batch once.

The order of the steps prevents double bookings. The intent is on disk before the first byte is sent. The outcome is on disk
before the next batch of the company begins. A batch whose outcome is unknown stops its company until a person resolves it.
A company has one sender: a thread that holds its lock, with its own connection to the journal.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import (
    ArgumentError,
    BktoolsError,
    JournalBusyError,
    JournalError,
    PlanError,
    StorageError,
)
from bktools.export.plan import BatchRequest, ExportPlan
from bktools.frames.schema import COUNT, TEXT, Month, to_pandas
from bktools.journal.doubts import Doubts
from bktools.journal.export_jobs import JOB_SECONDS
from bktools.journal.journal import Journal
from bktools.journal.records import Row, now
from bktools.progress import Bar
from bktools.progress import progress as progress_bar
from bktools.service import Service
from bktools.service.service import reserve
from bktools.service.workers import LOOK, Stopped, as_they_end, pause
from bktools.submit.outcome import Outcome, of_another_batch, of_answer, of_error

# States that a submission does not change.
SETTLED = frozenset({"ACCEPTED", "UNKNOWN"})

WOULD_BE_SENT = "would be sent"

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0

# Companies that are sent concurrently. Most of their time they wait for the end of a job.
COMPANIES = 32

OUTCOMES = pa.schema(
    {
        "batch_id": TEXT,
        "company_id": TEXT,
        "entries": COUNT,
        "outcome": TEXT,
        "job_id": TEXT,
        "message": TEXT,
    }
)


def submit_export_jobs(
    plan: ExportPlan,
    *,
    apply: bool = False,
    wait: float | dt.timedelta = 300.0,
    others_export: bool = False,
    period: Month | None = None,
    progress: bool | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Submit a plan of export jobs. Default: a dry run that sends nothing.

    All companies are sent concurrently, and each company one job at a time, in the order of the plan. A company that is
    refused or in doubt does not stop the others.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it.
    apply : bool
        True to write to the service.
    wait : float or timedelta
        Most seconds to wait, for each batch, while another job of its company is in progress; 0 or more.
    others_export : bool
        True when people also export by hand: wait for any job in progress. By default, wait only while a job from this
        journal may still run. Any other job in progress makes the batch UNKNOWN, because a gateway may have repeated this
        very request.
    period : str, Period, date or datetime, optional
        The month of the close that sends the entries, as 2026-10; kept with each of them. Default: the month of the
        entry's date.
    progress : bool, optional
        Show a bar. Default: in a terminal or a notebook.
    service : Service, optional
        Default: the configured one.

    Returns
    -------
    DataFrame
        One row per batch, company by company: batch_id, company_id, entries (count), outcome, job_id, message. Outcomes:
        ACCEPTED (the job was created; it may not be completed), REJECTED (refused, nothing was booked), UNKNOWN (it may have been booked;
        the message says how to resolve it), PLANNED (not sent, run again), BLOCKED (not sent, because an earlier batch
        of the company is UNKNOWN or was refused, or the service cannot be reached). Without `apply`: PLANNED for batches
        that would be sent, SENDING for batches that another process is sending.

    Raises
    ------
    PlanError
        When the plan was changed after it was composed, was composed with another journal, or holds entries that another
        batch or journal sent; nothing is sent.
    ArgumentError
        When the argument is not a plan, `wait` is not a number of seconds, or `period` is not a month; nothing is sent.
    JournalBusyError
        When another process is sending for every company of the plan; nothing is sent.
    JournalError, StorageError
        When the journal is an old copy or cannot be written. A batch is only sent after it is in the journal.

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
        raise ArgumentError("plan", f"must be a result of compose_export_jobs, is a {type(plan).__name__}")
    seconds = _seconds(wait)
    apply, others_export = rules.flag("apply", apply), rules.flag("others_export", others_export)
    period = None if period is None else rules.month("period", period)
    service = service_or_default(service)
    rows: list[dict[str, Any]] = []
    with Journal(service.settings) as journal:
        _require_its_journal(plan, journal)
        journal.recover()
        journal.require_current()
        # Check every batch before sending the first.
        of_company: dict[str, list[str]] = {}
        for batch in plan.requests():
            reason = journal.obstacle(batch)
            if reason:
                raise PlanError(reason)
            of_company.setdefault(batch.company_id, []).append(batch.batch_id)
        # Requests are made one at a time, to save memory.
        batches = [_Requests(plan, own) for own in of_company.values()]
        if not apply:
            doubts = Doubts(journal)
            rows = [_dry_run_row(journal, batch, doubts) for own in batches for batch in own]
    if apply:
        with progress_bar("export jobs", total=len(plan.batches), unit="batch", shown=progress) as bar:
            sending = _Sending(plan, service, bar, wait=seconds, others_export=others_export, period=period)
            rows = sending.all(list(of_company), batches)
    if rows and all(row["busy"] for row in rows):
        raise JournalBusyError(rows[0]["message"])
    table = pa.Table.from_pylist(rows, schema=OUTCOMES)
    about = {"environment": service.settings.environment, "plan": plan.plan_id, "applied": apply}
    return to_pandas(table, about | {"unchecked": list(plan.unchecked)})


def _require_its_journal(plan: ExportPlan, journal: Journal) -> None:
    """Refuse a plan that was composed with another journal, because only that one knows the earlier exports."""
    if plan.journal not in {"", journal.id}:
        raise PlanError(
            f"the plan {plan.plan_id} was composed with the journal {plan.journal}, but this is {journal.id}: nothing was "
            "sent; submit it with that journal (bktools journal shows the current one), or compose it again here"
        )


def _seconds(wait: float | dt.timedelta) -> float:
    wait = rules.plain(wait)
    if isinstance(wait, dt.timedelta):
        wait = wait.total_seconds()
    if isinstance(wait, bool) or not isinstance(wait, int | float) or math.isnan(wait) or wait < 0:
        raise ArgumentError("wait", "must be a number of seconds, 0 or more", wait)
    return float(wait)


@dataclass(frozen=True)
class _Requests:
    """The requests of some batches of a plan, made again for each iteration."""

    plan: ExportPlan
    batch_ids: list[str]

    def __iter__(self) -> Iterator[BatchRequest]:
        return map(self.plan.request, self.batch_ids)


class _Sending:
    """The submission of a plan: what its companies share."""

    def __init__(
        self,
        plan: ExportPlan,
        service: Service,
        bar: Bar,
        *,
        wait: float,
        others_export: bool,
        period: str | None,
    ) -> None:
        self.plan = plan
        self.service = service
        self.bar = bar
        self.wait = wait
        self.others_export = others_export
        self.period = period
        # The reason why nothing more is sent, for any company.
        self.stopped = ""
        self.ending = threading.Event()
        self._errors: list[Exception] = []

    def all(self, companies: Sequence[str], batches: Sequence[_Requests]) -> list[dict[str, Any]]:
        """Send the batches of each company; return one row per batch, in the order of the companies."""
        calls = [partial(self._company, company, own) for company, own in zip(companies, batches, strict=True)]
        rows: list[list[dict[str, Any]]] = [[] for _ in calls]
        threads = min(len(calls), COMPANIES) or 1
        with closing(as_they_end(calls, threads, ending=self.ending)) as ended:
            for number, own in ended:
                rows[number] = own
        # A worker that must stop hands on no part of the rows.
        pause(0)
        if len(self._errors) > 1:
            # These lines are the only record of what the service answered.
            raise StorageError("; ".join(map(str, self._errors))) from self._errors[0]
        for error in self._errors:
            raise error
        return [row for own in rows for row in own]

    def _company(self, company_id: str, batches: _Requests) -> list[dict[str, Any]]:
        if self.ending.is_set():
            return []
        try:
            # A thread needs its own connection to the journal.
            with Journal(self.service.settings) as journal:
                return _Sender(journal, self, company_id).send(batches)
        except Stopped:
            return []
        except Exception as error:  # noqa: BLE001 - raised when the others have ended
            # The requests in progress go on to their end, so that their outcomes are known.
            self._errors.append(error)
            self.ending.set()
            return []


class _Sender:
    """Sends the batches of a company, one after another."""

    def __init__(self, journal: Journal, sending: _Sending, company_id: str) -> None:
        self._journal = journal
        self._sending = sending
        self._plan = sending.plan
        self._service = sending.service
        self._company_id = company_id

    def send(self, batches: _Requests) -> list[dict[str, Any]]:
        """Send the batches, and return one row per batch."""
        try:
            with self._journal.sending(self._company_id):
                # A sender may have been killed after this run began.
                self._journal.recover(self._company_id)
                self._journal.claim(batches, self._plan.plan_id, self._sending.period)
                return list(self._sent_in_order(batches))
        except JournalError as error:
            # Nothing was sent: another process is sending, or has sent some of these batches meanwhile.
            is_busy = isinstance(error, JournalBusyError)
            return [_row(batch, "BLOCKED", str(error), busy=is_busy) for batch in batches]

    def _sent_in_order(self, batches: _Requests) -> Iterator[dict[str, Any]]:
        stopped = ""
        doubts = Doubts(self._journal)
        for batch in batches:
            self._go_on()
            stopped = stopped or self._sending.stopped
            found = self._journal.state_of(batch.batch_id)
            assert found is not None
            doubt = self._journal.in_doubt(batch.company_id)
            if found["state"] in SETTLED:
                yield _settled_row(batch, found, doubts)
            elif doubt is not None:
                yield _row(batch, "BLOCKED", doubts.message(doubt))
            elif stopped:
                yield _row(batch, "BLOCKED", stopped)
            else:
                try:
                    outcome = self._send_when_free(batch)
                except JournalError as error:
                    # Meanwhile a person withdrew the batch, or another journal sent for the company.
                    stopped = str(error)
                    yield _row(batch, "BLOCKED", stopped)
                    continue
                message = outcome.message
                if outcome.state == "UNKNOWN":
                    found = self._journal.state_of(batch.batch_id)
                    assert found is not None
                    message = f"{message}; {doubts.message(found)}"
                elif outcome.state != "ACCEPTED":
                    stopped = f"not sent, because batch {batch.batch_id} before it was not accepted: {message}"
                if outcome.stops_all:
                    self._sending.stopped = stopped
                yield _row(batch, outcome.state, message, outcome.job_id)
            self._sending.bar.update(1)

    def _send_when_free(self, batch: BatchRequest) -> Outcome:
        """Send a batch; repeat after growing pauses while a job of its company is in progress."""
        end = time.monotonic() + self._sending.wait
        seconds = FIRST_PAUSE
        while True:
            outcome = self._send_once(batch)
            left = end - time.monotonic()
            if not outcome.waits or left <= 0:
                return outcome
            again = time.monotonic() + min(seconds, left)
            while time.monotonic() < again:
                self._go_on()
                pause(LOOK)
            seconds = min(seconds * 2, LONGEST_PAUSE)

    def _go_on(self) -> None:
        """Raise when nothing more is to be begun."""
        if self._sending.ending.is_set():
            raise Stopped

    def _send_once(self, batch: BatchRequest) -> Outcome:
        # Before the intent: a process that ends while it waits for its rate has sent nothing.
        reserve(self._service)
        may_wait = self._sending.others_export or _may_still_run(self._journal.newest_accepted(batch.company_id))
        body = self._journal.begin(batch.batch_id)
        assert body == batch.body, "claim refuses a batch with another body"
        options = self._plan.options
        try:
            job = self._service.create_export_job(
                batch.entry_ids,
                batch.company_id,
                employee_id=options.employee_id,
                is_interactive=options.is_interactive,
                vendor_based_bookkeeping=options.vendor_based_bookkeeping,
            )
            outcome = of_answer(job, batch.company_id, len(batch.entry_ids))
            if outcome.job_id is not None and self._journal.is_known_job(outcome.job_id):
                outcome = of_another_batch(outcome)
        except Stopped:
            # Raised before the request is sent; once it may have arrived, a broken connection is raised instead.
            self._remember(batch, Outcome("PLANNED", "not sent, because the submission was stopped"))
            raise
        except Exception as error:  # noqa: BLE001 - after any error the outcome is written down
            outcome = of_error(error, may_wait=may_wait)
        except BaseException as error:
            # Ctrl-C: the request may have arrived, so record that before the process ends.
            self._remember(batch, of_error(error, may_wait=False))
            raise
        self._remember(batch, outcome)
        return outcome

    def _remember(self, batch: BatchRequest, outcome: Outcome) -> None:
        try:
            self._journal.settle(batch.batch_id, outcome.state, outcome.message, job_id=outcome.job_id, job=outcome.job)
        except (BktoolsError, OSError) as error:
            raise StorageError(
                f"batch {batch.batch_id} is {outcome.state} ({outcome.message}), but the journal could not be written: "
                f"{error}; keep this line, because the journal will show UNKNOWN: resolve it with "
                f"{self._journal.command(f'export resolve {batch.batch_id}')}"
            ) from error


def _may_still_run(accepted: Row | None) -> bool:
    """Whether the last accepted job of a company may still be in progress.

    If not, a job in progress is not from this journal. A time in the future comes from a changed clock, so it counts as no.
    """
    if accepted is None or accepted["sent_at"] is None:
        return False
    # A batch that a person resolved as accepted has no job.
    expires = json.loads(accepted["job"] or "{}").get("expiresIn")
    lasts = expires if isinstance(expires, int | float) and expires > 0 else JOB_SECONDS
    age = (now() - dt.datetime.fromisoformat(accepted["sent_at"])).total_seconds()
    return 0 <= age <= lasts


def _dry_run_row(journal: Journal, batch: BatchRequest, doubts: Doubts) -> dict[str, Any]:
    """Return the row of a batch in a dry run."""
    found = journal.state_of(batch.batch_id)
    if found is not None and found["state"] in {*SETTLED, "SENDING"}:
        return _settled_row(batch, found, doubts)
    doubt = journal.in_doubt(batch.company_id)
    if doubt is not None:
        return _row(batch, "BLOCKED", doubts.message(doubt))
    reason = journal.waiting(batch)
    if reason:
        return _row(batch, "BLOCKED", reason)
    return _row(batch, "PLANNED", WOULD_BE_SENT)


def _settled_row(batch: BatchRequest, found: Row, doubts: Doubts) -> dict[str, Any]:
    if found["state"] == "UNKNOWN":
        return _row(batch, "UNKNOWN", doubts.message(found))
    if found["state"] == "SENDING":
        return _row(batch, "SENDING", f"{found['sender']} is sending it (since {found['sent_at']})")
    message = f"{found['message']} (since {found['settled_at']}; nothing was sent again)"
    return _row(batch, found["state"], message, found["job_id"])


def _row(
    batch: BatchRequest, outcome: str, message: str, job_id: str | None = None, *, busy: bool = False
) -> dict[str, Any]:
    return {
        "batch_id": batch.batch_id,
        "company_id": batch.company_id,
        "entries": len(batch.entry_ids),
        "outcome": outcome,
        "job_id": job_id,
        "message": message,
        "busy": busy,
    }
