"""How often failures are repeated, and how long that may take."""

from __future__ import annotations

import time

import pytest

from bktools.errors import UnreachableError
from bktools.service.retry import Budget, RetryPolicy, repeated

QUICK = RetryPolicy(attempts=4, shortest_pause=0.001, longest_pause=0.002, deadline=30.0)


def failing(times, error, calls):
    def send():
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "answer"

    return send


def test_the_budget_is_shared_and_refills():
    """A dead service is not hammered: repeats of the whole client are counted, answers give some back."""
    budget, calls = Budget(size=5), []
    for _ in range(4):
        with pytest.raises(UnreachableError):
            repeated(failing(99, UnreachableError("away"), calls), QUICK, budget)
    assert len(calls) == 4 + 5
    for _ in range(10):
        repeated(lambda: "answer", QUICK, budget)
    assert budget.take()
    assert not budget.take()


def test_a_deadline_can_be_extended():
    """The waits of the client itself do not count."""
    end, calls = time.monotonic(), []

    def send():
        nonlocal end
        end += 1.0
        return failing(1, UnreachableError("away"), calls)() if not calls else "answer"

    assert repeated(send, QUICK, Budget(), lambda: end) == "answer"
