"""Commands that are ended from outside: by Ctrl-C, and by a reader that goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import bktools
from bktools.cli.exits import Exit
from bktools.sandbox import Fault


def test_ctrl_c_says_what_was_kept_and_the_next_run_goes_on(sandbox, access, samples, monkeypatch, tmp_path):
    """A close that is interrupted between two accounts ends at once; the next run creates the others."""
    monkeypatch.chdir(tmp_path)
    server = sandbox.server
    server.inject(Fault("latency", "create_account", skip=12, seconds=60))
    word = ("--first-export", "--by", "Ada")
    arguments = ("month-end", "--apply", "--chart", str(samples[0]), "--entries", str(samples[1]), *word)
    before = len(server.accounts())
    command = [sys.executable, "-m", "bktools", *arguments]
    with subprocess.Popen(command, env=os.environ | access, stderr=subprocess.PIPE, text=True) as process:
        # The answer of the first new account has arrived when the second one is there.
        while len(server.accounts()) < before + 2:
            assert process.poll() is None
            time.sleep(0.05)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]
    assert time.monotonic() - begin < 5
    assert process.returncode == Exit.INTERRUPTED
    assert errors == "bktools: interrupted; completed steps are in the journal, run again to resume\n"
    assert list(Path().iterdir()) == []
    server.clear_faults()
    for name, value in access.items():
        monkeypatch.setenv(name, value)
    with bktools.connect() as service:
        known, chart = bktools.load_accounts(service=service), bktools.read_chart_of_accounts(samples[0])
        assert "CREATED" in {*known["state"]}
        wanted = bktools.reconcile_accounts(chart, known, bktools.load_categories(service=service))
        assert bktools.create_accounts(wanted, apply=True, service=service)["id"].notna().any()
    names = [account.external_id for account in server.accounts()]
    assert {*chart["external_id"]} <= {*names}
    assert len(set(names)) == len(names)


def test_a_reader_that_goes_away_stops_nothing():
    """A pipe whose reader has read enough (head): the accounts are created, and nothing more is said."""
    reading, writing = os.pipe()
    os.close(reading)
    words = ("accounts", "create", "--sandbox", "--apply", "--quiet")
    command = [sys.executable, "-u", "-m", "bktools", *words]
    done = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120
    )
    os.close(writing)
    assert (done.returncode, "Traceback" in done.stderr) == (Exit.DONE, False)
    with bktools.connect("sandbox") as service:
        assert len(bktools.load_accounts(service=service)) == 93
