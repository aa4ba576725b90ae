"""The export endpoint on bare sockets, so that it can do what no HTTP server lets one do.

As a process of its own it accepts jobs, then fails as its seed decides, and counts every entry it accepted.
`GET /accepted` answers the counts. Connections are served one after another, so requests that were sent
before a question are counted before its answer.
"""

from __future__ import annotations

import json
import random
import socket
import struct
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

Answer = Callable[["RawService", socket.socket, dict], None]

FAULTS = ("drop", "reset", "hang", "error", "cut", "message", "problem", "in progress")
# What a gateway answers, in JSON, and what the service says where a gateway has repeated a request.
OF_GATEWAYS = {
    "message": (403, '{"message": "no Route matched with those values"}'),
    "problem": (400, '{"type": "about:blank", "title": "Bad Request", "message": "no"}'),
    "in progress": (409, '{"type": "EXPORT_ALREADY_IN_PROGRESS", "message": "in progress"}'),
}
# Seconds, milliseconds, and none.
EXPIRES_IN = (3600, 3_600_000, None)


class RawService:
    """A listening socket whose answers a function gives; `requests` are the bodies that arrived whole.

    Connections are served one after another, or all `at_once`.
    """

    def __init__(self, answer: Answer, *, at_once: bool = False) -> None:
        self.answer = answer
        self._at_once = at_once
        self.requests: list[dict] = []
        self.accepted: Counter[str] = Counter()
        self.held: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.base_url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._listening.fileno() != -1:
            self.close()
        for connection in self.held:
            connection.close()

    def close(self) -> None:
        """Take no more connections."""
        # Windows refuses this and needs it not: closing wakes the thread that accepts.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def serve(self) -> None:
        """Serve connections until the socket is closed."""
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            if self._at_once:
                threading.Thread(target=self._serve_whole, args=(connection,), daemon=True).start()
            else:
                self._serve_whole(connection)

    def _serve_whole(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self._serve_one(connection)

    def _serve_one(self, connection: socket.socket) -> None:
        head, _, body = _read_until(connection, b"\r\n\r\n").partition(b"\r\n\r\n")
        if head.startswith(b"GET /accepted"):
            send(connection, 200, json.dumps(self.accepted))
            return
        fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields[b"content-length"])
        while len(body) < length:
            piece = connection.recv(65536)
            if not piece:
                return
            body += piece
        request = json.loads(body)
        self.requests.append(request)
        self.answer(self, connection, request)

    def accept(self, request: dict) -> str:
        """Create the job, and return the answer that says so."""
        self.accepted.update(request["accountingEntryIds"])
        return job(request)


def job(request: dict, **changes: object) -> str:
    """Return the JSON of a job as the service answers its creation."""
    data = {
        "id": str(uuid.uuid4()),
        "companyId": request["companyId"],
        "createdAt": "2026-11-01T09:00:00Z",
        "expiresIn": 3600,
        "isInteractive": True,
        "numberOfItems": len(request["accountingEntryIds"]),
        "status": "pending",
        "vendorBasedBookkeeping": False,
    }
    return json.dumps({"data": data | changes})


def send(
    connection: socket.socket, status: int, body: str | bytes, *, headers: str = "", missing: int = 0
) -> None:
    """Send an answer; `missing` bytes more are announced than come."""
    data = body.encode() if isinstance(body, str) else body
    head = (
        f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: "
        f"{len(data) + missing}\r\n{headers}\r\n"
    )
    connection.sendall(head.encode() + data)


def answering(status: int, body: str | bytes | None = None, **options: Any) -> Answer:
    """Return an answer of a status; without a body, one that says the job was created."""

    def answer(service: RawService, connection: socket.socket, request: dict) -> None:
        send(connection, status, service.accept(request) if body is None else body, **options)

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Return an answer that is another one each time; the last one stays."""
    left = list(answers)

    def answer(*given: Any) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(*given)

    return answer


def by_company(answers: dict[str, Answer]) -> Answer:
    """Return an answer for each company."""
    return lambda service, connection, request: answers[request["companyId"]](service, connection, request)


created = answering(201)
IN_PROGRESS = '{"type": "EXPORT_ALREADY_IN_PROGRESS"}'


def reset(connection: socket.socket) -> None:
    """Close with a reset instead of an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def _read_until(connection: socket.socket, mark: bytes) -> bytes:
    data = b""
    while mark not in data:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("the client went away")
        data += piece
    return data


def faulty(chance: random.Random) -> Answer:
    """Return answers of which 60% fail after the job was accepted, 10% before, 30% come through."""

    def answer(service: RawService, connection: socket.socket, request: dict) -> None:
        draw = chance.random()
        if draw < 0.6 or draw >= 0.7:
            service.accept(request)
        text = job(request, expiresIn=chance.choice(EXPIRES_IN))
        fault = chance.choice(FAULTS) if draw < 0.7 else ""
        if not fault:
            send(connection, 201, text)
        elif fault in OF_GATEWAYS:
            send(connection, *OF_GATEWAYS[fault])
        elif fault == "reset":
            reset(connection)
        elif fault == "hang":
            service.held.append(connection.dup())
        elif fault == "error":
            send(connection, 500, '{"type": "INTERNAL", "message": "a problem"}')
        elif fault == "cut":
            send(connection, 201, text[: len(text) // 2], missing=len(text) - len(text) // 2)

    return answer


def serving(seed: int) -> Iterator[str]:
    """Serve with the faults of a seed, in a process of its own; yield the address."""
    program = RawService(faulty(random.Random(seed)))
    yield program.base_url
    program.serve()


@contextmanager
def faulty_service(seed: int) -> Iterator[str]:
    """Serve with the faults of a seed in a new process, where `warm` may start none; give its address."""
    program = f"import raw_service\nfor address in raw_service.serving({seed}): print(address, flush=True)"
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def accepted_by(address: str) -> dict[str, int]:
    """Return how often a service accepted each entry."""
    with urllib.request.urlopen(f"{address}/accepted") as answer:
        counts: dict[str, int] = json.load(answer)
    return counts
