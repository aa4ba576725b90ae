"""Batches with an unknown outcome: how a person resolves them, when jobs have ended, where answers may be."""

from __future__ import annotations

import datetime as dt
import json

from bktools.journal.journal import THE_OUTCOME, Journal
from bktools.journal.records import Row, named, this_user
from bktools.journal.writing import open_for_reading
from bktools.service import Service
from bktools.visible import first_of

# ASSUMED: `expiresIn` is in seconds; a job without it ends within an hour, as in the samples.
JOB_SECONDS = 3600
# A service that means a date, or milliseconds, names a number that is in no calendar.
LONGEST_SECONDS = 10**9

# Entries that a message names; the others are counted.
SHOWN_ENTRIES = 3


def settle_first(journal: Journal, row: Row, explained: set[str]) -> str:
    """Return the line about a batch whose outcome is unknown; only its first line says how to settle it."""
    if row["batch_id"] in explained:
        return f"Waiting: first resolve batch {row['batch_id']} (outcome unknown)"
    explained.add(row["batch_id"])
    return how_to_settle(journal, row)


def how_to_settle(journal: Journal, row: Row) -> str:
    """Return one line with the batch whose outcome is unknown and the command that resolves it."""
    sql = "SELECT entry_id FROM batch_entries WHERE batch_id = ? ORDER BY entry_id LIMIT ?"
    entries = [entry["entry_id"] for entry in journal.rows(sql, row["batch_id"], SHOWN_ENTRIES)]
    named = first_of(entries, SHOWN_ENTRIES, of=row["entries"])
    listed = journal.command(f"export history --entries --batch {row['batch_id']}")
    resolve = journal.command(f"export resolve {row['batch_id']}")
    answer = journal.undelivered.read(row)
    kept = f"; this machine received the answer {answer}" if answer else ""
    sent = f"sent {row['sent_at']}" if row["sent_at"] else "sent before the journal was restored"
    return (
        f"batch {row['batch_id']} of company {row['company_id']}, {sent}, may have been booked: look up its "
        f"{row['entries']} entries in the accounting system ({named}; full list: {listed}), "
        f"then record the outcome: {resolve} {THE_OUTCOME}{kept}"
    )


def lasts_seconds(job: str | None) -> int:
    """Return after how many seconds a job has surely ended, from its JSON; without one, the usual time."""
    expires: int = json.loads(job or "{}").get("expiresIn") or 0
    return min(expires, LONGEST_SECONDS) if expires > 0 else JOB_SECONDS


def sendings_in_doubt(company: str, *, service: Service) -> dict[str, tuple[dt.datetime | None, str]]:
    """Return, by batch of a company with an unknown outcome, when its job ended and where an answer may be.

    The time is the latest possible one. The other text says why an answer may exist that the journal does not
    have; it is "" where none can.
    """
    with open_for_reading(service.settings) as journal:
        longest = _longest(journal, company)
        return {
            row["batch_id"]: (
                dt.datetime.fromisoformat(row["sent_at"]) + longest if row["sent_at"] else None,
                _undelivered(journal, row),
            )
            for row in journal.unknown(company)
        }


def sent_until(journal: Journal, company: str) -> dt.datetime | None:
    """Return when each job that a machine made before the last restore has ended; None without a restore."""
    noticed = None if journal.restores is None else journal.restores.noticed_at()
    return None if noticed is None else noticed + _longest(journal, company)


def _longest(journal: Journal, company: str) -> dt.timedelta:
    jobs = journal.rows("SELECT job FROM batches WHERE company_id = ?", company)
    return dt.timedelta(seconds=max([lasts_seconds(row["job"]) for row in jobs] + [JOB_SECONDS]))


def _undelivered(journal: Journal, row: Row) -> str:
    answer = journal.undelivered.read(row)
    if answer:
        return f"this machine received the answer {answer}, which the journal does not have: record that one"
    sender = journal.sender_of(row["batch_id"])
    if not sender:
        return "the journal does not know who sent it: look it up by hand"
    # A batch that version 0 sent from a file has no machine's identity.
    own = journal.sent_log.machine() if sender["machine"] else this_user()
    if own != (sender["machine"] or sender["login"]):
        return (
            f"it was sent by {named(sender['login'], sender['machine'])}, where an answer may be that the "
            "journal does not have: verify it there, or look it up by hand"
        )
    return ""
