"""Keeps the threads of a client, and the processes of one machine, below the service's request rate.

Requests are counted twice. Each process counts its own with a monotonic clock, so it stays below the limit whatever
happens to the file or the system clock. A small file for each credential counts the requests of all processes.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import filelock
import msgspec

from bktools import disk
from bktools.errors import RateLimitedError
from bktools.service.workers import pause
from bktools.settings import Settings

log = logging.getLogger("bktools")

# Half a second more than a minute: the service counts a request when it arrives, and some arrive faster than others.
WINDOW = 60.5
# Of a window, in the shared file.
PARTS = 121

# Longest Retry-After (seconds) that makes all requests wait. A longer one only fails the call that received it.
LONGEST_HOLD = 300.0

# Seconds from which a wait is logged, and between the ends of two waits that are one.
NOTICED = 5.0
SAME_MOMENT = 1.0

FOLDER = "rate"

# Seconds that another process may hold the file's lock before the file is given up (for a request, for a hold), and seconds
# between attempts.
PATIENCE = 5.0
HOLD_PATIENCE = 0.3
RETRY = 0.01

LARGEST_FILE = 2**16


class Rate:
    """Limits the requests of all threads to a number in any minute.

    A sliding window instead of a steady pace: a table of twenty pages does not wait, and no minute has more requests than
    the limit.

    Parameters
    ----------
    per_minute : int
        Requests in any window, which is safe for a service that counts by the minute; 0 for no limit.
    shared : SharedWindow, optional
        Also counts the requests of other processes.
    """

    def __init__(
        self,
        per_minute: int,
        *,
        shared: SharedWindow | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = pause,
    ) -> None:
        self._per_minute = per_minute
        self._shared = shared
        self._clock = clock
        self._sleep = sleep
        self._sent: deque[float] = deque()
        self._held_until = self._told_until = -math.inf
        self._lock = threading.Lock()
        self._reserved = threading.local()

    def wait(self, end: float | None = None) -> float:
        """Wait until one more request may be sent, and count it; return the seconds that the client itself waited.

        Parameters
        ----------
        end : float, optional
            Latest time to wait for when the service asked to wait (seconds of the clock).

        Raises
        ------
        RateLimitedError
            When the service asked to wait longer.
        """
        if getattr(self._reserved, "place", False):
            self._reserved.place = False
            return 0.0
        begin, asked = self._clock(), 0.0
        while True:
            with self._lock:
                now = self._clock()
                wait = self._take(now)
                held = self._held_until - now
            # Everything but the waits that the service asked for: for room, for the file, for other threads.
            own = now - begin - asked
            if not wait:
                return own
            if held > 0 and end is not None and now + held > end + own:
                raise RateLimitedError(
                    f"the service asked to wait {held:.0f} s more, longer than this call may take: nothing was sent; run "
                    "again after that",
                    status=429,
                    retry_after=held,
                )
            why = "as the service asked" if held > 0 else f"for room under {self._per_minute} requests a minute"
            self._tell(now, wait, why)
            self._sleep(wait)
            asked += wait if held > 0 else 0.0

    def _tell(self, now: float, wait: float, why: str) -> None:
        """Log a wait; threads that wait for the same moment log it once."""
        with self._lock:
            if wait < NOTICED or now + wait <= self._told_until + SAME_MOMENT:
                return
            self._told_until = now + wait
        log.info("waiting %.0f s, %s", wait, why)

    def reserve(self) -> None:
        """Wait for the next request of this thread now. It is then sent at once."""
        self.wait()
        self._reserved.place = True

    def hold(self, seconds: float) -> None:
        """Make every request wait some seconds, because the service asked for it."""
        if not 0 < seconds <= LONGEST_HOLD:
            return
        with self._lock:
            if self._shared is not None:
                self._shared.hold(seconds)
            self._held_until = max(self._held_until, self._clock() + seconds)

    def _take(self, now: float) -> float:
        """Count a request and return 0, or return the seconds to wait before trying again."""
        if self._held_until > now:
            return self._held_until - now
        if not self._per_minute:
            return 0.0
        while self._sent and self._sent[0] <= now - WINDOW:
            self._sent.popleft()
        if len(self._sent) >= self._per_minute:
            return self._sent[0] + WINDOW - now
        held, wait = (0.0, 0.0) if self._shared is None else self._shared.take(self._per_minute)
        if held:
            self._held_until = now + held
        elif not wait:
            self._sent.append(now)
        return held or wait


class _Counted(msgspec.Struct):
    """The content of the shared file.

    Parameters
    ----------
    sent : list of (float, int)
        Number of requests in each part of the window, keyed by its end (seconds since 1970), oldest first.
    held : (float, float)
        Time when the service asked to wait, and for how many seconds.
    """

    sent: list[tuple[float, Annotated[int, msgspec.Meta(ge=1)]]] = []
    held: tuple[float, float] = (0.0, 0.0)


class SharedWindow:
    """The requests of one credential in the last minute, by all processes of this machine.

    A file that fails once is not used again: a warning is logged, and each process counts only its own requests. Times
    are of the system clock, which all processes share. A time in the future counts as now, so setting the clock back
    delays requests by one window at most. Setting it forward empties the window once.

    Parameters
    ----------
    folder : Path
        Folder of the file; created as a private one when it is missing.
    name : str
        Name of the file.
    """

    def __init__(self, folder: Path, name: str, *, clock: Callable[[], float] = time.time) -> None:
        self._path = folder / f"{name}.json"
        self._file_lock = filelock.FileLock(folder / f"{name}.lock", mode=disk.PRIVATE_FILE, thread_local=False)
        self._clock = clock
        self._is_used = True
        self._busy_since: float | None = None

    def take(self, limit: int) -> tuple[float, float]:
        """Count one request and return (0, 0), or return the seconds of a hold and the seconds until there is room."""

        def counted(found: _Counted, now: float) -> tuple[float, float]:
            asked_at, seconds = found.held
            if 0 <= now - asked_at < min(seconds, LONGEST_HOLD):
                return asked_at + min(seconds, LONGEST_HOLD) - now, 0.0
            if sum(count for _, count in found.sent) >= limit:
                return 0.0, found.sent[0][0] + WINDOW - now
            part = _part_end(now)
            if found.sent and found.sent[-1][0] == part:
                found.sent[-1] = (part, found.sent[-1][1] + 1)
            else:
                found.sent.append((part, 1))
            return 0.0, 0.0

        return self._change(counted)

    def hold(self, seconds: float) -> None:
        """Make all processes wait some seconds. If the file stays locked, the others get their own Retry-After."""

        def held(found: _Counted, now: float) -> tuple[float, float]:
            found.held = (now, seconds)
            return 0.0, 0.0

        self._change(held, patience=HOLD_PATIENCE)

    def _change(
        self, change: Callable[[_Counted, float], tuple[float, float]], *, patience: float = 0.0
    ) -> tuple[float, float]:
        if not self._is_used:
            return 0.0, 0.0
        try:
            disk.private_folder(self._path.parent)
            with self._file_lock.acquire(timeout=patience, poll_interval=RETRY):
                self._busy_since = None
                return self._changed(change)
        except filelock.Timeout:
            now = time.monotonic()
            self._busy_since = self._busy_since or now
            if now - self._busy_since < PATIENCE:
                return 0.0, RETRY
            return self._given_up("another process holds its lock")
        except (OSError, NotImplementedError) as error:
            # NotImplementedError: the file system has no locks.
            return self._given_up(getattr(error, "strerror", None) or str(error))

    def _changed(self, change: Callable[[_Counted, float], tuple[float, float]]) -> tuple[float, float]:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self._path, flags, disk.PRIVATE_FILE), "r+b", buffering=0) as file:
            try:
                found = msgspec.json.decode(file.read(LARGEST_FILE) or b"{}", type=_Counted)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                # A process was killed while writing, or another program wrote the file: start counting again.
                found = _Counted()
            now = self._clock()
            last = _part_end(now)
            found.sent = [(min(at, last), count) for at, count in found.sent if at + WINDOW > now]
            answer = change(found, now)
            file.seek(0)
            file.truncate(file.write(msgspec.json.encode(found)))
        return answer

    def _given_up(self, reason: str) -> tuple[float, float]:
        self._is_used = False
        log.warning(
            "only the requests of this process are counted (%s: %s): several processes with one token may exceed the rate "
            "limit together",
            self._path.parent,
            reason,
        )
        return 0.0, 0.0


def shared_window(settings: Settings) -> SharedWindow | None:
    """Return the shared window of the configured credential; None without a limit or a credential."""
    credential = settings.token or settings.api_key
    if not settings.requests_per_minute or credential is None:
        return None
    # Services count by credential. The file's name is a digest, so it reveals neither credential nor address.
    name = hashlib.sha256(f"rate\n{settings.identity}\n{credential.reveal()}".encode()).hexdigest()[:32]
    return SharedWindow(settings.cache_dir / FOLDER, name)


def _part_end(now: float) -> float:
    part = WINDOW / PARTS
    return (math.floor(now / part) + 1) * part
