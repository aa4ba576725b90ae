"""Batches of a journal, what brings them to a state, and what the tests ask of a journal."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from bktools.export.plan import BatchRequest
from bktools.journal.attempts import Attempt, record_intent, record_outcome
from bktools.journal.claims import claim
from bktools.journal.resolving import resolve
from bktools.journal.sent_log import BatchOutcome
from bktools.journal.statements import record_first_export
from bktools.journal.writable import WritableJournal

ADDRESS = "https://books.example.com"
COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
OTHER_COMPANY = "123e4567-e89b-42d3-a456-426614174000"

# A batch that waited for its answer becomes one of these by a person's word.
SETTLED_BY_HAND = {"BOOKED": "ACCEPTED", "RELEASED": "RELEASED"}
CODES = {"ACCEPTED": "accepted", "REJECTED": "refused", "UNKNOWN": "connection_lost", "PLANNED": "not_sent"}
LOOKED = {"evidence": "looked up in the ERP", "by": "Ada"}


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


def answer(state: str, job_id: str | None = None) -> BatchOutcome:
    """Return an outcome of a state."""
    facts = {"said": "said", "job_id": job_id, "status": "new"}
    return BatchOutcome(state, CODES[state], facts, job_id)


def claimed(journal: WritableJournal, *batches: BatchRequest, month: str | None = None) -> None:
    """Claim batches of one company, after a person said that nothing was exported before."""
    record_first_export(journal, batches[0].company_id, by="Ada")
    claim(journal, batches, "plan", month)


def begun(journal: WritableJournal, wanted: BatchRequest, **options: Any) -> Attempt:
    """Claim and begin a batch, after a person said that nothing was exported before."""
    record_first_export(journal, wanted.company_id, by="Ada")
    with journal.lock(wanted.company_id):
        claim(journal, [wanted], "plan", **options)
        return record_intent(journal, wanted.batch_id)


def send(
    journal: WritableJournal,
    wanted: BatchRequest,
    state: str = "ACCEPTED",
    *,
    job_id: str | None = None,
    **options: Any,
) -> Attempt | None:
    """Bring a batch to a state; BOOKED is one without an answer that a person found booked."""
    if state == "PLANNED":
        claimed(journal, wanted, **options)
        return None
    attempt = begun(journal, wanted, **options)
    answered = "UNKNOWN" if state in SETTLED_BY_HAND else state
    job = (job_id or f"job-{wanted.batch_id}") if state == "ACCEPTED" else None
    if answered != "SENDING":
        record_outcome(journal, attempt, answer(answered, job))
    if state in SETTLED_BY_HAND:
        resolve(journal, wanted.batch_id, SETTLED_BY_HAND[state], **LOOKED)
    return attempt


def state(journal: WritableJournal, batch_id: str) -> str | None:
    """Return the state of a batch, None where the journal does not have it."""
    row = journal.row_of(batch_id)
    return None if row is None else row["state"]
