"""A running sandbox, and clients that talk to it over HTTP."""

from __future__ import annotations

from functools import partial

import pytest
from sandbox_clients import client_of, page_of

from bktools.sandbox import Server


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """One server for the tests that only read."""
    with Server(tmp_path_factory.mktemp("shared"), categories=240) as running:
        yield running


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """A server whose export jobs end at once."""
    with Server(tmp_path_factory.mktemp("idle"), job_seconds=0) as running, client_of(running) as client:
        yield running, client


@pytest.fixture
def server(tmp_path):
    """Start a server of the test's own."""
    with Server(tmp_path, job_seconds=0.3) as running:
        yield running


@pytest.fixture(scope="session")
def reader(shared):
    with client_of(shared) as client:
        yield client


@pytest.fixture
def client(server):
    with client_of(server) as client:
        yield client


@pytest.fixture
def search(shared, reader):
    """Search the shared server."""
    return partial(page_of, reader, shared)


@pytest.fixture
def refusal(search):
    """Search in a way that is refused, and return the message."""

    def ask(filters=None, **paging):
        answer = search(filters, status=400, **paging)
        assert answer.keys() == {"type", "message"}
        return answer["message"]

    return ask
