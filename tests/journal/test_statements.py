"""What persons state (verified, exported elsewhere, not booked) is an event with a name and evidence."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from backends import BOTH
from batches import COMPANY, ENTRIES, batch, claimed, send

import bktools
from bktools.errors import ArgumentError, JournalError
from bktools.journal.attempts import record_intent
from bktools.journal.records import loaded
from bktools.journal.resolving import resolve
from bktools.journal.statements import (
    not_booked,
    record_exported_elsewhere,
    record_not_booked,
    record_verification,
    undo_exported_elsewhere,
    verifications_of,
)

LEDGER = {"name": "ledger.csv", "sha256": "0" * 64, "begins": "2026-10-01", "ends": "2026-11-15"}
TOLD = {"by": "Ada", "evidence": "the service's list of exports of 3 October"}


@BOTH
def test_a_verification_is_kept_and_shown(journal, service):
    """Who verified the month against which ledger, with what result; the newest is shown, all are kept."""
    listed = {"by": "Ada", "ledger": LEDGER, "entries": [{"entry_id": ENTRIES[0]}]}
    for booked, differences in ((311, []), (312, [{"entry_id": ENTRIES[0], "reason": "in November"}])):
        listed |= {"result": {"booked": booked}, "differences": differences}
        record_verification(journal, COMPANY, "2026-10", **listed)
    events = verifications_of(journal, COMPANY, "2026-10")
    assert [event.facts["result"] for event in events] == [{"booked": 311}, {"booked": 312}]
    assert (events[1].person, events[1].facts["ledger"]) == ("Ada", LEDGER)
    assert verifications_of(journal, COMPANY, "2026-11") == []
    (row,) = bktools.load_periods(COMPANY, service=service).to_dict("records")
    shown = (row["verified_by"], row["verified_against"], json.loads(row["verified_result"]))
    assert shown == ("Ada", "ledger.csv", {"booked": 312})
    record = bktools.record_of("2026-10", company=COMPANY, service=service)
    assert record.tables["events"]["code"].to_pylist() == ["verified", "verified"]
    assert "verified against ledger.csv" in record.tables["events"]["message"][0].as_py()
    with pytest.raises(ArgumentError, match="reason must be given"):
        record_verification(journal, COMPANY, "2026-10", **listed | {"differences": [{"entry_id": "x"}]})


@BOTH
def test_what_was_exported_elsewhere_is_not_sent(journal):
    """Neither by a dry run nor by a claim, in any batch, until a later event says that it was not."""
    rows = [{"entry_id": ENTRIES[0].upper(), "amount": "12.50", "currency": "EUR"}]
    event = record_exported_elsewhere(journal, COMPANY, rows, source="exports.csv", **TOLD)
    assert loaded(journal.exported_elsewhere(COMPANY)[ENTRIES[0]]["facts"])["entries"][0]["amount"] == "12.50"
    assert journal.exported_elsewhere("other") == {}
    assert "were exported elsewhere, as Ada recorded" in str(journal.obstacle(batch("a", 0, 1)))
    with pytest.raises(JournalError, match="were exported elsewhere"):
        claimed(journal, batch("a", 0, 1))
    again = record_exported_elsewhere(journal, COMPANY, rows, **TOLD)
    wrong = {"by": "Grace", "evidence": "that list was of a test company"}
    assert undo_exported_elsewhere(journal, event, **wrong) == {ENTRIES[0]: again}
    with pytest.raises(JournalError, match="was undone before"):
        undo_exported_elsewhere(journal, event, **wrong)
    assert {*journal.exported_elsewhere()} == {ENTRIES[0]}
    assert undo_exported_elsewhere(journal, again, **wrong) == {}
    assert journal.exported_elsewhere() == {}
    claimed(journal, batch("a", 0, 1))
    with pytest.raises(JournalError, match="is not about entries exported elsewhere"):
        undo_exported_elsewhere(journal, 1, **TOLD)


def test_what_waits_or_was_sent_here_is_told_from_what_was_exported_elsewhere(journal, today):
    """A batch that waits is not begun; after a wrong release an import keeps the entries out."""
    claimed(journal, batch("a", 0, 1))
    record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[1]}], **TOLD)
    with pytest.raises(JournalError, match="were exported elsewhere"):
        record_intent(journal, "a")
    assert journal.state_of("a")["state"] == "PLANNED"
    send(journal, batch("b", 2))
    with pytest.raises(JournalError, match="are in batch b, which is ACCEPTED here"):
        record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[2]}], **TOLD)
    today("2026-11-20T10:00")
    send(journal, batch("c", 3), "UNKNOWN")
    today("2026-11-21T10:00")
    resolve(journal, "c", "RELEASED", **TOLD)
    record_exported_elsewhere(journal, COMPANY, [{"entry_id": ENTRIES[3]}], **TOLD)
    with pytest.raises(JournalError, match="were exported elsewhere"):
        claimed(journal, batch("c", 3))
    assert {*journal.exported_elsewhere()} == {ENTRIES[1], ENTRIES[3]}
    page = files("bktools.guide").joinpath("after-export.md").read_text(encoding="utf-8")
    assert "`bktools export import FILE` keeps the entries out" in page


@BOTH
def test_the_word_that_an_entry_is_not_booked_is_kept(journal):
    """By entry, with the name and the evidence of the newest word; a word without either is none."""
    record_not_booked(journal, COMPANY, ENTRIES[:2], by="Ada", evidence="voucher V2 is another dinner")
    record_not_booked(journal, COMPANY, ENTRIES[1:2], by="Grace", evidence="asked the accountant")
    words = not_booked(journal, COMPANY)
    assert {entry: event.person for entry, event in words.items()} == {ENTRIES[0]: "Ada", ENTRIES[1]: "Grace"}
    word = {"entry_ids": ENTRIES[:1], "by": "Ada", "evidence": "seen there"}
    for change in ({"by": " "}, {"evidence": ""}, {"entry_ids": []}):
        with pytest.raises(ArgumentError):
            record_not_booked(journal, COMPANY, **word | change)
