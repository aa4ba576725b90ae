"""A conversation with a service on bare sockets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from raw_service import Answer, RawService

import bktools
from bktools.service import Service
from bktools.service import service as service_module
from bktools.service.transport import Limits


@pytest.fixture
def talking(monkeypatch, tmp_path) -> Callable:
    """A function that starts a raw service and gives it with a conversation; time limits are those of a test."""
    monkeypatch.setattr(service_module, "_ONE_POST", Limits(connect=0.5, read=0.5, whole=5.0))

    @contextmanager
    def start(answer: Answer) -> Iterator[tuple[RawService, Service]]:
        with RawService(answer) as raw, bktools.connect(raw.base_url, token="t", requests_per_minute=0) as service:
            yield raw, service

    return start
