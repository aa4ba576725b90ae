"""Plans by hand, and a conversation with a service on bare sockets."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pandas as pd
import pytest
from raw_service import Answer, RawService

import bktools
from bktools.service import Service
from bktools.service import service as service_module
from bktools.service.transport import Limits

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"


def entries_of(company: str, count: int, first: int = 0) -> pd.DataFrame:
    """Return entries of a company; those of other numbers are others."""
    ids = [str(uuid.UUID(int=number + 1, version=4)) for number in range(first, first + count)]
    return pd.DataFrame({"id": ids, "company_id": [company] * count})


@pytest.fixture
def talking(monkeypatch, tmp_path) -> Callable:
    """A function that starts a raw service and gives it with a conversation; time limits are those of a test."""
    monkeypatch.setattr(service_module, "_ONE_POST", Limits(connect=0.5, read=0.5, whole=5.0))

    @contextmanager
    def start(answer: Answer) -> Iterator[tuple[RawService, Service]]:
        with RawService(answer) as raw, bktools.connect(raw.base_url, token="t", requests_per_minute=0) as service:
            yield raw, service

    return start
