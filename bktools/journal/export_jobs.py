"""Batches of an export and what became of them. Every change of state is one transaction with its event."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.contract import rules
from bktools.conversation import conversation
from bktools.errors import ArgumentError, JournalError
from bktools.frames.schema import EXPORT_JOBS, EXPORTED_ENTRIES, to_pandas
from bktools.journal.journal import Journal, now, record_event, this_process
from bktools.journal.lock import is_free
from bktools.service import Service

RESOLUTIONS = ("accepted", "released")

# How many entries a message names before it only counts.
SHOWN_ENTRIES = 3


@dataclass(frozen=True)
class PlannedBatch:
    """What the journal must know of a batch before it may be sent."""

    batch_id: str
    company_id: str
    entry_ids: Sequence[str]
    body: bytes
    plan_id: str


def state_of(journal: Journal, batch_id: str) -> sqlite3.Row | None:
    """Return a batch as it stands."""
    found = journal.rows("SELECT * FROM batches WHERE batch_id = ?", batch_id)
    return found[0] if found else None


def taken_entries(journal: Journal, batch: PlannedBatch) -> list[sqlite3.Row]:
    """Return the entries of a batch that another batch sent, or may have sent."""
    held = journal.rows(
        "SELECT entry_id, batch_id, state FROM batch_entries JOIN batches USING (batch_id) "
        "WHERE live = 1 AND state <> 'PLANNED' AND company_id = ? AND batch_id <> ?",
        batch.company_id,
        batch.batch_id,
    )
    wanted = set(batch.entry_ids)
    return [row for row in held if row["entry_id"] in wanted]


def in_doubt(journal: Journal, company_id: str) -> sqlite3.Row | None:
    """Return the batch whose outcome is unknown and that blocks the company."""
    found = journal.rows("SELECT * FROM batches WHERE company_id = ? AND state = 'UNKNOWN'", company_id)
    return found[0] if found else None


def plan_batch(journal: Journal, batch: PlannedBatch) -> None:
    """Write a batch as PLANNED. Batches of earlier plans that were not sent give their entries up to it.

    Raises
    ------
    JournalError
        When an entry is in a batch that was sent or may have been.
    """
    with journal.transaction() as connection:
        marks = {row["entry_id"] for row in taken_entries(journal, batch)}
        if marks:
            raise JournalError(f"{len(marks)} entries of batch {batch.batch_id} are in another batch already")
        found = state_of(journal, batch.batch_id)
        _release_unsent(journal, connection, batch)
        stamp = now().isoformat()
        if found is None:
            connection.execute(
                "INSERT INTO batches (batch_id, company_id, state, entries, body, body_sha256, plan_id, planned_at) "
                "VALUES (?, ?, 'PLANNED', ?, ?, ?, ?, ?)",
                (
                    batch.batch_id,
                    batch.company_id,
                    len(batch.entry_ids),
                    batch.body,
                    hashlib.sha256(batch.body).hexdigest(),
                    batch.plan_id,
                    stamp,
                ),
            )
            connection.executemany(
                "INSERT INTO batch_entries VALUES (?, ?, 1)", [(batch.batch_id, entry) for entry in batch.entry_ids]
            )
            record_event(connection, "batch", batch.batch_id, None, "PLANNED")
            return
        if found["body"] != batch.body:
            raise JournalError(f"batch {batch.batch_id} is in the journal with another content")
        if found["state"] in {"REJECTED", "RELEASED"}:
            connection.execute(
                "UPDATE batches SET state = 'PLANNED', plan_id = ?, planned_at = ?, message = NULL, sent_at = NULL, "
                "settled_at = NULL, settled_by = NULL WHERE batch_id = ?",
                (batch.plan_id, stamp, batch.batch_id),
            )
            record_event(connection, "batch", batch.batch_id, found["state"], "PLANNED")


def begin_sending(journal: Journal, batch_id: str) -> bytes:
    """Write that a batch is being sent, and return the bytes to send. On disk when this returns.

    Raises
    ------
    JournalError
        When the batch is not PLANNED, or another one of its company is on its way or in doubt.
    """
    with journal.transaction() as connection:
        connection.execute(
            "UPDATE batches SET state = 'SENDING', sender = ?, sent_at = ?, settled_at = NULL WHERE batch_id = ?",
            (this_process(), now().isoformat(), batch_id),
        )
        record_event(connection, "batch", batch_id, "PLANNED", "SENDING")
        found = connection.execute("SELECT body FROM batches WHERE batch_id = ?", (batch_id,)).fetchone()
    body: bytes = found["body"]
    return body


def settle(
    journal: Journal,
    batch_id: str,
    state: str,
    message: str,
    *,
    job_id: str | None = None,
    job: str | None = None,
    done_by: str | None = None,
) -> None:
    """Write what became of a batch."""
    with journal.transaction() as connection:
        before = connection.execute("SELECT state FROM batches WHERE batch_id = ?", (batch_id,)).fetchone()
        connection.execute(
            "UPDATE batches SET state = ?, message = ?, job_id = coalesce(?, job_id), job = coalesce(?, job), "
            "settled_at = ?, settled_by = ? WHERE batch_id = ?",
            (state, message, job_id, job, now().isoformat(), done_by, batch_id),
        )
        record_event(connection, "batch", batch_id, before["state"], state, message, done_by)


def recover(journal: Journal) -> list[str]:
    """Turn batches whose sender died into UNKNOWN, and return their ids.

    A batch that says SENDING while no living process holds its company's lock was left by a process that was killed:
    its request may have arrived.
    """
    found = []
    for row in journal.rows("SELECT batch_id, company_id, sender FROM batches WHERE state = 'SENDING'"):
        if is_free(journal.folder, row["company_id"]):
            settle(journal, row["batch_id"], "UNKNOWN", f"{row['sender']} ended while it was sending")
            found.append(row["batch_id"])
    return found


def how_to_settle(journal: Journal, row: sqlite3.Row) -> str:
    """Return the line that says what is in doubt and how a person settles it."""
    entries = journal.rows(
        "SELECT entry_id FROM batch_entries WHERE batch_id = ? ORDER BY entry_id LIMIT ?",
        row["batch_id"],
        SHOWN_ENTRIES,
    )
    more = row["entries"] - len(entries)
    named = ", ".join(entry["entry_id"] for entry in entries) + (f" and {more} more" if more > 0 else "")
    return (
        f"batch {row['batch_id']} of company {row['company_id']}, sent {row['sent_at']}, may have been booked: look up "
        f"its {row['entries']} entries in the accounting system ({named}; all of them: bktools export history --entries "
        f"--batch {row['batch_id']}), then say what you found: bktools export resolve {row['batch_id']} "
        '--outcome accepted|released --evidence "..." --by NAME'
    )


def load_export_jobs(
    company: str | None = None, *, entries: bool = False, service: Service | None = None
) -> pd.DataFrame:
    """Return the export jobs that were sent or planned from here. The service cannot list them.

    Parameters
    ----------
    company : str, optional
        UUID of a company; all by default.
    entries : bool
        One row an accounting entry instead of one a batch.
    service : Service, optional
        By default the one the configuration describes; only its journal is read, nothing is sent.

    Returns
    -------
    DataFrame
        One row a batch: batch_id, company_id, state (PLANNED, SENDING, ACCEPTED, REJECTED, UNKNOWN, RELEASED), entries
        (count), job_id, job_status (as answered on creation), message, planned_at, sent_at, settled_at (UTC). With
        `entries=True` one row an entry of a batch: entry_id, batch_id, company_id, state, job_id, sent_at.

    Raises
    ------
    JournalError, StorageError
        When the journal cannot be read.

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
    settings = conversation(service).settings
    company_id = None if company is None else rules.uuid_text("company", company)
    job_status = "json_extract(job, '$.status') AS job_status"
    sql = (
        "SELECT entry_id, batch_id, company_id, state, job_id, sent_at FROM batch_entries JOIN batches USING (batch_id) "
        "WHERE ? IS NULL OR company_id = ? ORDER BY planned_at, batch_id, entry_id"
        if entries
        else f"SELECT *, {job_status} FROM batches WHERE ? IS NULL OR company_id = ? ORDER BY planned_at, batch_id"  # noqa: S608 - our own text
    )
    with Journal(settings) as journal:
        recover(journal)
        found = journal.rows(sql, company_id, company_id)
    schema = EXPORTED_ENTRIES if entries else EXPORT_JOBS
    columns: dict[str, list[Any]] = {name: [row[name] for row in found] for name in schema.names}
    for name in schema.names:
        if name.endswith("_at"):
            columns[name] = [None if value is None else rules.timestamp(value) for value in columns[name]]
    provenance = {"environment": settings.environment, "table": "export jobs", "rows": len(found), "complete": True}
    return to_pandas(pa.table(columns, schema=schema), provenance)


def resolve_export_job(
    batch_id: str, outcome: str, *, evidence: str, by: str, job_id: str | None = None, service: Service | None = None
) -> None:
    """Settle an export job whose outcome is unknown, after looking it up in the accounting system.

    Parameters
    ----------
    batch_id : str
        The batch, as `load_export_jobs` and the error name it.
    outcome : str
        "accepted": its entries were booked. "released": they were not, and may be exported again.
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
        When there is no such batch, or its outcome is known.

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
    if outcome not in RESOLUTIONS:
        raise ArgumentError("outcome", f"must be one of {', '.join(RESOLUTIONS)}", outcome)
    evidence = rules.text("evidence", evidence.strip(), shortest=1)
    by = rules.text("by", by.strip(), shortest=1)
    job = None if job_id is None else rules.uuid_text("job_id", job_id)
    with Journal(conversation(service).settings) as journal:
        recover(journal)
        found = state_of(journal, batch_id)
        if found is None:
            raise JournalError(f"there is no batch {batch_id} in the journal")
        if found["state"] != "UNKNOWN":
            raise JournalError(
                f"batch {batch_id} is {found['state']}: only one whose outcome is UNKNOWN is settled by hand"
            )
        if outcome == "accepted":
            settle(journal, batch_id, "ACCEPTED", evidence, job_id=job, done_by=by)
        else:
            settle(journal, batch_id, "RELEASED", evidence, done_by=by)


def _release_unsent(journal: Journal, connection: sqlite3.Connection, batch: PlannedBatch) -> None:
    wanted = set(batch.entry_ids)
    rows = journal.rows(
        "SELECT DISTINCT batch_id, entry_id FROM batch_entries JOIN batches USING (batch_id) "
        "WHERE live = 1 AND state = 'PLANNED' AND batch_id <> ?",
        batch.batch_id,
    )
    for other in sorted({row["batch_id"] for row in rows if row["entry_id"] in wanted}):
        message = f"batch {batch.batch_id} of a later plan took its place before it was sent"
        connection.execute(
            "UPDATE batches SET state = 'RELEASED', message = ?, settled_at = ? WHERE batch_id = ?",
            (message, now().isoformat(), other),
        )
        record_event(connection, "batch", other, "PLANNED", "RELEASED", message)
