"""A sender sleeps (a laptop's lid, SIGSTOP) between its intent and the first byte: nothing is sent twice."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import warm
from backends import BOTH
from clocks import DAY, set_clock
from entries_by_hand import COMPANY, entries_of, outcomes, submit
from raw_service import RawService, created

import bktools
from bktools.errors import JournalError, StorageError
from bktools.journal import attempts
from bktools.journal.writing import open_for_writing
from bktools.submit import request

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the state of a process is read")

WORD = {"evidence": "looked up in the ERP", "by": "Ada"}


def at(folder: Path, address: str, journal: str | None) -> bktools.Service:
    """Connect as a machine with folders of its own."""
    folders = {f"{kind}_dir": folder / kind for kind in ("data", "cache", "sent_log")}
    return bktools.connect(address, token="t", requests_per_minute=0, journal=journal, **folders)


def sleeper(
    folder: Path, address: str, journal: str | None, entries: pd.DataFrame, moment: str, most_age: float
) -> Iterator[list[dict]]:
    """Submit entries in a process that stops itself before a moment; yield the rows after it was woken."""
    attempts.MOST_AGE = most_age
    original = getattr(request, moment)

    def sleeps(*arguments):
        if moment == "begin":
            begun = original(*arguments)
            os.kill(os.getpid(), signal.SIGSTOP)
            return begun
        os.kill(os.getpid(), signal.SIGSTOP)
        return original(*arguments)

    setattr(request, moment, sleeps)
    with at(folder, address, journal) as service:
        try:
            rows = submit(entries, service).to_dict("records")
        except StorageError as error:
            # The connection was cut meanwhile, which ends the run.
            rows = [{"outcome": "ended", "message": str(error)}]
        yield rows


def await_sleep(process: warm.Process) -> None:
    """Wait until a process has stopped itself."""
    end = time.monotonic() + 30
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < end
        time.sleep(0.02)


@BOTH
@pytest.mark.parametrize("moment", ["begin", "still_sending"], ids=["after the intent", "connected"])
def test_an_old_intent_sends_nothing(tmp_path, backend, moment):
    """The batch waits again, says why, and is sent by the next run."""
    entries = entries_of(COMPANY, 2)
    with RawService(created) as raw:
        given = (tmp_path, raw.base_url, backend, entries, moment, 0.2)
        with warm.Process(sleeper, *given) as process:
            await_sleep(process)
            time.sleep(0.3)
            process.send_signal(signal.SIGCONT)
            (row,) = process.read()
        assert (row["outcome"], "more than a minute" in row["message"]) == ("PLANNED", True), row
        assert raw.requests == []
        with at(tmp_path, raw.base_url, backend) as service:
            assert outcomes(entries, service) == ["ACCEPTED"]
        assert set(raw.accepted.values()) == {1}


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
@pytest.mark.parametrize("moment", ["begin", "still_sending"], ids=["after the intent", "connected"])
@pytest.mark.parametrize("most_age", [0.0, 60.0], ids=["an old intent", "a young intent"])
def test_a_sleeper_sends_nothing_after_a_colleague(tmp_path, postgres, database, backend, moment, most_age):
    """A colleague finds nothing booked, releases the batch and sends it; the sleeper sends nothing."""
    entries = entries_of(COMPANY, 2)
    with (
        RawService(created, at_once=True) as raw,
        at(tmp_path / "colleague", raw.base_url, backend) as colleague,
    ):
        for machine in ("sleeper", "colleague"):
            # Both know the journal since before its first export.
            with at(tmp_path / machine, raw.base_url, backend) as service:
                open_for_writing(service.settings).close()
        given = (tmp_path / "sleeper", raw.base_url, backend, entries, moment, most_age)
        with warm.Process(sleeper, *given) as process:
            await_sleep(process)
            # The server notices that the machine does not answer, and ends its session.
            assert postgres.cut(database)
            assert outcomes(entries, colleague) == ["UNKNOWN"]
            (batch,) = bktools.load_export_jobs(service=colleague)["batch_id"]
            with set_clock() as clock:
                with pytest.raises(JournalError, match="may still be under way"):
                    bktools.resolve_export_job(batch, "released", service=colleague, **WORD)
                clock.ahead = DAY
                bktools.resolve_export_job(batch, "released", service=colleague, **WORD)
                assert outcomes(entries, colleague) == ["ACCEPTED"]
            process.send_signal(signal.SIGCONT)
            (row,) = process.read()
        assert row["outcome"] != "UNKNOWN", row
        assert (len(raw.requests), set(raw.accepted.values())) == (1, {1})
        assert bktools.load_export_jobs(service=colleague)["state"].to_list() == ["ACCEPTED"]
