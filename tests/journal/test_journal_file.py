"""The file of the journal: private, of one environment, of one format, backed up whole; and its locks."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest
import warm
from backends import BOTH
from batches import COMPANY, batch, begun, claimed

from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.journal.folders import folder_of
from bktools.journal.lock import sending_for
from bktools.journal.restores import restore
from bktools.journal.sqlite import connect
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


def test_a_journal_of_another_version_is_left_as_it_is(settings, tmp_path):
    """One line names the version of a journal, and of its backup, and neither is changed."""
    with open_for_writing(settings) as journal:
        path = journal.path
    with closing(connect(path)) as connection:
        connection.execute("UPDATE about SET value = '9' WHERE name = 'schema_version'")
    backup = Path(shutil.copy(path, tmp_path / "backup.sqlite"))
    before = path.read_bytes()
    looked = {"by": "Ada", "evidence": "asked all colleagues"}
    for use in (lambda: open_for_writing(settings), lambda: restore(settings, backup, **looked)):
        with pytest.raises(JournalError, match=r"version 9, .*; install the release that wrote it"):
            use()
    assert before == path.read_bytes() == backup.read_bytes()


def test_a_database_of_something_else_is_left_as_it_is(settings):
    """A database that is no journal is refused, and none of its tables are changed."""
    path = folder_of(settings) / "journal.sqlite"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE music (title TEXT)")
    with pytest.raises(StorageError, match=r"journal\.sqlite cannot be read"):
        open_for_writing(settings)
    with closing(sqlite3.connect(path)) as connection:
        assert [*connection.execute("SELECT name FROM sqlite_master")] == [("music",)]


def test_a_damaged_page_is_one_clear_line(settings):
    """`attacks.py` flips bits of any page; here the message of one, with the way out."""
    with open_for_writing(settings) as journal:
        claimed(journal, *(batch(f"batch-{number}", number) for number in range(40)))
        path = journal.path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with (
        pytest.raises(StorageError, match=r"is damaged .*restore a backup"),
        open_for_writing(settings) as opened,
    ):
        opened.damage()


def creations_of_a_journal(folder):
    """Open the journal of a folder; yield how often it was created."""
    with open_for_writing(load_settings("sandbox", data_dir=folder)) as journal:
        yield len(journal.rows("SELECT 1 FROM events WHERE code = 'created'"))


def test_many_processes_open_a_new_journal_at_once(tmp_path):
    """Whoever is first makes it; nobody fails and nobody makes it twice."""
    running = [warm.Process(creations_of_a_journal, tmp_path / "shared") for _ in range(3)]
    assert [process.read() for process in running] == [1] * 3
    assert [process.wait() for process in running] == [0] * 3


# The lock of a company: one process at a time, gone with the process, and refused where drives have none

WAY_OUT = r"does not lock files .*nothing was sent; choose a folder on a drive of this computer .*PostgreSQL"


def hold(folder):
    """Hold the lock until the process is killed."""
    with sending_for(folder, COMPANY):
        yield "held"
        time.sleep(60)


def test_a_process_holds_the_lock_until_it_dies(tmp_path):
    """A kill frees the company at once."""
    with warm.Process(hold, tmp_path) as holder:
        assert holder.read() == "held"
        busy = pytest.raises(JournalBusyError, match=r"is sending for company .*nothing was sent by this one")
        with busy, sending_for(tmp_path, COMPANY):
            pass
        with sending_for(tmp_path, "another company"):
            pass
        holder.send_signal(signal.SIGKILL)
        assert holder.wait() == -signal.SIGKILL
    with sending_for(tmp_path, COMPANY):
        pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_drive_without_locks_is_named(tmp_path, monkeypatch, code):
    """It is neither "another process" nor "the database is locked"; the way out is in the line."""

    def no_locks(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StorageError, match=WAY_OUT), sending_for(tmp_path, COMPANY):
        pass


@BOTH
def test_a_drive_whose_locks_lie_is_refused(settings, monkeypatch):
    """It gives one lock to two at once; the machine's memory needs locks where a database has them, too."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(StorageError, match=WAY_OUT):
        open_for_writing(settings)
