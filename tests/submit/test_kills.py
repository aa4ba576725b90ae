"""Killed at random instants, against a service that accepts and then fails: no entry twice, every state true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KILLS = int(os.environ.get("KILLS", "300"))
SEED = int(os.environ.get("KILLS_SEED", "1"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it")
@pytest.mark.timeout(60 + KILLS)
def test_killed_at_random_instants(capsys):
    """Of all kills (more with KILLS=…), none makes the service accept an entry twice or the journal say what is not."""
    programs = [sys.executable, str(HERE / "raw_service.py"), str(SEED)]
    with subprocess.Popen(programs, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            worker = [sys.executable, "-W", "error", str(HERE / "kill_worker.py"), address, str(KILLS), str(SEED)]
            done = subprocess.run(worker, capture_output=True, text=True, check=False)
        finally:
            server.kill()
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    assert figures["kills"] >= KILLS
    assert figures["entries"] == figures["requests_of_entries"] > 0
    assert figures["accepted"] > 0
    assert figures["released"] > 0
    assert set(figures["states"]) == {"ACCEPTED"}
