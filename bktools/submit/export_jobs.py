"""`submit_export_jobs`: sends the batches of a plan, all companies concurrently, each batch once.

The order of the steps prevents double bookings. The intent is on disk before the first byte is sent. The
outcome is on disk before the next batch of the company begins. A batch whose outcome is unknown stops its
company until a person resolves it. A company has one sender: a thread that holds its lock, with its own
connection to the journal.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from functools import partial
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.connection import service_or_default
from bktools.contract import rules
from bktools.errors import ArgumentError, BktoolsError, JournalError, PlanError, StorageError
from bktools.export.plan import ExportPlan
from bktools.frames.batches import BatchRequest
from bktools.frames.schema import COUNT, TEXT, Month, to_pandas
from bktools.journal.entry_data import dated
from bktools.journal.journal import Journal
from bktools.journal.records import Row, loaded, named, now
from bktools.journal.said import said
from bktools.journal.unknown_outcomes import lasts_seconds, settle_first
from bktools.journal.writing import WritableJournal, open_for_writing
from bktools.progress import progress as progress_bar
from bktools.service import Service
from bktools.service.service import reserve
from bktools.service.workers import LOOK, Stopped, as_they_end, pause
from bktools.settings import require_writable
from bktools.submit.outcome import ITS_OWN, OTHER_JOB, RATE_LIMITED, Outcome, of_answer, of_error
from bktools.submit.rate_limit import RateLimit

# States that a submission does not change.
SETTLED = frozenset({"ACCEPTED", "UNKNOWN"})

WOULD_BE_SENT = "would be sent"

# Seconds between two looks whether a company's job has ended; each pause is twice the one before.
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0

# Companies that are sent concurrently. Most of their time they wait for the end of a job.
COMPANIES = 32

OUTCOMES = pa.schema(
    dict.fromkeys(("batch_id", "company_id", "entries", "outcome", "job_id", "message"), TEXT)
    | {"entries": COUNT}
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
        Most seconds to wait, for each batch, while another job of its company is in progress; 0 or more.
    others_export : bool
        True when people also export by hand: wait for any job in progress. By default, wait only while a job
        from this journal may still run. Any other job in progress makes the batch UNKNOWN, because a gateway
        may have repeated this very request.
    period : str, Period, date or datetime, optional
        The month of the close that sends the entries, as 2026-10; kept with each of them. Default: the month
        of the entry's date.
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
        another process is sending for the company, the service cannot be reached, or its entries were
        exported before with other data). Without `apply`: PLANNED for batches that would be sent, SENDING for
        batches that another process is sending.

    Raises
    ------
    PlanError
        When the plan was changed after it was composed, was composed with another journal, or holds entries
        that another batch sent; nothing is sent.
    ArgumentError
        When the argument is no plan, `wait` is no number of seconds, or `period` is no month; nothing is
        sent.
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
    apply = rules.flag("apply", apply)
    period = None if period is None else rules.month("period", period)
    service = service_or_default(service)
    if apply:
        require_writable(service.settings)
    with open_for_writing(service.settings) as journal:
        rows = Submission(
            journal,
            plan,
            service,
            apply=apply,
            wait=wait,
            others_export=others_export,
            period=period,
            progress=progress,
        ).rows()
    table = pa.Table.from_pylist(rows, schema=OUTCOMES)
    about = {"environment": service.settings.environment, "plan": plan.plan_id, "applied": apply}
    return to_pandas(table, about | {"unchecked": list(plan.unchecked)})


def _seconds(wait: float | dt.timedelta) -> float:
    wait = rules.plain(wait)
    if isinstance(wait, dt.timedelta):
        wait = wait.total_seconds()
    if isinstance(wait, bool) or not isinstance(wait, int | float) or math.isnan(wait) or wait < 0:
        raise ArgumentError("wait", "must be a number of seconds, 0 or more", wait)
    return float(wait)


@dataclass
class Submission:
    """The submission of a plan for `submit_export_jobs`, with an open journal; its companies share it."""

    journal: WritableJournal
    plan: ExportPlan
    service: Service
    _: KW_ONLY
    apply: bool
    wait: float | dt.timedelta
    others_export: bool
    period: str | None
    progress: bool | None = None
    # The reason why nothing more is sent, for any company.
    stopped: str = ""
    # Set when nothing more is to be begun.
    ending: threading.Event = field(default_factory=threading.Event)
    errors: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seconds, self.others_export = (
            _seconds(self.wait),
            rules.flag("others_export", self.others_export),
        )
        self.rate_limit = RateLimit(shown=self.progress)

    def rows(self) -> list[dict[str, Any]]:
        """Send the batches, or only look what would be sent; return one row per batch, company by company."""
        plan, journal = self.plan, self.journal
        # Only the journal that a plan was composed with knows the earlier exports.
        if plan.journal not in {"", journal.id}:
            raise PlanError(
                f"the plan {plan.plan_id} was composed with the journal {plan.journal}, "
                f"but this is {journal.id}: nothing was sent; submit it with that journal (bktools journal "
                "shows the current one), or compose it again here"
            )
        # Check every batch before sending the first.
        of_company: dict[str, list[str]] = {}
        for batch in plan.requests():
            reason = journal.obstacle(batch)
            if reason:
                raise PlanError(reason)
            of_company.setdefault(batch.company_id, []).append(batch.batch_id)
        if self.apply:
            with progress_bar(
                "export jobs", total=len(plan.batches), unit="batch", shown=self.progress
            ) as bar:
                self.bar = bar
                return self._sent(of_company)
        explained = set[str]()
        # Requests are made one at a time, to save memory.
        batches = (plan.request(batch_id) for own in of_company.values() for batch_id in own)
        return [
            _row_unsent(journal, batch, explained, "SENDING") or _row_planned(journal, batch)
            for batch in batches
        ]

    def _sent(self, of_company: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
        """Send the batches of each company, given by their IDs."""
        # The only company is sent in this thread.
        own = self.journal if len(of_company) == 1 else None
        calls = [partial(self._company, own, company, batch_ids) for company, batch_ids in of_company.items()]
        threads = min(len(calls), COMPANIES) or 1
        with closing(as_they_end(calls, threads, ending=self.ending)) as ended:
            rows = dict(ended)
        # A worker that must stop hands on no part of the rows.
        pause(0)
        if len(self.errors) > 1:
            # The errors' lines are the only record of the service's answers.
            raise StorageError("; ".join(map(str, self.errors))) from self.errors[0]
        for error in self.errors:
            raise error
        return [row for number in sorted(rows) for row in rows[number]]

    def go_on(self) -> None:
        """Raise `Stopped` when nothing more is to be begun."""
        if self.ending.is_set():
            raise Stopped

    def fail(self, error: Exception) -> None:
        """Begin nothing more, and raise the error when the requests on their way have their outcomes."""
        self.errors.append(error)
        self.ending.set()

    def _company(
        self, own: WritableJournal | None, company_id: str, batch_ids: Sequence[str]
    ) -> list[dict[str, Any]]:
        try:
            self.go_on()
            # A thread needs its own connection to the journal.
            with nullcontext(own) if own else self.journal.another_connection() as journal:
                return _Sender(journal, self, company_id).send(batch_ids)
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - raised when the others have ended
            self.fail(error)
        return []


class _RunStopped(Exception):
    """Raised in a wait before a request; never outside of this module."""


@dataclass
class _Sender:
    """Sends the batches of a company, one after another."""

    journal: WritableJournal
    run: Submission
    company_id: str
    # The reason why no other batch of the company is sent.
    stopped: str = ""
    # The batches of unknown outcome that a message has explained.
    explained: set[str] = field(default_factory=set)

    def send(self, batch_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Send batches, and return one row per batch."""
        request, plan_id = self.run.plan.request, self.run.plan.plan_id
        try:
            with self.journal.sending(self.company_id):
                # A sender may have been killed after this run began.
                self.journal.recover(self.company_id)
                # Requests are made one at a time, to save memory.
                self.journal.claim(map(request, batch_ids), plan_id, self.run.period)
                return [self._row_of(batch) for batch in map(request, batch_ids)]
        except JournalError as error:
            # Nothing was sent: another process is sending, or has sent some of these batches meanwhile.
            return [_row(batch, "BLOCKED", str(error)) for batch in map(request, batch_ids)]

    def _row_of(self, batch: BatchRequest) -> dict[str, Any]:
        self.run.go_on()
        try:
            try:
                row = self._sent(batch)
            except (JournalError, StorageError):
                # Nothing was sent, or the outcome is in the journal, the only place after a cut connection.
                is_regained = False
                with suppress(StorageError):
                    is_regained = self.journal.regain(self.company_id)
                if not is_regained:
                    raise
                row = self._sent(batch)
        except JournalError as error:
            # Meanwhile a person withdrew the batch, or another process sent for the company.
            self.stopped = str(error)
            row = _row(batch, "BLOCKED", self.stopped)
        self.run.bar.update(1)
        return row

    def _sent(self, batch: BatchRequest) -> dict[str, Any]:
        """Send a batch, if it and its company wait for nothing, and return its row."""
        row = _row_unsent(self.journal, batch, self.explained, "REJECTED")
        stopped = self.stopped or self.run.stopped
        if row is not None or stopped:
            return row or _row(batch, "BLOCKED", stopped)
        outcome = self._send_when_free(batch)
        if outcome.state not in SETTLED:
            self.stopped = (
                f"not sent, because batch {batch.batch_id} before it was not accepted: {outcome.message}"
            )
        if outcome.stops_all:
            self.run.stopped = self.stopped
        # The journal may know better: that the job belongs to another batch.
        for doubt in self.journal.unknown(self.company_id):
            how = settle_first(self.journal, doubt, self.explained)
            return _row(batch, "UNKNOWN", f"{_said(doubt)}; {how}", doubt["job_id"])
        return _row(batch, outcome.state, outcome.message, outcome.job_id)

    def _send_when_free(self, batch: BatchRequest) -> Outcome:
        """Send a batch.

        Wait and send it again while its company has a job in progress or the rate limit is reached.
        """
        end = time.monotonic() + self.run.seconds
        wait, seconds = 0.0, FIRST_PAUSE
        while True:
            try:
                self._wait(max(wait, self.run.rate_limit.left()))
                # Before the intent: a process that ends while it waits for its rate has sent nothing.
                reserve(self.run.service, self._wait)
                self._wait(0)
            except _RunStopped:
                return Outcome("PLANNED", "not_sent", {"said": self.run.stopped})
            outcome = self._send_once(batch)
            left = end - time.monotonic()
            if outcome.waits and left > 0:
                wait, seconds = min(seconds, left), min(seconds * 2, LONGEST_PAUSE)
            elif outcome.is_rate_limited and not outcome.stops_all:
                wait = 0.0
            else:
                return outcome

    def _wait(self, seconds: float) -> None:
        """Wait; raise `_RunStopped` within a moment when another company's answer stops the run."""
        end = time.monotonic() + seconds
        while True:
            self.run.go_on()
            if self.run.stopped:
                raise _RunStopped
            left = end - time.monotonic()
            if left <= 0:
                return
            pause(min(left, LOOK))

    def _send_once(self, batch: BatchRequest) -> Outcome:
        doubt = self._doubt_about_a_job(batch)
        service = self.run.service
        body = self.journal.begin(batch.batch_id)
        assert body == batch.body, "claim refuses a batch with another body"
        sent_at = time.monotonic()
        # Only the request, and nothing that could fail, stands between its intent and its outcome.
        try:
            job = service.create_export_job(
                batch.entry_ids, batch.company_id, **asdict(self.run.plan.options)
            )
            outcome = of_answer(job, batch.company_id, len(batch.entry_ids))
        except BaseException as error:
            outcome = of_error(error, doubt=doubt)
            if isinstance(error, Stopped) or not isinstance(error, Exception):
                # At Ctrl-C the request may have arrived, so record that before the process ends.
                self._record(batch, outcome)
                raise
        self._record(batch, outcome)
        if not outcome.is_rate_limited:
            self.run.rate_limit.passed()
            return outcome
        reason = self.run.rate_limit.reached(sent_at, outcome.retry_after)
        return (
            replace(outcome, code="not_sent", facts={"said": reason}, stops_all=True) if reason else outcome
        )

    def _doubt_about_a_job(self, batch: BatchRequest) -> str:
        """Return the code of why a job in progress may be this batch's, "" when it certainly is not."""
        sql = "SELECT 1 AS found FROM events WHERE batch_id = ? AND code = ? LIMIT 1"
        if self.journal.row(sql, batch.batch_id, RATE_LIMITED):
            return ITS_OWN
        is_other = self.run.others_export or _may_still_run(self.journal.newest_accepted(batch.company_id))
        return "" if is_other else OTHER_JOB

    def _record(self, batch: BatchRequest, outcome: Outcome) -> None:
        try:
            self.journal.settle(batch.batch_id, outcome)
        except (BktoolsError, OSError) as error:
            lost = StorageError(
                f"batch {batch.batch_id} is {outcome.state} ({outcome.message}), "
                f"but the journal could not be written: {error}"
            )
            self.run.fail(lost)
            raise Stopped from error


def _may_still_run(accepted: Row | None) -> bool:
    """Whether the last accepted job of a company may still be in progress.

    If not, a job in progress is not from this journal. A time in the future comes from a changed clock, so it
    counts as no.
    """
    if accepted is None or accepted["sent_at"] is None:
        return False
    age = (now() - dt.datetime.fromisoformat(accepted["sent_at"])).total_seconds()
    return 0 <= age <= lasts_seconds(accepted["job"])


def _row_planned(journal: Journal, batch: BatchRequest) -> dict[str, Any]:
    reason = journal.waiting(batch.company_id, dated(batch))
    return _row(batch, "BLOCKED", reason) if reason else _row(batch, "PLANNED", WOULD_BE_SENT)


def _row_unsent(
    journal: Journal, batch: BatchRequest, explained: set[str], *states: str
) -> dict[str, Any] | None:
    """Return the row of a batch that is not sent, None for others.

    It has an outcome or one of the states, or its company waits.
    """
    row = journal.state_of(batch.batch_id)
    state = None if row is None else row["state"]
    if row is None or state not in {*SETTLED, *states}:
        unknown = journal.unknown(batch.company_id)
        return _row(batch, "BLOCKED", settle_first(journal, unknown[0], explained)) if unknown else None
    if state == "UNKNOWN":
        return _row(batch, state, settle_first(journal, row, explained))
    if state == "SENDING":
        return _row(
            batch,
            state,
            f"{named(row['login'], row['machine'], row['process'])} is sending it (since {row['sent_at']})",
        )
    changed = journal.changed_since(batch) if state == "ACCEPTED" else []
    if changed:
        return _row(
            batch,
            "BLOCKED",
            f"{len(changed)} of its entries have other data now than when they were exported (the first is "
            f"{changed[0]}): nothing was sent; compose again with history=load_export_jobs(entries=True), "
            "which shows both",
        )
    return _row(
        batch, state, f"{_said(row)} (since {row['settled_at']}; nothing was sent again)", row["job_id"]
    )


def _said(row: Row) -> str:
    return said(row["code"], loaded(row["facts"]))


def _row(batch: BatchRequest, outcome: str, message: str, job_id: str | None = None) -> dict[str, Any]:
    values = (batch.batch_id, batch.company_id, len(batch.entry_ids), outcome, job_id, message)
    return dict(zip(OUTCOMES.names, values, strict=True))
