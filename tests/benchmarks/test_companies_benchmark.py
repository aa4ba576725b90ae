"""The benchmark of many companies runs, at tiny size, so that it does not rot."""

from __future__ import annotations

import companies
import pytest

pytestmark = pytest.mark.long


def test_benchmark_runs():
    """Three fail, the others are whole, a second load asks for three, and all jobs are accepted."""
    jobs = (3, 2, 0.1)
    measured = companies.measure(12, 1000, 0.2, jobs)
    first, second = measured["load"]["first"], measured["load"]["second"]
    assert (first["whole"], first["errors"]) == (9, ["ServerError", "ScopeError", "ConnectionLostError"])
    assert (second["whole"], second["asked"], second["errors"]) == (12, 3, [])
    assert measured["submit"]["outcomes"] == {"ACCEPTED": 6}
    assert companies.table(12, 1000, jobs, measured).count("\n| ") == 4
