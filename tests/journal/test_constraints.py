"""The promises of the journal hold against SQL typed by hand: constraints keep them, not code."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from bktools.errors import JournalError
from bktools.export.plan import BatchRequest
from bktools.journal import batches as memory
from bktools.journal.journal import Journal

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
ENTRIES = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(6)]


@pytest.fixture
def journal(service):
    with Journal(service.settings) as opened:
        yield opened


@pytest.fixture
def by_hand(journal):
    with closing(sqlite3.connect(journal.path, isolation_level=None)) as connection:
        yield connection


def batch(name: str, entries: list[str]) -> BatchRequest:
    return BatchRequest(name, COMPANY, entries, b"{}")


def refused(by_hand, sql: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        by_hand.execute(sql)


def test_one_batch_of_a_company_is_on_its_way_or_in_doubt(journal, by_hand):
    """While one batch is SENDING or UNKNOWN, no other one of its company can be sent."""
    memory.plan_batches(journal, [batch("a", ENTRIES[:2])], "plan")
    memory.plan_batches(journal, [batch("b", ENTRIES[2:4])], "plan")
    memory.begin_sending(journal, "a")
    refused(by_hand, "UPDATE batches SET state = 'SENDING' WHERE batch_id = 'b'")
    with pytest.raises(JournalError):
        memory.begin_sending(journal, "b")
    memory.settle(journal, "a", "UNKNOWN", "lost")
    refused(by_hand, "UPDATE batches SET state = 'SENDING' WHERE batch_id = 'b'")


def test_an_entry_is_in_one_live_batch(journal, by_hand):
    """An entry of an accepted batch cannot be put into another one."""
    memory.plan_batches(journal, [batch("a", ENTRIES[:2])], "plan")
    memory.begin_sending(journal, "a")
    memory.settle(journal, "a", "ACCEPTED", "job", job_id=ENTRIES[5])
    with pytest.raises(JournalError, match="are in batch a"):
        memory.plan_batches(journal, [batch("b", ENTRIES[1:3])], "plan")
    memory.plan_batches(journal, [batch("c", ENTRIES[3:4])], "plan")
    refused(by_hand, f"INSERT INTO batch_entries VALUES ('c', '{ENTRIES[0]}', 1)")


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM batches",
        "DELETE FROM batch_entries",
        "DELETE FROM events",
        "UPDATE events SET message = 'never'",
        "UPDATE batches SET body = x'00'",
        "UPDATE batches SET state = 'SENDING'",
        "UPDATE batches SET state = 'PLANNED'",
        "UPDATE batches SET state = 'SENT'",
    ],
)
def test_what_happened_cannot_be_undone(journal, by_hand, sql):
    """Nothing is deleted, no event is rewritten, an accepted batch stays accepted."""
    memory.plan_batches(journal, [batch("a", ENTRIES[:2])], "plan")
    memory.begin_sending(journal, "a")
    memory.settle(journal, "a", "ACCEPTED", "job", job_id=ENTRIES[5])
    refused(by_hand, sql)


def test_every_change_is_an_event(journal):
    """The course of a batch can be read from its events."""
    memory.plan_batches(journal, [batch("a", ENTRIES[:2])], "plan")
    memory.begin_sending(journal, "a")
    memory.settle(journal, "a", "UNKNOWN", "lost")
    memory.settle(journal, "a", "RELEASED", "not in the ERP", done_by="Ada")
    events = journal.rows("SELECT before, after, message, done_by FROM events WHERE subject_id = 'a' ORDER BY event_id")
    assert [(row["before"], row["after"]) for row in events] == [
        (None, "PLANNED"),
        ("PLANNED", "SENDING"),
        ("SENDING", "UNKNOWN"),
        ("UNKNOWN", "RELEASED"),
    ]
    assert (events[-1]["message"], events[-1]["done_by"]) == ("not in the ERP", "Ada")


def test_a_released_batch_gives_its_entries_back(journal):
    """What a person found not booked may be exported again."""
    memory.plan_batches(journal, [batch("a", ENTRIES[:2])], "plan")
    memory.begin_sending(journal, "a")
    memory.settle(journal, "a", "UNKNOWN", "lost")
    memory.settle(journal, "a", "RELEASED", "not in the ERP", done_by="Ada")
    memory.plan_batches(journal, [batch("b", ENTRIES[:2])], "plan")
    assert memory.state_of(journal, "b")["state"] == "PLANNED"
