"""The description has the operations of the interface; Schemathesis compares each answer with it."""

from __future__ import annotations

import pytest
from plain_http import HTTP

from bktools.contract import ENDPOINTS


@pytest.fixture(scope="module")
def document(shared):
    return HTTP.get(f"{shared.base_url}/openapi.json").json()


def test_describes_every_operation(document):
    """Interface and description have the same six operations."""
    described = {
        (method.upper(), path): operation["operationId"]
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method != "servers"
    }
    assert described == {(e.method, e.path): e.operation for e in ENDPOINTS}
    assert document["paths"]["/v1/companies/balance"]["get"]["deprecated"] is True
