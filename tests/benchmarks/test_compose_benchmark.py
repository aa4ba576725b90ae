"""The benchmark of composing runs, at a tiny size, and all ways agree."""

from __future__ import annotations

from pathlib import Path

import compose
import pytest


@pytest.mark.long
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read where Linux tells them"
)
def test_it_runs():
    """Bktools and pandas find the same batches, the same entries not ready and the same totals (or it raises)."""
    measured = compose.measure(3000, 5, 1)
    assert measured.keys() == {*compose.WAYS, "pandas / bktools"}
    assert compose.table(3000, 5, measured, measured).count("\n| compose ") == 3
