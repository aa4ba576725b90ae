"""The export endpoint on a raw socket, which can do what no HTTP server lets one do.

As a process of its own it accepts jobs, then fails as its seed decides, and counts every entry it accepted.
`GET /accepted` answers the counts. Connections are served one after another, so requests that were sent
before a question are counted before its answer.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import urllib.request
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripted_server import Asked, Close, Hold, Reset, ScriptedServer, Step, answer

Answer = Callable[["RawService", dict], Iterable[Step]]

FAULTS = ("drop", "reset", "hang", "error", "cut", "message", "problem", "in progress")
# What a gateway answers, in JSON, and what the service says where a gateway has repeated a request.
OF_GATEWAYS = {
    "message": (403, '{"message": "no Route matched with those values"}'),
    "problem": (400, '{"type": "about:blank", "title": "Bad Request", "message": "no"}'),
    "in progress": (409, '{"type": "EXPORT_ALREADY_IN_PROGRESS", "message": "in progress"}'),
}
# Seconds, milliseconds, and none.
EXPIRES_IN = (3600, 3_600_000, None)


class RawService(ScriptedServer):
    """A server whose answers a function gives; `requests` are the bodies that arrived whole.

    Connections are served one after another, or all `at_once`.
    """

    def __init__(self, answers: Answer, *, at_once: bool = False) -> None:
        self.answers = answers
        self.requests: list[dict] = []
        self.accepted: Counter[str] = Counter()
        super().__init__(self._steps, at_once=at_once)

    def _steps(self, asked: Asked) -> Iterator[Step]:
        if asked.path == "/accepted":
            yield from says(200, json.dumps(self.accepted))
        else:
            request = json.loads(asked.body)
            self.requests.append(request)
            yield from self.answers(self, request)
        yield Close()

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


def says(status: int, body: str | bytes = b"", *, missing: int = 0, **headers: str) -> list[Step]:
    """Return the steps of an answer; `missing` bytes more are announced than come."""
    data = body.encode() if isinstance(body, str) else body
    return answer(data, status, content_length=str(len(data) + missing), **headers)


def answering(status: int, body: str | bytes | None = None, **options: Any) -> Answer:
    """Return an answer of a status; without a body, one that says the job was created."""
    return lambda raw, request: says(status, raw.accept(request) if body is None else body, **options)


def in_turn(*answers: Answer) -> Answer:
    """Return an answer that is another one each time; the last one stays."""
    left = list(answers)

    def steps(raw: RawService, request: dict) -> Iterable[Step]:
        return (left.pop(0) if len(left) > 1 else left[0])(raw, request)

    return steps


def exactly(*steps: Step) -> Answer:
    """Return an answer of these steps, whatever is asked."""
    return lambda _raw, _request: steps


def by_company(answers: dict[str, Answer]) -> Answer:
    """Return an answer for each company."""
    return lambda raw, request: answers[request["companyId"]](raw, request)


created = answering(201)
IN_PROGRESS = '{"type": "EXPORT_ALREADY_IN_PROGRESS"}'


def faulty(chance: random.Random) -> Answer:
    """Return answers of which 60% fail after the job was accepted, 10% before, 30% come through."""

    def steps(raw: RawService, request: dict) -> Iterable[Step]:
        draw = chance.random()
        if draw < 0.6 or draw >= 0.7:
            raw.accept(request)
        text = job(request, expiresIn=chance.choice(EXPIRES_IN))
        fault = chance.choice(FAULTS) if draw < 0.7 else ""
        faults = {name: says(*answer) for name, answer in OF_GATEWAYS.items()}
        faults |= {"": says(201, text), "reset": [Reset()], "hang": [Hold()], "drop": []}
        faults |= {"error": says(500, '{"type": "INTERNAL", "message": "a problem"}')}
        faults |= {"cut": says(201, text[: len(text) // 2], missing=len(text) - len(text) // 2)}
        return faults[fault]

    return steps


def serving(seed: int) -> Iterator[str]:
    """Serve with the faults of a seed, in a process of its own; yield the address."""
    program = RawService(faulty(random.Random(seed)))
    yield program.url
    program.wait()


@contextmanager
def faulty_service(seed: int) -> Iterator[str]:
    """Serve with the faults of a seed in a new process, where `warm` may start none; give its address."""
    # As a process of its own it has no search path of pytest.
    program = "import sys; sys.path.append('..'); import raw_service\n"
    program += f"for address in raw_service.serving({seed}): print(address, flush=True)"
    command, here = [sys.executable, "-c", program], Path(__file__).parent
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def accepted_by(address: str) -> dict[str, int]:
    """Return how often a service accepted each entry."""
    with urllib.request.urlopen(f"{address}/accepted") as counts:
        accepted: dict[str, int] = json.load(counts)
    return accepted
