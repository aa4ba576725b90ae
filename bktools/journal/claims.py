"""Claims: batches to be sent are PLANNED, and hold their entries until a newer plan releases them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from bktools.frames.batches import BatchRequest
from bktools.journal import clock, entry_data
from bktools.journal.attempts import release_planned
from bktools.journal.database import Connection
from bktools.journal.records import inserting
from bktools.journal.right_journal import company_refusal
from bktools.journal.sentences import refusal
from bktools.journal.writable import WritableJournal, change_batch


def claim(
    journal: WritableJournal, batches: Iterable[BatchRequest], plan_id: str, month: str | None = None
) -> None:
    """Write batches of one company as PLANNED: no other batch takes their entries until a newer plan does.

    Unsent batches of earlier plans that hold the same entries are released. What is known of each entry is
    kept with it: the newest data are those that are sent. Hold the company's lock.

    Raises
    ------
    JournalError
        When this is not the right journal, an entry is in a batch that was sent or may have been, or in one
        that was changed by hand, its month is closed, or its company needs a ledger; nothing was written.
    """
    company_id, entries = "", set[entry_data.Dated]()
    with journal.right_transaction() as connection:
        for batch in batches:
            row = journal.row_of(batch.batch_id)
            if row is not None and row["body"] != batch.body:
                raise refusal("batch_of_other_data", batch=batch.batch_id)
            is_new = row is None or row["state"] in {"REJECTED", "RELEASED"}
            entry_ids = batch.entry_ids
            error = (
                journal.obstacle(batch) if is_new else journal.standing_obstacle(batch.batch_id, entry_ids)
            )
            if error:
                raise error
            if row is not None and not is_new and row["state"] != "PLANNED":
                continue
            company_id = batch.company_id
            entries.update(entry_data.dated(batch))
            if is_new:
                release_planned(journal, connection, journal.other_claims(batch), batch.batch_id)
            if row is None:
                _insert(journal, connection, batch, plan_id)
            elif not is_new:
                sql = "UPDATE batches SET plan_id = $2 WHERE batch_id = $1"
                connection.execute(sql, [batch.batch_id, plan_id])
            else:
                cleared = dict.fromkeys(("sent_at", "job_id", "job"))
                anew = {"plan_id": plan_id, "planned_at": clock.now().isoformat(), **cleared}
                before = ("REJECTED", "RELEASED")
                change_batch(journal, connection, batch.batch_id, before, "PLANNED", "planned", {}, **anew)
            _claim_data(journal, connection, batch, month)
        # Once for all: nobody else writes until this transaction ends, and `record_intent` asks again.
        if entries and (error := company_refusal(journal, company_id, entries)):
            raise error
    journal.remember()


def _insert(journal: WritableJournal, connection: Connection, batch: BatchRequest, plan_id: str) -> None:
    """Write a new batch as PLANNED."""
    row: dict[str, Any] = {
        "batch_id": batch.batch_id,
        "company_id": batch.company_id,
        "state": "PLANNED",
        "code": "planned",
        "facts": "{}",
        "plan_id": plan_id,
        "planned_at": clock.now().isoformat(),
        "entries": len(batch.entry_ids),
        "body": batch.body,
        "body_sha256": hashlib.sha256(batch.body).hexdigest(),
    }
    connection.execute(inserting("batches", row), [*row.values()])
    rows = ((batch.batch_id, entry) for entry in batch.entry_ids)
    connection.executemany("INSERT INTO batch_entries VALUES ($1, $2, 1)", rows)
    about = {"company_id": batch.company_id, "batch_id": batch.batch_id}
    journal.record(connection, "planned", state="PLANNED", **about)


def _claim_data(
    journal: WritableJournal, connection: Connection, batch: BatchRequest, month: str | None
) -> None:
    """Write the data of a batch's entries, in the place of those that it has; unknown ones replace none."""
    rows = entry_data.rows_of(batch, month)
    journal.require_open(batch.company_id, {row[-1] for row in rows})
    if rows:
        connection.execute("DELETE FROM entry_data WHERE batch_id = $1", [batch.batch_id])
        insert = inserting("entry_data", entry_data.NAMES)
        connection.executemany(insert, ((batch.batch_id, *row) for row in rows))
