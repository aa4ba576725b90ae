"""A sender sleeps (a laptop's lid, SIGSTOP) between its intent and the first byte: nothing is sent twice."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import warm
from backends import BOTH
from entries_by_hand import COMPANY, entries_of, outcomes, submit
from raw_service import RawService, created

import bktools
from bktools.journal import attempts
from bktools.submit import request

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the state of a process is read")


def at(folder: Path, address: str, journal: str | None) -> bktools.Service:
    """Connect as a machine with folders of its own."""
    folders = {f"{kind}_dir": folder / kind for kind in ("data", "cache", "sent_log")}
    return bktools.connect(address, token="t", requests_per_minute=0, journal=journal, **folders)


def sleeper(folder: Path, address: str, journal: str | None, moment: str) -> Iterator[list[dict]]:
    """Submit entries in a process that stops itself at a moment; yield the rows after it was woken."""
    attempts.MOST_AGE = 0.2
    original = getattr(request, moment)

    def sleeps(*arguments):
        begun = original(*arguments) if moment == "record_intent" else None
        os.kill(os.getpid(), signal.SIGSTOP)
        return begun or original(*arguments)

    setattr(request, moment, sleeps)
    with at(folder, address, journal) as service:
        yield submit(entries_of(COMPANY, 2), service).to_dict("records")


def await_sleep(process: warm.Process) -> None:
    """Wait until a process has stopped itself."""
    end = time.monotonic() + 30
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end
        time.sleep(0.02)


@BOTH
@pytest.mark.parametrize("moment", ["record_intent", "still_sending"], ids=["after the intent", "connected"])
def test_an_old_intent_sends_nothing(tmp_path, backend, moment):
    """The batch waits again, says why, and the next run sends it. In `test_once.py` a colleague sends."""
    entries = entries_of(COMPANY, 2)
    with RawService(created) as raw:
        with warm.Process(sleeper, tmp_path, raw.base_url, backend, moment) as process:
            await_sleep(process)
            time.sleep(0.3)
            process.send_signal(signal.SIGCONT)
            (row,) = process.read()
        assert (row["outcome"], "more than a minute" in row["message"]) == ("PLANNED", True), row
        assert raw.requests == []
        with at(tmp_path, raw.base_url, backend) as service:
            assert outcomes(entries, service) == ["ACCEPTED"]
        assert set(raw.accepted.values()) == {1}
