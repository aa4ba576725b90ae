"""The file of the journal: private, of one environment, of a known version, backed up whole."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing

import pytest

from bktools.errors import JournalError, StorageError
from bktools.journal.journal import Journal


def test_files_are_private(service):
    """Nobody else can read the journal or the files SQLite keeps beside it."""
    with Journal(service.settings) as journal:
        for path in journal.folder.glob("journal.sqlite*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_backup_is_whole_and_replaces_nothing(service, tmp_path):
    """A backup opens as a journal of its own; a file that is there stays."""
    target = tmp_path / "backup.sqlite"
    with Journal(service.settings) as journal:
        journal.backup(target)
        with pytest.raises(StorageError, match="exists already"):
            journal.backup(target)
    with closing(sqlite3.connect(target)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT value FROM about").fetchone() == ("sandbox",)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_newer_journal_is_left_alone(service):
    """A version that is not known is not written to."""
    with Journal(service.settings) as journal:
        path = journal.path
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="newer bktools"), Journal(service.settings):
        pass


def test_another_environments_journal_is_refused(service):
    """A journal that was copied from elsewhere does not vouch for this environment."""
    with Journal(service.settings) as journal:
        path = journal.path
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE about SET value = 'https://elsewhere.example'")
    with pytest.raises(JournalError, match="belongs to"), Journal(service.settings):
        pass


def test_what_is_no_journal_is_said(service):
    """A damaged file is an error that names it."""
    with Journal(service.settings) as journal:
        path = journal.path
    path.write_bytes(b"no database at all, but long enough to be read as one" * 20)
    with pytest.raises(StorageError, match=r"journal\.sqlite"), Journal(service.settings):
        pass
