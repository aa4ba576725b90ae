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
from bktools.journal.undelivered import BatchOutcome
from bktools.service.workers import Stopped

# 4xx statuses after which the job may have been created all the same.
UNCERTAIN = frozenset({408, 409, 425, 429})

# Why a job in progress may be the one that this very request created: the codes of outcomes.
OTHER_JOB = "other_job_in_progress"
ITS_OWN = "job_may_be_its_own"

# The outcome of a batch that met the service's rate limit.
RATE_LIMITED = "rate_limited"
# ASSUMED: the `type` of the service's own answer 429. The interface shows none.
RATE_LIMIT_TYPE = "RATE_LIMITED"


@dataclass(frozen=True)
class Outcome(BatchOutcome):
    """The outcome of a batch: PLANNED (nothing created, may be sent again), ACCEPTED, REJECTED or UNKNOWN."""

    # Whether the batch is sent again after a pause, because another job of the company is in progress.
    waits: bool = False
    # The batches of other companies would fail too.
    stops_all: bool = False
    is_rate_limited: bool = False
    # Seconds that the rate limit asks to wait.
    retry_after: float | None = None


def of_answer(job: ExportJob, company_id: str, entries: int) -> Outcome:
    """Return the outcome of a 2xx answer: ACCEPTED only when its job matches the request."""
    text, job_id = msgspec.json.encode(job).decode(), None
    if not UUID_PATTERN.match(job.id):
        answered = f"a job whose id is not a UUID: {job.id[:40]!r}"
    elif job.company_id.lower() != company_id:
        answered = f"a job of another company: {job.company_id[:40]}"
    elif job.number_of_items != entries:
        answered, job_id = (
            f"job {job.id} of {job.number_of_items} items, but {entries} were sent",
            job.id.lower(),
        )
    else:
        facts = {"job_id": job.id.lower(), "status": job.status or "no status"}
        return Outcome("ACCEPTED", "accepted", facts, job_id=job.id.lower(), job=text)
    return Outcome("UNKNOWN", "wrong_job", {"answered": answered}, job_id=job_id, job=text)


def of_error(error: BaseException, *, doubt: str) -> Outcome:
    """Return the outcome of a failed request.

    `doubt` is the code of why a job in progress may be this very one; "" when it certainly is another, so
    that waiting for it is safe. A 429 that is not the service's own leaves the outcome unknown.
    """
    line = " ".join(str(error).split())
    facts: dict[str, Any] = {"said": line}
    if isinstance(error, StatusError):
        facts |= {"status": error.status, "type": error.type}
    match error:
        case NotSentError() | ConfigurationError() | ArgumentError() | Stopped():
            # These errors come before a byte of the request is sent; a worker that must stop raises
            # `Stopped`.
            facts = {"said": line or "not sent, because the submission was stopped"}
            outcome = Outcome("PLANNED", "not_sent", facts, stops_all=True)
        case ExportAlreadyInProgressError():
            outcome = (
                Outcome("UNKNOWN", doubt, facts)
                if doubt
                else Outcome("PLANNED", "job_in_progress", facts, waits=True)
            )
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
            facts = {"said": f"{type(error).__name__} while sending{': ' + line if line else ''}"}
            outcome = Outcome("UNKNOWN", "interrupted", facts)
    return outcome


# The code of an error after which the request may have arrived; the first class that fits decides.
_CODES = {
    StatusError: "uncertain_status",
    UnreadableAnswerError: "unreadable_answer",
    BktoolsError: "connection_lost",
}
