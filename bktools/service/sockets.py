"""A connection that knows the progress of its request, and ends at a deadline or when its thread must stop.

A timeout for each read does not stop a server that sends single bytes, and a thread that waits in a read does
not notice that it must stop. So every read looks for both, and waits for a moment at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import httpx

from bktools.service.workers import LOOK, stop_of_this_thread


class TrackedConnection:
    """A connection to the hosts of one environment, for one request at a time, and that request's progress.

    `is_sent` is whether a byte of the request may have been sent; a request to a proxy to connect does not
    count. `has_read` is whether a byte was received since sending began. `tls_host` and `tls_error` are of
    the latest handshake.
    """

    def __init__(self, http: httpx.HTTPTransport) -> None:
        self.http = http

    def begin(self, end: float, before_first_byte: Callable[[], None] | None = None) -> None:
        """Begin a request of this thread that ends at `end` (monotonic seconds) at the latest.

        `before_first_byte` is called when the connection stands; if it raises, nothing is sent.
        """
        self._end, self._stop = end, stop_of_this_thread()
        self._before_first_byte = before_first_byte
        self.is_sent = self.has_read = False
        self.tls_host = ""
        self.tls_error: BaseException | None = None

    def record(self, event: str, info: dict[str, Any]) -> None:
        """Record a step of the connection or of the request; httpx calls this."""
        # The first part of an event is the layer, a connection or a proxy's tunnel; it does not matter.
        match event.partition(".")[2]:
            case "connect_tcp.complete" | "start_tls.complete":
                stream = info["return_value"]
                stream.read = self._bounded(stream.read)
            case "start_tls.started":
                self.tls_host = info["server_hostname"]
            case "start_tls.failed":
                self.tls_error = info["exception"].__cause__
            case "send_request_headers.started":
                if info["request"].method != b"CONNECT":
                    if self._before_first_byte is not None:
                        self._before_first_byte()
                    self.is_sent = True
                self.has_read = False

    def _bounded(self, read: Callable[..., bytes]) -> Callable[..., bytes]:
        """Return a function that reads, and raises `TimeoutError` when the request must end."""

        def bounded(most: int, timeout: float | None = None) -> bytes:
            end = min(self._end, time.monotonic() + (math.inf if timeout is None else timeout))
            while (left := end - time.monotonic()) > 0 and not (self._stop and self._stop.is_set()):
                try:
                    data = read(most, timeout=min(left, LOOK))
                except Exception as error:
                    if not isinstance(error.__cause__, TimeoutError):
                        raise
                else:
                    self.has_read = self.has_read or bool(data)
                    return data
            raise TimeoutError("timed out")

        return bounded
