"""The promises of the tables hold against SQL typed by hand, and what somebody changed is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from backends import BOTH, refused, typed_by_hand, without_triggers
from batches import COMPANY, ENTRIES, batch, begun, claimed, send, state

from bktools.errors import JournalError
from bktools.journal.attempts import record_intent
from bktools.journal.claims import claim
from bktools.journal.right_journal import problems
from bktools.journal.schema import RULES, TRANSITIONS


@pytest.fixture
def by_hand(opened, backend):
    with typed_by_hand(opened, backend) as connection:
        yield connection


FORBIDDEN = """
DELETE FROM batches
DELETE FROM batch_entries
DELETE FROM events
UPDATE events SET facts = '{}'
UPDATE events SET digest = 'x'
UPDATE batches SET body = body || body
UPDATE batches SET company_id = 'another'
UPDATE batches SET state = 'SENT'
UPDATE batches SET state = 'SENDING' WHERE batch_id = 'b'
UPDATE batches SET state = 'SENDING', attempt = 't' WHERE batch_id = 'b'
UPDATE batches SET state = 'PLANNED' WHERE batch_id = 'a'
UPDATE batches SET state = 'RELEASED' WHERE batch_id = 'doubt'
UPDATE batches SET state = 'RELEASED', resolved_by = ' ', facts = '{"evidence": "x"}' WHERE batch_id = 'doubt'
UPDATE batches SET state = 'RELEASED', resolved_by = 'Ada', facts = '{}' WHERE batch_id = 'doubt'
UPDATE batches SET state = 'ACCEPTED', resolved_by = 'Ada', facts = '{}' WHERE batch_id = 'doubt'
UPDATE batches SET state = 'ACCEPTED', job_id = 'job-a' WHERE batch_id = 'doubt'
UPDATE batch_entries SET entry_id = 'another'
UPDATE batch_entries SET live = 2
UPDATE entry_data SET amount = '9.99'
INSERT INTO batches SELECT * FROM batches
"""
# A person's word has a name, a month and evidence.
_EVENT = (
    "INSERT INTO events (event_id, at, code, state, company_id, period, person, facts, digest) "
    "VALUES ((SELECT max(event_id) + 1 FROM events), 't', {}, '{{}}', 'd')"
)
FORBIDDEN_EVENTS = (
    _EVENT.format("'period_closed', 'CLOSED', 'c', '2026-10', ' '"),
    _EVENT.format("'period_closed', 'CLOSED', 'c', 'Oct 2026', 'Eve'"),
    _EVENT.format("'not_booked', NULL, 'c', NULL, 'Eve'"),
)
# SQLite's way to write a row in the place of another one.
FORBIDDEN_IN_FILES = """
INSERT OR REPLACE INTO events SELECT * FROM events
INSERT OR REPLACE INTO batches SELECT * FROM batches
INSERT OR REPLACE INTO batch_entries SELECT batch_id, entry_id, 0 FROM batch_entries
"""


@BOTH
def test_what_happened_cannot_be_undone(opened, by_hand, backend):
    """Nothing is deleted or rewritten; one request a company, one live batch an entry, one batch a job."""
    send(opened, batch("a", 0, 1))
    claimed(opened, batch("b", 2, amount="1"))
    send(opened, batch("doubt", 3), "UNKNOWN")
    own = "" if backend else FORBIDDEN_IN_FILES
    for sql in (*f"{FORBIDDEN.strip()}{own}".splitlines(), *FORBIDDEN_EVENTS):
        refused(by_hand, sql)
    refused(by_hand, f"INSERT INTO batch_entries VALUES ('b', '{ENTRIES[0]}', 1)")
    refused(by_hand, f"INSERT INTO batch_entries VALUES ('b', '{ENTRIES[0].upper()}A', 1)")
    assert problems(opened) == []


@BOTH
def test_only_the_transitions_of_the_table_are_possible(opened, by_hand, today):
    """Each of the others is refused by the database itself."""
    today("2026-11-20T10:00")
    send(opened, batch("a", 0))
    send(opened, batch("b", 1), "REJECTED")
    claimed(opened, batch("c", 2))
    for name, before in (("a", "ACCEPTED"), ("b", "REJECTED"), ("c", "PLANNED")):
        for after in {*TRANSITIONS, "ACCEPTED"} - {before} - {*TRANSITIONS.get(before, ())}:
            values = f"state = '{after}', attempt = 't', job_id = 'job-{after}'"
            refused(by_hand, f"UPDATE batches SET {values} WHERE batch_id = '{name}'")
    assert {rule.table for rule in RULES} == {"batches", "batch_entries", "events", "entry_data"}


# What an administrator changes of a batch that was sent.
BY_HAND = {
    "released": ["batches SET state = 'RELEASED'", "batch_entries SET live = 0"],
    "released-alone": ["batches SET state = 'RELEASED'"],
    "planned": ["batches SET state = 'PLANNED'"],
    "freed": ["batch_entries SET live = 0"],
}


@BOTH
def test_what_an_administrator_changed_is_not_sent_in_any_batch(opened, by_hand, backend):
    """An entry of a batch whose row and last event disagree is refused, in that batch and in others."""
    for number, name in enumerate(BY_HAND):
        send(opened, batch(name, number, 4 + number))
    without_triggers(by_hand, backend)
    for number, (name, changes) in enumerate(BY_HAND.items()):
        for change in changes:
            by_hand.execute(f"UPDATE {change} WHERE batch_id = '{name}'")
        line = f"batch {name}: its state is "
        for wanted in (batch(name, number, 4 + number), batch("b", 4 + number, 9), batch("c", number)):
            assert line in str(opened.obstacle(wanted))
            with pytest.raises(JournalError, match=rf"{line}.*nothing was sent"):
                claim(opened, [batch("e", 8), wanted], "again")
        assert [each for each in problems(opened) if each.startswith(line)]
    assert (state(opened, "e"), opened.obstacle(batch("e", 8))) == (None, None)


# What somebody changes with the rules taken away, and the line of `journal`.
TAMPERED = {
    "UPDATE batches SET state = 'RELEASED' WHERE batch_id = 'a'": (
        'batch a: its state is released, its last event says "accepted"'
    ),
    "DELETE FROM batch_entries WHERE batch_id = 'b'": "batch b: its entries are not all there",
    "UPDATE batches SET body_sha256 = 'x' WHERE batch_id = 'b'": "batch b: its body was changed",
    "UPDATE events SET facts = '{\"a\": 1}' WHERE event_id = 3": "event 3 of ",
    "UPDATE events SET digest = 'x' WHERE event_id = 2": "event 2 of ",
}


@BOTH
def test_each_change_by_hand_is_noticed(opened, by_hand, backend):
    """Events, states, entries and bodies agree with each other: the line names which do not."""
    send(opened, batch("a", 0))
    claimed(opened, batch("b", 1))
    without_triggers(by_hand, backend)
    before = set()
    for sql, line in TAMPERED.items():
        by_hand.execute(sql)
        lines = {*opened.damage()}
        (noticed,) = lines - before
        assert noticed.startswith(line)
        before = lines


def test_only_whole_and_undamaged_batches_begin(opened, by_hand, backend):
    """A batch that lost an entry, and one whose body is another one, stay PLANNED."""
    claimed(opened, batch("a", 0, 1), batch("b", 2))
    without_triggers(by_hand, backend)
    by_hand.execute(f"DELETE FROM batch_entries WHERE entry_id = '{ENTRIES[0]}'")
    by_hand.execute("UPDATE batches SET body_sha256 = 'x' WHERE batch_id = 'b'")
    for name, reason in (("a", "its entries are not all there"), ("b", "body of batch b .* is damaged")):
        with pytest.raises(JournalError, match=reason):
            record_intent(opened, name)
        assert state(opened, name) == "PLANNED"


def test_a_later_plan_takes_the_place_of_one_that_was_not_sent(opened):
    """Batches that wait give their entries up to a later plan of the company, and are not sent then."""
    claimed(opened, batch("a", 0, 1, 2))
    claimed(opened, batch("b", 2, 3))
    assert (state(opened, "a"), state(opened, "b")) == ("RELEASED", "PLANNED")
    with pytest.raises(JournalError, match="batch a is released, not planned"):
        record_intent(opened, "a")
    other = batch("c", 3, 4, company="00000000-0000-4000-8000-00000000000f")
    with pytest.raises(JournalError, match=f"export resolve b --company {COMPANY} --environment .*released"):
        claimed(opened, other)
    with pytest.raises(JournalError, match="with different data"):
        claimed(opened, replace(batch("b", 2, 3), body=b"{}"))
    begun(opened, batch("d", 5))
    with pytest.raises(JournalError, match="are in batch d"):
        claimed(opened, batch("e", 5))
