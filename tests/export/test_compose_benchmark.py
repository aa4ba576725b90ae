"""The benchmark of composing runs, at a tiny size, and both ways agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "compose.py"


@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read where Linux tells them"
)
def test_it_runs():
    """Bktools and pandas find the same batches, the same entries not ready and the same totals."""
    command = [sys.executable, str(BENCHMARK), "--entries", "3000", "--companies", "5", "--rounds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["bktools", "pandas", "pandas"]
