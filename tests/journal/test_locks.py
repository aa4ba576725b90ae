"""The right to send for a company: one at a time, and gone with the process that had it."""

from __future__ import annotations

import signal
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
