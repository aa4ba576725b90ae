"""The file of the journal: private, of one environment, of one format, backed up whole."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
import warm
from backends import BOTH
from batches import batch, begun

from bktools.errors import JournalError, StorageError
from bktools.journal import records
from bktools.journal.folders import folder_of
from bktools.journal.restores import restore
from bktools.journal.sqlite import File, connect
from bktools.journal.writing import open_for_writing
from bktools.settings import load_settings


def test_files_are_private(service):
    """Nobody else can read the journal, the files beside it, the memory of the machine, or who sends."""
    with open_for_writing(service.settings) as journal:
        begun(journal, batch("a", 0))
        files = [path for path in service.settings.state_dir.rglob("*") if path.is_file()]
        files = [path for path in files if "server" not in path.name and "world" not in path.name]
        assert {path.name for path in files} >= {"journal.sqlite", "memory.json", "sent.log"}
        assert {path.suffix for path in files} >= {".lock"}
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_backup_is_whole_and_replaces_nothing(service, tmp_path):
    """A backup opens as a journal of its own; a file that is there stays."""
    target = tmp_path / "backup.sqlite"
    with open_for_writing(service.settings) as journal:
        journal.backup(target)
        with pytest.raises(StorageError, match="exists already"):
            journal.backup(target)
    with closing(sqlite3.connect(target)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT json_extract(facts, '$.address') FROM events").fetchone() == ("sandbox",)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_journal_of_a_newer_version_is_left_as_it_is(settings, tmp_path):
    """One line names the version of a journal, and of its backup, and neither is changed."""
    named = "version 9, .*; install a newer release"
    with open_for_writing(settings) as journal:
        path = journal.path
    with closing(connect(path)) as connection:
        connection.execute("UPDATE about SET value = '9' WHERE name = 'schema_version'")
    backup = Path(shutil.copy(path, tmp_path / "backup.sqlite"))
    before = path.read_bytes()
    with pytest.raises(JournalError, match=named):
        open_for_writing(settings)
    with pytest.raises(JournalError, match=named):
        restore(settings, backup, by="Ada", evidence="asked all colleagues")
    assert before == path.read_bytes() == backup.read_bytes()


@BOTH
def test_an_older_journal_is_upgraded_in_one_transaction(opened, settings, monkeypatch):
    """Each version has one function; where one fails the journal stays as it was."""

    def fails(_: object) -> None:
        raise StorageError("the drive is full")

    steps = [lambda connection: connection.execute("CREATE TABLE added (name TEXT)"), fails]
    with monkeypatch.context() as patched:
        patched.setattr(records, "MIGRATIONS", steps)
        with pytest.raises(StorageError, match="the drive is full"):
            open_for_writing(settings)
        assert opened.about("schema_version") == "1"
        steps[1] = lambda connection: connection.execute("INSERT INTO added VALUES ('x')")
        for _ in range(2):
            with open_for_writing(settings) as journal:
                assert journal.about("schema_version") == "3"
                assert len(journal.rows("SELECT * FROM added")) == 1
    with pytest.raises(JournalError, match="has version 3, this release knows versions up to 1"):
        open_for_writing(settings)


def test_a_database_of_something_else_is_left_as_it_is(settings):
    """A database that is no journal is refused, and none of its tables are changed."""
    path = folder_of(settings) / "journal.sqlite"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE music (title TEXT)")
    for use in (lambda: File(path), lambda: open_for_writing(settings)):
        with pytest.raises(StorageError, match=r"journal\.sqlite cannot be opened"):
            use()
    with closing(sqlite3.connect(path)) as connection:
        assert [*connection.execute("SELECT name FROM sqlite_master")] == [("music",)]


def addresses_of_a_new_journal(folder):
    """Open the journal of a folder; yield the number of times that it was created."""
    with open_for_writing(load_settings("sandbox", data_dir=folder)) as journal:
        yield len(journal.rows("SELECT 1 FROM events WHERE code = 'created'"))


def test_many_processes_open_a_new_journal_at_once(tmp_path):
    """Whoever is first makes it; nobody fails and nobody makes it twice."""
    running = [warm.Process(addresses_of_a_new_journal, tmp_path / "shared") for _ in range(6)]
    assert [process.read() for process in running] == [1] * 6
    assert [process.wait() for process in running] == [0] * 6
