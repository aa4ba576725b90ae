"""The service's rate limit in a run of exports: an answer 429 is a wait, the third in a row the end."""

from __future__ import annotations

import math
import threading
import time

from bktools.progress import note
from bktools.service import Service
from bktools.service.rate import LONGEST_HOLD
from bktools.service.service import hold
from bktools.wording import words

# Answers 429 in a row, each after the wait that the one before asked for, that end a run.
MOST = 3

# ASSUMED: the limit counts by the minute. Seconds to wait where the service says nothing: half a minute.
USUAL_WAIT = 30.0


class RateLimit:
    """The answers 429 of a run: after each, all requests of the service wait, and the third in a row ends it.

    `shown` is as in `bktools.progress.note`.
    """

    def __init__(self, service: Service, *, shown: bool | None) -> None:
        self._service, self._shown = service, shown
        self._until = -math.inf
        self._in_a_row = 0
        self._lock = threading.Lock()

    def passed(self) -> None:
        """Count an answer that the service gave to a request that it took up."""
        self._in_a_row = 0

    def reached(self, sent_at: float, retry_after: float | None) -> str:
        """Count an answer 429; return why nothing more is sent, "" when to send again after the wait.

        `sent_at` is the monotonic time of the request: those of one moment meet the limit together and count
        once.
        """
        seconds = USUAL_WAIT if retry_after is None else retry_after
        with self._lock:
            if sent_at < self._until:
                return ""
            self._in_a_row += 1
            if seconds > LONGEST_HOLD:
                return words()("submit.wait_too_long", seconds=f"{seconds:,.0f}")
            if self._in_a_row >= MOST:
                return words()("submit.rate_limited", times=MOST)
            self._until = time.monotonic() + seconds
        hold(self._service, seconds)
        note(words()("submit.waiting_for_rate", seconds=f"{seconds:.0f}"), shown=self._shown)
        return ""
