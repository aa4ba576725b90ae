"""Batches of a journal, and what brings them to a state."""

from __future__ import annotations

import json

import pyarrow as pa

from bktools.export.plan import BatchRequest
from bktools.journal.undelivered import BatchOutcome
from bktools.journal.writing import WritableJournal

ADDRESS = "https://books.example.com"
COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
OTHER_COMPANY = "123e4567-e89b-42d3-a456-426614174000"

# A batch that waited for its answer becomes one of these by a person's word.
SETTLED_BY_HAND = {"BOOKED": "ACCEPTED", "RELEASED": "RELEASED"}
CODES = {"ACCEPTED": "accepted", "REJECTED": "refused", "UNKNOWN": "connection_lost"}


def entry(number: int) -> str:
    """Return the ID of an entry."""
    return f"00000000-0000-4000-8000-{number:012d}"


ENTRIES = [entry(number) for number in range(8)]


def batch(name: str, *numbers: int, company: str = COMPANY, **columns: object) -> BatchRequest:
    """Return a batch of entries; a column has a list of values, or one value for all of them."""
    entries = [entry(number) for number in numbers]
    body = json.dumps({"accountingEntryIds": entries, "companyId": company}).encode()
    facts = {
        name: values if isinstance(values, list | pa.Array) else [values] * len(entries)
        for name, values in columns.items()
    }
    return BatchRequest(name, company, entries, body, pa.table(facts) if facts else None)


def send(
    journal: WritableJournal,
    wanted: BatchRequest,
    state: str = "ACCEPTED",
    *,
    period: str | None = None,
    job_id: str | None = None,
) -> None:
    """Bring a batch to a state; BOOKED is one without an answer that a person found booked."""
    with journal.sending(wanted.company_id):
        journal.claim([wanted], "plan", period)
        if state == "PLANNED":
            return
        journal.begin(wanted.batch_id)
        answered = "UNKNOWN" if state in SETTLED_BY_HAND else state
        job = (job_id or f"job-{wanted.batch_id}") if state == "ACCEPTED" else None
        journal.settle(
            wanted.batch_id, BatchOutcome(answered, CODES[answered], {"message": "said"}, job_id=job)
        )
    if state in SETTLED_BY_HAND:
        journal.resolve(wanted.batch_id, SETTLED_BY_HAND[state], evidence="looked up", by="Ada")
