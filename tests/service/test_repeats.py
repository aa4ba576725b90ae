"""Which failures are repeated, how often, and how long that may take."""

from __future__ import annotations

import time

import pytest

from bktools.errors import ArgumentError, AuthenticationError, ServerError, StatusError, UnreachableError
from bktools.service.rate import Rate
from bktools.service.retry import Budget, RetryPolicy, repeated

QUICK = RetryPolicy(attempts=4, shortest_pause=0.001, longest_pause=0.002, deadline=1.0)


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
    assert 0.15 <= time.monotonic() - begin < 0.6


def test_a_wait_beyond_the_deadline_is_not_begun():
    """A service that asks for a day is shown at once."""
    calls = []
    begin = time.monotonic()
    with pytest.raises(StatusError):
        repeated(failing(9, StatusError("slow", status=429, retry_after=86_400.0), calls), QUICK, Budget())
    assert len(calls) == 1
    assert time.monotonic() - begin < 0.5


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


def test_the_rate_is_a_sliding_window():
    """No 60 seconds ever hold more requests than allowed, and the first ones do not wait."""
    now, sent = [0.0], []

    def sleep(seconds):
        now[0] += seconds

    rate = Rate(5, clock=lambda: now[0], sleep=sleep)
    for _ in range(17):
        rate.wait()
        sent.append(now[0])
        now[0] += 1.0
    assert sent[4] == 4.0
    for index in range(5, 17):
        assert sent[index] - sent[index - 5] >= 60.0


def test_no_rate_never_waits():
    rate = Rate(0, sleep=lambda _: pytest.fail("waited"))
    for _ in range(1000):
        rate.wait()
