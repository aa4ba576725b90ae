"""Where output goes: a full disk is one line, and an encoding that lacks a letter stops nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bktools.cli.exits import Exit

PROGRAM = "from bktools.cli import main; main()"


def run(*arguments, stdout, **variables):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=os.environ | variables,
        check=False,
    )


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no /dev/full, a disk that is always full"
)
def test_a_full_disk_is_one_line():
    """Output that cannot be written is told in one line, with the code of storage."""
    with Path("/dev/full").open("wb") as full:
        done = run("mappings", stdout=full)
    assert done.returncode == Exit.STORAGE
    assert done.stderr.decode().splitlines() == [
        "bktools: the output cannot be written: No space left on device"
    ]


def test_letters_that_an_encoding_lacks_are_escaped():
    """All rows are there, with what the encoding has as it is and the rest escaped."""
    done = run("categories", "--sandbox", stdout=subprocess.PIPE, PYTHONIOENCODING="cp1251")
    assert done.returncode == Exit.DONE
    rows = done.stdout.decode("cp1251").splitlines()
    assert len(rows) == 241
    assert any("Messen IT" in row for row in rows)
    assert any("Messen Filiale M\\xfcnchen" in row for row in rows)
