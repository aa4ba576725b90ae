"""A service of the test's own making, and a client that does not wait long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Asked, ScriptedServer, Step

from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.service.transport import Limits
from bktools.settings import load_settings

COMPANY = "00000000-0000-4000-8000-000000000001"

# Pauses are short. Times are long enough for a busy machine: a test of what is slow brings its own.
QUICK = RetryPolicy(attempts=4, shortest_pause=0.002, longest_pause=0.01, deadline=30.0)
PATIENT = Limits(connect=10.0, read=10.0, whole=20.0, body=2**20)


@pytest.fixture
def serve() -> Iterator[Callable[..., ScriptedServer]]:
    """Start a server that answers by a script."""
    running: list[ScriptedServer] = []

    def start(script: Callable[[Asked], Iterable[Step]], **options: Any) -> ScriptedServer:
        running.append(ScriptedServer(script, **options))
        return running[-1]

    yield start
    for server in running:
        server.stop()


@pytest.fixture
def converse(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Connect to a server, with short pauses and small bodies."""
    begun: list[Service] = []

    def begin(server: ScriptedServer | str, **settings: Any) -> Service:
        url = server if isinstance(server, str) else server.url
        retry, limits = settings.pop("retry", QUICK), settings.pop("limits", PATIENT)
        given = {"token": "the-token", "company": COMPANY, "cache_dir": tmp_path / "cache"} | settings
        given |= {"data_dir": tmp_path / "data", "sent_log_dir": tmp_path / "sent_log"}
        begun.append(Service(load_settings(url, env={}, **given), retry=retry, limits=limits))
        return begun[-1]

    yield begin
    for service in begun:
        service.close()
