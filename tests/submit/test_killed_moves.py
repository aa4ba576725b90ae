"""A killed move to a database: the journal is the file or the database, and nothing is booked twice."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest
from entries_by_hand import COMPANY, entries_of, submit
from raw_service import created

import bktools
from bktools.errors import BktoolsError, JournalError
from bktools.journal.move import move
from bktools.journal.right_journal import problems
from bktools.journal.writing import open_for_writing


def _forked(settings) -> int:
    process = os.fork()
    if process == 0:
        try:
            move(settings, by="Ada")
        finally:
            os._exit(0)
    return process


@pytest.mark.skipif(os.name != "posix", reason="processes are forked")
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.long)])
def test_a_killed_move_is_one_or_the_other(talking, postgres, tmp_path, kills):
    """Whoever submits with the file or the database afterwards sends nothing again; the next move ends it."""
    chance, longest, killed = random.Random(kills), 0.02, 0
    with talking(created, read=20.0) as (raw, _):
        for number in range(kills):
            entries = entries_of(COMPANY, 6, first=1000 * number)
            plan = bktools.compose_export_jobs(entries, max_entries=2)
            folders = {f"{kind}_dir": tmp_path / str(number) / kind for kind in ("data", "cache", "sent_log")}
            with postgres.database() as database:
                at = {"token": "t", "requests_per_minute": 0, **folders}
                with (
                    bktools.connect(raw.base_url, **at) as with_file,
                    bktools.connect(raw.base_url, **at, journal=postgres.address(database)) as with_database,
                ):
                    submit(plan, with_file)
                    process = _forked(with_database.settings)
                    time.sleep(chance.uniform(0, longest))
                    os.kill(process, signal.SIGKILL)
                    is_killed = os.WIFSIGNALED(os.waitpid(process, 0)[1])
                    killed += is_killed
                    longest *= 1.3 if is_killed else 0.6
                    usable, refusals = 0, []
                    for service in (with_file, with_database):
                        try:
                            sent = bktools.submit_export_jobs(plan, apply=True, wait=0, service=service)
                        except JournalError as error:
                            refusals.append(str(error))
                        else:
                            usable += 1
                            assert set(sent["outcome"]) == {"ACCEPTED"}
                    assert usable <= 1
                    assert all("move" in said or "BKTOOLS_JOURNAL" in said for said in refusals), refusals
                    _finish(with_database.settings)
                    sent = bktools.submit_export_jobs(plan, apply=True, wait=0, service=with_database)
                    assert set(sent["outcome"]) == {"ACCEPTED"}
                    with open_for_writing(with_database.settings) as journal:
                        assert problems(journal) == []
        assert set(raw.accepted.values()) == {1}
    assert killed > kills // 4


def _finish(settings) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            move(settings, by="Ada")
        except BktoolsError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return
