"""Attempts to send a batch: the intent, the question before the first byte, and the outcome.

The order keeps a batch from being sent twice:

1. `record_intent`: the intent, a compare-and-set in the database; then the sent log.
2. `still_sending`, with the connection open and directly before the first byte: the age of the intent is
   asked, and the row is read once more.
3. `record_outcome`: the sent log first, then the journal. It changes no batch of another attempt.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.journal import clock, sent_log
from bktools.journal.database import Connection, Row
from bktools.journal.journal import LATE_ANSWER, Journal
from bktools.journal.memory import locked, remember
from bktools.journal.right_journal import require_company
from bktools.journal.schema import OPEN_STATES
from bktools.journal.sent_log import BatchOutcome, SentLine
from bktools.journal.sentences import line_of, refusal
from bktools.journal.writable import WritableJournal, change_batch

log = logging.getLogger("bktools")

# Seconds after which an intent is not sent: its process may have slept, and another one may have sent.
MOST_AGE = 60.0


@dataclass(frozen=True)
class Attempt:
    """An attempt to send a batch, which every outcome names."""

    batch_id: str
    company_id: str
    token: str
    # The bytes that the journal has, and that are sent.
    body: bytes
    begun: clock.Moment


def record_intent(journal: WritableJournal, batch_id: str) -> Attempt:
    """Write that a batch is being sent, in the journal and then in the sent log; hold the company's lock.

    Whether this is the right journal is asked in the same transaction.

    Raises
    ------
    JournalError
        When this is not the right journal, nothing of the company is sent from this machine, another batch of
        it is SENDING or UNKNOWN, or the batch is not PLANNED.
    StorageError
        When the sent log cannot be written; the batch is PLANNED again.
    """
    company_id = journal.batch(batch_id)["company_id"]
    token, begun = secrets.token_hex(8), clock.Moment()
    # Two copies of a journal on this machine compare themselves with its memory one after the other.
    with locked(journal.folder, "intent"):
        with journal.right_transaction() as connection:
            require_company(journal, company_id, batch_id)
            body = _body_to_send(journal, batch_id)
            _require_free(journal, company_id)
            intent = {"attempt": token, "sent_at": clock.now().isoformat()}
            before = ("PLANNED",)
            if not change_batch(journal, connection, batch_id, before, "SENDING", "sending", {}, **intent):
                state = journal.batch(batch_id)["state"]
                raise refusal("not_planned", batch=batch_id, state=state)
        attempt = Attempt(batch_id, company_id, token, body, begun)
        try:
            entries = json.loads(body).get("accountingEntryIds", ())
            sent_log.append(journal.folder, _line(journal, attempt, BatchOutcome("SENDING", ""), entries))
            journal.remember(sent_for=company_id)
        except (JournalError, StorageError) as error:
            with suppress(JournalError, StorageError):
                record_outcome(journal, attempt, BatchOutcome("PLANNED", "not_sent", {"said": str(error)}))
            raise
    return attempt


def still_sending(journal: WritableJournal, attempt: Attempt) -> str:
    """Return "" where an attempt may be sent now, or why it may not: "too_old" or "not_sending".

    Ask it with the connection open and directly before the first byte. Meanwhile the process may have slept,
    another one may have resolved the batch, or an older copy may have taken the place of the journal.
    """
    sql = "SELECT state, attempt, body_sha256 FROM batches WHERE batch_id = $1"
    row = journal.row(sql, attempt.batch_id) if journal.is_in_place() else None
    own = ("SENDING", attempt.token, hashlib.sha256(attempt.body).hexdigest())
    if row is None or (row["state"], row["attempt"], row["body_sha256"]) != own:
        return "not_sending"
    return "too_old" if attempt.begun.age() > MOST_AGE else ""


def record_outcome(journal: WritableJournal, attempt: Attempt, outcome: BatchOutcome) -> BatchOutcome:
    """Write the outcome of an attempt: to the sent log, then to the journal. Return what the journal has now.

    An outcome of an attempt that is not the batch's newest one changes nothing; one that contradicts the
    batch's state is an event, until a person ticks it off.

    Raises
    ------
    StorageError, JournalError
        When the journal cannot be written. The message says where the outcome is kept: in the sent log, from
        which the next run on this machine writes it, or in this line alone.
    """
    kept = "the answer is kept in this machine's sent log, and the next run here writes it to the journal"
    try:
        sent_log.append(journal.folder, _line(journal, attempt, outcome))
    except StorageError as error:
        log.warning("%s", error)
        resolving = journal.resolve_command(attempt.batch_id, attempt.company_id)
        kept = f"keep this line, because the journal will show UNKNOWN: {resolving}"
    try:
        try:
            return _recorded(journal, attempt.batch_id, attempt.token, outcome)
        except StorageError:
            if journal.path:
                raise
            # The connection may have been cut, as while the computer sleeps.
            with journal.another_connection() as again:
                return _recorded(again, attempt.batch_id, attempt.token, outcome)
    except (JournalError, StorageError) as error:
        raise type(error)(f"{error}; {kept}") from error


def _recorded(journal: WritableJournal, batch_id: str, token: str, outcome: BatchOutcome) -> BatchOutcome:
    if journal.path and not journal.is_in_place():
        raise StorageError(line_of("moved_while_open", location=journal.location))
    with journal.transaction() as connection:
        outcome = _apply(journal, connection, batch_id, token, outcome)
    with suppress(StorageError, JournalBusyError):
        # The next run remembers what this one could not.
        journal.remember()
    return outcome


def _apply(
    journal: Journal, connection: Connection, batch_id: str, token: str, outcome: BatchOutcome
) -> BatchOutcome:
    """Write an outcome where it is one of the batch's newest attempt; return what the journal has then."""
    row = journal.row_of(batch_id)
    if row is None:
        # A restored journal lacks the batch.
        return outcome
    other = journal.other_with(outcome.job_id, batch_id)
    if other is not None:
        # A job answers for one batch, so this answer was replayed.
        facts = {"job_id": outcome.job_id, "batch_id": other["batch_id"]}
        outcome = BatchOutcome("UNKNOWN", "job_of_another_batch", facts, job=outcome.job)
    if row["attempt"] != token:
        return _late(journal, connection, row, token, outcome)
    before = tuple(state for state in OPEN_STATES if state != outcome.state)
    if row["state"] not in OPEN_STATES:
        if not (outcome.has_job and _takes_entries_back(journal, connection, row, outcome)):
            return _late(journal, connection, row, token, outcome)
        before = ("PLANNED", "RELEASED")
    jobs = {"job_id": outcome.job_id, "job": outcome.job}
    values = {name: value for name, value in jobs.items() if value is not None} | {"of_attempt": token}
    change_batch(journal, connection, batch_id, before, outcome.state, outcome.code, outcome.facts, **values)
    return outcome


def _takes_entries_back(journal: Journal, connection: Connection, row: Row, outcome: BatchOutcome) -> bool:
    """Whether a batch that waits, or was released, gets the job of its own late answer: its entries are free.

    They are not where a sent batch has one of them, or another batch of the company is in doubt.
    """
    batch_id = row["batch_id"]
    entries = [entry for entry, _ in journal.dated_entries(batch_id)]
    others = [each for each in journal.holding(entries) if each["batch_id"] != batch_id]
    is_free = all(each["state"] == "PLANNED" for each in others)
    if outcome.state == "UNKNOWN":
        is_free = is_free and not journal.open_batches(row["company_id"])
    if row["state"] not in {"PLANNED", "RELEASED"} or not is_free:
        return False
    release_planned(journal, connection, others, batch_id)
    return True


def _late(
    journal: Journal, connection: Connection, row: Row, token: str, outcome: BatchOutcome
) -> BatchOutcome:
    """Write the outcome of an attempt whose batch was settled or begun again before, if they contradict."""
    is_newest, is_accepted = row["attempt"] == token, row["state"] == "ACCEPTED"
    if outcome.has_job:
        is_same_job = row["job_id"] == outcome.job_id or (is_newest and row["job_id"] is None)
        contradicts = not (is_accepted and outcome.state == "ACCEPTED" and is_same_job)
    else:
        # A person found entries booked whose request was not sent, or refused.
        contradicts = is_newest and is_accepted and bool(row["resolved_by"]) and outcome.state != "UNKNOWN"
    if not contradicts:
        return outcome
    facts = {"answer": outcome.code, "facts": {**outcome.facts}, "state": row["state"]}
    if not journal.row("SELECT 1 AS one FROM events WHERE code = $1 AND attempt = $2", LATE_ANSWER, token):
        about = {"company_id": row["company_id"], "batch_id": row["batch_id"], "attempt": token}
        journal.record(connection, LATE_ANSWER, facts=facts, **about)
    return BatchOutcome("UNKNOWN", LATE_ANSWER, facts)


def release_planned(
    journal: Journal, connection: Connection, batches: Iterable[Row], replaced_by: str
) -> None:
    """Release batches that were not sent, because another batch has their entries."""
    for row in batches:
        facts = {"batch_id": replaced_by}
        change_batch(journal, connection, row["batch_id"], ("PLANNED",), "RELEASED", "replaced", facts)


def recover(journal: WritableJournal, company_id: str) -> None:
    """Record the outcome of a batch whose sender was killed; hold the company's lock.

    The sent log of this machine may have its answer. Otherwise it is UNKNOWN: its request may have arrived.
    """
    sql = "SELECT * FROM batches WHERE company_id = $1 AND state = 'SENDING'"
    if not journal.rows(sql, company_id):
        return
    answers = {line.attempt: line for line in sent_log.lines_from(journal.folder)[0] if not line.is_intent}
    with journal.transaction() as connection:
        for row in journal.rows(sql, company_id):
            sender = {"sender": journal.sender_of(row["batch_id"])}
            ended = answers.get(row["attempt"]) or BatchOutcome("UNKNOWN", "sender_ended", sender)
            _apply(journal, connection, row["batch_id"], row["attempt"], ended)


def recover_free(journal: WritableJournal) -> None:
    """Record the outcome of what killed senders left, of every company whose lock is free."""
    for row in journal.rows("SELECT DISTINCT company_id FROM batches WHERE state = 'SENDING'"):
        # Where the lock is held, a running process is sending.
        with suppress(JournalBusyError), journal.lock(row["company_id"], patience=0):
            recover(journal, row["company_id"])


def deliver(journal: WritableJournal) -> None:
    """Bring the answers of this machine's sent log that the journal lacks to the journal."""
    lines, end = sent_log.lines_from(journal.folder, journal.memory().delivered)
    answers = {line.attempt: line for line in lines if not line.is_intent}
    if not lines:
        return
    journal.wanted(answers)
    sql = "SELECT attempt, state, code FROM events WHERE attempt IN (SELECT id FROM wanted)"
    recorded = {(row["attempt"], row["state"] or row["code"]) for row in journal.rows(sql)}
    for attempt, line in answers.items():
        if not {(attempt, line.state), (attempt, LATE_ANSWER)} & recorded:
            _recorded(journal, line.batch_id, attempt, line)
    remember(journal.folder, delivered=end)


def _require_free(journal: Journal, company_id: str) -> None:
    if others := journal.open_batches(company_id):
        status = journal.command("export status", company_id)
        raise refusal("open_batch", **others[0], company=company_id, command=status)


def _body_to_send(journal: Journal, batch_id: str) -> bytes:
    """Return the request of a batch; refuse one that was changed, or with entries that must not be sent."""
    row = journal.batch(batch_id)
    body: bytes = row["body"]
    if hashlib.sha256(body).hexdigest() != row["body_sha256"]:
        raise refusal("body_damaged", batch=batch_id)
    entries = json.loads(body).get("accountingEntryIds", ())
    if error := journal.standing_obstacle(batch_id, entries):
        raise error
    journal.require_open(row["company_id"], journal.periods_of(batch_id))
    return body


def _line(journal: Journal, attempt: Attempt, outcome: BatchOutcome, entries: Sequence[str] = ()) -> SentLine:
    answer = (outcome.state, outcome.code, {**outcome.facts}, outcome.job_id, outcome.job)
    about = (clock.now().isoformat(), journal.id, attempt.token, attempt.batch_id, attempt.company_id)
    return SentLine(*answer, *about, entries)
