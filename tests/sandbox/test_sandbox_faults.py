"""Each fault does to a client what it says, as often as it says."""

from __future__ import annotations

import datetime as dt
import uuid
from email.utils import parsedate_to_datetime

import httpx
import pytest
from plain_http import HTTP

from bktools.errors import ArgumentError
from bktools.sandbox import Fault, Server, parse_fault

SEARCH = "/v1/bookkeeping-categories:search"


@pytest.fixture
def ask(server, client):
    def ask():
        return client.post(SEARCH, json={"companyId": server.company_id})

    return ask


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_rate_limited(server, ask, form):
    """429 with Retry-After as seconds, as a date, or without it."""
    server.inject(Fault("rate_limited", times=1, retry_after=form, seconds=3))
    answer = ask()
    assert (answer.status_code, answer.json()["type"]) == (429, "RATE_LIMITED")
    waits = answer.headers.get("Retry-After")
    if form == "date":
        assert 0 < (parsedate_to_datetime(waits) - dt.datetime.now(dt.UTC)).total_seconds() <= 3
    else:
        assert waits == {"seconds": "3", "none": None}[form]
    assert ask().status_code == 200


def test_error(server, ask):
    """A 5xx of the main host in the shape of its errors, of the balance host in plain text."""
    server.inject(Fault("error", status=503))
    assert (ask().status_code, ask().json()["type"]) == (503, "INTERNAL_ERROR")
    headers = {"Authorization": f"Bearer {server.balance_token}"}
    balance = HTTP.get(f"{server.balance_url}/v1/companies/balance", headers=headers)
    assert balance.status_code == 503
    assert "contact the administrator" in balance.json()
    server.clear_faults()
    assert ask().status_code == 200


def test_a_fault_of_one_company(server, client):
    """Only requests that name the company are hit, in the body or in the query."""
    first, other = (company.id for company in server.companies()[:2])
    server.inject(Fault("error", company=other.upper()))
    statuses = [client.post(SEARCH, json={"companyId": company}).status_code for company in (first, other)]
    statuses += [client.get(f"/v2/employees?companyId={company}").status_code for company in (first, other)]
    assert statuses == [200, 500, 200, 500]
    json = {"content-type": "application/json"}
    assert client.post(SEARCH, content=b"no JSON", headers=json).status_code == 400


@pytest.mark.parametrize(("kind", "error"), [("reset", httpx.ReadError), ("cut", httpx.RemoteProtocolError)])
def test_an_answer_that_breaks_off(server, ask, capfd, kind, error):
    """Without an answer, or before its announced length; the server has no complaint."""
    server.inject(Fault(kind, times=1))
    with pytest.raises(error):
        ask()
    assert ask().status_code == 200
    assert capfd.readouterr().err == ""


def test_drop_does_the_work(server, client):
    """The request is done and its answer lost: what an integration must not send again."""
    server.inject(Fault("drop", operation="create_export_job", times=1))
    entry = str(uuid.uuid4())
    job = {"companyId": server.company_id, "accountingEntryIds": [entry]}
    with pytest.raises(httpx.ReadError):
        client.post("/v3/export-jobs", json=job)
    assert server.accepted_entries() == {entry: 1}
    assert client.post("/v3/export-jobs", json=job).json()["type"] == "EXPORT_ALREADY_IN_PROGRESS"


def test_corrupt(server, ask):
    """One byte is another one, the length is right, and the text no longer is."""
    whole = ask().content
    server.inject(Fault("corrupt", times=1))
    damaged = ask().content
    assert len(damaged) == len(whole)
    assert sum(a != b for a, b in zip(damaged, whole, strict=True)) == 1
    with pytest.raises(UnicodeDecodeError):
        damaged.decode("utf-8")


def test_which_requests_are_hit(server, client, ask):
    """Skip, times and operation choose the requests."""
    server.inject(Fault("error", operation="search_categories", skip=1, times=2))
    statuses = []
    for _ in range(5):
        statuses.append(ask().status_code)
        assert client.get("/v2/employees").status_code == 200
    assert statuses == [200, 500, 500, 200, 200]


def test_faults_as_text(tmp_path):
    """A fault is taken as the command line's text, one or several, at construction and later."""
    with Server(tmp_path, faults=["error:status=503,times=1"]) as server:
        url, headers = f"{server.base_url}/v2/employees", {"Authorization": f"Bearer {server.token}"}
        server.inject("error:status=502,skip=1,times=1")
        assert [HTTP.get(url, headers=headers).status_code for _ in range(3)] == [503, 502, 200]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("storm", "must be one of latency, rate_limited"),
        ("reset:operation=sing", "operation must be one of search_categories"),
        ("reset:colour=red", "fault option must be one of operation, times"),
        ("reset:times=often", "times must be a whole number"),
        ("reset:times=0", "times must be at least 1"),
        ("error:status=200", "status must be at least 400"),
        ("rate_limited:retry_after=soon", "retry_after must be one of"),
    ],
)
def test_refused_faults(text, said):
    """A fault that is none is refused with what there is."""
    with pytest.raises(ArgumentError, match=said):
        parse_fault(text)
