"""What stands around the operations: credentials, hosts, routes, media types, broken bodies."""

from __future__ import annotations

import base64
import socket

import pytest
from plain_http import HTTP

SEARCH = "/v1/bookkeeping-categories:search"
ACCOUNTS = "/v1/chart-of-accounts"
JSON = {"Content-Type": "application/json"}


def basic(user, password=""):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer x", "Bearer a.b.c", "Token x", "Basic", "Basic !", "Basic Og=="]
)
def test_unknown_credentials(shared, header):
    """Whatever is no credential answers 401 in the documented shape, with a challenge."""
    answer = HTTP.post(shared.base_url + SEARCH, json={}, headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.json() == {"statusCode": 401, "error": "Unauthorized", "message": "user_scope_insufficient"}
    assert answer.headers["WWW-Authenticate"] == "Bearer, Basic"


def test_api_key_only_where_the_interface_says(shared, reader):
    """The API key with an empty password opens category search and one employee, nothing else."""
    employee = reader.get("/v2/employees", params={"limit": 1}).json()["data"][0]
    company = {"companyId": shared.company_id}
    calls = [
        ("POST", SEARCH, company, 200),
        ("GET", f"/v2/employees/{employee['id']}", None, 200),
        ("GET", "/v2/employees", None, 401),
        ("POST", ACCOUNTS, company, 401),
        ("POST", "/v3/export-jobs", company, 401),
    ]
    for method, path, body, status in calls:
        answer = HTTP.request(method, shared.base_url + path, json=body, headers=basic(shared.api_key))
        assert (path, answer.status_code) == (path, status)
    balance = f"{shared.balance_url}/v1/companies/balance"
    assert HTTP.get(balance, headers=basic(shared.api_key)).status_code == 401
    for wrong in (basic(shared.api_key, "x"), basic("x"), basic("", shared.api_key)):
        assert HTTP.post(shared.base_url + SEARCH, json=company, headers=wrong).status_code == 401


def test_hosts_have_tokens_of_their_own(shared):
    """The balance's token opens the balance alone, the other token everything but it."""
    employees, balance = f"{shared.base_url}/v2/employees", f"{shared.balance_url}/v1/companies/balance"
    statuses = [
        HTTP.get(url, headers={"Authorization": f"Bearer {token}"}).status_code
        for url in (employees, balance)
        for token in (shared.token, shared.balance_token)
    ]
    assert statuses == [200, 401, 401, 200]


def test_companies_of_a_token(shared, reader):
    """A company the token is not for and one that does not exist look the same: 403."""
    first, second = [company.id for company in shared.companies()[:2]]
    headers = {"Authorization": f"Bearer {shared.issue_token(companies=[first])}"}
    other = reader.get("/v2/employees", params={"companyId": second}).json()["data"][0]["id"]
    nobody = "123e4567-e89b-42d3-a456-426614174000"

    def status(company):
        return HTTP.post(shared.base_url + SEARCH, json={"companyId": company}, headers=headers).status_code

    assert [status(company) for company in (first, second, nobody)] == [200, 403, 403]
    assert HTTP.get(f"{shared.base_url}/v2/employees/{other}", headers=headers).status_code == 403
    assert reader.post(SEARCH, json={"companyId": nobody}).status_code == 403
    assert reader.get("/v2/employees", params={"companyId": nobody}).status_code == 403


def test_expired_token(shared):
    """A token whose time is over answers 401."""
    for seconds, status in ((60, 200), (0, 401)):
        headers = {"Authorization": f"Bearer {shared.issue_token(expires_in=seconds)}"}
        assert HTTP.get(f"{shared.base_url}/v2/employees", headers=headers).status_code == status


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example:{port}", ""]
)
def test_host_header(shared, host):
    """A request whose Host header names another host is refused, with any token."""
    port = shared.base_url.rpartition(":")[2]
    headers = {"Host": host.format(port=port), "Authorization": f"Bearer {shared.token}"}
    answer = HTTP.get(f"{shared.base_url}/v2/employees", headers=headers)
    assert answer.status_code == 421
    assert HTTP.get(f"http://localhost:{port}/v2/employees").status_code == 401


def test_loopback_only(shared):
    """No other address of this machine answers."""
    port = int(shared.base_url.rpartition(":")[2])
    with socket.socket() as probe, pytest.raises(OSError, match="refused"):
        probe.connect(("127.0.0.2", port))


def test_routes_and_methods(shared, reader):
    """Unknown routes answer 404, known ones 405 to another method; the balance host says it in plain text."""
    assert reader.get("/v1/nothing").json() == {"type": "NOT_FOUND", "message": "GET /v1/nothing: Not Found"}
    assert reader.get("/v2/employees/").status_code == 404
    wrong = reader.get(SEARCH)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    assert wrong.json()["type"] == "METHOD_NOT_ALLOWED"
    assert reader.get("/v1/companies/balance").status_code == 404
    unknown = HTTP.get(f"{shared.balance_url}/v2/employees")
    assert (unknown.status_code, unknown.json()) == (404, "Route not found")
    wrong = HTTP.post(f"{shared.balance_url}/v1/companies/balance")
    assert (wrong.status_code, wrong.json()) == (405, "Method Not Allowed")
    assert set(wrong.headers["allow"].split(", ")) == {"GET", "HEAD"}
