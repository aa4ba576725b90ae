"""Decides the outcome of an export job's request. An uncertain outcome is UNKNOWN."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from bktools.contract.export_jobs import ExportJob
from bktools.contract.rules import UUID_PATTERN
from bktools.errors import (
    ArgumentError,
    AuthenticationError,
    BktoolsError,
    ConfigurationError,
    ExportAlreadyInProgressError,
    ExportRefusedError,
    NotSentError,
    RateLimitedError,
    StatusError,
    UnreadableAnswerError,
)
from bktools.journal.records import Facts
from bktools.journal.sent_log import BatchOutcome
from bktools.service.workers import Stopped
from bktools.visible import one_line

# 4xx statuses after which the job may have been created all the same.
UNCERTAIN = frozenset({408, 409, 425, 429})

# The only status of a new job that the interface shows (section 3); any other may say that it failed.
NEW_JOB = "pending"
LONGEST_REASON = 300

# The outcome of a batch that met the service's rate limit.
RATE_LIMITED = "rate_limited"
# ASSUMED: the `type` of the service's own answer 429. The interface shows none.
RATE_LIMIT_TYPE = "RATE_LIMITED"


class Withheld(Exception):
    """Raised before the first byte of a request that may not be sent, with the code of the reason."""

    def __init__(self, code: str, facts: Facts) -> None:
        super().__init__(code)
        self.code, self.facts = code, facts


@dataclass(frozen=True)
class Outcome(BatchOutcome):
    """The outcome of a batch: PLANNED (nothing created, may be sent again), ACCEPTED, REJECTED or UNKNOWN."""

    # The batches of other companies would fail too.
    stops_all: bool = False
    is_rate_limited: bool = False
    # Seconds that the rate limit asks to wait.
    retry_after: float | None = None


def of_answer(job: ExportJob, company_id: str, entries: int) -> Outcome:
    """Return the outcome of a 2xx answer: ACCEPTED only when its job matches the request and is a new one."""
    text, job_id = msgspec.json.encode(job).decode(), job.id.lower()
    if not UUID_PATTERN.match(job.id):
        return Outcome("UNKNOWN", "job_without_id", {"job_id": job.id[:40]}, job=text)
    if job.company_id.lower() != company_id:
        return Outcome("UNKNOWN", "job_of_another_company", {"company_id": job.company_id[:40]}, job=text)
    code, facts = "", dict[str, Any]()
    if job.number_of_items != entries:
        code, facts = "job_of_another_size", {"items": job.number_of_items, "sent": entries}
    elif reason := failure_of(job):
        code, facts = "job_failed", {"reason": reason}
    else:
        facts = {"job_id": job_id, "status": job.status}
        return Outcome("ACCEPTED", "accepted", facts, job_id=job_id, job=text)
    return Outcome("UNKNOWN", code, {"job_id": job_id, **facts}, job_id=job_id, job=text)


def failure_of(job: ExportJob) -> str:
    """Return why a job may have failed, in the service's words; "" for a new one."""
    is_new = (job.status or "").lower() == NEW_JOB
    if is_new and not (job.failure_reason or job.failure_reason_type or job.expired_at):
        return ""
    status = f"status {job.status or 'missing'}"
    expired = f"expired at {job.expired_at}" if job.expired_at else ""
    reasons = (status, job.failure_reason, job.failure_reason_type, expired)
    return one_line(", ".join(filter(None, reasons)), LONGEST_REASON)


def of_error(error: BaseException) -> Outcome:
    """Return the outcome of a failed request.

    A 429 that is not the service's own leaves the outcome unknown.
    """
    line = " ".join(str(error).split())
    facts: dict[str, Any] = {"said": line}
    if isinstance(error, StatusError):
        facts |= {"status": error.status, "type": error.type}
    match error:
        case Withheld():
            outcome = Outcome("PLANNED", error.code, error.facts)
        case NotSentError() | ConfigurationError() | ArgumentError() | Stopped():
            # These errors come before a byte of the request is sent; a worker that must stop raises
            # `Stopped`.
            outcome = Outcome("PLANNED", "not_sent" if line else "run_stopped", facts, stops_all=True)
        case ExportAlreadyInProgressError():
            # The job in progress may be this very request's, which a gateway has repeated.
            outcome = Outcome("UNKNOWN", "job_in_progress", facts)
        case ExportRefusedError():
            outcome = Outcome("REJECTED", "refused", facts)
        case RateLimitedError() if error.type == RATE_LIMIT_TYPE:
            # ASSUMED: the service counts requests before it takes one up, so nothing was created.
            outcome = Outcome(
                "PLANNED", RATE_LIMITED, facts, is_rate_limited=True, retry_after=error.retry_after
            )
        case StatusError() if 400 <= error.status < 500 and error.status not in UNCERTAIN:
            # Only what has the service's own form is its refusal; a gateway may have passed the request on.
            state, code = ("REJECTED", "refused") if error.is_service else ("UNKNOWN", "foreign_answer")
            outcome = Outcome(state, code, facts, stops_all=isinstance(error, AuthenticationError))
        case BktoolsError():
            outcome = Outcome(
                "UNKNOWN", next(code for kind, code in _CODES.items() if isinstance(error, kind)), facts
            )
        case _:
            facts = {"said": ": ".join(filter(None, (type(error).__name__, line)))}
            outcome = Outcome("UNKNOWN", "interrupted", facts)
    return outcome


# The code of an error after which the request may have arrived; the first class that fits decides.
_CODES = {
    StatusError: "uncertain_status",
    UnreadableAnswerError: "unreadable_answer",
    BktoolsError: "connection_lost",
}
