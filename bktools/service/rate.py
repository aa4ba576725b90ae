"""Keeps the threads of a client below the service's request rate.

A part of the rate is for exports alone, so that reading tables never makes one wait. Requests of other
processes are not counted: the service answers 429 to what is too much, and that is waited for.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable

from bktools.errors import RateLimitedError
from bktools.service.workers import pause
from bktools.wording import Sentence

log = logging.getLogger("bktools")

# Half a second more than a minute: the service counts a request on arrival, and some arrive faster.
WINDOW = 60.5

# One request of so many, and one at least, is kept for exports.
FOR_EXPORTS = 10

# Longest Retry-After (seconds) that makes all requests wait. A longer one only fails its own call.
LONGEST_HOLD = 300.0

# Seconds from which a wait is logged, and between the ends of two waits that are one.
NOTICED = 5.0
SAME_MOMENT = 1.0


class Rate:
    """Limits the requests of all threads to a number in any minute; 0 is no limit.

    A sliding window instead of a steady pace: a table of twenty pages does not wait. It is safe for a service
    that counts by the minute.
    """

    def __init__(
        self,
        per_minute: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = pause,
    ) -> None:
        self._per_minute = per_minute
        self._for_reads = max(per_minute - max(per_minute // FOR_EXPORTS, 1), 1)
        self._clock = clock
        self._sleep = sleep
        self._sent: deque[float] = deque()
        self._held_until = self._logged_until = -math.inf
        self._lock = threading.Lock()
        self._reserved = threading.local()

    def wait(
        self,
        end: float | None = None,
        *,
        is_export: bool = False,
        sleep: Callable[[float], None] | None = None,
    ) -> float:
        """Wait until one more request may be sent, and count it; return the seconds of that wait.

        An export may use what is kept for exports. Where the service asked to wait beyond `end` (seconds of
        the clock), raise `RateLimitedError`.
        """
        if getattr(self._reserved, "is_next", False):
            self._reserved.is_next = False
            return 0.0
        for_room = 0.0
        while True:
            with self._lock:
                now = self._clock()
                held = self._held_until - now
                wait = (
                    held if held > 0 else self._take(now, self._per_minute if is_export else self._for_reads)
                )
            if not wait:
                return for_room
            if held > 0 and end is not None and now + held > end + for_room:
                raise RateLimitedError(
                    Sentence("error.wait_longer_than_call", seconds=f"{held:.0f}"),
                    status=429,
                    retry_after=held,
                )
            why = (
                "as the service asked" if held > 0 else f"for room under {self._per_minute} requests a minute"
            )
            self._tell(now, wait, why)
            (sleep or self._sleep)(wait)
            if held <= 0:
                for_room += self._clock() - now

    def _tell(self, now: float, wait: float, why: str) -> None:
        """Log a wait; threads that wait for the same moment log it once."""
        with self._lock:
            if wait < NOTICED or now + wait <= self._logged_until + SAME_MOMENT:
                return
            self._logged_until = now + wait
        log.info("waiting %.0f s, %s", wait, why)

    def reserve(self, sleep: Callable[[float], None] | None = None) -> None:
        """Wait for the export that this thread sends next. It is then sent at once."""
        self.wait(is_export=True, sleep=sleep)
        self._reserved.is_next = True

    def hold(self, seconds: float) -> None:
        """Make every request wait some seconds, because the service asked for it."""
        if 0 < seconds <= LONGEST_HOLD:
            with self._lock:
                self._held_until = max(self._held_until, self._clock() + seconds)

    def _take(self, now: float, most: int) -> float:
        """Count a request and return 0, or return the seconds until there is room for it."""
        if not self._per_minute:
            return 0.0
        while self._sent and self._sent[0] <= now - WINDOW:
            self._sent.popleft()
        if len(self._sent) >= most:
            return self._sent[len(self._sent) - most] + WINDOW - now
        self._sent.append(now)
        return 0.0
