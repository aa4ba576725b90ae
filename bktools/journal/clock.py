"""The time of the journal: moments in UTC, and how long ago one was."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass, field

# A clock that goes on while the computer sleeps.
_BOOT_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def now() -> dt.datetime:
    """Return the current time in UTC."""
    return dt.datetime.now(dt.UTC)


def boot_time() -> float:
    """Return seconds that grow in sleep, too, and that nobody sets."""
    return time.monotonic() if _BOOT_CLOCK is None else time.clock_gettime(_BOOT_CLOCK)


@dataclass(frozen=True)
class Moment:
    """A moment: seconds of the wall clock, and since the computer was started."""

    wall: float = field(default_factory=time.time)
    boot: float = field(default_factory=boot_time)

    def age(self) -> float:
        """Return the seconds since this moment, by the clock that says more: a person may set one."""
        return max(time.time() - self.wall, boot_time() - self.boot)
