"""A running sandbox, and clients that talk to it over HTTP."""

from __future__ import annotations

import httpx
import pytest

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


def client_of(server):
    headers = {"Authorization": f"Bearer {server.token}"}
    # Certificates are not read for plain HTTP: that takes longer than most tests.
    return httpx.Client(base_url=server.base_url, headers=headers, timeout=30, verify=False)


@pytest.fixture
def search(shared, reader):
    """Search the first company's categories: paging as keywords, filters as a dict."""

    def ask(filters=None, **paging):
        body = {"companyId": shared.company_id} | (filters or {})
        answer = reader.post("/v1/bookkeeping-categories:search", json=body, params=paging)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


@pytest.fixture
def refusal(shared, reader):
    """Search the first company's categories in a way that is refused, and return the message."""

    def ask(filters=None, **paging):
        body = {"companyId": shared.company_id} | (filters or {})
        answer = reader.post("/v1/bookkeeping-categories:search", json=body, params=paging)
        assert answer.status_code == 400, answer.text
        assert answer.json().keys() == {"type", "message"}
        return answer.json()["message"]

    return ask
