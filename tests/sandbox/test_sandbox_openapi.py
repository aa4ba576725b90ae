"""The description says what the code does."""

from __future__ import annotations

import functools
import re
import uuid

import pytest
from plain_http import HTTP

from bktools.contract import ENDPOINTS


@pytest.fixture(scope="module")
def document(shared):
    return HTTP.get(f"{shared.base_url}/openapi.json").json()


def breaches(document, schema, value):
    """Return where a value is not as a schema of the document says."""
    # Importing it takes longer than everything else that the tests import, in each of their processes.
    from jsonschema import Draft202012Validator

    whole = closed(schema | {"components": document["components"]})
    return [
        error.message for error in Draft202012Validator(whole, format_checker=formats()).iter_errors(value)
    ]


@functools.cache
def formats():
    """Return the checks of UUIDs and times."""
    from jsonschema import FormatChecker

    checker = FormatChecker(())
    checker.checks("uuid", ValueError)(lambda text: not isinstance(text, str) or str(uuid.UUID(text)) == text)
    checker.checks("date-time")(
        lambda text: (
            not isinstance(text, str) or re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", text)
        )
    )
    return checker


def closed(schema):
    """Return a schema whose objects have the described fields and no others."""
    if isinstance(schema, list):
        return [closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    others = {"additionalProperties": False} if "properties" in schema else {}
    return others | {name: closed(inner) for name, inner in schema.items()}


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


def requests(server):
    company, nobody = server.company_id, str(uuid.uuid4())
    account = {"companyId": company, "externalId": "openapi", "name": "x", "archived": False}
    account["metadata"] = {"a": [1]}
    job = {"companyId": company, "accountingEntryIds": [nobody], "employeeId": nobody}
    without_contra_accounts, without_integration = (other.id for other in server.companies()[1:3])
    search, jobs = "/v1/bookkeeping-categories:search", "/v3/export-jobs"
    yield "POST", search, {"companyId": company}, 200
    paging = "limit=1&offset=1&sorting_keys=accountId&sorting_order=DESC"
    yield "POST", f"{search}?{paging}", {"companyId": company}, 200
    yield "POST", search, {}, 400
    yield "POST", search, {"companyId": nobody}, 403
    yield "POST", search, b"{}", 415
    yield "POST", "/v1/chart-of-accounts", account, 201
    yield "POST", "/v1/chart-of-accounts", account, 200
    yield "POST", "/v1/chart-of-accounts", account | {"name": "y"}, 409
    yield "POST", jobs, job, 201
    yield "POST", jobs, job, 409
    yield "POST", jobs, job | {"companyId": without_contra_accounts}, 400
    yield "POST", jobs, job | {"companyId": without_integration}, 404
    yield "GET", "/v2/employees?limit=100", None, 200
    yield "GET", "/v2/employees?limit=x", None, 400
    yield "GET", f"/v2/employees/{nobody}", None, 404
    yield "GET", "/v2/employees/x", None, 400


def test_answers_are_as_described(server, client, document):
    """Every kind of answer has a described status and keeps its schema to the last field."""
    for method, target, body, status in requests(server):
        how = {"content": body} if isinstance(body, bytes) else {"json": body}
        answer = client.request(method, target, **how)
        assert answer.status_code == status, (target, answer.text)
        path = re.sub(r"/v2/employees/.*", "/v2/employees/{employeeId}", target.partition("?")[0])
        described = document["paths"][path][method.lower()]["responses"][str(status)]
        assert answer.headers["content-type"].startswith("application/json")
        assert breaches(document, described["content"]["application/json"]["schema"], answer.json()) == []
