"""What people state, as events: verified months, first exports, entries exported elsewhere or not booked."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames.schema import COMPARED
from bktools.journal.journal import (
    EXPORTED_ELSEWHERE,
    EXPORTED_ELSEWHERE_UNDONE,
    NOT_BOOKED,
    Journal,
)
from bktools.journal.records import Event
from bktools.journal.right_journal import first_export_question
from bktools.journal.sentences import refusal
from bktools.journal.writable import WritableJournal
from bktools.wording import Sentence

VERIFIED, APPLIED = "verified", "close_applied"


def record(journal: WritableJournal, code: str, *, company_id: str, **event: Any) -> int:
    """Add a person's event about a company, under its lock; return its number."""
    with journal.recording(company_id) as connection:
        return journal.record(connection, code, company_id=company_id, **event)


def record_verification(
    journal: WritableJournal,
    company_id: str,
    month: str,
    *,
    by: str,
    ledger: Mapping[str, Any],
    result: Mapping[str, Any],
    entries: Sequence[Mapping[str, Any]],
    differences: Sequence[Mapping[str, Any]],
    corrected: Sequence[Mapping[str, str]] = (),
) -> int:
    """Record that a month was verified against a ledger, and return the number of the event.

    Parameters
    ----------
    journal : WritableJournal
        An open journal.
    company_id, month : str
        UUID of the company; the month, as 2026-10.
    by : str
        Name of the person; kept permanently.
    ledger : mapping
        name, sha256, begins and ends (days) of the ledger.
    result : mapping
        Counts and sums by status.
    entries : sequence of mappings
        One for each entry or group: what the next verification compares.
    differences : sequence of mappings
        Known differences that are carried, each with a `reason`.
    corrected : sequence of mappings
        The lines of entries that changed since their export and are booked as they are now: `entry_id`,
        `split_line`, and the facts that are compared, as text.
    """
    for difference in differences:
        rules.reason("reason", difference.get("reason") or "")
    facts = {"ledger": {**ledger}, "result": {**result}, "entries": [*entries], "differences": [*differences]}
    facts["corrected"] = [*corrected]
    period, by = rules.month("month", month), rules.a_name("by", by)
    return record(journal, VERIFIED, company_id=company_id, period=period, person=by, facts=facts)


def verifications_of(journal: Journal, company_id: str, month: str | None = None) -> list[Event]:
    """Return the verifications of a company's month, or of all its months, oldest first."""
    return journal.events(VERIFIED, company_id=company_id, period=month)


def corrections_of(journal: Journal) -> dict[tuple[str, int], dict[str, str]]:
    """Return the facts of lines that changed since their export, as a verification found them booked."""
    rows = [row for event in journal.events(VERIFIED) for row in event.facts.get("corrected", ())]
    return {
        (row["entry_id"], int(row["split_line"])): {name: row[name] for name in COMPARED if name in row}
        for row in rows
    }


def record_exported_elsewhere(
    journal: WritableJournal,
    company_id: str,
    entries: Sequence[Mapping[str, Any]],
    *,
    by: str,
    evidence: str,
    source: str = "",
) -> int:
    """Record entries that were exported outside of this journal, and return the number of the event.

    `entries` have `entry_id`, and what is known of them: date, amount (as text), currency, supplier. They are
    not sent from here until it is undone.

    Raises
    ------
    ArgumentError
        When there is no entry, or name or evidence are missing.
    JournalError
        When an entry was sent from here; nothing was recorded.
    """
    by, evidence = rules.a_name("by", by), rules.evidence("evidence", evidence)
    ids = rules.unique_uuids("entries", [entry["entry_id"] for entry in entries])
    if not ids:
        raise ArgumentError("entries", Sentence("rule.no_entry"))
    for row in journal.holding(ids):
        if row["state"] != "PLANNED":
            raise refusal("sent_from_here", **row)
    rows = [{**entry, "entry_id": entry_id} for entry, entry_id in zip(entries, ids, strict=True)]
    facts = {"word": secrets.token_hex(8), "entries": rows, "evidence": evidence, "source": source}
    return record(journal, EXPORTED_ELSEWHERE, company_id=company_id, person=by, facts=facts)


def undo_exported_elsewhere(
    journal: WritableJournal, event_id: int, *, by: str, evidence: str
) -> dict[str, int]:
    """Record that an event of entries exported elsewhere was wrong: they may be sent from here again.

    Return the entries that still may not, each with the other event that records it.
    """
    by, evidence = rules.a_name("by", by), rules.evidence("evidence", evidence)
    event = next((each for each in journal.events(EXPORTED_ELSEWHERE) if each.event_id == event_id), None)
    if event is None or event.company_id is None:
        raise refusal("not_exported_elsewhere", event=event_id)
    facts = {"word": event.facts["word"], "evidence": evidence}
    if facts["word"] in journal.undone_words():
        raise refusal("undone_before", event=event_id)
    record(journal, EXPORTED_ELSEWHERE_UNDONE, company_id=event.company_id, person=by, facts=facts)
    standing = journal.exported_elsewhere(event.company_id)
    entries = [entry["entry_id"] for entry in event.facts["entries"]]
    return {entry: standing[entry]["event_id"] for entry in entries if entry in standing}


def record_first_export(journal: WritableJournal, company_id: str, *, by: str) -> int | None:
    """Record a person's word that a company's entries were exported from nowhere else before.

    Return the number of the event, None where no such question is open.
    """
    by = rules.a_name("by", by)
    if first_export_question(journal, company_id) is None:
        return None
    return record(journal, "first_export", company_id=company_id, person=by, facts={})


def record_not_booked(
    journal: WritableJournal, company_id: str, entry_ids: Iterable[str], *, by: str, evidence: str
) -> int:
    """Record a person's word that entries of a ledger are not booked; return the number of the event."""
    by, evidence = rules.a_name("by", by), rules.evidence("evidence", evidence)
    ids = rules.unique_uuids("entry_ids", entry_ids)
    if not ids:
        raise ArgumentError("entry_ids", Sentence("rule.no_entry"))
    facts = {"entries": [{"entry_id": entry_id} for entry_id in ids], "evidence": evidence}
    return record(journal, NOT_BOOKED, company_id=company_id, person=by, facts=facts)


def record_of_ledger(
    journal: WritableJournal,
    code: str,
    company_id: str,
    entries: Sequence[Mapping[str, str]],
    *,
    day: str,
    ledger: str,
) -> None:
    """Record that a ledger, exported on a day, may hold some entries, or shows that they are not booked."""
    facts = {"entries": [*entries], "day": day, "ledger": ledger}
    record(journal, code, company_id=company_id, facts=facts)
