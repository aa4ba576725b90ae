"""`submit_export_jobs`: company after company, batch after batch, each sent once.

The order is the promise: the intent is on disk before the first byte is on the wire, the outcome is on disk before the
next batch begins, and a batch whose outcome is not known stops its company until a person has looked.
"""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.conversation import conversation
from bktools.errors import JournalBusyError, PlanError
from bktools.export.plan import ExportPlan
from bktools.frames.schema import COUNT, TEXT, to_pandas
from bktools.journal import export_jobs as memory
from bktools.journal.journal import Journal
from bktools.journal.lock import sending_for
from bktools.progress import Bar
from bktools.progress import progress as progress_bar
from bktools.service import Service
from bktools.submit.outcome import Outcome, of_answer, of_error

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0

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
    progress: bool | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Submit a plan of export jobs. Without `apply` it says what would happen, and nothing is sent.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it.
    apply : bool
        True to send.
    wait : float or timedelta
        Seconds to wait, for each batch, while a job of its company is in progress.
    progress : bool, optional
        A bar; by default where somebody can see it.
    service : Service, optional
        By default the one the configuration describes.

    Returns
    -------
    DataFrame
        One row a batch: batch_id, company_id, entries (count), outcome, job_id, message. Outcomes: ACCEPTED (the job
        was created; not: it is completed), REJECTED (refused, nothing was booked), UNKNOWN (it may have been booked;
        the message says how to settle it), PLANNED (not sent, run again), BLOCKED (not sent, because an earlier batch
        of the company is in doubt or was refused). Without `apply`: PLANNED for what would be sent.

    Raises
    ------
    PlanError
        When the plan was changed since it was made, or holds entries that another batch sent; nothing is sent.
    JournalBusyError
        When another process sends for a company of the plan; nothing is sent for it.
    JournalError, StorageError
        When the journal does not take a change; what was not written there was not sent.

    Notes
    -----
    Export jobs: interface, sections 4.2 and 7.1. The promise to book once holds per journal.

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
    plan.verify()
    service = conversation(service)
    seconds = wait.total_seconds() if isinstance(wait, dt.timedelta) else float(wait)
    batches = [
        memory.PlannedBatch(
            row["batch_id"],
            row["company_id"],
            plan.entry_ids(row["batch_id"]),
            plan.body(row["batch_id"]),
            plan.plan_id,
        )
        for row in plan.batches.to_dict("records")
    ]
    rows: list[dict[str, Any]] = []
    with Journal(service.settings) as journal:
        memory.recover(journal)
        _refuse_taken(journal, batches)
        with progress_bar("export jobs", total=len(batches), unit="batch", shown=progress) as bar:
            for company_id in dict.fromkeys(batch.company_id for batch in batches):
                own = [batch for batch in batches if batch.company_id == company_id]
                if not apply:
                    rows += [_as_it_stands(journal, batch) for batch in own]
                    continue
                try:
                    with sending_for(journal.folder, company_id):
                        rows += _send_company(journal, own, plan, service, seconds, bar)
                except JournalBusyError as error:
                    if len(own) == len(batches):
                        raise
                    rows += [_row(batch, "BLOCKED", str(error)) for batch in own]
    table = pa.Table.from_pylist(rows, schema=OUTCOMES)
    return to_pandas(table, {"environment": service.settings.environment, "plan": plan.plan_id, "applied": apply})


def _refuse_taken(journal: Journal, batches: list[memory.PlannedBatch]) -> None:
    for batch in batches:
        taken = memory.taken_entries(journal, batch)
        if taken:
            first = taken[0]
            raise PlanError(
                f"{len(taken)} entries of batch {batch.batch_id} are in batch {first['batch_id']}, which is "
                f"{first['state']} (the first is {first['entry_id']}): nothing was sent; compose again with "
                "history=load_export_jobs(entries=True)"
            )


def _as_it_stands(journal: Journal, batch: memory.PlannedBatch) -> dict[str, Any]:
    """Return what a submission would do with a batch."""
    found = memory.state_of(journal, batch.batch_id)
    if found is not None and found["state"] in {"ACCEPTED", "UNKNOWN", "SENDING"}:
        return _settled_row(journal, batch, found)
    doubt = memory.in_doubt(journal, batch.company_id)
    if doubt is not None:
        return _row(batch, "BLOCKED", memory.how_to_settle(journal, doubt))
    return _row(batch, "PLANNED", "would be sent")


def _send_company(
    journal: Journal, batches: list[memory.PlannedBatch], plan: ExportPlan, service: Service, wait: float, bar: Bar
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for batch in batches:
        found = memory.state_of(journal, batch.batch_id)
        if found is None or found["state"] != "ACCEPTED":
            memory.plan_batch(journal, batch)
    stopped = ""
    for batch in batches:
        found = memory.state_of(journal, batch.batch_id)
        assert found is not None
        doubt = memory.in_doubt(journal, batch.company_id)
        if found["state"] in {"ACCEPTED", "UNKNOWN"}:
            rows.append(_settled_row(journal, batch, found))
        elif doubt is not None:
            rows.append(_row(batch, "BLOCKED", memory.how_to_settle(journal, doubt)))
        elif stopped:
            rows.append(_row(batch, "BLOCKED", stopped))
        else:
            outcome = _send_when_free(journal, batch, plan, service, wait)
            message = outcome.message
            if outcome.state == "UNKNOWN":
                doubt = memory.in_doubt(journal, batch.company_id)
                assert doubt is not None
                message = f"{message}; {memory.how_to_settle(journal, doubt)}"
            elif outcome.state != "ACCEPTED":
                stopped = f"not sent, because batch {batch.batch_id} before it was not accepted: {message}"
            rows.append(_row(batch, outcome.state, message, outcome.job_id))
        bar.update(1)
    return rows


def _send_when_free(
    journal: Journal, batch: memory.PlannedBatch, plan: ExportPlan, service: Service, wait: float
) -> Outcome:
    """Send a batch, and again after growing pauses while a job of its company is in progress."""
    end = time.monotonic() + wait
    pause = FIRST_PAUSE
    while True:
        outcome = _send_once(journal, batch, plan, service)
        left = end - time.monotonic()
        if not outcome.waits or left <= 0:
            return outcome
        time.sleep(min(pause, left))
        pause = min(pause * 2, LONGEST_PAUSE)


def _send_once(journal: Journal, batch: memory.PlannedBatch, plan: ExportPlan, service: Service) -> Outcome:
    memory.begin_sending(journal, batch.batch_id)
    try:
        job = service.create_export_job(
            batch.entry_ids,
            batch.company_id,
            employee_id=plan.options.employee_id,
            is_interactive=plan.options.is_interactive,
            vendor_based_bookkeeping=plan.options.vendor_based_bookkeeping,
        )
        outcome = of_answer(job, batch.company_id, len(batch.entry_ids))
    except Exception as error:  # noqa: BLE001 - whatever it was, what became of the batch is written down
        outcome = of_error(error)
    except BaseException as error:
        # Ctrl-C: the request may have arrived. The journal knows before the interrupt goes on.
        interrupted = of_error(error)
        memory.settle(journal, batch.batch_id, interrupted.state, interrupted.message)
        raise
    memory.settle(journal, batch.batch_id, outcome.state, outcome.message, job_id=outcome.job_id, job=outcome.job)
    return outcome


def _settled_row(journal: Journal, batch: memory.PlannedBatch, found: Any) -> dict[str, Any]:
    if found["state"] == "UNKNOWN":
        return _row(batch, "UNKNOWN", memory.how_to_settle(journal, found))
    when = found["settled_at"] or found["sent_at"]
    return _row(batch, found["state"], f"{found['message']} (since {when}; nothing was sent again)", found["job_id"])


def _row(batch: memory.PlannedBatch, outcome: str, message: str, job_id: str | None = None) -> dict[str, Any]:
    return {
        "batch_id": batch.batch_id,
        "company_id": batch.company_id,
        "entries": len(batch.entry_ids),
        "outcome": outcome,
        "job_id": job_id,
        "message": message,
    }
