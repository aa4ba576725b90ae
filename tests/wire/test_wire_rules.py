"""The sandbox against the interface's rules: typed by hand, what each field takes and refuses."""

from __future__ import annotations

import itertools
import uuid

import httpx
import pytest

from bktools.sandbox import Server

U, V = "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-42661417400f"
NO_TEXT = [7, 1.5, True, [], ["x"], {}]
WRONG_UUIDS = ["", "x", U[:-1], f"{U} ", f" {U}", f"{{{U}}}", U.replace("-", ""), f"urn:uuid:{U}", *NO_TEXT]

# Per type of the interface: what is taken, what is refused.
TYPES = {
    "uuid": ([U, V.upper()], WRONG_UUIDS),
    "own company": (["$company", "$COMPANY"], WRONG_UUIDS),
    "flag": ([True, False], ["true", "", 0, 1, [], {}]),
    "text": (["", "x", "ä" * 1000, "\u0000"], NO_TEXT),
    "text to 255": (["", "x", "ä" * 255, "🥨" * 255], ["x" * 256, "🥨" * 256, *NO_TEXT]),
    "text 1 to 255": (["x", " ", "ä" * 255, "🥨" * 255], ["", "x" * 256, "🥨" * 256, *NO_TEXT]),
    "object": ([{}, {"a": None, "b": [1.5, {"c": "x"}]}], [[], "x", 7, True]),
    "unique uuids": ([[], [U], [U, V]], [[U, U], [U, U.upper()], [None], ["x"], [7], [[U]], U, {}, 7, True]),
    "some uuids": ([[U], [U, V]], [[], [None], ["x"], [7], [[U]], U, {}, 7, True]),
    "options": (
        [{}, {"vendorBasedBookkeeping": True}, {"vendorBasedBookkeeping": False}],
        [{"vendorBasedBookkeeping": "true"}, {"vendorBasedBookkeeping": 1}, [], "x", True],
    ),
}

SEARCH, ACCOUNTS, JOBS = "/v1/bookkeeping-categories:search", "/v1/chart-of-accounts", "/v3/export-jobs"
# Sections 2.2, 2.4 with 4.3, and 4.2: field, type, whether it must be there; what need not be may be null.
BODIES = {
    SEARCH: {
        "companyId": ("own company", True),
        "ids": ("unique uuids", False),
        "accountIds": ("unique uuids", False),
        "categoryGroupIds": ("unique uuids", False),
        "archived": ("flag", False),
        "name": ("text", False),
    },
    ACCOUNTS: {
        "archived": ("flag", True),
        "companyId": ("own company", True),
        "externalId": ("text 1 to 255", True),
        "name": ("text to 255", True),
        "code": ("text to 255", False),
        "metadata": ("object", False),
        "taxCodeExternalId": ("text", False),
    },
    JOBS: {
        "accountingEntryIds": ("some uuids", True),
        "companyId": ("own company", True),
        "employeeId": ("uuid", False),
        "isInteractive": ("flag", False),
        "options": ("options", False),
    },
}
DONE = {SEARCH: 200, ACCOUNTS: 201, JOBS: 201}

# The fields of each answer, in the words of section 2.
FIELDS = {
    "category": "id companyId categoryGroupId name archived accountId taxCodeId metadata",
    "account": "archived code companyId externalId id name taxCodeExternalId metadata",
    "leading job": "id companyId createdAt expiresIn isInteractive numberOfItems status "
    "vendorBasedBookkeeping",
    "job": "completedAt createdBy expiredAt failureReason failureReasonType lastUpdatedAt startedAt",
    "employee": "id companyId email firstName lastName avatar code jobTitle phone role",
    "envelope": "currentRequestPagination hasNextPage hasPreviousPage startCursor endCursor total",
    "balance": "currency current available",
}
FIELDS = {what: names.split() for what, names in FIELDS.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("rules"), job_seconds=0) as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    headers = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(base_url=server.base_url, headers=headers) as opened:
        yield opened


def good(path, server):
    """Return the body of a request with the required fields alone."""
    company = {"companyId": server.company_id}
    return {
        SEARCH: company,
        ACCOUNTS: company | {"archived": False, "externalId": str(uuid.uuid4()), "name": "Bank"},
        JOBS: company | {"accountingEntryIds": [U]},
    }[path]


def named(value, server):
    """Return a value with the company in the place of its name."""
    known = {"$company": server.company_id, "$COMPANY": server.company_id.upper()}
    return known.get(value, value) if isinstance(value, str) else value


def unique(path, field, value):
    """Return an external ID that no account has yet, of the same length."""
    if (path, field) != (ACCOUNTS, "externalId") or not isinstance(value, str) or len(value) != 255:
        return value
    return value[:-32] + uuid.uuid4().hex


@pytest.mark.parametrize(("path", "field"), [(path, field) for path in BODIES for field in BODIES[path]])
def test_fields_of_bodies(path, field, server, client):
    """A field takes the values of its type and refuses others; null is for fields not required."""
    kind, required = BODIES[path][field]
    taken, refused = TYPES[kind]
    body = good(path, server)
    sent = [(body | {field: unique(path, field, named(value, server))}, DONE[path]) for value in taken]
    sent += [(body | {field: value}, 400) for value in refused]
    sent += [(body | {field: None}, 400 if required else DONE[path])]
    less = {name: value for name, value in body.items() if name != field}
    sent += [(less, 400 if required else DONE[path])]
    wrong = []
    for number, (given, status) in enumerate(sent):
        if path == ACCOUNTS and field != "externalId":
            given["externalId"] = f"{uuid.uuid4()}-{number}"
        answer = client.post(path, json=given)
        if answer.status_code != status:
            wrong.append((given, status, answer.status_code, answer.text))
    assert wrong == []


def test_answers_have_every_field_and_no_other(server, client):
    """Each answer has the fields that the interface lists, null where nothing is known, and none besides."""
    page = client.post(SEARCH, json=good(SEARCH, server)).json()
    # Of a category, metadata may be missing (section 2.1).
    assert {tuple(row) for row in page["data"]} == {tuple(FIELDS["category"]), tuple(FIELDS["category"][:-1])}
    assert page["pagination"].keys() == set(FIELDS["envelope"])
    body = good(ACCOUNTS, server)
    for _ in ("created", "matched"):
        account = client.post(ACCOUNTS, json=body).json()["data"]
        unknown = dict.fromkeys(("code", "metadata", "taxCodeExternalId"))
        assert account == body | unknown | {"id": account["id"]}
        assert account.keys() == set(FIELDS["account"])
    job = client.post(JOBS, json=good(JOBS, server)).json()["data"]
    assert list(job)[:8] == FIELDS["leading job"]
    assert job["status"] == "pending"
    assert set(job) - set(FIELDS["leading job"]) == {"createdBy", "lastUpdatedAt"} <= set(FIELDS["job"])
    employees = client.get("/v2/employees").json()["data"]
    assert set(itertools.chain.from_iterable(employees)) == set(FIELDS["employee"])
    balance = httpx.get(
        f"{server.balance_url}/v1/companies/balance",
        headers={"Authorization": f"Bearer {server.balance_token}"},
    )
    assert list(balance.json()) == FIELDS["balance"]
