"""The intent is on disk before the first byte of the request is on the wire."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import warm
from entries_by_hand import COMPANY, entries_of, outcomes
from raw_service import created

PROGRAM = """
import bktools
from entries_by_hand import COMPANY, entries_of, submit
with bktools.connect("{}", token="t", requests_per_minute=0) as service:
    submit(entries_of(COMPANY, 3), service, size=1)
"""
SQL = "SELECT state FROM {0}batches JOIN {0}batch_entries USING (batch_id) WHERE entry_id = '{1}'"
CALLS = "openat,connect,fsync,fdatasync,pwrite64,write,sendto,sendmsg,writev,close"


@pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not there; the test below shows the order without"
)
def test_each_request_follows_a_sync_of_the_journal(talking, tmp_path):
    """Between the last write to the journal, or to the sent log, and each connection lies a sync of it."""
    log = tmp_path / "calls"
    watched = ["strace", "-f", "-y", "-s", "60", "-e", f"trace={CALLS}", "-o", str(log), sys.executable]
    with talking(created, read=30.0) as (raw, _):
        command = [*watched, "-c", PROGRAM.format(raw.base_url)]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        if "ptrace" in done.stderr:
            pytest.skip("strace may not watch here; the test below shows the order without")
        assert done.returncode == 0, done.stderr
        assert len(raw.requests) == 3
    is_synced = is_logged = True
    lines = written = connections = requests = 0
    for line in log.read_text(errors="replace").splitlines():
        if re.search(r"pwrite64\(\d+<[^>]*journal\.sqlite-wal>", line):
            is_synced = False
            written += 1
        elif re.search(r"f(data)?sync\(\d+<[^>]*journal\.sqlite-wal>\) += 0|fsync resumed", line):
            is_synced = True
        elif re.search(r"write\(\d+<[^>]*/sent\.log>", line):
            is_logged = False
            lines += 1
        elif re.search(r"f(data)?sync\(\d+<[^>]*/sent\.log>", line):
            is_logged = True
        elif "connect(" in line and "AF_INET" in line:
            connections += 1
            assert is_synced, line
            # The intent of this batch, and both lines of each one before.
            assert (is_logged, lines) == (True, 2 * connections - 1), line
        elif "POST /v3/export-jobs" in line:
            requests += 1
            assert is_synced, line
    assert (connections, requests) == (3, 3)
    assert written > 3


def copies(folder, target):
    """Copy a folder."""
    yield shutil.copytree(folder, target)


def test_a_copy_of_the_files_knows_of_the_request_when_it_arrives(talking, tmp_path):
    """When the first byte reaches the server, a copy of the journal's files holds SENDING."""
    seen, folders = [], []

    def answer(raw, connection, request):
        number = len(raw.requests)
        copied = tmp_path / f"copy-{number}"
        # By another process: closing a file drops the locks that this process holds on it.
        warm.result(copies, folders[0], copied)
        with closing(sqlite3.connect(copied / "journal.sqlite")) as copy:
            seen.append(copy.execute(SQL.format("", *request["accountingEntryIds"])).fetchall())
        created(raw, connection, request)

    with talking(answer, read=30.0) as (_, service):
        folders.append(service.settings.state_dir)
        assert outcomes(entries_of(COMPANY, 3), service, size=1) == ["ACCEPTED"] * 3
    assert seen == [[("SENDING",)]] * 3
