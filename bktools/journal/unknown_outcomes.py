"""Batches with an unknown outcome: how a person resolves them, when jobs have ended, where answers may be."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Sequence
from decimal import Decimal
from operator import itemgetter

from bktools.frames.sums import total
from bktools.journal.database import Row
from bktools.journal.journal import Journal
from bktools.journal.records import named
from bktools.journal.sentences import line_of
from bktools.wording import words

# ASSUMED: `expiresIn` is in seconds; a job without it ends within an hour, as in the samples.
JOB_SECONDS = 3600
# A job that says more may mean milliseconds, or a date: it is not believed.
LONGEST_SECONDS = 24 * 3600

# Entries that a message names; the others are counted.
SHOWN_ENTRIES = 3


def how_to_resolve(journal: Journal, row: Row) -> str:
    """Return one line with the batch whose outcome is unknown and the command that resolves it."""
    sql = """SELECT entry_id, date, supplier, amount, currency
        FROM batch_entries LEFT JOIN entry_data USING (batch_id, entry_id)
        WHERE batch_id = $1 AND entry_id IN
            (SELECT entry_id FROM batch_entries WHERE batch_id = $1 ORDER BY entry_id LIMIT $2)
        ORDER BY entry_id, split_line"""
    lines = journal.rows(sql, row["batch_id"], SHOWN_ENTRIES)
    entries = [_named(id_, [*of]) for id_, of in itertools.groupby(lines, itemgetter("entry_id"))]
    named = words().listed(entries, of=row["entries"])
    company = journal.settings.title_of(row["company_id"])
    listed = journal.command(f"export status --entries --batch {row['batch_id']}", row["company_id"])
    resolving = journal.resolve_command(row["batch_id"], row["company_id"])
    return line_of("resolve", **row, company=company, named=named, listed=listed, command=resolving)


def _named(entry_id: str, lines: Sequence[Row]) -> str:
    """Return an entry in a few words, with the sum of its lines; its ID where nothing more is known."""
    first, amounts = lines[0], [Decimal(line["amount"]) for line in lines if line["amount"]]
    amount = total(amounts) if amounts else None
    return words().entry(first["date"], first["supplier"], amount, first["currency"]) or entry_id


def lasts_seconds(job: str | None) -> int:
    """Return after how many seconds a job has surely ended, from its JSON; without one, the usual time."""
    expires: int = json.loads(job or "{}").get("expiresIn") or 0
    return expires if 0 < expires <= LONGEST_SECONDS else JOB_SECONDS


def sendings_in_doubt(journal: Journal, company: str) -> dict[str, tuple[dt.datetime, str]]:
    """Return, by batch of a company with an unknown outcome, when its job ended and where an answer may be.

    The time is the latest possible one. The other text says why an answer may exist that the journal does not
    have; it is "" where none can.
    """
    jobs = journal.rows("SELECT job FROM batches WHERE company_id = $1", company)
    longest = dt.timedelta(seconds=max([lasts_seconds(row["job"]) for row in jobs] + [JOB_SECONDS]))
    return {
        row["batch_id"]: (dt.datetime.fromisoformat(row["sent_at"]) + longest, _undelivered(journal, row))
        for row in journal.unknown(company)
    }


def _undelivered(journal: Journal, row: Row) -> str:
    sending = journal.newest("sending", batch_id=row["batch_id"])
    if sending is None or sending.machine == journal.memory().machine:
        return ""
    return line_of("answer_elsewhere", sender=named(sending.login, sending.machine))
