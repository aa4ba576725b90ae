"""Faults on request: what networks and services do to a client, at the time and as often as somebody asks for it."""

from __future__ import annotations

import gzip
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from email.utils import formatdate
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bktools.contract import ENDPOINTS
from bktools.errors import ArgumentError
from bktools.sandbox.answers import Refusal

KINDS = {
    "latency": "answers after `seconds`",
    "rate_limited": "429, with Retry-After as `retry_after` says: seconds, date or none",
    "error": "`status`, 500 unless given, and nothing done",
    "reset": "the connection is reset and nothing done",
    "drop": "the request is done, then the connection is reset without an answer",
    "cut": "the connection closes in the middle of the answer's body",
    "cut_gzip": "the body is compressed and cut in the middle; its length is right, so only gzip can tell",
    "corrupt": "a byte in the middle of the body is another one",
    "drift": "a category is removed from the front and another one added at the end, after the answer",
}

OPTIONS = {
    "operation": "the operation it hits; all of them unless given",
    "times": "how many requests it hits before it is over; without it, it goes on",
    "skip": "requests of its operation to let pass first; 0 unless given",
    "every": "of those after that, it hits every n-th; each unless given",
    "status": "of the kind error; 500 unless given",
    "retry_after": "of the kind rate_limited: seconds, date or none",
    "seconds": "the delay of the kind latency, or what Retry-After asks for; 1 unless given",
}

_RETRY_AFTER = ("seconds", "date", "none")
OPERATIONS = tuple(endpoint.operation for endpoint in ENDPOINTS)


@dataclass(frozen=True)
class Fault:
    """One fault, and which requests it hits.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    operation : str, optional
        Name of the operation it hits, such as "search_categories"; all of them unless given.
    times : int, optional
        How many requests it hits before it is over; without it, it goes on.
    skip : int
        Requests of its operation to let pass first.
    every : int
        Hits every n-th of the requests after that.
    status : int
        Status of the kind "error".
    retry_after : str
        "seconds", "date" or "none", for the kind "rate_limited".
    seconds : float
        Delay of the kind "latency", or what Retry-After asks for.
    """

    kind: str
    operation: str | None = None
    times: int | None = None
    skip: int = 0
    every: int = 1
    status: int = 500
    retry_after: str = "seconds"
    seconds: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise ArgumentError("fault", f"must be one of {', '.join(KINDS)}", self.kind)
        for name in ("times", "skip", "every", "status"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
                raise ArgumentError(name, "must be a whole number", number)
        check_seconds("seconds", self.seconds)
        if self.operation is not None and self.operation not in OPERATIONS:
            raise ArgumentError("operation", f"must be one of {', '.join(OPERATIONS)}", self.operation)
        if self.retry_after not in _RETRY_AFTER:
            raise ArgumentError("retry_after", f"must be one of {', '.join(_RETRY_AFTER)}", self.retry_after)
        if not 400 <= self.status <= 599:  # noqa: PLR2004 - the bounds of HTTP
            raise ArgumentError("status", "must be from 400 to 599", self.status)
        if self.every < 1 or self.skip < 0 or (self.times is not None and self.times < 1):
            raise ArgumentError("fault", "needs every and times from 1, skip from 0", self)


def check_seconds(name: str, value: object) -> None:
    """Refuse what is no duration."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ArgumentError(name, "must be a number of seconds from 0", value)


def _fault(given: object) -> Fault:
    if isinstance(given, str):
        return parse_fault(given)
    if not isinstance(given, Fault):
        raise ArgumentError("faults", "must be faults, or their texts such as 'error:status=503'", given)
    return given


def parse_fault(text: str) -> Fault:
    """Return the fault of a text such as `rate_limited:operation=search_categories,times=3,retry_after=date`.

    Raises
    ------
    ArgumentError
        The text names no fault, or an option that faults do not have.
    """
    kind, _, options = text.partition(":")
    values: dict[str, Any] = {}
    types = {field.name: _READERS[str(field.type)] for field in fields(Fault) if field.name != "kind"}
    for option in filter(None, options.split(",")):
        name, _, value = option.partition("=")
        if name not in types:
            raise ArgumentError("fault", f"has the options {', '.join(types)}", option)
        try:
            values[name] = types[name](value)
        except ValueError:
            raise ArgumentError(f"fault option {name}", "must be a number", value) from None
    return Fault(kind, **values)


_READERS: dict[str, Callable[[str], object]] = {
    "str": str,
    "str | None": str,
    "int": int,
    "int | None": int,
    "float": float,
}


@dataclass
class _Active:
    """A fault in force, and what it has seen of requests."""

    fault: Fault
    seen: int = 0
    hits: int = 0

    def hits_next(self) -> bool:
        """Count a request and tell whether the fault hits it."""
        beyond_skipped = self.seen - self.fault.skip
        self.seen += 1
        over = self.fault.times is not None and self.hits >= self.fault.times
        if over or beyond_skipped < 0 or beyond_skipped % self.fault.every:
            return False
        self.hits += 1
        return True


class Faults:
    """The faults in force. Requests ask for theirs in the server's thread; others add and clear from any thread."""

    def __init__(self, faults: Iterable[Fault | str] = ()) -> None:
        self._lock = threading.Lock()
        given = faults if isinstance(faults, Iterable) and not isinstance(faults, str) else [faults]
        self._active = [_Active(_fault(fault)) for fault in given]

    def add(self, fault: Fault | str) -> None:
        """Put a fault in force."""
        active = _Active(_fault(fault))
        with self._lock:
            self._active.append(active)

    def clear(self) -> None:
        """Take every fault out of force."""
        with self._lock:
            self._active.clear()

    def hitting(self, operation: str) -> list[Fault]:
        """Return the faults that hit this request of an operation."""
        with self._lock:
            concerned = [active for active in self._active if active.fault.operation in {None, operation}]
            return [active.fault for active in concerned if active.hits_next()]


def rate_limited(seconds: float, form: str = "seconds") -> Refusal:
    """Return the refusal of one request too many, with one of the forms of Retry-After."""
    whole = max(1, -int(-seconds // 1))
    value = {"seconds": str(whole), "date": formatdate(time.time() + whole, usegmt=True)}.get(form)
    return Refusal(429, "RATE_LIMITED", "too many requests", None if value is None else {"Retry-After": value})


class LostResponse(Response):
    """No answer at all: the connection is reset."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - nothing is sent
        """Reset the connection."""
        transport = scope["state"]["transport_of"](scope["client"])
        if transport is None:
            return
        # Closing with this option set sends a reset instead of an end.
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        await _until_disconnected(receive)


class CutResponse(Response):
    """An answer whose connection closes in the middle of the body."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send half of the body that the header announces, then close."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": bytes(self.body)[: len(self.body) // 2], "more_body": True})
        transport = scope["state"]["transport_of"](scope["client"])
        if transport is None:
            return
        transport.close()
        await _until_disconnected(receive)


def broken(response: Response, fault: Fault) -> Response:
    """Return an answer as a fault leaves it."""
    body = bytes(response.body)
    match fault.kind:
        case "drop":
            return LostResponse()
        case "cut":
            return CutResponse(body, response.status_code, media_type=response.headers["content-type"])
        case "cut_gzip":
            packed = gzip.compress(body, mtime=0)
            headers = {"content-type": response.headers["content-type"], "content-encoding": "gzip"}
            return Response(packed[: len(packed) // 2], response.status_code, headers)
        case "corrupt":
            # 0xFF is in no UTF-8 text, so no reader can take the body for whole.
            middle = len(body) // 2
            damaged = body[:middle] + b"\xff" + body[middle + 1 :]
            return Response(damaged, response.status_code, media_type=response.headers["content-type"])
        case _:
            return response


async def _until_disconnected(receive: Receive) -> None:
    # Only then may the application return: an answer that was not finished would be taken for a mistake.
    while (await receive())["type"] != "http.disconnect":
        pass
