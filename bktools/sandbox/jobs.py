"""The life of an export job: its course is fixed when it is created, its status follows from the time.

Nothing runs in the background: a job advances while no server runs, and all processes see the same status.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, NamedTuple

OUTCOMES = ("completed", "completed_with_errors", "failed", "expired")

# Failure reason and its type, by outcome.
_FAILURES = {
    "completed_with_errors": ("Some items were refused by the accounting system.", "validation_failure"),
    "failed": (
        "The accounting system does not accept the configured contra account.",
        "invalid_configuration",
    ),
    "expired": ("The job was not started in time.", "job_expired"),
}

# Share of a job's time in which it is pending; the rest it is in progress.
_PENDING_SHARE = 0.2


class ExportJob(NamedTuple):
    """An export job as it is stored; times in seconds since 1970, `expires_in` and `seconds` in seconds."""

    id: str
    company_id: str
    created_at: float
    expires_in: int
    is_interactive: bool
    number_of_items: int
    vendor_based_bookkeeping: bool
    created_by: str | None
    seconds: float
    outcome: str

    @property
    def ends_at(self) -> float:
        """When the company may start the next job."""
        return self.created_at + (self.expires_in if self.outcome == "expired" else self.seconds)


def job_at(job: ExportJob, now: float) -> dict[str, Any]:
    """Return the job as the service shows it at a time (interface, section 2.5)."""
    starts_at = job.created_at + job.seconds * _PENDING_SHARE
    started = job.outcome != "expired" and now > starts_at
    # A new job is pending even where jobs take no time.
    ended = now > job.ends_at
    status = "in_progress" if started else "pending"
    reason, reason_type = (None, None)
    if ended:
        status = "failed" if job.outcome == "expired" else job.outcome
        reason, reason_type = _FAILURES.get(job.outcome, (None, None))
    completed = ended and job.outcome in {"completed", "completed_with_errors"}
    updated = job.ends_at if ended else starts_at if started else job.created_at
    shown = {
        "id": job.id,
        "companyId": job.company_id,
        "createdAt": timestamp(job.created_at),
        "expiresIn": job.expires_in,
        "isInteractive": job.is_interactive,
        "numberOfItems": job.number_of_items,
        "status": status,
        "vendorBasedBookkeeping": job.vendor_based_bookkeeping,
        "completedAt": timestamp(job.ends_at) if completed else None,
        "createdBy": job.created_by,
        "expiredAt": timestamp(job.ends_at) if ended and job.outcome == "expired" else None,
        "failureReason": reason,
        "failureReasonType": reason_type,
        "lastUpdatedAt": timestamp(updated),
        "startedAt": timestamp(starts_at) if started else None,
    }
    # "Present when": what has not happened is left out; only `createdBy` is nullable.
    return {name: value for name, value in shown.items() if value is not None or name == "createdBy"}


def timestamp(seconds: float) -> str:
    """Return a time as ISO 8601 text in UTC."""
    return (
        dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    )
