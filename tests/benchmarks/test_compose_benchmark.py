"""The benchmark of composing runs at a tiny size."""

from __future__ import annotations

from pathlib import Path

import compose
import pytest


@pytest.mark.long
@pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read where Linux tells them"
)
def test_it_runs():
    """Each way is measured, and a row says whether the goal was met."""
    measured = compose.measure(320, 1)
    assert measured.keys() == {*compose.WAYS}
    assert "| plan with findings of 320 entries |" in compose.row(320, 45, None, measured)
