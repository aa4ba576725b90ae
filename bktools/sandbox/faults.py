"""Faults on request: delays, refusals, lost and damaged answers, as often as asked."""

from __future__ import annotations

import math
import os
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.utils import formatdate
from itertools import repeat
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bktools.contract import ENDPOINTS
from bktools.errors import ArgumentError
from bktools.sandbox.answers import Refusal
from bktools.wording import Sentence

KINDS = {
    "latency": "delays the answer by `seconds`",
    "rate_limited": "answers 429 with the Retry-After that `retry_after` names: seconds, date or none",
    "error": "answers `status` (default 500); the request is not performed",
    "reset": "resets the connection; the request is not performed",
    "drop": "performs the request, then resets the connection without an answer",
    "cut": "closes the connection in the middle of the answer's body",
    "corrupt": "changes a byte in the middle of the body",
}

OPTIONS = {
    "operation": "the operation it hits (default: all)",
    "times": "how many requests it hits (default: no limit)",
    "skip": "how many requests pass first (default 0)",
    "status": "for the kind error (default 500)",
    "retry_after": "for the kind rate_limited: seconds, date or none",
    "seconds": "the delay of latency, or the Retry-After of rate_limited (default 1)",
    "company": "UUID of the company whose requests it hits (default: all)",
}

_NUMBERS: dict[str, type] = {"times": int, "skip": int, "status": int, "seconds": float}
OPERATIONS = tuple(endpoint.operation for endpoint in ENDPOINTS)


@dataclass(frozen=True)
class Fault:
    """One fault, and which requests it hits: `KINDS` and `OPTIONS` describe the fields."""

    kind: str
    operation: str | None = None
    times: int | None = None
    skip: int = 0
    status: int = 500
    retry_after: str = "seconds"
    seconds: float = 1.0
    company: str | None = None

    def __post_init__(self) -> None:
        check_choice("fault", self.kind, KINDS)
        check_choice("operation", self.operation, (None, *OPERATIONS))
        check_choice("retry_after", self.retry_after, ("seconds", "date", "none"))
        check_whole("times", 1 if self.times is None else self.times, 1)
        check_whole("skip", self.skip)
        check_whole("status", self.status, 400, 599)
        check_seconds("seconds", self.seconds)


def check_choice(name: str, value: object, choices: Iterable[str | None]) -> None:
    """Refuse anything that is none of the choices."""
    if value not in (known := [*choices]):
        raise ArgumentError(name, Sentence("rule.one_of", choices=", ".join(filter(None, known))), value)


def check_whole(name: str, value: object, smallest: float = 0, largest: float = math.inf) -> None:
    """Refuse anything but a whole number within the bounds."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentError(name, Sentence("rule.whole_number"), value)
    if value < smallest:
        raise ArgumentError(name, Sentence("rule.at_least", least=smallest), value)
    if value > largest:
        raise ArgumentError(name, Sentence("rule.at_most", most=largest), value)


def check_seconds(name: str, value: object) -> None:
    """Refuse anything but a duration."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ArgumentError(name, Sentence("rule.seconds"), value)


def parse_fault(text: str) -> Fault:
    """Return the fault of a text such as `rate_limited:operation=search_categories,times=3,retry_after=date`.

    Raises
    ------
    ArgumentError
        The text names no fault, or an option that faults do not have.
    """
    kind, _, options = text.partition(":")
    values: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        name, _, value = option.partition("=")
        check_choice("fault option", name, OPTIONS)
        try:
            values[name] = _NUMBERS.get(name, str)(value)
        except ValueError:
            raise ArgumentError(name, Sentence("rule.whole_number"), value) from None
    return Fault(kind, **values)


class Faults:
    """The active faults. The server's thread reads them, any thread may add and clear them."""

    def __init__(self, faults: Iterable[Fault | str] = ()) -> None:
        self._active: list[tuple[Fault, Iterator[bool]]] = []
        for fault in faults:
            self.add(fault)

    def add(self, fault: Fault | str) -> None:
        """Add a fault."""
        added = parse_fault(fault) if isinstance(fault, str) else fault
        self._active.append((added, _hits(added)))

    def clear(self) -> None:
        """Remove all faults."""
        self._active.clear()

    async def hitting(self, operation: str, request: Request) -> list[Fault]:
        """Return the faults that hit a request of an operation."""
        active, text = tuple(self._active), ""
        if any(fault.company for fault, _ in active):
            # A request names its company in the query or in the body.
            text = f"{request.url.query} {await request.body()!r}".lower()
        return [
            fault
            for fault, hits in active
            if fault.operation in {None, operation}
            and str(fault.company or "").lower() in text
            and next(hits)
        ]


def _hits(fault: Fault) -> Iterator[bool]:
    """Yield, for each request of the fault's operation in turn, whether the fault hits it."""
    yield from repeat(False, fault.skip)
    yield from repeat(True) if fault.times is None else repeat(True, fault.times)
    yield from repeat(False)


def rate_limited(seconds: float, form: str = "seconds") -> Refusal:
    """Return the refusal of one request too many, with one of the forms of Retry-After."""
    whole = max(1, -int(-seconds // 1))
    value = {"seconds": str(whole), "date": formatdate(time.time() + whole, usegmt=True)}.get(form)
    return Refusal(
        429, "RATE_LIMITED", "too many requests", None if value is None else {"Retry-After": value}
    )


class LostResponse(Response):
    """An answer whose connection ends within its body; without an answer, the connection is reset."""

    def __init__(self, whole: Response | None = None) -> None:
        super().__init__()
        self.whole = whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send half of the body that the header announces, then end the connection."""
        if self.whole is not None:
            half, headers = bytes(self.whole.body)[: len(self.whole.body) // 2], self.whole.raw_headers
            await send({"type": "http.response.start", "status": self.whole.status_code, "headers": headers})
            await send({"type": "http.response.body", "body": half, "more_body": True})
        transport = scope["state"]["transport"]
        if transport.is_closing():
            return
        if self.whole is None:
            # With this option set, closing sends a reset (RST). Windows has a structure of two short numbers.
            linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            transport.abort()
        else:
            transport.close()
        # Wait for the end of the connection: uvicorn reports an application that ends before its answer.
        while (await receive())["type"] != "http.disconnect":
            pass


def broken(response: Response, fault: Fault) -> Response:
    """Return an answer with a fault applied."""
    body, length = bytes(response.body), len(response.body)
    match fault.kind:
        case _ if isinstance(response, LostResponse):
            pass
        case "drop":
            return LostResponse()
        case "cut":
            return LostResponse(response)
        case "corrupt":
            # UTF-8 never contains 0xFF, so every reader notices.
            response.body = body[: length // 2] + b"\xff" + body[length // 2 + 1 :]
    return response
