"""Killed, flipped, cut and restored at random, while a service accepts and then fails: no entry twice."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

import pytest
import shared_attacks
import warm
from attacks import WRONG, attacked

KILLS = int(os.environ.get("KILLS", "10"))
# One in each way of restoring.
RESTORES = max(5, KILLS // 5)
SEED = int(os.environ.get("KILLS_SEED", "1"))

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it"
)


def figures_of(attacks, capsys, **wanted: int) -> dict:
    """Run attacks in a process of their own; print and return the figures."""
    figures = warm.result(attacks, Namespace(seed=SEED, **wanted))
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
    assert (figures["doubles"], figures["foreign errors"]) == (0, 0)
    return figures


@pytest.mark.timeout(600 + KILLS)
def test_killed_flipped_cut_and_restored(capsys):
    """Of a few of each attack (more kills with KILLS=…) nothing is accepted twice, and no state is wrong."""
    figures = figures_of(attacked, capsys, kills=KILLS, flips=10, truncations=3, restores=1)
    assert figures["flips found"] == 10
    assert {name: figures[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert figures["refused"] > 0
    assert figures["placeholders pasted"] > 0
    assert max(figures["most steps"].values()) <= 1
    killed = figures["killed"]
    assert killed["kills"] >= KILLS
    assert killed["accepted"] > 0
    assert killed["sleepers"] > 0
    assert set(killed["states"]) == {"ACCEPTED"}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_three_machines_and_one_database(postgres, capsys):
    """Killed and sleeping senders, and cut connections, of three machines: no entry is booked twice."""
    kills, cuts = KILLS // 3, KILLS // 5
    figures = figures_of(shared_attacks.attacked, capsys, kills=kills, cuts=cuts, restores=0)
    assert figures["kills"] >= kills
    assert figures["cuts"] >= cuts
    assert figures["states"] == {"ACCEPTED": figures["entries"] / 4}


@pytest.mark.long
@pytest.mark.timeout(600 + 10 * KILLS)
def test_three_people_and_a_restored_database(postgres, capsys):
    """In each way once or more: no answer is lost, one step each, and no message in a circle."""
    figures = figures_of(shared_attacks.attacked, capsys, kills=0, cuts=0, restores=RESTORES)
    assert figures["restores"] == RESTORES
    assert figures["answers lost"] == 0
    assert figures["most commands"] == 1
    assert figures["placeholders believed"] == 0
