"""Which failures are repeated, how often, and how long that may take."""

from __future__ import annotations

import time

import pytest

from bktools.errors import (
    ArgumentError,
    AuthenticationError,
    RateLimitedError,
    ServerError,
    StatusError,
    UnreachableError,
)
from bktools.service.retry import Budget, RetryPolicy, repeated

QUICK = RetryPolicy(attempts=4, shortest_pause=0.001, longest_pause=0.002, deadline=30.0)


def failing(times, error, calls):
    def send():
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "answer"

    return send


def test_a_failure_that_passes_is_repeated():
    calls = []
    assert repeated(failing(3, UnreachableError("away"), calls), QUICK, Budget()) == "answer"
    assert len(calls) == 4


def test_the_last_failure_is_shown_as_it_was():
    calls = []
    error = ServerError("down", status=503)
    with pytest.raises(ServerError) as caught:
        repeated(failing(9, error, calls), QUICK, Budget())
    assert caught.value is error
    assert len(calls) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 501])
def test_a_refusal_is_not_repeated(status):
    calls = []
    with pytest.raises(StatusError):
        repeated(failing(9, StatusError("no", status=status), calls), QUICK, Budget())
    assert len(calls) == 1


def test_an_error_of_the_callers_is_not_repeated():
    calls = []
    with pytest.raises(ArgumentError):
        repeated(failing(9, ArgumentError("x", "is wrong"), calls), QUICK, Budget())
    assert len(calls) == 1


def test_retry_after_is_obeyed():
    calls = []
    begin = time.monotonic()
    repeated(failing(1, StatusError("slow", status=429, retry_after=0.15), calls), QUICK, Budget())
    assert time.monotonic() - begin >= 0.15


def test_a_wait_beyond_the_deadline_is_not_begun():
    """A service that asks for a day is shown at once."""
    calls = []
    begin = time.monotonic()
    with pytest.raises(StatusError):
        repeated(failing(9, StatusError("slow", status=429, retry_after=86_400.0), calls), QUICK, Budget())
    assert len(calls) == 1
    assert time.monotonic() - begin < 60


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


def test_authentication_is_an_error_of_permission():
    assert issubclass(AuthenticationError, PermissionError)


def test_answers_of_429_use_neither_attempts_nor_budget():
    """A service that names no time is asked again until the deadline, and its budget is left for failures."""
    budget, calls = Budget(size=1), []
    patient = RetryPolicy(attempts=2, shortest_pause=0.001, longest_pause=0.002, deadline=5.0)
    assert repeated(failing(9, RateLimitedError("too many", status=429), calls), patient, budget) == "answer"
    assert (len(calls), budget.take(), budget.take()) == (10, True, False)


@pytest.mark.parametrize("answers", [1, 3, 10, 25])
def test_answered_requests_restore_repeats(answers):
    """As many answers as the budget says restore one repeat, and never more than it began with."""
    budget = Budget(size=2, answers=answers)
    assert [budget.take(), budget.take(), budget.take()] == [True, True, False]
    for _ in range(answers - 1):
        budget.give_back()
    assert not budget.take()
    budget.give_back()
    assert [budget.take(), budget.take()] == [True, False]
    for _ in range(9 * answers):
        budget.give_back()
    assert [budget.take(), budget.take(), budget.take()] == [True, True, False]


def test_a_deadline_can_be_extended():
    """The waits of the client itself do not count."""
    end, calls = time.monotonic(), []

    def send():
        nonlocal end
        end += 1.0
        return failing(1, UnreachableError("away"), calls)() if not calls else "answer"

    assert repeated(send, QUICK, Budget(), lambda: end) == "answer"
