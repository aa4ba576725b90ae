"""An export job as the service answers it when it is created; no operation reads it again."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, NamedTuple


class ExportJob(NamedTuple):
    """An export job as it is stored, with the seconds that its company takes no other one."""

    id: str
    company_id: str
    created_at: float
    seconds: float
    is_interactive: bool
    number_of_items: int
    vendor_based_bookkeeping: bool
    created_by: str | None


def as_answered(job: ExportJob) -> dict[str, Any]:
    """Return a new job (interface, section 2.5): what has not happened is left out."""
    created = dt.datetime.fromtimestamp(job.created_at, dt.UTC).isoformat(timespec="microseconds")
    created = created.replace("+00:00", "Z")
    return {
        "id": job.id,
        "companyId": job.company_id,
        "createdAt": created,
        # A client that waits for the end of its jobs does not wait long.
        "expiresIn": math.floor(job.seconds) + 1,
        "isInteractive": job.is_interactive,
        "numberOfItems": job.number_of_items,
        "status": "pending",
        "vendorBasedBookkeeping": job.vendor_based_bookkeeping,
        "createdBy": job.created_by,
        "lastUpdatedAt": created,
    }
