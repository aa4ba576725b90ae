"""Ends requests that exceed their deadline, and requests of workers that must stop.

A timeout for each read does not stop a server that sends single bytes, and a thread that waits in a read does not notice
that it must stop. Another thread shuts the socket in both cases.
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


class ConnectionTrace:
    """The progress of a request on one set of connections, as httpx traces it.

    Attributes
    ----------
    is_sent : bool
        Whether a byte of the request may have been sent; a request to a proxy to connect does not count.
    has_read : bool
        Whether a byte was received since sending began.
    tls_host : str
        The host of the latest TLS handshake.
    tls_error : BaseException, optional
        The error of that handshake.
    """

    def __init__(self) -> None:
        self._sockets: list[socket.socket] = []
        self.begin()

    def begin(self) -> None:
        """Reset the progress for a new request."""
        self.is_sent = self.has_read = False
        self.tls_host = ""
        self.tls_error: BaseException | None = None

    def record(self, event: str, info: dict[str, Any]) -> None:
        """Record a step of the connection or of the request; httpx calls this."""
        # The first part of an event is the layer, a connection or a proxy's tunnel; it does not matter.
        match event.partition(".")[2]:
            case "connect_tcp.complete" | "start_tls.complete":
                stream = info["return_value"]
                # The newest socket is in use; earlier ones may be the layers below it.
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
        """Shut the sockets, which ends every read and write on them."""
        for item in self._sockets:
            # The socket may be closed already.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(item, socket.SHUT_RDWR)


class Deadlines:
    """Enforces the deadlines of running requests, in a thread that ends when there are none."""

    def __init__(self) -> None:
        self._running: dict[ConnectionTrace, tuple[float, threading.Event | None]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def enforced(self, trace: ConnectionTrace, end: float) -> Iterator[None]:
        """Shut the connection when its request lasts beyond `end` (monotonic seconds), or its thread must stop."""
        with self._lock:
            self._running[trace] = (end, stop_of_this_thread())
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._check_all, name="bktools-deadlines", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._running[trace]

    def _check_all(self) -> None:
        idle = 0
        while idle < 2:  # noqa: PLR2004 - between two requests a client may compute
            time.sleep(PERIOD)
            now = time.monotonic()
            with self._lock:
                idle = 0 if self._running else idle + 1
                for trace, (end, stop) in self._running.items():
                    if now > end or (stop is not None and stop.is_set()):
                        trace.shut()
                if idle == 2:  # noqa: PLR2004
                    self._thread = None
