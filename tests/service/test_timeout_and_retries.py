"""`timeout=` and `retries=` of `connect`: the longest answer, and the number of repeats."""

from __future__ import annotations

import time

import pytest
from scripted_server import answer
from small_service import COMPANY

import bktools
from bktools.errors import ConnectionLostError, ServerError
from bktools.service.retry import RetryPolicy

ENTRY = "123e4567-e89b-42d3-a456-426614174000"
LOCAL = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _own_service(monkeypatch):
    """Pauses are short; everything else is as `connect` sets it up."""
    monkeypatch.setattr(
        "bktools.service.service.RetryPolicy", lambda: RetryPolicy(shortest_pause=0.001, longest_pause=0.002)
    )


@pytest.mark.parametrize("retries", [0, 2])
def test_retries(serve, retries):
    """A read is sent again that often; with any number an export job is sent once."""
    server = serve(lambda _: answer({}, 503))
    with bktools.connect(server.url, token="t", retries=retries) as service:
        with pytest.raises(ServerError):
            service.search_categories(COMPANY)
        assert len(server.asked) == 1 + retries
        with pytest.raises(ServerError):
            service.create_export_job([ENTRY], COMPANY)
        assert len(server.asked) == 2 + retries


def test_timeout(serve):
    """An answer that does not begin in time is given up; one that is slow but goes on is not."""
    silent = serve(lambda _: [30.0, *answer({})])
    with bktools.connect(silent.url, token="t", timeout=0.2, retries=0) as service:
        begin = time.monotonic()
        with pytest.raises(ConnectionLostError, match="timed out"):
            service.search_categories(COMPANY)
        assert time.monotonic() - begin < 15
    (head,) = answer({"data": {"id": ENTRY}})
    slow = serve(lambda _: [step for byte in (head[:40], head[40:80], head[80:]) for step in (0.3, byte)])
    with bktools.connect(slow.url, token="t", timeout=0.8) as service:
        assert service.get_employee(ENTRY).id == ENTRY
    assert len(slow.asked) == 1
