"""Sends a batch once: intent, connection, the question before the first byte, one POST, outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bktools.errors import BktoolsError, NotRecordedError
from bktools.frames.batches import BatchRequest
from bktools.journal.attempts import Attempt, record_intent, record_outcome, still_sending
from bktools.journal.writable import WritableJournal
from bktools.service import Service
from bktools.service.service import send_export_job
from bktools.service.workers import Stopped
from bktools.submit.outcome import Outcome, Withheld, of_answer, of_error
from bktools.wording import Sentence


def send_once(journal: WritableJournal, service: Service, batch: BatchRequest) -> Outcome:
    """Send a batch and return its outcome, as the journal has it; hold the company's lock.

    Raises
    ------
    JournalError, StorageError
        When the batch may not be sent, or its intent could not be written; nothing was sent.
    NotRecordedError
        When the journal could not be written after the request.
    """
    attempt = record_intent(journal, batch.batch_id)
    # Only the request, and nothing that could fail, stands between its intent and its outcome.
    try:
        job = send_export_job(service, attempt.body, lambda: _require_still_sending(journal, attempt))
        outcome = of_answer(job, batch.company_id, len(batch.entry_ids))
    except BaseException as error:
        outcome = _recorded(journal, attempt, of_error(error))
        if isinstance(error, Stopped) or not isinstance(error, Exception):
            # After Ctrl-C, too, the request may have arrived.
            raise
        return outcome
    return _recorded(journal, attempt, outcome)


def _require_still_sending(journal: WritableJournal, attempt: Attempt) -> None:
    """Raise `Withheld` when nothing may be sent: called with the connection open, before the first byte."""
    facts: dict[str, Any] = {}
    try:
        code = still_sending(journal, attempt)
    except (BktoolsError, OSError) as error:
        code, facts = "journal_not_read", {"said": str(error)}
    if code:
        raise Withheld(code, facts)


def _recorded(journal: WritableJournal, attempt: Attempt, outcome: Outcome) -> Outcome:
    """Record an outcome; return it as the journal has it, which may know that the job is another batch's."""
    try:
        known = record_outcome(journal, attempt, outcome)
    except (BktoolsError, OSError) as error:
        about = {"batch": attempt.batch_id, "state": outcome.state, "message": outcome.message}
        raise NotRecordedError(Sentence("submit.outcome_not_written", **about, reason=error)) from error
    return replace(
        outcome, state=known.state, code=known.code, facts=known.facts, job_id=known.job_id, job=known.job
    )
