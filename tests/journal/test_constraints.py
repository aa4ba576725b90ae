"""The promises of the journal hold against SQL typed by hand: constraints keep them, not code."""

from __future__ import annotations

from dataclasses import replace

import pytest
from backends import BOTH, refused, typed_by_hand, without_triggers
from batches import COMPANY, ENTRIES, batch, send

from bktools.errors import JournalError
from bktools.journal.records import loaded
from bktools.journal.undelivered import BatchOutcome
from bktools.journal.unknown_outcomes import how_to_settle

pytestmark = BOTH


@pytest.fixture
def by_hand(journal, backend):
    with typed_by_hand(journal, backend) as connection:
        yield connection


def test_one_batch_of_a_company_is_on_its_way_or_in_doubt(journal, by_hand, backend):
    """While one batch is SENDING or UNKNOWN, no other one of its company can be sent."""
    journal.claim([batch("a", 0, 1), batch("b", 2, 3)], "plan")
    journal.begin("a")
    for way in ("", "OR REPLACE") if backend is None else ("",):
        refused(by_hand, f"UPDATE {way} batches SET state = 'SENDING' WHERE batch_id = 'b'")
    for name, said in (("b", "on its way or in doubt"), ("nobody", "batch nobody was not found")):
        with pytest.raises(JournalError, match=said):
            journal.begin(name)
    journal.settle("a", BatchOutcome("UNKNOWN", "connection_lost", {"message": "lost"}))
    refused(by_hand, "UPDATE batches SET state = 'SENDING' WHERE batch_id = 'b'")


def test_an_entry_is_in_one_live_batch(journal, by_hand):
    """An entry of an accepted batch cannot be put into another one."""
    send(journal, batch("a", 0, 1), job_id=ENTRIES[5])
    with pytest.raises(JournalError, match="are in batch a"):
        journal.claim([batch("b", 1, 2)], "plan")
    journal.claim([batch("c", 3)], "plan")
    refused(by_hand, f"INSERT INTO batch_entries VALUES ('c', '{ENTRIES[0]}', 1)")


FORBIDDEN = """
DELETE FROM batches
DELETE FROM batch_entries
DELETE FROM events
UPDATE events SET facts = '{}'
UPDATE batches SET body = body || body
UPDATE batches SET state = 'SENDING'
UPDATE batches SET state = 'PLANNED'
UPDATE batches SET state = 'SENT'
UPDATE batches SET job_id = NULL
UPDATE batch_entries SET live = 0
UPDATE batch_entries SET entry_id = 'another'
INSERT INTO batches SELECT * FROM batches
DELETE FROM chain
UPDATE chain SET digest = 'x'
INSERT INTO chain VALUES (1, 'x')
"""
# With the words that one of the two databases has.
FORBIDDEN_IN_FILES = """
UPDATE OR REPLACE batch_entries SET entry_id = 'another'
INSERT OR REPLACE INTO events SELECT * FROM events
INSERT OR REPLACE INTO batches SELECT * FROM batches
INSERT OR REPLACE INTO batch_entries SELECT batch_id, entry_id, 0 FROM batch_entries
INSERT OR REPLACE INTO batch_entries SELECT 'c', entry_id, 1 FROM batch_entries WHERE batch_id = 'a'
"""
FORBIDDEN_IN_POSTGRES = """
TRUNCATE events CASCADE
TRUNCATE batch_entries CASCADE
INSERT INTO batches SELECT * FROM batches ON CONFLICT (batch_id) DO UPDATE SET job_id = NULL
INSERT INTO batch_entries SELECT * FROM batch_entries ON CONFLICT DO NOTHING
UPDATE transitions SET after = 'PLANNED'
INSERT INTO transitions VALUES ('ACCEPTED', 'PLANNED')
"""


def test_what_happened_cannot_be_undone(journal, by_hand, backend):
    """Nothing is deleted, no event is rewritten, an accepted batch stays accepted."""
    send(journal, batch("a", 0, 1), job_id=ENTRIES[5])
    journal.claim([batch("c", 3)], "plan")
    own = FORBIDDEN_IN_FILES if backend is None else FORBIDDEN_IN_POSTGRES
    for sql in f"{FORBIDDEN.strip()}{own}".splitlines():
        refused(by_hand, sql)


def test_doubt_is_settled_by_a_person_with_evidence(journal, by_hand):
    """Neither code nor SQL takes a batch out of UNKNOWN without a name and a reason."""
    send(journal, batch("a", 0, 1), "UNKNOWN")
    for state in ("PLANNED", "SENDING", "REJECTED", "ACCEPTED", "RELEASED"):
        refused(by_hand, f"UPDATE batches SET state = '{state}', job_id = 'x'")
    for person, facts in ((" ", '{"evidence": "seen"}'), ("Ada", "{}")):
        told = f"settled_by = '{person}', facts = '{facts}'"
        refused(by_hand, f"UPDATE batches SET state = 'RELEASED', {told}")


def test_what_the_constraints_say_is_in_the_error(journal):
    """A change that the database refuses is an error of bktools with the constraint's own words."""
    journal.claim([batch("a", 0, 1)], "plan")
    with pytest.raises(JournalError, match="a batch does not change between these states"):
        journal.settle("a", BatchOutcome("ACCEPTED", "accepted", {"message": "job"}, job_id=ENTRIES[5]))
    assert journal.state_of("a")["state"] == "PLANNED"


def test_an_entry_in_capitals_is_refused(journal):
    """The same UUID written in another way would be another entry to an index."""
    with pytest.raises(JournalError):
        journal.claim([replace(batch("a"), entry_ids=["ABCDEF00-0000-4000-8000-000000000000"])], "plan")
    assert journal.state_of("a") is None


def test_a_job_answers_for_one_batch(journal, by_hand):
    """The same job cannot stand for two batches: the second is in doubt, and the database refuses it."""
    journal.claim([batch("a", 0, 1), batch("b", 2, 3)], "plan")
    journal.begin("a")
    journal.settle("a", BatchOutcome("ACCEPTED", "accepted", {"message": "job"}, job_id=ENTRIES[5]))
    journal.begin("b")
    refused(by_hand, f"UPDATE batches SET state = 'ACCEPTED', job_id = '{ENTRIES[5]}' WHERE batch_id = 'b'")
    journal.settle("b", BatchOutcome("ACCEPTED", "accepted", {"message": "job"}, job_id=ENTRIES[5]))
    found = journal.state_of("b")
    assert (found["state"], found["job_id"]) == ("UNKNOWN", None)
    assert (found["code"], loaded(found["facts"])["batch_id"]) == ("job_of_another_batch", "a")


BY_HAND = {
    "released": ["state = 'RELEASED'", "live = 0"],
    "released, its entries not": ["state = 'RELEASED'"],
    "to be sent again": ["state = 'PLANNED'"],
    "its entries freed": ["live = 0"],
}


@pytest.mark.parametrize("changes", BY_HAND.values(), ids=BY_HAND)
def test_what_an_administrator_changed_is_not_sent_in_any_batch(journal, by_hand, backend, changes):
    """An entry of a batch whose row and last event disagree is refused, in that batch and in others."""
    send(journal, batch("a", 0, 1), job_id=ENTRIES[5])
    journal.claim([batch("d", 4)], "plan")
    without_triggers(by_hand, backend)
    for change in changes:
        table = "batch_entries" if "live" in change else "batches"
        by_hand.execute(f"UPDATE {table} SET {change} WHERE batch_id = 'a'")
    for wanted in (batch("a", 0, 1), batch("b", 1, 2), batch("c", 0)):
        assert "batch a: its state is " in journal.obstacle(wanted)
        with pytest.raises(JournalError, match=r"batch a: its state is .*nothing was sent"):
            journal.claim([batch("e", 3), wanted], "again")
    assert [line for line in journal.problems() if line.startswith("batch a: its state is ")]
    assert journal.state_of("e") is None
    assert journal.obstacle(batch("e", 3)) == ""


def test_only_what_is_whole_is_sent(journal, by_hand, backend):
    """A batch whose entries are not all in the journal is not sent."""
    columns = "batch_id, company_id, state, entries, body, body_sha256, plan_id, planned_at, changed_at"
    values = f"'a', 'c', 'PLANNED', 2, CAST('{{}}' AS {'BYTEA' if backend else 'BLOB'}), '', 'p', 't', 't'"
    by_hand.execute(f"INSERT INTO batches ({columns}, code, facts) VALUES ({values}, 'planned', '{{}}')")
    by_hand.execute(f"INSERT INTO batch_entries VALUES ('a', '{ENTRIES[0]}', 1)")
    refused(by_hand, "UPDATE batches SET state = 'SENDING'")


def test_a_later_plan_takes_the_place_of_one_that_was_not_sent(journal):
    """Batches that wait give their entries up to a later plan of the company, and are not sent then."""
    journal.claim([batch("a", 0, 1, 2)], "first")
    journal.claim([batch("b", 2, 3)], "second")
    assert (journal.state_of("a")["state"], journal.state_of("b")["state"]) == ("RELEASED", "PLANNED")
    with pytest.raises(JournalError):
        journal.begin("a")


def test_what_waits_for_another_company_is_not_taken(journal):
    """An entry that waits in a batch of another company is refused: a person must say which is wrong."""
    journal.claim([batch("a", 0, 1, 2)], "first")
    other = batch("b", 2, 3, company="00000000-0000-4000-8000-00000000000f")
    with pytest.raises(JournalError, match="bktools export resolve a --sandbox --outcome released"):
        journal.claim([other], "second")
    assert journal.state_of("a")["state"] == "PLANNED"


def test_a_damaged_body_is_not_sent(journal, by_hand, backend):
    """A body that is not the one that was planned stays where it is, and so does its batch."""
    journal.claim([batch("a", 0, 1)], "plan")
    without_triggers(by_hand, backend)
    by_hand.execute(f"UPDATE batches SET body = CAST('[]' AS {'BLOB' if backend is None else 'BYTEA'})")
    with pytest.raises(JournalError, match="body of batch a in the journal is damaged: nothing was sent"):
        journal.begin("a")
    assert journal.state_of("a")["state"] == "PLANNED"


@pytest.mark.parametrize(("count", "named"), [(3, ""), (4, " and 1 more"), (5, " and 2 more")])
def test_what_is_in_doubt_is_named_with_the_way_to_settle_it(journal, count, named):
    """The line names batch, company, time, three entries and the commands."""
    send(journal, batch("a", *range(count)), "UNKNOWN")
    (row,) = journal.unknown(COMPANY)
    said = how_to_settle(journal, row)
    for part in (
        f"batch a of company {COMPANY}, sent {row['sent_at']}, may have been booked",
        f"its {count} entries in the accounting system ({', '.join(ENTRIES[:3][:count])}{named}; ",
        "bktools export history --entries --batch a --sandbox)",
        'bktools export resolve a --sandbox --outcome "accepted|released" --evidence "..." --by NAME',
    ):
        assert part in said
