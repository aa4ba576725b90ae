"""Batches and their states. Every change is one transaction; its event is written by the journal itself."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Protocol

from bktools.errors import JournalBusyError, JournalError
from bktools.journal.journal import Journal, now, this_process
from bktools.journal.lock import sending_for

# How many entries a message names before it only counts.
SHOWN_ENTRIES = 3

_CLAIMS = """
    SELECT batch_id, state, company_id, count(*) AS entries, min(entry_id) AS first
    FROM temp.wanted CROSS JOIN batch_entries ON entry_id = wanted.id AND live = 1 JOIN batches USING (batch_id)
    WHERE batch_id <> ? GROUP BY batch_id ORDER BY state = 'PLANNED', batch_id
"""


class Batch(Protocol):
    """What the journal must know of a batch before it may be sent."""

    @property
    def batch_id(self) -> str:
        """Digest of company, entries and options."""

    @property
    def company_id(self) -> str:
        """UUID of its company."""

    @property
    def entry_ids(self) -> Sequence[str]:
        """UUIDs of its entries."""

    @property
    def body(self) -> bytes:
        """The request's body."""


def state_of(journal: Journal, batch_id: str) -> sqlite3.Row | None:
    """Return a batch as it stands."""
    found = journal.rows("SELECT * FROM batches WHERE batch_id = ?", batch_id)
    return found[0] if found else None


def in_doubt(journal: Journal, company_id: str) -> sqlite3.Row | None:
    """Return the batch whose outcome is unknown and that blocks the company."""
    found = journal.rows("SELECT * FROM batches WHERE company_id = ? AND state = 'UNKNOWN'", company_id)
    return found[0] if found else None


def obstacle(journal: Journal, batch: Batch) -> str:
    """Return why the entries of a batch cannot be sent in it, "" when they can.

    They cannot when another batch sent them or may have sent them, or when they wait in a batch of another company.
    Batches of the same company that wait give way, see `plan_batches`.
    """
    others = [row for row in _claims(journal, batch) if not _gives_way(row, batch)]
    if not others:
        return ""
    other = others[0]
    resolve = journal.command(f"export resolve {other['batch_id']}")
    way_out = (
        f"withdraw that batch first ({resolve} --outcome released)"
        if other["state"] == "PLANNED"
        else "compose again with history=load_export_jobs(entries=True)"
    )
    return (
        f"{other['entries']} entries of batch {batch.batch_id} are in batch {other['batch_id']} of company "
        f"{other['company_id']}, which is {other['state']} (the first is {other['first']}): nothing was sent; {way_out}"
    )


def plan_batches(journal: Journal, batches: Iterable[Batch], plan_id: str) -> None:
    """Write batches of one company as PLANNED: from here on their entries are theirs.

    Batches of earlier plans of the company that were not sent give their entries up. Hold the company's lock.

    Raises
    ------
    JournalError
        When an entry is in a batch that was sent or may have been; nothing was written.
    """
    with journal.transaction() as connection:
        for batch in batches:
            found = state_of(journal, batch.batch_id)
            if found is not None and found["body"] != batch.body:
                raise JournalError(f"batch {batch.batch_id} is in the journal with another content")
            if found is not None and found["state"] not in {"REJECTED", "RELEASED"}:
                continue
            reason = obstacle(journal, batch)
            if reason:
                raise JournalError(reason)
            for other in _claims(journal, batch):
                message = f"batch {batch.batch_id} of a later plan took its place before it was sent"
                _change(connection, other["batch_id"], "RELEASED", message=message, settled_at=now().isoformat())
            if found is None:
                _insert(connection, batch, plan_id)
            else:
                _change(
                    connection,
                    batch.batch_id,
                    "PLANNED",
                    plan_id=plan_id,
                    planned_at=now().isoformat(),
                    message=None,
                    sent_at=None,
                    settled_at=None,
                    settled_by=None,
                    job_id=None,
                    job=None,
                )


def begin_sending(journal: Journal, batch_id: str) -> bytes:
    """Write that a batch is being sent, and return the bytes to send. On disk when this returns.

    Raises
    ------
    JournalError
        When the batch is not PLANNED, or another one of its company is on its way or in doubt.
    """
    with journal.transaction() as connection:
        _change(connection, batch_id, "SENDING", sender=this_process(), sent_at=now().isoformat(), settled_at=None)
        found = connection.execute("SELECT body, body_sha256 FROM batches WHERE batch_id = ?", (batch_id,)).fetchone()
        if hashlib.sha256(found["body"]).hexdigest() != found["body_sha256"]:
            raise JournalError(f"the body of batch {batch_id} in the journal is damaged: nothing was sent")
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
    """Write what became of a batch; `done_by` is the person who looked, where it was one."""
    told = {name: value for name, value in (("job_id", job_id), ("job", job)) if value is not None}
    with journal.transaction() as connection:
        _change(connection, batch_id, state, message=message, settled_at=now().isoformat(), settled_by=done_by, **told)


def is_known_job(journal: Journal, job_id: str) -> bool:
    """Whether a job answered for another batch before."""
    return bool(journal.rows("SELECT 1 FROM batches WHERE job_id = ?", job_id))


def give_up_lost(journal: Journal, company_id: str) -> None:
    """Turn a batch whose sender died into UNKNOWN: its request may have arrived. Hold the company's lock."""
    lost = journal.rows("SELECT batch_id, sender FROM batches WHERE company_id = ? AND state = 'SENDING'", company_id)
    for row in lost:
        settle(journal, row["batch_id"], "UNKNOWN", f"{row['sender']} ended while it was sending")


def recover(journal: Journal) -> None:
    """Turn every batch whose sender died into UNKNOWN.

    A batch that says SENDING while no living process holds its company's lock was left by one that was killed.
    """
    for row in journal.rows("SELECT DISTINCT company_id FROM batches WHERE state = 'SENDING'"):
        try:
            with sending_for(journal.folder, row["company_id"], patience=0):
                give_up_lost(journal, row["company_id"])
        except JournalBusyError:
            # It is on its way.
            continue


class Doubts:
    """What is said of batches in doubt: how to settle one where it is named first, after that only which one it is."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._told: set[str] = set()

    def said(self, row: sqlite3.Row) -> str:
        """Return the line about a batch whose outcome is not known."""
        if row["batch_id"] in self._told:
            return f"not sent before batch {row['batch_id']} is settled, which may have been booked (see there)"
        self._told.add(row["batch_id"])
        return how_to_settle(self._journal, row)


def how_to_settle(journal: Journal, row: sqlite3.Row) -> str:
    """Return the line that says what is in doubt and how a person settles it."""
    entries = journal.rows(
        "SELECT entry_id FROM batch_entries WHERE batch_id = ? ORDER BY entry_id LIMIT ?",
        row["batch_id"],
        SHOWN_ENTRIES,
    )
    more = row["entries"] - len(entries)
    named = ", ".join(entry["entry_id"] for entry in entries) + (f" and {more} more" if more > 0 else "")
    listed = journal.command(f"export history --entries --batch {row['batch_id']}")
    resolve = journal.command(f"export resolve {row['batch_id']}")
    return (
        f"batch {row['batch_id']} of company {row['company_id']}, sent {row['sent_at']}, may have been booked: look up "
        f"its {row['entries']} entries in the accounting system ({named}; all of them: {listed}), then say what you "
        f'found: {resolve} --outcome accepted|released --evidence "..." --by NAME'
    )


def _claims(journal: Journal, batch: Batch) -> list[sqlite3.Row]:
    """Return the other batches that hold entries of a batch, those that were sent first."""
    journal.wanted(batch.entry_ids)
    return journal.rows(_CLAIMS, batch.batch_id)


def _gives_way(row: sqlite3.Row, batch: Batch) -> bool:
    return (row["state"], row["company_id"]) == ("PLANNED", batch.company_id)


def _insert(connection: sqlite3.Connection, batch: Batch, plan_id: str) -> None:
    stamp = now().isoformat()
    connection.execute(
        "INSERT INTO batches (batch_id, company_id, state, entries, body, body_sha256, plan_id, planned_at, changed_at, "
        "changed_by) VALUES (?, ?, 'PLANNED', ?, ?, ?, ?, ?, ?, ?)",
        (
            batch.batch_id,
            batch.company_id,
            len(batch.entry_ids),
            batch.body,
            hashlib.sha256(batch.body).hexdigest(),
            plan_id,
            stamp,
            stamp,
            this_process(),
        ),
    )
    connection.executemany(
        "INSERT INTO batch_entries VALUES (?, ?, 1)", ((batch.batch_id, entry) for entry in batch.entry_ids)
    )


def _change(connection: sqlite3.Connection, batch_id: str, state: str, **values: str | None) -> None:
    """Change a batch; the journal's constraints decide whether it may, and its triggers write the event."""
    values |= {"state": state, "changed_at": now().isoformat()}
    values["changed_by"] = values.get("settled_by") or this_process()
    names = ", ".join(f"{name} = ?" for name in values)
    sql = f"UPDATE batches SET {names} WHERE batch_id = ?"  # noqa: S608 - our own names
    if connection.execute(sql, [*values.values(), batch_id]).rowcount != 1:
        raise JournalError(f"there is no batch {batch_id} in the journal")
