"""Ending requests from outside: those that take too long as a whole, and those of workers that are to stop.

A limit for each read does not bound a server that sends a byte now and then; and a thread that waits in a read does not
hear that it is to stop. Both end when somebody else shuts the socket.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from bktools.service.workers import stop_of_this_thread

PERIOD = 0.2


class Line:
    """What the trace of one set of connections tells.

    Attributes
    ----------
    is_sent : bool
        Whether anything of the request may have left; an exchange with a proxy before it does not count.
    has_read : bool
        Whether anything came in since the request began to leave.
    tls_host : str
        The host of the latest TLS handshake.
    tls_error : BaseException, optional
        Why it failed.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self.begin()

    def begin(self) -> None:
        """Forget the request before."""
        self.is_sent = self.has_read = False
        self.tls_host = ""
        self.tls_error: BaseException | None = None

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Note a step of the connection or of the request; called by httpx."""
        # Before its first part an event has the name of the layer: a connection, or the tunnel of a proxy.
        match event.partition(".")[2]:
            case "connect_tcp.complete" | "start_tls.complete":
                stream = info["return_value"]
                # The newest alone is in use, but the one below TLS is the same connection.
                self._sockets = [*self._sockets[-3:], stream.get_extra_info("socket")]
                stream.read = self._noting(stream.read)
            case "start_tls.started":
                self.tls_host = info["server_hostname"]
            case "start_tls.failed":
                self.tls_error = info["exception"].__cause__
            case "send_request_headers.started":
                self.is_sent = self.is_sent or info["request"].method != b"CONNECT"
                self.has_read = False

    def _noting(self, read: Callable[..., bytes]) -> Callable[..., bytes]:
        def noted(*arguments: Any, **options: Any) -> bytes:
            data = read(*arguments, **options)
            self.has_read = self.has_read or bool(data)
            return data

        return noted

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
