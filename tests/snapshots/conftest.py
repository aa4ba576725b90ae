"""Cache folders, and the servers of the tests of the service, for loading whole tables from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from caches import Cache
from scripted_server import ScriptedServer

from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.settings import load_settings

COMPANY = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """The cache folder of this machine."""
    return Cache(tmp_path / "cache")


@pytest.fixture
def served_by(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    """Start a server that answers by a script, and connect to it."""
    running: list[tuple[ScriptedServer, Service]] = []

    def start(script: Any, **settings: Any) -> Service:
        server = ScriptedServer(script)
        folders = {f"{name}_dir": tmp_path / name for name in ("cache", "data", "sent_log")}
        given = {"token": "the-token", "company": COMPANY} | folders | settings
        retry = RetryPolicy(attempts=3, shortest_pause=0.002, longest_pause=0.01, deadline=2.0)
        running.append((server, Service(load_settings(server.url, env={}, **given), retry=retry)))
        return running[-1][1]

    yield start
    for server, service in running:
        service.close()
        server.stop()
