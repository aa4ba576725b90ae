"""Keeping the client under the service's request rate, whichever of its threads asks."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

from bktools.service.workers import pause

WINDOW = 60.0


class Rate:
    """At most so many requests in any minute, shared by threads.

    A sliding window rather than a steady pace: a table of twenty pages does not wait, and a service that counts by the
    minute never counts more than this.

    Parameters
    ----------
    per_minute : int
        Requests in any 60 seconds; 0 for no limit.
    """

    def __init__(
        self,
        per_minute: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = pause,
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._sleep = sleep
        self._sent: deque[float] = deque()
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when one more request may be sent, and count it."""
        if not self._per_minute:
            return
        while True:
            with self._lock:
                now = self._clock()
                while self._sent and self._sent[0] <= now - WINDOW:
                    self._sent.popleft()
                if len(self._sent) < self._per_minute:
                    self._sent.append(now)
                    return
                wait = self._sent[0] + WINDOW - now
            self._sleep(wait)
