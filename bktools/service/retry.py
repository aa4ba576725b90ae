"""Repeats failed requests: which failures, how often, after which pause."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bktools.errors import (
    ConnectionLostError,
    RateLimitedError,
    ServiceError,
    StatusError,
    UnreachableError,
    UnreadableAnswerError,
)
from bktools.service.workers import pause

log = logging.getLogger("bktools")

REPEATED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

Returned = TypeVar("Returned")


@dataclass(frozen=True)
class RetryPolicy:
    """Limits for repeating one request: requests in all (those answered 429 do not count), and seconds.

    A pause is random, between the shortest and a bound that doubles up to the longest. The deadline is of the
    call with all its repeats, without the client's own waits to keep its rate.
    """

    attempts: int = 5
    shortest_pause: float = 0.5
    longest_pause: float = 20.0
    deadline: float = 300.0


class Budget:
    """The number of repeats left for the whole client, so that it does not flood a service that is down.

    So many answered requests restore one. With 1, requests that always fail cannot use up the repeats of
    others as long as most are answered.
    """

    def __init__(self, size: int = 50, answers: int = 10) -> None:
        # Counted in answers.
        self._cost = answers
        self._most = self._left = size * answers
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one repeat; False when there is none left."""
        with self._lock:
            if self._left < self._cost:
                return False
            self._left -= self._cost
            return True

    def give_back(self) -> None:
        """Count an answered request."""
        with self._lock:
            self._left = min(self._most, self._left + 1)


def is_repeatable(error: BaseException) -> bool:
    """Whether repeating the same request may succeed."""
    if isinstance(error, StatusError):
        return error.status in REPEATED_STATUSES
    if isinstance(error, UnreadableAnswerError):
        return error.repeatable
    return isinstance(error, UnreachableError | ConnectionLostError)


def repeated(
    send: Callable[[], Returned], policy: RetryPolicy, budget: Budget, end: Callable[[], float] | None = None
) -> Returned:
    """Return what `send` returns, repeating it within policy and budget; raise its last failure unchanged.

    `end` returns the latest end in monotonic seconds; `send` may move it. Default: the deadline, from now.
    """
    deadline = time.monotonic() + policy.deadline
    attempt = waits = 1
    while True:
        try:
            answer = send()
        except ServiceError as error:
            # In a worker that must stop, its own end of the connection is no failure.
            pause(0)
            wait = _pause_after(error, max(attempt, waits), policy)
            if not is_repeatable(error) or time.monotonic() + wait > (end() if end else deadline):
                raise
            reason = "the rate limit"
            if isinstance(error, RateLimitedError) and policy.attempts > 1:
                # The service is not down, so waiting uses neither an attempt nor the budget; the deadline
                # ends it
                waits += 1
            elif attempt >= policy.attempts or not budget.take():
                raise
            else:
                attempt += 1
                reason = f"attempt {attempt} of {policy.attempts}"
            log.info(
                "waiting %.1f s, then sending again (%s): %s",
                wait,
                reason,
                error,
                extra={"request_id": error.request_id or None},
            )
        else:
            budget.give_back()
            return answer
        # Another thread can interrupt this pause: Ctrl-C must stop every worker within a second.
        pause(wait)


def _pause_after(error: ServiceError, attempt: int, policy: RetryPolicy) -> float:
    bound = max(min(policy.longest_pause, policy.shortest_pause * 2**attempt), policy.shortest_pause)
    drawn = random.uniform(policy.shortest_pause, bound)  # noqa: S311 - jitter, not a secret
    asked = error.retry_after if isinstance(error, StatusError) else None
    return drawn if asked is None else max(asked + random.uniform(0, 0.1), drawn)  # noqa: S311
