"""The lock of a company: one process at a time, gone with the process, and refused where drives have none."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from dataclasses import replace

import pytest
import warm
from batches import COMPANY, batch, begun

from bktools.errors import JournalBusyError, StorageError
from bktools.journal.lock import sending_for
from bktools.journal.writing import open_for_writing

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
        named = "is sending for company .*nothing was sent by this one"
        with pytest.raises(JournalBusyError, match=named), sending_for(tmp_path, COMPANY):
            pass
        with sending_for(tmp_path, "another company"):
            pass
        holder.send_signal(signal.SIGKILL)
        assert holder.wait() == -signal.SIGKILL
    with sending_for(tmp_path, COMPANY):
        pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
def test_a_drive_without_locks_is_named(tmp_path, monkeypatch, code):
    """It is neither "another process" nor "the database is locked"; the way out is in the line."""

    def no_locks(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(StorageError, match=WAY_OUT), sending_for(tmp_path, COMPANY):
        pass


def test_a_drive_whose_locks_lie_is_refused(settings, monkeypatch):
    """It gives one lock to two at once, without a word: nothing is sent with a journal there."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(StorageError, match=WAY_OUT):
        open_for_writing(settings)


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_the_machines_own_folder_needs_locks_too(settings, monkeypatch, tmp_path):
    """The database locks the company, and the memory of the machine lies on a drive that does not."""
    with open_for_writing(settings) as journal:
        begun(journal, batch("a", 0))
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(StorageError, match="BKTOOLS_SENT_LOG_DIR"):
        open_for_writing(replace(settings, data_dir=tmp_path / "another"))
