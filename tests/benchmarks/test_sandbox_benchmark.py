"""The benchmark of the sandbox runs, at tiny size, so that it does not rot."""

from __future__ import annotations

import pytest
import sandbox

pytestmark = pytest.mark.long


def test_benchmark_runs():
    """Every figure of the table is measured."""
    measured = sandbox.measure(categories=300, rounds=2, pages=5)
    assert measured["ends"]["ratio"] > 0
    assert len(measured["rates"]) == 1
    assert sandbox.table(300, measured).count("\n| ") == 3
