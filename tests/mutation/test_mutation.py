"""The mutation tester itself, at its smallest."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CODE = '''"""A module."""

import threading
from typing import Annotated

LOCK = threading.Lock()
LIMIT: Annotated[int, 3] = 7


def check(before: list[int], after: list[int]) -> dict[str, list[int]]:
    """Say both, up to 3."""
    with LOCK:
        if len(before) > LIMIT:
            raise ValueError(f"{before} is not {after}")
    return {"before": before, "after": after}


SQL = "SELECT id FROM entries WHERE amount > 0"
'''


def test_mistakes_that_are_made(tmp_path):
    """A lock left out, an error not raised, values swapped and a changed comparison are among the mutants; prose is not."""
    # Its parser takes most of a second to import, which each worker would wait for.
    from mutants import change_of, mutants_of, sampled

    (tmp_path / "code.py").write_text(CODE)
    mutants = mutants_of(tmp_path, "code.py")
    changes = {(change.before, change.after) for mutant in mutants if (change := change_of(tmp_path, mutant))}
    assert changes >= {
        ("with LOCK:", "if True:"),
        ("if len(before) > LIMIT:", "if len(before) >= LIMIT:"),
        ("LIMIT: Annotated[int, 3] = 7", "LIMIT: Annotated[int, 3] = 8"),
        ('raise ValueError(f"{before} is not {after}")', "pass"),
        ('raise ValueError(f"{before} is not {after}")', 'raise ValueError(f"{after} is not {before}")'),
        ('return {"before": before, "after": after}', 'return {"before": after, "after": before}'),
        ('SQL = "SELECT id FROM entries WHERE amount > 0"', 'SQL = "SELECT id FROM entries WHERE amount >= 0"'),
    }
    assert {mutant.line for mutant in mutants} == {6, 7, 12, 13, 14, 15, 18}
    assert len({mutant.kind for mutant in sampled(mutants, 6, seed=1)}) == 6, "a sample is of many kinds"


@pytest.mark.long
def test_a_room_is_scored():
    """Three mutants of the addresses are judged by the tests of addresses, which pass without a mutation."""
    place = Path(__file__).with_name("run.py")
    command = [sys.executable, str(place), "--room", "root", "--file", "addresses", "--sample", "3"]
    done = subprocess.run([*command, "--tests", "tests/test_addresses.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^root: [1-3] of 3 killed, \d+%", done.stdout, re.MULTILINE), done.stdout
