"""Which failures are repeated, how often, and after which pause."""

from __future__ import annotations

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

REPEATED_STATUSES = frozenset({408, 429, 500, 502, 503, 504})

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class RetryPolicy:
    """Bounds of repeating one request.

    Parameters
    ----------
    attempts : int
        Requests at most, the first one included; one that the service asks to send later (429 with Retry-After) does
        not count.
    shortest_pause, longest_pause : float
        Seconds; the pause is drawn between the shortest and a bound that doubles up to the longest.
    deadline : float
        Seconds for the call with all its repeats.
    """

    attempts: int = 5
    shortest_pause: float = 0.5
    longest_pause: float = 20.0
    deadline: float = 300.0


class Budget:
    """Repeats that the whole client may make, so that a service that is down is not hammered.

    A repeat takes one; ten answered requests give one back.
    """

    def __init__(self, size: int = 50) -> None:
        # In tenths, so that ten of them are a whole one to the letter.
        self._size = size * 10
        self._left = self._size
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one repeat; False when there is none left."""
        with self._lock:
            if self._left < 10:  # noqa: PLR2004 - one repeat, in tenths
                return False
            self._left -= 10
            return True

    def give_back(self) -> None:
        """Count an answered request."""
        with self._lock:
            self._left = min(self._size, self._left + 1)


def is_repeatable(error: BaseException) -> bool:
    """Whether the same request may bring a better answer."""
    if isinstance(error, StatusError):
        return error.status in REPEATED_STATUSES
    if isinstance(error, UnreadableAnswerError):
        return error.repeatable
    return isinstance(error, UnreachableError | ConnectionLostError)


def repeated(send: Callable[[], Answer], policy: RetryPolicy, budget: Budget) -> Answer:
    """Return what `send` returns, repeating it within the policy and the budget.

    Raises
    ------
    BktoolsError
        The last failure, as it was.
    """
    end = time.monotonic() + policy.deadline
    attempt = waits = 1
    while True:
        try:
            answer = send()
        except ServiceError as error:
            wait = _pause_after(error, max(attempt, waits), policy)
            if not is_repeatable(error) or time.monotonic() + wait > end:
                raise
            if isinstance(error, RateLimitedError) and error.retry_after is not None and policy.attempts > 1:
                # The service is there and says when to come back: attempts and budget are for one that is not.
                waits += 1
            elif attempt >= policy.attempts or not (isinstance(error, RateLimitedError) or budget.take()):
                raise
            else:
                attempt += 1
        else:
            budget.give_back()
            return answer
        # A pause that another thread can end: Ctrl-C must stop every worker within a second.
        pause(wait)


def _pause_after(error: ServiceError, attempt: int, policy: RetryPolicy) -> float:
    bound = max(min(policy.longest_pause, policy.shortest_pause * 2**attempt), policy.shortest_pause)
    drawn = random.uniform(policy.shortest_pause, bound)  # noqa: S311 - spread, no secret
    asked = error.retry_after if isinstance(error, StatusError) else None
    return drawn if asked is None else max(asked + random.uniform(0, 0.1), drawn)  # noqa: S311
