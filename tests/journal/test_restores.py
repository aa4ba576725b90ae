"""A restored journal stops everybody; one command of one person ends it, and closes every company."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from backends import DATABASE
from batches import ADDRESS, COMPANY, ENTRIES, LOOKED, OTHER_COMPANY, batch, claimed, send, state
from test_right_journal import code_of, file_of, used

from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.journal.attempts import record_intent
from bktools.journal.journal import NOT_IN_LEDGER
from bktools.journal.restores import restore
from bktools.journal.right_journal import needs_ledger_since, problems
from bktools.journal.statements import record_not_booked, record_of_ledger
from bktools.journal.writing import open_for_writing, open_up_to_date

GONE = {"event_missing", "another_database"}


@pytest.fixture
def keep(postgres, database):
    """A function that keeps a copy of the database, and returns what puts it in its place."""
    return lambda way="in place": postgres.kept(database, way)


@pytest.fixture
def restored(machine, keep, today):
    """Two machines that sent, a third one, and the journal restored from before what the second one sent."""
    today("2026-11-20T10:00")
    for name in ("second", "third"):
        open_for_writing(machine(name)).close()
    with open_for_writing(used(machine("first"), "a")) as journal:
        claimed(journal, batch("waiting", 6, date="2026-11-02"))
    put_back = keep()
    with open_for_writing(machine("second")) as journal:
        send(journal, batch("lost", 1, 2, date="2026-11-02"))
    put_back()
    return machine


def shown_by_a_ledger(journal, day: str, *entries: str) -> None:
    """Record that a ledger of a day shows that entries are not booked."""
    named = [{"entry_id": entry} for entry in entries]
    record_of_ledger(journal, NOT_IN_LEDGER, COMPANY, named, day=day, ledger="ledger")


def refused(journal, *batches) -> str:
    """Send batches of a company that needs a ledger; return the last refusal."""
    for wanted in batches:
        with pytest.raises(JournalError) as caught:
            send(journal, wanted)
        assert (caught.value.code, state(journal, wanted.batch_id)) == ("needs_ledger_after_restore", None)
    return str(caught.value)


@DATABASE
@pytest.mark.parametrize("way", ["new", "volume", "replica"])
def test_each_way_in_which_a_database_comes_back_is_noticed(machine, keep, way):
    """Also by a machine that has seen nothing of what is lost, unless the server itself went back."""
    open_for_writing(machine("second")).close()
    used(machine("first"), "a")
    put_back = keep(way)
    with open_for_writing(machine("first")) as journal:
        send(journal, batch("lost", 1))
    put_back()
    is_own_volume = way == "volume"
    assert code_of(machine("second")) == ("" if is_own_volume else "another_database")
    assert code_of(machine("first")) == ("event_missing" if is_own_volume else "another_database")


@DATABASE
def test_one_command_of_one_person_ends_the_stop_of_everybody(restored):
    """A placeholder is no word. The copy stays, what is missing is named, companies need a ledger."""
    assert code_of(restored("second")) in GONE
    for name in ("first", "second", "third"):
        with pytest.raises(JournalError, match="journal restore --by NAME --evidence") as caught:
            open_for_writing(restored(name))
        assert caught.value.code in GONE | {"stopped"}
        with open_up_to_date(restored(name)) as journal:
            assert state(journal, "lost") is None
    for wrong in ({"evidence": "..."}, {"evidence": "looked"}, {"by": "NAME"}):
        with pytest.raises(ArgumentError):
            restore(restored("second"), None, **LOOKED | wrong)
        assert code_of(restored("second")) != ""
    (line,) = restore(restored("second"), None, **LOOKED).missing
    assert (line.batch_id, line.entry_ids) == ("lost", [ENTRIES[1], ENTRIES[2]])
    for name in ("first", "second", "third"):
        with open_for_writing(restored(name)) as journal:
            assert (state(journal, "a"), state(journal, "lost")) == ("ACCEPTED", None)
            assert needs_ledger_since(journal) == ("after_restore", "2026-11-20")
            assert problems(journal) == []
            event = journal.row("SELECT person, facts FROM events WHERE code = 'restored'")
            assert (event["person"], LOOKED["evidence"] in event["facts"]) == ("Ada", True)


@DATABASE
def test_a_restored_company_sends_what_a_later_ledger_shows_not_to_be_booked(restored, today):
    """Nothing by a look or a ledger of the day of the restore; what is dated later goes."""
    restore(restored("second"), None, **LOOKED)
    again = batch("again", 1, 2, date="2026-11-02")
    with open_for_writing(restored("first")) as journal:
        with pytest.raises(JournalError) as caught:
            record_intent(journal, "waiting")
        assert caught.value.code == "needs_ledger_after_restore"
        record_not_booked(journal, COMPANY, [ENTRIES[2]], **LOOKED)
        refused(journal, batch("two", 2, date="2026-11-02"), batch("three", 3, company=OTHER_COMPANY))
        shown_by_a_ledger(journal, "2026-11-20", *ENTRIES[1:3])
        refused(journal, again)
        shown_by_a_ledger(journal, "2026-11-21", ENTRIES[1])
        text = refused(journal, again)
        assert "2026-11-21 or later" in text
        assert f"--company {COMPANY} --environment {ADDRESS}" in text
        today("2026-11-21T10:00")
        send(journal, batch("later", 3, date="2026-11-21"))
        send(journal, batch("one", 1, date="2026-11-02"))
        record_not_booked(journal, COMPANY, [ENTRIES[2]], **LOOKED)
        send(journal, batch("two", 2, date="2026-11-02"))


@DATABASE
def test_what_a_sent_log_holds_waits_whatever_its_date(machine, keep, today):
    """Also for the others, once its machine has opened the journal; a look on a later day opens it."""
    today("2026-11-20T10:00")
    for name in ("second", "third"):
        open_for_writing(machine(name)).close()
    used(machine("first"), "a")
    put_back = keep()
    ahead = [batch(f"b{number}", number, date="2026-12-05") for number in range(4)]
    for number, name in ((1, "second"), (2, "third")):
        with open_for_writing(machine(name)) as journal:
            send(journal, replace(ahead[number], batch_id=f"lost-{name}"))
    put_back()
    assert code_of(machine("second")) in GONE
    restore(machine("second"), None, **LOOKED)
    open_up_to_date(machine("third")).close()
    with open_for_writing(machine("first")) as journal:
        refused(journal, *ahead[1:3])
        today("2026-11-21T10:00")
        send(journal, ahead[3])
        shown_by_a_ledger(journal, "2026-11-21", ENTRIES[1])
        send(journal, ahead[1])
        record_not_booked(journal, COMPANY, [ENTRIES[2]], **LOOKED)
        send(journal, ahead[2])
        assert problems(journal) == []


@DATABASE
def test_an_earlier_restore_does_not_excuse_a_later_gap(restored, keep, today):
    """A machine that was away sees the command of before, and yet notices what is missing since."""
    restore(restored("second"), None, **LOOKED)
    put_back = keep()
    today("2026-11-25T10:00")
    with open_for_writing(restored("first")) as journal:
        send(journal, batch("since", 4, date="2026-11-24"))
    put_back()
    assert code_of(restored("first")) in GONE
    today("2026-11-26T10:00")
    restore(restored("first"), None, **LOOKED)
    assert [code_of(restored(name)) for name in ("first", "second")] == ["", ""]
    with open_for_writing(restored("second")) as journal:
        assert "2026-11-27" in refused(journal, batch("again", 4, date="2026-11-24"))


# A file: its backup is put in its place.


def test_a_backup_takes_the_place_of_the_file(settings, tmp_path):
    """The replaced file is kept; after a kill between both the journal is stopped, and restored again."""
    used(settings, "a")
    with open_for_writing(settings) as journal:
        journal.backup(tmp_path / "backup.sqlite")
        send(journal, batch("lost", 1))
    done = restore(settings, tmp_path / "backup.sqlite", **LOOKED)
    assert (done.set_aside.exists(), [line.batch_id for line in done.missing]) == (True, ["lost"])
    with open_for_writing(settings) as journal:
        assert (state(journal, "a"), state(journal, "lost")) == ("ACCEPTED", None)
    # As a kill directly after the file was put in its place leaves it.
    shutil.copyfile(tmp_path / "backup.sqlite", file_of(settings))
    assert code_of(settings) == "event_missing"
    restore(settings, None, **LOOKED)
    assert code_of(settings) == ""


def test_a_lost_file_begins_anew(settings, today):
    """What was sent is named; a ledger is needed since the latest event, though the clock went back."""
    today("2026-11-20T10:00")
    used(settings, "a")
    file_of(settings).unlink()
    assert code_of(settings) == "missing"
    assert [line.batch_id for line in restore(settings, None, **LOOKED).missing] == ["a"]
    today("2025-11-20T10:00")
    restore(settings, None, **LOOKED)
    with open_for_writing(settings) as journal:
        assert needs_ledger_since(journal) == ("after_restore", "2026-11-20")
        refused(journal, batch("again", 0, date="2026-10-01"))


def test_a_copy_that_is_refused_changes_nothing(settings, tmp_path):
    """A damaged one, one of another service, and one that is missing."""
    used(settings, "a")
    other = replace(settings, environment="o", base_url="https://other.example.com", data_dir=tmp_path / "o")
    used(other, "b")
    before = file_of(settings).read_bytes()
    content = bytearray(before)
    content[len(content) // 2] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    for source, reason in (
        (tmp_path / "damaged", "is damaged"),
        (file_of(other), r"is the journal of o \(https://other.example.com\), not of https://books"),
        (tmp_path / "none", "was not found"),
    ):
        with pytest.raises((StorageError, JournalError), match=reason):
            restore(settings, source, **LOOKED)
    assert file_of(settings).read_bytes() == before


def test_a_second_computer_with_a_copy(settings, tmp_path, today):
    """The copy moves with its user: what was sent until that day waits for a ledger there."""
    today("2026-11-20T10:00")
    used(settings, "a")
    with open_up_to_date(settings) as journal:
        journal.backup(tmp_path / "backup.sqlite")
    new = replace(settings, data_dir=tmp_path / "new" / "data", sent_log_dir=tmp_path / "new" / "log")
    restore(new, tmp_path / "backup.sqlite", **LOOKED)
    with open_for_writing(new) as journal:
        refused(journal, batch("b", 1, date="2026-11-19"))
        send(journal, batch("c", 2, date="2026-11-21"))
