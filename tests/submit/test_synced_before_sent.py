"""The intent is on disk before the first byte of the request is on the wire."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from raw_service import created

PROGRAM = """
import bktools
from entries_by_hand import COMPANY, entries_of, submit
with bktools.connect("{}", token="t", requests_per_minute=0) as service:
    submit(entries_of(COMPANY, 3), service, size=1)
"""
CALLS = "connect,fsync,fdatasync,pwrite64,write,sendto,sendmsg,writev"


@pytest.mark.skipif(shutil.which("strace") is None, reason="the program strace is not installed")
def test_each_request_follows_a_sync_of_the_journal(talking, tmp_path):
    """Between the last write to the journal, or to the sent log, and each connection lies a sync of it."""
    log = tmp_path / "calls"
    options = ["-f", "--seccomp-bpf", "-y", "-s", "60", "-e", f"trace={CALLS}", "-o", str(log)]
    with talking(created, read=30.0) as (raw, _):
        command = ["strace", *options, sys.executable, "-c", PROGRAM.format(raw.url)]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        if "ptrace" in done.stderr:
            pytest.skip("strace may not watch processes here")
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
