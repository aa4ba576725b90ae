"""The lock of a company: one process at a time, gone with the process, and refused where drives have none."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time

import pytest
import warm
from backends import BOTH
from batches import COMPANY

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


@BOTH
def test_a_drive_whose_locks_lie_is_refused(settings, monkeypatch):
    """It gives one lock to two at once; the machine's memory needs locks where a database has them, too."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    with pytest.raises(StorageError, match=WAY_OUT):
        open_for_writing(settings)
