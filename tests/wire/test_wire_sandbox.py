"""The sandbox against the cases typed from the interface."""

from __future__ import annotations

import base64

import httpx
import pytest
import wire

from bktools.sandbox import Server, parse_fault
from bktools.sandbox.routes import SERVED


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("sandbox"), companies=4, job_seconds=600) as running:
        yield running


@pytest.fixture(scope="module")
def client():
    with httpx.Client() as opened:
        yield opened


@pytest.fixture(scope="module")
def names(server):
    """Say what the placeholders of the cases stand for in this world."""
    headers = {"Authorization": f"Bearer {server.token}"}
    search = {"companyId": server.company_id}
    page = httpx.post(
        f"{server.base_url}/v1/bookkeeping-categories:search?limit=1", json=search, headers=headers
    ).json()
    employee = httpx.get(f"{server.base_url}/v2/employees?limit=1", headers=headers).json()["data"][0]
    first, without_contra_accounts, without_integration, with_job = server.companies()
    account = next(account for account in server.accounts() if not account.archived)
    job = {"companyId": with_job.id, "accountingEntryIds": [employee["id"]]}
    assert httpx.post(f"{server.base_url}/v3/export-jobs", json=job, headers=headers).status_code == 201
    return {
        "company": first.id,
        "company_without_contra_accounts": without_contra_accounts.id,
        "company_without_integration": without_integration.id,
        "company_with_job": with_job.id,
        "account": account.id,
        "external_id": account.external_id,
        "account_name": account.name,
        "category": page["data"][0]["id"],
        "category_group": page["data"][0]["categoryGroupId"],
        "cursor": page["pagination"]["endCursor"],
        "employee": employee["id"],
        "email": employee["email"],
        "code": employee["code"],
    }


@pytest.fixture(scope="module")
def credentials(server):
    scopes = [operation.scope for operation in SERVED.values()]
    basic = base64.b64encode(f"{server.api_key}:".encode()).decode()
    return {
        "none": {},
        "bearer": {"Authorization": f"Bearer {server.token}"},
        "basic": {"Authorization": f"Basic {basic}"},
        "weak": {"Authorization": f"Bearer {server.issue_token([])}"},
        "no_organisation": {"Authorization": f"Bearer {server.issue_token(scopes)}"},
        "balance": {"Authorization": f"Bearer {server.balance_token}"},
        "weak_balance": {"Authorization": f"Bearer {server.issue_token([], balance=True)}"},
    }


@pytest.mark.parametrize("case", wire.cases(), ids=wire.name_of)
def test_sandbox_answers_as_the_interface_says(case, server, client, names, credentials):
    """Each sentence of the interface that shows a request holds: status, content type and shape."""
    request = wire.filled(case["request"], names)
    if "fault" in case:
        server.inject(parse_fault(case["fault"]))
    host = {"main": server.base_url, "balance": server.balance_url}[request["host"]]
    answer = client.request(
        request["method"],
        host + request["path"],
        params=request["query"],
        json=request.get("body"),
        headers=credentials[request["credential"]],
    )
    expected = case["response"]
    assert answer.status_code == expected["status"], answer.text
    assert answer.headers["content-type"].startswith("application/json")
    assert wire.misfits(wire.filled(expected["shape"], names), answer.json()) == []


@pytest.mark.parametrize("case", wire.cases(), ids=wire.name_of)
def test_example_has_its_shape(case, names):
    """The answers written out for the client have the shapes that the sandbox is held to."""
    response = wire.filled(case["response"], names)
    assert wire.misfits(response["shape"], response["example"]) == []
