"""Which failures are repeated, how often, and how long that may take."""

from __future__ import annotations

import time

import pytest

from bktools.errors import ArgumentError, StatusError, UnreachableError
from bktools.service.retry import Budget, RetryPolicy, repeated

QUICK = RetryPolicy(attempts=4, shortest_pause=0.001, longest_pause=0.002, deadline=30.0)


def failing(times, error, calls):
    def send():
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "answer"

    return send


REFUSALS = [StatusError("no", status=status) for status in (400, 401, 403, 404, 409, 413, 501)]


@pytest.mark.parametrize("error", [*REFUSALS, ArgumentError("x", "is wrong")])
def test_a_refusal_is_not_repeated(error):
    """Neither an error of the caller's; it is shown as it was."""
    calls = []
    with pytest.raises(type(error)) as caught:
        repeated(failing(9, error, calls), QUICK, Budget())
    assert (caught.value, len(calls)) == (error, 1)


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
