"""A restored journal stops everybody; one command of one person ends it, and closes every company."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
from backends import DATABASE
from batches import ADDRESS, COMPANY, ENTRIES, LOOKED, OTHER_COMPANY, batch, begun, send, state
from test_right_journal import code_of, file_of, used

from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.journal.claims import LookedUp
from bktools.journal.restores import restore
from bktools.journal.right_journal import closed_since, problems
from bktools.journal.statements import record_not_booked
from bktools.journal.writing import open_for_reading, open_for_writing

# How a database comes back: with pg_restore or psql in place, into a new one, with its server's volume, or by
# promoting a replica.
WAYS = ["in place", "psql", "new", "volume", "replica"]


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
    used(machine("first"), "a")
    put_back = keep()
    with open_for_writing(machine("second")) as journal:
        send(journal, batch("lost", 1, 2, date="2026-11-02"))
    put_back()
    return machine


@DATABASE
@pytest.mark.parametrize("way", WAYS)
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
def test_a_gap_stops_everybody(restored):
    """Who sent what is lost stops the journal, and so everybody who opens it; reading goes on."""
    assert code_of(restored("second")) in {"event_missing", "another_database"}
    for name in ("first", "second", "third"):
        with pytest.raises(JournalError) as caught:
            open_for_writing(restored(name))
        assert caught.value.code in {"event_missing", "another_database", "stopped"}
        assert 'journal restore --by NAME --evidence "..."' in str(caught.value)
        with open_for_reading(restored(name)) as journal:
            assert state(journal, "lost") is None
    with open_for_reading(restored("first")) as journal:
        assert len(problems(journal)) == 1


@DATABASE
def test_one_command_of_one_person_ends_it_for_everybody(restored, today):
    """The copy stays as it is; what this machine sent and is missing is named, and companies are closed."""
    assert code_of(restored("second")) != ""
    done = restore(restored("second"), None, **LOOKED)
    assert [line.batch_id for line in done.missing] == ["lost"]
    assert done.missing[0].entry_ids == [ENTRIES[1], ENTRIES[2]]
    for name in ("first", "second", "third"):
        with open_for_writing(restored(name)) as journal:
            assert (state(journal, "a"), state(journal, "lost")) == ("ACCEPTED", None)
            assert closed_since(journal) is not None
            assert problems(journal) == []
    today("2026-11-21T10:00")
    with open_for_writing(restored("first")) as journal:
        (event,) = journal.rows("SELECT person, facts FROM events WHERE code = 'restored'")
        assert (event["person"], LOOKED["evidence"] in event["facts"]) == ("Ada", True)


@DATABASE
def test_a_closed_company_sends_what_a_later_ledger_shows_not_to_be_booked(restored, today):
    """Not what it does not show, not by a ledger of the same day, and what is dated later goes."""
    restore(restored("second"), None, **LOOKED)
    with open_for_writing(restored("first")) as journal:
        # A look on the day of the restore opens nothing; other companies are closed, too.
        record_not_booked(journal, COMPANY, [ENTRIES[2]], **LOOKED)
        for closed in (batch("two", 2, date="2026-11-02"), batch("three", 3, company=OTHER_COMPANY)):
            with pytest.raises(JournalError, match="is closed until"):
                send(journal, closed)
        for shown in (
            None,
            LookedUp("2026-11-20", "ledger", frozenset({ENTRIES[1], ENTRIES[2]})),
            LookedUp("2026-11-21", "ledger", frozenset({ENTRIES[1]})),
        ):
            with pytest.raises(JournalError, match="2026-11-21 or later") as caught:
                send(journal, batch("again", 1, 2, date="2026-11-02"), looked_up=shown)
            assert (caught.value.code, state(journal, "again")) == ("closed_by_restore", None)
            assert f"--company {COMPANY} --environment {ADDRESS}" in str(caught.value)
        today("2026-11-21T10:00")
        send(journal, batch("later", 3, date="2026-11-21"))
        shown = LookedUp("2026-11-21", "ledger", frozenset({ENTRIES[1]}))
        send(journal, batch("one", 1, date="2026-11-02"), looked_up=shown)
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
    assert code_of(machine("second")) != ""
    restore(machine("second"), None, **LOOKED)
    open_for_reading(machine("third")).close()
    with open_for_writing(machine("first")) as journal:
        for lost in ahead[1:3]:
            with pytest.raises(JournalError, match="is closed until"):
                send(journal, lost)
        today("2026-11-21T10:00")
        send(journal, ahead[3])
        send(journal, ahead[1], looked_up=LookedUp("2026-11-21", "ledger", frozenset({ENTRIES[1]})))
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
    assert code_of(restored("first")) in {"event_missing", "another_database"}
    today("2026-11-26T10:00")
    restore(restored("first"), None, **LOOKED)
    assert [code_of(restored(name)) for name in ("first", "second")] == ["", ""]
    with open_for_writing(restored("second")) as journal, pytest.raises(JournalError, match="2026-11-27"):
        send(journal, batch("again", 4, date="2026-11-24"))


@DATABASE
@pytest.mark.parametrize("wrong", [{"evidence": "..."}, {"evidence": "looked"}, {"by": "NAME"}])
def test_a_placeholder_restores_nothing(restored, wrong):
    """The printed command, pasted as it is, is refused, and the journal stays stopped."""
    with pytest.raises(ArgumentError):
        restore(restored("second"), None, **LOOKED | wrong)
    assert code_of(restored("second")) != ""


# A file: its backup is put in its place.


def test_a_backup_takes_the_place_of_the_file(settings, tmp_path):
    """The replaced file is kept; after a kill between both the journal is stopped, and restored again."""
    used(settings, "a")
    with open_for_reading(settings) as journal:
        journal.backup(tmp_path / "backup.sqlite")
    with open_for_writing(settings) as journal:
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


def test_a_clock_that_is_behind_opens_nothing(settings, today):
    """Companies are closed until the latest time of all events, not until the day of the command alone."""
    today("2026-11-20T10:00")
    used(settings, "a")
    today("2025-11-20T10:00")
    restore(settings, None, **LOOKED)
    with open_for_writing(settings) as journal:
        assert closed_since(journal) == ("by_restore", "2026-11-20")


def test_a_lost_file_begins_anew(settings):
    """Without a backup: the sent log names what was sent, and everything waits for a ledger."""
    used(settings, "a")
    file_of(settings).unlink()
    assert code_of(settings) == "missing"
    assert [line.batch_id for line in restore(settings, None, **LOOKED).missing] == ["a"]
    with open_for_writing(settings) as journal, pytest.raises(JournalError) as caught:
        send(journal, batch("again", 0, date="2026-10-01"))
    assert caught.value.code == "closed_by_restore"


def test_a_copy_that_is_refused_changes_nothing(settings, tmp_path):
    """A damaged one, one of another service, one that is missing, and one that was moved away."""
    used(settings, "a")
    other = replace(
        settings, environment="other", base_url="https://other.example.com", data_dir=tmp_path / "o"
    )
    used(other, "b")
    damaged = tmp_path / "damaged.sqlite"
    content = bytearray(file_of(settings).read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    before = file_of(settings).read_bytes()
    for source, kind, reason in (
        (damaged, StorageError, "is damaged"),
        (file_of(other), JournalError, "is the journal of other"),
        (tmp_path / "none", StorageError, "was not found"),
    ):
        with pytest.raises(kind, match=reason):
            restore(settings, source, **LOOKED)
    assert file_of(settings).read_bytes() == before
    assert code_of(settings) == ""


def test_a_second_computer_with_a_copy(settings, tmp_path, today):
    """The copy moves with its user: what was sent until that day waits for a ledger there."""
    today("2026-11-20T10:00")
    used(settings, "a")
    with open_for_reading(settings) as journal:
        journal.backup(tmp_path / "backup.sqlite")
    new = replace(settings, data_dir=tmp_path / "new" / "data", sent_log_dir=tmp_path / "new" / "log")
    restore(new, tmp_path / "backup.sqlite", **LOOKED)
    with open_for_writing(new) as journal:
        with pytest.raises(JournalError, match="is closed until"):
            begun(journal, batch("b", 1, date="2026-11-19"))
        send(journal, batch("c", 2, date="2026-11-21"))
