"""The right to send for a company: one at a time, and gone with the process that had it."""

from __future__ import annotations

import signal
import stat
import time

import pytest
import warm
from batches import COMPANY

from bktools.errors import JournalBusyError
from bktools.journal.lock import sending_for


def hold(folder):
    """Have the right until the process is killed."""
    with sending_for(folder, COMPANY):
        yield "held"
        time.sleep(60)


def test_another_process_is_named_until_it_dies(tmp_path):
    """Who sends is told by user, machine and process; a kill frees the company at once."""
    with warm.Process(hold, tmp_path) as holder:
        assert holder.read() == "held"
        said = rf"process {holder.pid} .*nothing was sent by this one"
        with pytest.raises(JournalBusyError, match=said), sending_for(tmp_path, COMPANY):
            pass
        with sending_for(tmp_path, "another company"):
            pass
        holder.send_signal(signal.SIGKILL)
        assert holder.wait() == -signal.SIGKILL
    with sending_for(tmp_path, COMPANY):
        pass


def test_the_same_process_does_not_send_twice(tmp_path):
    """Two threads or two calls of one process are two senders."""
    with sending_for(tmp_path, COMPANY), pytest.raises(JournalBusyError), sending_for(tmp_path, COMPANY):
        pass


def test_files_of_locks_are_private(tmp_path):
    """Who sends is nobody else's business."""
    with sending_for(tmp_path, COMPANY):
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "locks").iterdir()}
    assert modes == {0o600}


def test_a_name_that_cannot_be_written_keeps_nobody_from_sending(tmp_path):
    """Without the sender's file the lock holds all the same, and others see "another process"."""
    with sending_for(tmp_path / "new" / "folder", COMPANY):
        pass
    (holder,) = (tmp_path / "new" / "folder" / "locks").glob("*.holder")
    holder.unlink()
    holder.mkdir()
    said = "^another process is sending for company"
    with (
        sending_for(tmp_path / "new" / "folder", COMPANY),
        pytest.raises(JournalBusyError, match=said),
        sending_for(tmp_path / "new" / "folder", COMPANY, patience=0),
    ):
        pass
