"""Sends the batches of a company, one after another, and returns a row for each."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from bktools.errors import JournalError, NotRecordedError
from bktools.export.plan import ExportPlan
from bktools.frames.batches import BatchRequest
from bktools.frames.schema import COUNT, MAYBE_SENT, TEXT
from bktools.journal import clock
from bktools.journal.attempts import recover
from bktools.journal.claims import claim
from bktools.journal.database import Row
from bktools.journal.entry_data import dated
from bktools.journal.journal import Journal
from bktools.journal.records import loaded
from bktools.journal.right_journal import company_refusal
from bktools.journal.sentences import sentence_of
from bktools.journal.unknown_outcomes import how_to_resolve, lasts_seconds
from bktools.journal.writable import WritableJournal
from bktools.progress import Bar, note
from bktools.service import Service
from bktools.service.service import reserve
from bktools.service.workers import LOOK, Stopped, pause
from bktools.submit.outcome import Outcome
from bktools.submit.rate_limit import RateLimit
from bktools.submit.request import send_once
from bktools.wording import words

OUTCOME_SCHEMA = pa.schema(
    dict.fromkeys(("batch_id", "company_id", "entries", "outcome", "job_id", "message"), TEXT)
    | {"entries": COUNT}
)

OutcomeRow = dict[str, Any]


@dataclass
class Run:
    """What the companies of a submission share."""

    plan: ExportPlan
    service: Service
    month: str | None
    # Seconds that a company's job gets to end.
    seconds: float
    bar: Bar
    show_bar: bool | None
    # The reason why nothing more is sent, for any company.
    stopped: str = ""
    # Set when nothing more is to be begun.
    ending: threading.Event = field(default_factory=threading.Event)
    errors: list[Exception] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rate_limit = RateLimit(self.service, shown=self.show_bar)

    def go_on(self) -> None:
        """Raise `Stopped` when nothing more is to be begun."""
        if self.ending.is_set():
            raise Stopped

    def fail(self, error: Exception) -> None:
        """Begin nothing more, and raise the error when the requests on their way have their outcomes."""
        self.errors.append(error)
        self.ending.set()


class _RunStopped(Exception):
    """Raised in a wait before a request; never outside of this module."""


@dataclass
class Sender:
    """Sends the batches of a company, one after another."""

    journal: WritableJournal
    run: Run
    company_id: str
    # The reason why no other batch of the company is sent.
    stopped: str = ""

    def send(self, batch_ids: Sequence[str]) -> list[OutcomeRow]:
        """Send batches, and return one row per batch."""
        request, plan = self.run.plan.request, self.run.plan
        try:
            with self.journal.lock(self.company_id):
                # A sender may have been killed after this run began.
                recover(self.journal, self.company_id)
                # Requests are made one at a time, to save memory.
                claim(self.journal, map(request, batch_ids), plan.plan_id, self.run.month)
                return [self._row_of(batch) for batch in map(request, batch_ids)]
        except JournalError as error:
            # Nothing was sent: the company waits, or another process has sent some of these batches.
            return [row_of(batch, "BLOCKED", str(error)) for batch in map(request, batch_ids)]

    def _row_of(self, batch: BatchRequest) -> OutcomeRow:
        self.run.go_on()
        try:
            row = self._send(batch)
        except NotRecordedError as lost:
            self.run.fail(lost)
            raise Stopped from lost
        except JournalError as error:
            # Meanwhile a person withdrew the batch, or another process sent for the company.
            self.stopped = str(error)
            row = row_of(batch, "BLOCKED", self.stopped)
        self.run.bar.update(1)
        return row

    def _send(self, batch: BatchRequest) -> OutcomeRow:
        """Send a batch, if it and its company wait for nothing, and return its row."""
        row = row_without_sending(self.journal, batch, self.run.plan.plan_id)
        stopped = self.stopped or self.run.stopped
        if row is not None or stopped:
            return row or row_of(batch, "BLOCKED", stopped)
        outcome = self._send_when_free(batch)
        if outcome.state != "ACCEPTED":
            self.stopped = words()("submit.after", batch=batch.batch_id, reason=outcome.message)
        if outcome.stops_all:
            self.run.stopped = self.stopped
        if unknown := self.journal.unknown(self.company_id):
            how = how_to_resolve(self.journal, unknown[0])
            return row_of(batch, "UNKNOWN", f"{_sentence(unknown[0])}; {how}", unknown[0]["job_id"])
        return row_of(batch, outcome.state, outcome.message, outcome.job_id)

    def _send_when_free(self, batch: BatchRequest) -> Outcome:
        """Send a batch when the company's job before it has had its time; again after the rate limit."""
        try:
            self._await_own_job()
            while True:
                # Before the intent: a process that ends while it waits for its rate has sent nothing.
                reserve(self.run.service, self._wait)
                self._wait(0)
                sent_at = time.monotonic()
                outcome = send_once(self.journal, self.run.service, batch)
                if not outcome.is_rate_limited:
                    self.run.rate_limit.passed()
                    return outcome
                if reason := self.run.rate_limit.reached(sent_at, outcome.retry_after):
                    return replace(outcome, code="not_sent", facts={"said": reason}, stops_all=True)
        except _RunStopped:
            return Outcome("PLANNED", "not_sent", {"said": self.run.stopped})

    def _await_own_job(self) -> None:
        """Wait for the end of the company's job before.

        Waiting avoids most refusals because a job is in progress, each of which is an unknown outcome.
        """
        accepted = self.journal.newest_accepted(self.company_id)
        seconds = seconds_to_end(accepted, self.run.seconds)
        if accepted is not None and seconds >= 1:
            text = words()("submit.waiting_for_job", **accepted, seconds=f"{seconds:.0f}")
            note(text, shown=self.run.show_bar)
        self._wait(seconds)

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


def seconds_to_end(accepted: Row | None, most: float) -> float:
    """Return how long the next batch of a company waits for the job of an accepted one to end."""
    if accepted is None or accepted["resolved_by"]:
        # A person found it booked, so its job has ended.
        return 0.0
    # Since the answer, because the job began before it.
    age = (clock.now() - dt.datetime.fromisoformat(accepted["settled_at"])).total_seconds()
    return max(min(lasts_seconds(accepted["job"]), most) - max(age, 0.0), 0.0)


def row_planned(journal: Journal, batch: BatchRequest, books: Mapping[str, Any]) -> OutcomeRow:
    """Return the row of a batch that would be sent, or that waits because of its company."""
    error = company_refusal(journal, batch.company_id, dated(batch), books)
    if error:
        return row_of(batch, "BLOCKED", str(error))
    return row_of(batch, "PLANNED", words()("submit.would_be_sent"))


def row_without_sending(journal: Journal, batch: BatchRequest, plan_id: str) -> OutcomeRow | None:
    """Return the row of a batch that was sent, or whose company waits; None for one that may be sent."""
    row = journal.row_of(batch.batch_id)
    state = None if row is None else row["state"]
    if row is None or state not in MAYBE_SENT:
        if unknown := journal.unknown(batch.company_id):
            command = journal.resolve_command(unknown[0]["batch_id"], batch.company_id)
            return row_of(batch, "BLOCKED", words()("submit.resolve_first", **unknown[0], command=command))
        return None
    if state == "UNKNOWN":
        return row_of(batch, state, how_to_resolve(journal, row))
    if state == "SENDING":
        sender = journal.sender_of(batch.batch_id)
        return row_of(batch, state, words()("submit.sending", sender=sender, since=row["sent_at"]))
    if row["plan_id"] != plan_id:
        # Its entries may have other data now; a plan with a history knows what became of them.
        return row_of(batch, "BLOCKED", words()("submit.sent_by_another_plan", plan=row["plan_id"]))
    text = words()("submit.sent_before", outcome=_sentence(row), since=row["settled_at"])
    return row_of(batch, state, text, row["job_id"])


def row_of(batch: BatchRequest, outcome: str, message: str, job_id: str | None = None) -> OutcomeRow:
    """Return a row of what `submit_export_jobs` returns."""
    values = (batch.batch_id, batch.company_id, len(batch.entry_ids), outcome, job_id, message)
    return dict(zip(OUTCOME_SCHEMA.names, values, strict=True))


def _sentence(row: Row) -> str:
    return sentence_of(row["code"], loaded(row["facts"]))
