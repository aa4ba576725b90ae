"""Killed at random instants, against a service that accepts and then fails: no entry twice, every state true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import warm
from attacks import attacked
from kill_worker import killed
from raw_service import serving

HERE = Path(__file__).parent
KILLS = int(os.environ.get("KILLS", "10"))
# One in each way of restoring.
RESTORES = max(5, KILLS // 5)
SEED = int(os.environ.get("KILLS_SEED", "1"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it")
@pytest.mark.timeout(600 + KILLS)
def test_killed_at_random_instants(capsys):
    """Of all kills (more with KILLS=…), none makes the service accept an entry twice or the journal say what is not."""
    with warm.Process(serving, SEED) as server:
        figures = warm.result(killed, server.read(), KILLS, SEED)
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    assert figures["kills"] >= KILLS
    assert figures["entries"] == figures["requests_of_entries"] > 0
    assert figures["accepted"] > 0
    assert figures["released"] > 0
    assert set(figures["states"]) == {"ACCEPTED"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it")
def test_flipped_cut_and_restored(capsys):
    """A few of each attack: no double, no foreign error. `python tests/submit/attacks.py` makes more of them."""
    figures = warm.result(attacked, Namespace(kills=0, flips=3, truncations=3, restores=2, seed=1))
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    assert (figures["flips found"], figures["doubles"], figures["foreign errors"]) == (3, 0, 0)
    assert figures["wrong histories"] == 0
    assert figures["refused"] > 0
    assert figures["restored without a word"] == 0
    assert figures["most steps"]["new disk, no sent log"] <= 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it")
@pytest.mark.long
@pytest.mark.timeout(600)
def test_three_machines_and_one_database(postgres, capsys):
    """Killed senders and cut connections of three machines that share a journal: no entry is booked twice."""
    kills, cuts = KILLS // 3, KILLS // 5
    figures = shared_attacks(capsys, kills=kills, cuts=cuts, restores=0)
    assert (figures["doubles"], figures["foreign errors"]) == (0, 0)
    assert figures["kills"] >= kills
    assert figures["cuts"] >= cuts
    assert figures["states"] == {"ACCEPTED": figures["entries"] / 4}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it")
@pytest.mark.long
@pytest.mark.timeout(600 + 10 * KILLS)
def test_three_people_and_a_restored_database(postgres, capsys):
    """In each way once or more: nothing is booked twice, no answer is lost, one step each, and no message in a circle."""
    figures = shared_attacks(capsys, kills=0, cuts=0, restores=RESTORES)
    assert figures["restores"] == RESTORES
    assert (figures["doubles"], figures["answers lost"], figures["foreign errors"]) == (0, 0, 0)
    assert figures["most steps to confirm"] == 1


def shared_attacks(capsys, **wanted: int) -> dict:
    """Run the program of attacks on a shared journal, and return its figures."""
    options = [f"--{name}={number}" for name, number in wanted.items()]
    done = subprocess.run(
        [sys.executable, str(HERE / "shared_attacks.py"), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    figures = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    return figures
