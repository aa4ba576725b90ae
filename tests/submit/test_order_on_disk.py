"""The intent is on disk before the first byte of the request is on the wire: seen from outside, and by the
server.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import warm
from entries_by_hand import COMPANY, entries_of
from raw_service import created

import bktools
from bktools.service import Service
from bktools.settings import Secret

WORKER = Path(__file__).parent / "strace_worker.py"
CALLS = "openat,connect,fsync,fdatasync,pwrite64,write,sendto,sendmsg,writev,close"


@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not there; the test below shows the order without"
)
def test_each_request_follows_a_sync_of_the_journal(talking, tmp_path):
    """Between the last write to the journal, or to a mark, and each connection lies a sync of that file."""
    log = tmp_path / "calls"
    with talking(created, read=30.0) as (raw, _):
        watched = ["strace", "-f", "-y", "-s", "60", "-e", f"trace={CALLS}", "-o", str(log)]
        done = subprocess.run(
            [*watched, sys.executable, str(WORKER), raw.base_url], capture_output=True, text=True, check=False
        )
        if "ptrace" in done.stderr:
            pytest.skip("strace may not watch here; the test below shows the order without")
        assert done.returncode == 0, done.stderr
        assert len(raw.requests) == 3
    is_synced = True
    unsynced: set[str] = set()
    marks = 0
    written = connections = requests = 0
    for line in log.read_text(errors="replace").splitlines():
        if re.search(r"pwrite64\(\d+<[^>]*journal\.sqlite-wal>", line):
            is_synced = False
            written += 1
        elif (
            re.search(r"f(data)?sync\(\d+<[^>]*journal\.sqlite-wal>\) += 0", line) or "fsync resumed" in line
        ):
            is_synced = True
        elif mark := re.search(r"write\(\d+<([^>]*/[0-9a-f]{32}\.log)>", line):
            unsynced.add(mark[1])
            marks += 1
        elif mark := re.search(r"fsync\(\d+<([^>]*/[0-9a-f]{32}\.log)>", line):
            unsynced.discard(mark[1])
        elif "connect(" in line and "AF_INET" in line:
            connections += 1
            assert is_synced, line
            # Two places, and a line in each for this batch.
            assert (unsynced, marks) == (set(), 4 * connections - 2), line
        elif "POST /v3/export-jobs" in line:
            requests += 1
            assert is_synced, line
    assert (connections, requests) == (3, 3)
    assert written > 3


def copies(folder, target):
    """Copy a folder."""
    yield shutil.copytree(folder, target)


def test_a_copy_of_the_files_knows_of_the_request_when_it_arrives(talking, tmp_path):
    """When the first byte reaches the server, the journal's files hold SENDING, for whoever opens a copy of
    them.
    """
    seen, folders = [], []

    def answer(raw, connection, request):
        number = len(raw.requests)
        copied = tmp_path / f"copy-{number}"
        # By another process: closing a file drops the locks that this process holds on it.
        warm.result(copies, folders[0], copied)
        with closing(sqlite3.connect(copied / "journal.sqlite")) as copy:
            states = copy.execute(
                "SELECT state FROM batches JOIN batch_entries USING (batch_id) WHERE entry_id = ?",
                request["accountingEntryIds"],
            ).fetchall()
        seen.append(states)
        created(raw, connection, request)

    with talking(answer, read=30.0) as (_, service):
        folders.append(service.settings.state_dir)
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 3
    assert seen == [[("SENDING",)]] * 3


def test_another_connection_knows_of_the_request_when_it_arrives(talking, postgres, database):
    """When the first byte reaches the server, the intent is committed: every other session of the database
    sees it.
    """
    seen = []

    def answer(raw, connection, request):
        (entry,) = request["accountingEntryIds"]
        sql = (
            "SELECT state FROM bktools.batches JOIN bktools.batch_entries USING (batch_id) WHERE "
            f"entry_id = '{entry}'"
        )
        seen.append(postgres.sql(sql, database))
        created(raw, connection, request)

    with talking(answer, read=30.0) as (_, service):
        shared = replace(service.settings, journal=Secret(postgres.address(database)))
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)
        with Service(shared) as own:
            sent = bktools.submit_export_jobs(plan, apply=True, service=own)
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 3
    assert seen == [[("SENDING",)]] * 3
