"""The benchmark of what is larger than memory runs, at a tiny size, and both ways agree."""

from __future__ import annotations

import large
import pytest


def test_it_runs():
    """Reconciling and composing under a limit give the rows of the same work without one (or it raises)."""
    measured = {name: large.measure(name, (300, 600)) for name in ("reconcile", "compose")}
    assert large.table(measured).count("\n| ") == 6
    assert all(row["result"][0] > 0 for found in measured.values() for row in found)


def test_the_exponent_is_that_of_the_seconds():
    """Twice the rows in four times the seconds is the power of two."""
    assert large.exponent([{"rows": 10, "seconds": 1.0}, {"rows": 20, "seconds": 4.0}]) == pytest.approx(2)
