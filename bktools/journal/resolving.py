"""A person's word about a batch: the outcome of one in doubt, a withdrawal, or a look at two jobs."""

from __future__ import annotations

import datetime as dt

from bktools.contract import rules
from bktools.journal import clock
from bktools.journal.attempts import recover
from bktools.journal.database import Row
from bktools.journal.journal import TICKED_OFF
from bktools.journal.sentences import refusal
from bktools.journal.statements import record
from bktools.journal.unknown_outcomes import lasts_seconds
from bktools.journal.writable import WritableJournal, change_batch


def resolve(
    journal: WritableJournal, batch_id: str, state: str, *, evidence: str, by: str, job_id: str | None = None
) -> None:
    """Record a person's finding (see `resolve_export_job`): resolve UNKNOWN, or withdraw PLANNED."""
    by, evidence = rules.a_name("by", by), rules.evidence("evidence", evidence)
    before = _resolvable(journal, batch_id, state)
    with journal.lock(before["company_id"]):
        # Another process may have sent the batch after the person looked.
        recover(journal, before["company_id"])
        with journal.right_transaction() as connection:
            row = _resolvable(journal, batch_id, state)
            if (row["state"], row["attempt"]) != (before["state"], before["attempt"]):
                status = journal.command("export status", row["company_id"])
                raise refusal("batch_changed", **row, before=before["state"], command=status)
            if row["state"] == "UNKNOWN" and state == "RELEASED":
                _require_ended(row)
            if other := journal.other_with(job_id, batch_id):
                raise refusal("job_of_another", **other, job=job_id)
            code = "resolved" if row["state"] == "UNKNOWN" else "withdrawn"
            values = {"job_id": job_id} if job_id else {}
            facts = {"evidence": evidence}
            change_batch(journal, connection, batch_id, (row["state"],), state, code, facts, by=by, **values)
        journal.remember()


def _resolvable(journal: WritableJournal, batch_id: str, state: str) -> Row:
    """Return the row of a batch that a person may bring to a state; raise for any other batch."""
    row = journal.batch(batch_id)
    if row["state"] != "UNKNOWN" and (row["state"], state) != ("PLANNED", "RELEASED"):
        raise refusal("not_resolvable", **row)
    return row


def _require_ended(row: Row) -> None:
    """Refuse to release a batch whose request may still be under way: that nothing is booked says nothing."""
    sent = dt.datetime.fromisoformat(row["sent_at"])
    next_day = dt.datetime.combine(sent.date() + dt.timedelta(days=1), dt.time(), dt.UTC)
    earliest = max(next_day, sent + dt.timedelta(seconds=lasts_seconds(row["job"])))
    if clock.now() < earliest:
        raise refusal("released_too_early", batch=row["batch_id"], sent=sent, earliest=earliest)


def tick_off(journal: WritableJournal, event_id: int, *, by: str, evidence: str) -> None:
    """Record that a person looked at a late answer; it is not shown any more."""
    by, evidence = rules.a_name("by", by), rules.evidence("evidence", evidence)
    answers = {row["event_id"]: row for row in journal.late_answers()}
    if event_id not in answers:
        raise refusal("no_late_answer", event=event_id)
    about = {name: answers[event_id][name] for name in ("company_id", "batch_id", "attempt")}
    record(journal, TICKED_OFF, person=by, facts={"evidence": evidence}, **about)
