"""The operations beyond their shapes: filters, accounts, the life of export jobs, employees, the balance."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from plain_http import HTTP

from bktools.sandbox import Server

SEARCH = "/v1/bookkeeping-categories:search"
ACCOUNTS = "/v1/chart-of-accounts"
JOBS = "/v3/export-jobs"
JSON = {"Content-Type": "application/json"}


def test_filters_combine(search):
    """Every filter narrows, together they narrow to what passes all of them."""
    everything = [row for offset in (0, 100, 200) for row in search(offset=offset)["data"]]
    one = next(row for row in everything if row["archived"] and row["accountId"])
    filters = {"ids": sorted({row["id"] for row in everything[:90]} | {one["id"]})}
    filters |= {"accountIds": [one["accountId"]], "categoryGroupIds": [one["categoryGroupId"]]}
    filters |= {"archived": True, "name": one["name"][:4].upper()}

    def passes(row):
        names = {"id": "ids", "accountId": "accountIds", "categoryGroupId": "categoryGroupIds"}
        is_listed = all(row[name] in filters[plural] for name, plural in names.items())
        return is_listed and row["archived"] and filters["name"].casefold() in row["name"].casefold()

    found = search(filters)
    assert found["data"] == [row for row in everything if passes(row)]
    assert one in found["data"]
    assert found["pagination"]["total"] == len(found["data"])
    for name in filters:
        assert search({name: filters[name]})["pagination"]["total"] > 0
    assert search({"ids": [], "accountIds": []})["pagination"]["total"] == 240, "an empty list is no filter"
    assert search({"ids": [one["id"].upper()]})["data"] == [one], "a UUID is the same in capitals"


def account(server, external_id="4711", **fields):
    base = {"companyId": server.company_id, "externalId": external_id, "name": "Büro", "archived": False}
    return base | fields


def test_a_tax_code_that_is_not_sent_is_not_compared(server, client):
    """A chart without tax codes is silent about them, so any tax code matches; null is compared."""
    sent = account(server, "not sent", code="0400", taxCodeExternalId="VSt19")
    created = client.post(ACCOUNTS, json=sent)
    less = {name: value for name, value in sent.items() if name != "taxCodeExternalId"}
    again = client.post(ACCOUNTS, json=less)
    assert (again.status_code, again.json()) == (200, created.json())
    assert client.post(ACCOUNTS, json=sent | {"taxCodeExternalId": None}).status_code == 409


def job_body(server, entries=2, **fields):
    ids = [str(uuid.uuid4()) for _ in range(entries)]
    return {"companyId": server.company_id, "accountingEntryIds": ids} | fields


def test_one_export_job_at_a_time(server, client):
    """A new job is pending; its company takes no other until it has ended, and each entry counts."""
    body = job_body(server)
    created = client.post(JOBS, json=body)
    assert created.status_code == 201
    job = created.json()["data"]
    assert (job["status"], job["numberOfItems"], job["expiresIn"]) == ("pending", 2, 1)
    assert job["lastUpdatedAt"] == job["createdAt"]
    assert "startedAt" not in job
    busy = client.post(JOBS, json=job_body(server))
    assert (busy.status_code, busy.json()["type"]) == (409, "EXPORT_ALREADY_IN_PROGRESS")
    deadline = time.monotonic() + 10
    while client.post(JOBS, json=job_body(server)).status_code != 201:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert all(server.accepted_entries()[entry] == 1 for entry in body["accountingEntryIds"])
    assert (len(server.accepted_entries()), server.export_jobs()[0]) == (4, job)


def test_refusals_follow_the_configuration(server, client):
    """Configuring the company reaches and undoes each refusal; no entry is accepted."""
    company = server.company_id

    def create():
        answer = client.post(JOBS, json=job_body(server))
        return answer.status_code, answer.json().get("type")

    server.configure_company(company, has_contra_accounts=False)
    assert create() == (400, "MISSING_CONTRA_ACCOUNTS")
    server.configure_company(company, has_integration=False)
    assert create() == (404, "ACCOUNTING_INTEGRATION_NOT_FOUND")
    assert server.accepted_entries() == {}
    server.configure_company(company, has_integration=True, has_contra_accounts=True)
    assert create() == (201, None)


def test_concurrent_jobs_start_one(server):
    """Of many jobs sent at once to two servers one is accepted."""
    folder = server.file.parent
    with Server(folder, job_seconds=60) as first, Server(folder, job_seconds=60) as second:

        def create(target):
            how = {"headers": {"Authorization": f"Bearer {target.token}"}, "timeout": 30}
            return HTTP.post(target.base_url + JOBS, json=job_body(target), **how).status_code

        with ThreadPoolExecutor(12) as pool:
            statuses = list(pool.map(create, [first, second] * 6))
    assert sorted(statuses) == [201] + [409] * 11


def test_employees_of_all_companies(shared, reader):
    """Without a company the search answers for every company the token can see, with one for that one."""
    everybody = reader.get("/v2/employees").json()["data"]
    companies = [company.id for company in shared.companies()]
    assert {row["companyId"] for row in everybody} == set(companies)
    token = shared.issue_token(companies=companies[1:2])
    seen = reader.get("/v2/employees", headers={"Authorization": f"Bearer {token}"}).json()
    assert {row["companyId"] for row in seen["data"]} == {companies[1]}
    assert seen["pagination"]["total"] == len(seen["data"]) == 6
