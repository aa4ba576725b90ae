"""Ending requests from outside: those that take too long as a whole, and those of workers that are to stop.

A limit for each read does not bound a server that sends a byte now and then; and a thread that waits in a read does not
hear that it is to stop. Both end when somebody else shuts the socket.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from bktools.service.workers import stop_of_this_thread

PERIOD = 0.2


class Line:
    """The sockets below one set of connections, as its trace tells them."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Note what a new connection runs over."""
        if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            # The newest alone is in use, but the one below TLS is the same connection.
            self._sockets = [*self._sockets[-3:], info["return_value"].get_extra_info("socket")]

    def shut(self) -> None:
        """End whatever waits for these sockets."""
        for item in self._sockets:
            # Closed long ago, or by the other side.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(item, socket.SHUT_RDWR)


class Watch:
    """Looks over the requests under way, in a thread that lives as long as there are some."""

    def __init__(self) -> None:
        self._under_way: dict[Line, tuple[float, threading.Event | None]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def over(self, line: Line, end: float) -> Iterator[None]:
        """Shut a line when its request lasts beyond `end` (monotonic seconds), or its thread is to stop."""
        with self._lock:
            self._under_way[line] = (end, stop_of_this_thread())
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._look, name="bktools-watch", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._under_way[line]

    def _look(self) -> None:
        idle = 0
        while idle < 2:  # noqa: PLR2004 - one look without a request is a client that computes
            time.sleep(PERIOD)
            now = time.monotonic()
            with self._lock:
                idle = 0 if self._under_way else idle + 1
                for line, (end, stop) in self._under_way.items():
                    if now > end or (stop is not None and stop.is_set()):
                        line.shut()
                if idle == 2:  # noqa: PLR2004
                    self._thread = None
