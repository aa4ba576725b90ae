"""A move takes one file into an empty database; killed at any point it is the one or the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from batches import COMPANY, LOOKED, batch, begun, send, state
from test_right_journal import code_of, used

from bktools.errors import ArgumentError, ConfigurationError, JournalError, StorageError
from bktools.journal.move import move
from bktools.journal.periods import _set_state
from bktools.journal.records import Records
from bktools.journal.resolving import resolve
from bktools.journal.right_journal import problems
from bktools.journal.sqlite import Sqlite
from bktools.journal.writing import open_for_writing, open_up_to_date
from bktools.settings import Secret

pytestmark = pytest.mark.parametrize("backend", ["postgres"], indirect=True)


@pytest.fixture
def both(settings):
    """The settings of the file, and of the database that it is moved to."""
    return replace(settings, journal=None), settings


def history(settings) -> list[list]:
    """Return everything that a journal has but the event of the move, the digests included."""
    with open_up_to_date(settings) as journal:
        assert problems(journal) == []
        sql = ("events WHERE code <> 'moved' ORDER BY event_id", "batches ORDER BY batch_id")
        sql += ("batch_entries ORDER BY batch_id, entry_id", "entry_data ORDER BY batch_id, entry_id")
        return [[dict(row) for row in journal.rows(f"SELECT * FROM {table}")] for table in sql]


def test_everything_arrives_and_the_file_is_closed(both):
    """Every row and event with its number and digest; the machine goes on with the database."""
    file, database = both
    with open_for_writing(file) as journal:
        for number, wanted in enumerate(("ACCEPTED", "REJECTED", "PLANNED", "BOOKED", "UNKNOWN")):
            send(journal, batch(wanted, number, amount="1.00", currency="EUR", date="2026-10-01"), wanted)
        _set_state(journal, COMPANY, "2026-09", "CLOSED", None, "Grace")
    before = history(file)
    move(database, by="Ada")
    events, *tables = history(database)
    assert [events[: len(before[0])], *tables] == before
    assert code_of(file) == "moved"
    with open_for_writing(database) as journal:
        assert journal.row("SELECT person FROM events WHERE code = 'moved'")["person"] == "Ada"
        resolve(journal, "UNKNOWN", "ACCEPTED", **LOOKED)
        with pytest.raises(JournalError, match="in batch ACCEPTED"):
            send(journal, batch("again", 0))
    assert move(database, by="Ada")["event_id"] >= len(before[0])


# What fails where a move is killed: the copy, its check, closing the file, and the event of the switch.
KILLS = {
    "copy": "move._copy",
    "check": "records.Records.damage",
    "close": "sqlite.Sqlite.transaction",
    "switch": "records.Records.record",
}


@pytest.mark.parametrize("kill", KILLS)
def test_a_killed_move_runs_again(both, monkeypatch, kill):
    """Until it is closed the file is the journal and can go on; the same command finishes the move."""
    file, database = both
    used(file, "a")
    with monkeypatch.context() as patched:
        original = Records.damage

        def killed(self, *_: object, **__: object) -> object:
            # The file is checked before the copy is.
            if kill == "check" and isinstance(self._database, Sqlite):
                return original(self)
            raise StorageError("killed")

        patched.setattr(f"bktools.journal.{KILLS[kill]}", killed)
        with pytest.raises(StorageError, match="killed"):
            move(database, by="Ada")
    assert code_of(database) == "history_left_in_file"
    if kill == "switch":
        assert code_of(file) == "moved"
    else:
        with open_for_writing(file) as journal:
            send(journal, batch("since", 5))
    move(database, by="Ada")
    with open_for_writing(database) as journal:
        assert state(journal, "since") == (None if kill == "switch" else "ACCEPTED")
        send(journal, batch("b", 1, date="2030-01-01"))
    assert code_of(file) == "moved"


def test_what_is_refused_stays_as_it_was(both, machine, postgres, database):
    """A used database, a file whose sender was killed, a process that sends, no database, and no file."""
    file, into = both
    with pytest.raises(JournalError, match="nothing to move"):
        move(into, by="Ada")
    with open_for_writing(file) as journal:
        begun(journal, batch("a", 0))
    with (
        open_up_to_date(file) as journal,
        journal.lock(COMPANY),
        pytest.raises(JournalError, match="is sending"),
    ):
        move(into, by="Ada")
    used(replace(machine("colleague"), journal=Secret(postgres.address(database))), "b")
    with pytest.raises(JournalError, match=r"was being sent|has a journal"):
        move(into, by="Ada")
    open_for_writing(file).close()
    with pytest.raises(JournalError, match=r"has a journal.*export status.*export import FILE"):
        move(into, by="Ada")
    with pytest.raises(ConfigurationError, match="no database is configured"):
        move(file, by="Ada")
    with pytest.raises(ArgumentError):
        move(into, by="NAME")
    with open_for_writing(file) as journal:
        assert state(journal, "a") == "UNKNOWN"
