"""The clock of the journal and of submissions, which a test sets forward."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from bktools.journal import attempts, records

DAY = dt.timedelta(days=1)


class Clock:
    """A clock that is ahead of the real one."""

    def __init__(self) -> None:
        self.ahead = dt.timedelta(0)

    def now(self) -> dt.datetime:
        """Return the time of this clock."""
        return dt.datetime.now(dt.UTC) + self.ahead

    def moment(self) -> Moment:
        """Return this moment, whose age grows with this clock."""
        return Moment(self)


class Moment:
    """A moment of a clock, in the place of `attempts.Clock`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._at = self._seconds()

    def age(self) -> float:
        """Return the seconds since this moment."""
        return self._seconds() - self._at

    def _seconds(self) -> float:
        return time.monotonic() + self._clock.ahead.total_seconds()


@contextmanager
def set_clock() -> Iterator[Clock]:
    """Give the journal and submissions a clock that a test sets forward."""
    clock = Clock()
    with ExitStack() as stack:
        stack.enter_context(patch.object(attempts, "Clock", clock.moment))
        # Each module has the function under its own name.
        for name, module in [*sys.modules.items()]:
            if name.startswith(("bktools.journal.", "bktools.submit.")) and hasattr(module, "now"):
                stack.enter_context(patch.object(module, "now", clock.now))
        assert records.now() - dt.datetime.now(dt.UTC) < DAY
        yield clock
