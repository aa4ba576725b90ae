"""What an answer to an export job's one POST means. Nothing is guessed: what is not certain is UNKNOWN."""

from __future__ import annotations

from dataclasses import dataclass

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
    StatusError,
)

# Statuses of the 4xx class after which the request may have been taken all the same.
UNCERTAIN = frozenset({408, 409, 425, 429})


IN_PROGRESS = (
    "No job from this journal explains that: it is somebody else's export, or this request arrived twice. Look in the "
    "service's list of exports. Where people also export by hand, give --others-export (others_export=True) to wait"
)


@dataclass(frozen=True)
class Outcome:
    """State of a batch after its request, and why.

    Parameters
    ----------
    state : str
        PLANNED when nothing was created and it may be tried again; ACCEPTED, REJECTED, UNKNOWN.
    message : str
        One line.
    waits : bool
        Whether it was put back because a job of the company is in progress.
    is_hopeless : bool
        Whether the batches of other companies would fare no better.
    job_id, job : str, optional
        The job's id and its JSON, as answered.
    """

    state: str
    message: str
    waits: bool = False
    is_hopeless: bool = False
    job_id: str | None = None
    job: str | None = None


def of_answer(job: ExportJob, company_id: str, entries: int) -> Outcome:
    """Return the outcome of a 2xx: accepted only when it is this job that was created."""
    text = msgspec.json.encode(job).decode()
    if not UUID_PATTERN.match(job.id):
        return Outcome("UNKNOWN", f"the service answered with a job whose id is no UUID: {job.id[:40]!r}", job=text)
    if job.company_id.lower() != company_id:
        return Outcome(
            "UNKNOWN", f"the service answered with a job of another company: {job.company_id[:40]}", job=text
        )
    if job.number_of_items != entries:
        return Outcome(
            "UNKNOWN",
            f"the service answered with job {job.id} of {job.number_of_items} items, {entries} were sent",
            job_id=job.id.lower(),
            job=text,
        )
    return Outcome("ACCEPTED", f"job {job.id}, {job.status or 'no status'}", job_id=job.id.lower(), job=text)


def of_another_batch(outcome: Outcome) -> Outcome:
    """Return the outcome of a 2xx whose job answered for another batch before: it says nothing of this one."""
    return Outcome(
        "UNKNOWN", f"the service answered with job {outcome.job_id}, which is another batch's", job=outcome.job
    )


def of_error(error: BaseException, *, may_wait: bool) -> Outcome:
    """Return the outcome of a request that ended in an error.

    Parameters
    ----------
    may_wait : bool
        Whether a job in progress is explained by another export, and so a reason to wait.
    """
    line = " ".join(str(error).split())
    match error:
        case NotSentError() | ConfigurationError() | ArgumentError():
            # These are raised before anything of the request is sent.
            return Outcome("PLANNED", line, is_hopeless=True)
        case ExportAlreadyInProgressError():
            # A gateway may have repeated the request: then the job in progress is this one.
            return Outcome("PLANNED", line, waits=True) if may_wait else Outcome("UNKNOWN", f"{line}. {IN_PROGRESS}")
        case ExportRefusedError():
            return Outcome("REJECTED", line)
        case StatusError() if 400 <= error.status < 500 and error.status not in UNCERTAIN:  # noqa: PLR2004
            return Outcome("REJECTED", line, is_hopeless=isinstance(error, AuthenticationError))
        case BktoolsError():
            return Outcome("UNKNOWN", line)
        case _:
            return Outcome("UNKNOWN", f"{type(error).__name__} while sending{': ' + line if line else ''}")
