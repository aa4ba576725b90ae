"""Messages about batches whose outcome is unknown, and how a person resolves them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from bktools.caller import in_shell
from bktools.journal.journal import Journal
from bktools.journal.records import Row

# Entries that a message names; the others are counted.
SHOWN_ENTRIES = 3


class UnknownOutcomes:
    """Messages about batches whose outcome is unknown: the first one about a batch explains how to resolve it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._explained: set[str] = set()

    def message(self, row: Row) -> str:
        """Return the line about a batch whose outcome is unknown."""
        if row["batch_id"] in self._explained:
            return f"Waiting: first resolve batch {row['batch_id']} (outcome unknown)"
        self._explained.add(row["batch_id"])
        return how_to_settle(self._journal, row)


def how_to_settle(journal: Journal, row: Row) -> str:
    """Return one line with the batch whose outcome is unknown and the command that resolves it."""
    sql = "SELECT entry_id FROM batch_entries WHERE batch_id = ? ORDER BY entry_id LIMIT ?"
    entries = [entry["entry_id"] for entry in journal.rows(sql, row["batch_id"], SHOWN_ENTRIES)]
    more = row["entries"] - len(entries)
    named = ", ".join(entries) + (f" and {more} more" if more > 0 else "")
    listed = journal.command(f"export history --entries --batch {row['batch_id']}")
    resolve = journal.command(f"export resolve {row['batch_id']}")
    answer = journal.undelivered_answer(row)
    kept = f"; this machine received the answer {answer}" if answer else ""
    sent = f"sent {row['sent_at']}" if row["sent_at"] else "sent before the journal was restored"
    return (
        f"batch {row['batch_id']} of company {row['company_id']}, {sent}, may have been booked: look up its "
        f"{row['entries']} entries in the accounting system ({named}; full list: {listed}), then record the outcome: "
        f'{resolve} --outcome accepted|released --evidence "..." --by NAME{kept}'
    )


def how_to_settle_all(journal: Journal, rows: Sequence[Row], company_id: str | None) -> str:
    """Return one line with the command that resolves several batches that were all booked."""
    newest = max(dt.datetime.fromisoformat(row["sent_at"] or row["planned_at"]) for row in rows)
    before = (newest + dt.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S")
    of_company = "" if company_id is None else f" --company {in_shell(company_id)}"
    resolve = journal.command(f"export resolve --all-before {before}{of_company}")
    return (
        f"the {len(rows)} batches were all found booked: "
        f'{resolve} --outcome accepted --evidence "..." --by NAME (it can only accept them)'
    )
