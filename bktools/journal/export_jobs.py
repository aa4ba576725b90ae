"""The history of export jobs, and settling those whose outcome is unknown."""

from __future__ import annotations

import sqlite3

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.conversation import conversation
from bktools.errors import ArgumentError, JournalError
from bktools.frames.schema import EXPORT_EVENTS, EXPORT_JOBS, EXPORTED_ENTRIES, TEXT, to_pandas
from bktools.journal.batches import how_to_settle, recover, settle, state_of
from bktools.journal.journal import Journal
from bktools.journal.lock import sending_for
from bktools.service import Service

RESOLVED = {"accepted": "ACCEPTED", "released": "RELEASED"}

ROWS_AT_ONCE = 50_000

_WANTED = "(? IS NULL OR company_id = ?) AND (? IS NULL OR batch_id = ?)"
_BATCHES = f"""
    SELECT *, json_extract(job, '$.status') AS job_status FROM batches WHERE {_WANTED} ORDER BY planned_at, batch_id
"""  # noqa: S608 - words of this file alone, as below
_IN_DOUBT = f"SELECT * FROM batches WHERE {_WANTED} AND state = 'UNKNOWN' ORDER BY sent_at, batch_id"  # noqa: S608
_ENTRIES = f"""
    SELECT entry_id, batch_id, company_id, state, job_id, sent_at FROM batches JOIN batch_entries USING (batch_id)
    WHERE {_WANTED} ORDER BY planned_at, batch_id, entry_id
"""  # noqa: S608
_EVENTS = f"""
    SELECT at, batch_id, company_id, before, after, events.message, done_by
    FROM events JOIN batches ON subject = 'batch' AND batch_id = subject_id WHERE {_WANTED} ORDER BY event_id
"""  # noqa: S608
_TABLES = {
    "batches": (EXPORT_JOBS, _BATCHES),
    "entries": (EXPORTED_ENTRIES, _ENTRIES),
    "events": (EXPORT_EVENTS, _EVENTS),
}
_OF_THE_JOB = "SELECT batch_id, company_id, state FROM batches WHERE job_id = ? AND batch_id <> ?"


def load_export_jobs(
    company: str | None = None,
    *,
    entries: bool = False,
    events: bool = False,
    batch: str | None = None,
    service: Service | None = None,
) -> pd.DataFrame:
    """Return the export jobs that were sent or planned from here. The service cannot list them.

    Parameters
    ----------
    company : str, optional
        UUID of a company; all by default.
    entries : bool
        One row an accounting entry instead of one a batch.
    events : bool
        One row an event instead of one a batch: what happened to each, also before it was sent again, by whom it was
        settled and on what evidence.
    batch : str, optional
        Only this batch; all by default.
    service : Service, optional
        By default the one the configuration describes; only its journal is read, nothing is sent.

    Returns
    -------
    DataFrame
        One row a batch: batch_id, company_id, state (PLANNED, SENDING, ACCEPTED, REJECTED, UNKNOWN, RELEASED), entries
        (count), job_id, job_status (as answered on creation), message, planned_at, sent_at, settled_at (UTC). With
        `entries=True` one row an entry of a batch: entry_id, batch_id, company_id, state, job_id, sent_at. With
        `events=True` one row an event, the oldest first: at (UTC), batch_id, company_id, after (the state from then
        on), done_by (the person who settled it, or the process), before (the state until then; null where the batch
        was planned for the first time), message (the answer, or the evidence).

    Raises
    ------
    ArgumentError
        When both `entries` and `events` are asked for.
    JournalError, StorageError
        When there is no such batch, or the journal cannot be read.

    Notes
    -----
    ACCEPTED is not completed: a job cannot be read back. Export jobs: interface, sections 2.5 and 4.2.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     len(bktools.load_export_jobs(service=service))
    0
    """
    if entries and events:
        raise ArgumentError("events", "cannot be combined with entries: ask for one after the other")
    settings = conversation(service).settings
    company_id = None if company is None else rules.uuid_text("company", company)
    schema, sql = _TABLES["entries" if entries else "events" if events else "batches"]
    wanted = (company_id, company_id, batch, batch)
    with Journal(settings) as journal:
        recover(journal)
        pieces = [_arrow(piece, schema) for piece in journal.pieces(sql, *wanted, size=ROWS_AT_ONCE)]
        if batch is not None and not pieces:
            raise _no_such_batch(journal, batch)
    table = pa.concat_tables(pieces) if pieces else schema.empty_table()
    provenance = {"environment": settings.environment, "table": "export jobs", "rows": len(table), "complete": True}
    return to_pandas(table, provenance)


def _no_such_batch(journal: Journal, batch_id: str) -> JournalError:
    return JournalError(f"there is no batch {batch_id} in the journal: {journal.command('export history')} lists them")


def _arrow(rows: list[sqlite3.Row], schema: pa.Schema) -> pa.Table:
    columns = []
    for field in schema:
        values = [row[field.name] for row in rows]
        is_instant = pa.types.is_timestamp(field.type)
        columns.append(pc.cast(pa.array(values, TEXT), field.type) if is_instant else pa.array(values, field.type))
    return pa.table(columns, schema=schema)


def open_questions(
    company: str | None = None, *, batch: str | None = None, service: Service | None = None
) -> list[str]:
    """Return a line for each batch whose outcome is unknown: what to look up, and the command that settles it."""
    company_id = None if company is None else rules.uuid_text("company", company)
    with Journal(conversation(service).settings) as journal:
        recover(journal)
        found = journal.rows(_IN_DOUBT, company_id, company_id, batch, batch)
        return [how_to_settle(journal, row) for row in found]


def resolve_export_job(
    batch_id: str, outcome: str, *, evidence: str, by: str, job_id: str | None = None, service: Service | None = None
) -> None:
    """Settle an export job whose outcome is unknown, after looking it up in the accounting system.

    Parameters
    ----------
    batch_id : str
        The batch, as `load_export_jobs` and the error name it.
    outcome : str
        "accepted": its entries were booked. "released": they were not, and may be exported again; this also withdraws
        a batch that is PLANNED and was never sent.
    evidence : str
        What was looked at and found; kept for good.
    by : str
        Who looked.
    job_id : str, optional
        UUID of the job, where it was found.
    service : Service, optional
        By default the one the configuration describes; only its journal is written, nothing is sent.

    Raises
    ------
    ArgumentError
        When evidence or name is missing, or the outcome is another word.
    JournalError
        When there is no such batch, its outcome is known, the job is of another batch, or another process sends for its
        company.

    Notes
    -----
    The interface shows no way to read a job back (sections 3 and 4.2).

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     bktools.resolve_export_job("0" * 20, "released", evidence="not in the ERP", by="Ada", service=service)
    Traceback (most recent call last):
    bktools.errors.JournalError: there is no batch 00000000000000000000 in the journal
    """
    if outcome not in RESOLVED:
        raise ArgumentError("outcome", f"must be one of {', '.join(RESOLVED)}", outcome)
    told = {name: rules.text(name, value).strip() for name, value in (("evidence", evidence), ("by", by))}
    for name, value in told.items():
        rules.text(name, value, shortest=1)
    job = None if job_id is None else rules.uuid_text("job_id", job_id)
    with Journal(conversation(service).settings) as journal:
        recover(journal)
        found = state_of(journal, batch_id)
        if found is None:
            raise _no_such_batch(journal, batch_id)
        if found["state"] != "UNKNOWN" and (found["state"], outcome) != ("PLANNED", "released"):
            raise JournalError(
                f"batch {batch_id} is {found['state']}: only one whose outcome is UNKNOWN is settled by hand, and only "
                "one that is PLANNED is withdrawn"
            )
        others = journal.rows(_OF_THE_JOB, job, batch_id)
        if others:
            raise JournalError(
                f"job {job} is of batch {others[0]['batch_id']} of company {others[0]['company_id']}, which is "
                f"{others[0]['state']}; a job is of one batch: look up again which one it is, or give none"
            )
        # Nobody sends it meanwhile: what waits to be sent is withdrawn under the lock of its company.
        with sending_for(journal.folder, found["company_id"]):
            settle(journal, batch_id, RESOLVED[outcome], told["evidence"], job_id=job, done_by=told["by"])
