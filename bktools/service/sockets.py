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

import httpx

from bktools.service.workers import stop_of_this_thread

PERIOD = 0.2

_lock = threading.Lock()
_checker: threading.Thread | None = None


class Connection:
    """A connection to the hosts of one environment, which serves one request at a time, and that request's progress.

    `is_sent` is whether a byte of the request may have been sent; a request to a proxy to connect does not count.
    `has_read` is whether a byte was received since sending began. `tls_host` and `tls_error` are of the latest
    handshake.
    """

    def __init__(self, http: httpx.HTTPTransport) -> None:
        self.http = http
        self._sockets: list[socket.socket] = []

    @contextlib.contextmanager
    def request_until(self, end: float) -> Iterator[None]:
        """Begin a request; shut the sockets when it lasts beyond `end` (monotonic seconds), or its thread must stop."""
        global _checker  # noqa: PLW0603 - one thread for all clients
        self.is_sent = self.has_read = False
        self.tls_host = ""
        self.tls_error: BaseException | None = None
        with _lock:
            _running[self] = (end, stop_of_this_thread())
            if _checker is None or not _checker.is_alive():
                _checker = threading.Thread(target=_check_all, name="bktools-deadlines", daemon=True)
                _checker.start()
        try:
            yield
        finally:
            with _lock:
                del _running[self]

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


# The connections with a request: its end, and the event that tells its thread to stop.
_running: dict[Connection, tuple[float, threading.Event | None]] = {}


def _check_all() -> None:
    """Shut the connections that are late, until there is no request any more."""
    global _checker  # noqa: PLW0603 - one thread for all clients
    while True:
        time.sleep(PERIOD)
        now = time.monotonic()
        with _lock:
            for connection, (end, stop) in _running.items():
                if now > end or (stop is not None and stop.is_set()):
                    connection.shut()
            if not _running:
                _checker = None
                return
