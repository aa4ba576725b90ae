"""Conversations with a service: on bare sockets, and on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from raw_service import Answer, RawService
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.service import Service
from bktools.service import service as service_module
from bktools.service.transport import Limits


@pytest.fixture
def talking(monkeypatch, tmp_path, backend) -> Callable:
    """Return a function that starts a raw service and connects to it, with a test's time limits."""

    @contextmanager
    def start(answer: Answer, *, read: float = 0.5, **options: Any) -> Iterator[tuple[RawService, Service]]:
        limits = Limits(connect=0.5, read=read, whole=10 * read)
        monkeypatch.setattr(service_module, "limits_of", lambda *_, **__: limits)
        with (
            RawService(answer, **options) as raw,
            bktools.connect(raw.url, token="t", requests_per_minute=0, journal=backend) as service,
        ):
            yield raw, service

    return start


@pytest.fixture
def run(sandbox, service, backend, monkeypatch, tmp_path) -> Callable[[str], tuple[int, str]]:
    """Return a function that runs a command in a folder of its own, and gives code and output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BKTOOLS_BASE_URL", sandbox.server.base_url)
    monkeypatch.setenv("BKTOOLS_TOKEN", sandbox.server.token)
    if backend is not None:
        monkeypatch.setenv("BKTOOLS_JOURNAL", backend)

    def command(line: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, shlex.split(line))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    return command
