"""The attacks, a few of each: nothing is booked twice, and every entry ends with one booking."""

from __future__ import annotations

import os
import sys

import attacks
import pytest
import warm
from attack_worlds import WRONG, run

KILLS = int(os.environ.get("KILLS", "6"))
SEED = int(os.environ.get("KILLS_SEED", "1"))

# A file; three machines and a database; a database that is restored in each of its five ways.
SAMPLES = {
    "file": (attacks.ATTACKS, {"kills": KILLS, "flips": 3, "truncations": 2, "restores": 1}),
    "senders": (attacks.SHARED[1:], {"kills": KILLS // 2, "cuts": KILLS // 3}),
    "restores": (attacks.SHARED[:1], {"restores": max(5, KILLS // 5)}),
}


def figures_of(sample):
    """Run a sample, two shares at a time; yield its figures."""
    chosen, wanted = SAMPLES[sample]
    yield run(chosen, wanted, seed=SEED, workers=2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked and killed as POSIX systems do it")
@pytest.mark.timeout(600 + 10 * KILLS)
@pytest.mark.parametrize(
    "sample", ["file", *(pytest.param(name, marks=pytest.mark.long) for name in ("senders", "restores"))]
)
def test_nothing_that_must_be_0_is_more(sample, request, capsys):
    """More kills with KILLS=…; the command that a refusal prints is needed once a machine, at most."""
    if sample != "file":
        request.getfixturevalue("postgres")
    figures = warm.result(figures_of, sample)
    with capsys.disabled():
        sys.stdout.write(f"\n{dict(figures)}\n")
    assert {name: figures[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    wanted = SAMPLES[sample][1]
    done = {name: figures[name] >= count for name, count in wanted.items() if name != "restores"}
    assert all(done.values()), done
    assert figures["most commands"] <= 1
    if "restores" in wanted:
        assert figures["placeholders pasted"] > 0
        assert figures["most commands"] == 1
