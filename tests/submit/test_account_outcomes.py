"""Answers to an account's creation, each from a real socket: the outcome, and what is remembered."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from entries_by_hand import COMPANY, to_create
from raw_service import in_turn, send

import bktools
from bktools.errors import AuthenticationError, RateLimitedError

ID = "00000000-0000-4000-8000-00000000000A"
FACTS = {"code": "0400", "name": "Bank", "archived": True}
ASKED = FACTS | {"external_id": "9990", "tax_code_external_id": "V19"}
SENT = FACTS | {"externalId": "9990", "taxCodeExternalId": "V19", "companyId": COMPANY}


def asked(*names: str):
    """Return accounts to create that differ by their external IDs."""
    return to_create(*(ASKED | {"external_id": name} for name in names))


def answers(status: int, body: str | None = None, headers: str = "", **changes: object):
    """Return an answer of a status; without a body, the account as asked, with changes."""

    def answer(raw, connection, request):
        asked = {key: value for key, value in request.items() if value is not None}
        account = json.dumps({"data": asked | {"id": ID, "metadata": {"k": 1}} | changes})
        send(connection, status, account if body is None else body, headers=headers)

    return answer


OUTCOMES = {
    "created": (answers(201), "CREATED", "created", 1),
    "existed": (answers(200), "MATCHED", "it existed already", 1),
    "duplicate": (answers(409, ""), "EXISTS", "", 1),
    "duplicate with 400": (answers(400, '{"message": "externalId already exists"}'), "EXISTS", "", 1),
    "refused": (answers(400, '{"message": "name is wrong"}'), "REJECTED", "name is wrong", 1),
    "refused at the end of the class": (answers(499, ""), "REJECTED", "", 1),
    "a fault that is not repeated": (answers(501, ""), "UNKNOWN", "", 1),
    "another account": (answers(201, externalId="9991"), "UNKNOWN", f"another account: {ID}", 1),
    "another company": (answers(201, companyId=ID), "UNKNOWN", "answered with another account", 1),
    "a redirect": (answers(307, ""), "UNKNOWN", "the address redirects", 1),
    "a fault that is repeated": (answers(503, ""), "UNKNOWN", "", 3),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_answer_and_its_outcome(talking, case):
    """Each answer has one outcome, in frame and list of accounts, and as many requests as allowed."""
    answer, outcome, message, requests = OUTCOMES[case]
    with talking(answer) as (raw, service):
        made = bktools.create_accounts(to_create(ASKED), apply=True, service=service)
        known = bktools.load_accounts(service=service)
    row = made.iloc[0]
    assert (row["outcome"], len(raw.requests)) == (outcome, requests)
    assert row[["company_id", "external_id", "code", "name"]].tolist() == [COMPANY, "9990", "0400", "Bank"]
    assert message in row["message"]
    has_id = outcome in {"CREATED", "MATCHED"}
    assert (None if pd.isna(row["id"]) else row["id"]) == (ID.lower() if has_id else None)
    assert made.attrs["bktools"]["applied"] is True
    assert known["state"].tolist() == [outcome]
    # What was asked for is known of an account only where the service said that it holds it.
    assert known["name"].notna().tolist() == [has_id]
    assert raw.requests[0] == SENT


def test_what_the_service_holds_is_remembered_not_what_was_asked(talking):
    """Where the answer differs from the request, it counts; where it says nothing, the request does."""
    with talking(answers(200, name="Bank AG", code=None, archived=False)) as (_, service):
        bktools.create_accounts(to_create(ASKED), apply=True, service=service)
        known = bktools.load_accounts(service=service).iloc[0]
    held = [ID.lower(), "Bank AG", "0400", "V19"]
    assert known[["id", "name", "code", "tax_code_external_id"]].tolist() == held
    assert not known["archived"]
    assert json.loads(known["metadata"]) == {"k": 1}


def test_a_refused_credential_stops_all(talking):
    """Nothing more is sent after a refused credential, and a second run goes on from there."""
    accounts = asked("1", "2", "3")
    with talking(in_turn(answers(201), answers(401, ""), answers(201))) as (raw, service):
        with pytest.raises(AuthenticationError):
            bktools.create_accounts(accounts, apply=True, service=service)
        assert len(raw.requests) == 2
        again = bktools.create_accounts(accounts, apply=True, service=service)
    assert again["outcome"].tolist() == ["CREATED"] * 3
    assert again["message"].str.contains("exists already").tolist() == [True, False, False]
    assert [request["externalId"] for request in raw.requests] == ["1", "2", "2", "3"]


def test_the_intent_is_known_before_the_request(talking):
    """When a request arrives, the journal already has the accounts of its group, and no others."""
    seen, created = [], answers(201)

    def answer(raw, connection, request):
        with bktools.connect(raw.base_url, token="t") as other:
            seen.append(bktools.load_accounts(service=other)[["external_id", "state", "name"]])
        created(raw, connection, request)

    with talking(answer) as (_, service):
        bktools.create_accounts(asked("9990", "9991"), apply=True, service=service)
        after = bktools.load_accounts(service=service)
    assert [frame["state"].tolist() for frame in seen] == [["SENDING", "SENDING"]] * 2
    assert [frame["name"].notna().tolist() for frame in seen] == [[False, False]] * 2
    assert (after["state"].tolist(), after["name"].notna().all()) == (["CREATED", "CREATED"], True)


def test_a_rate_limit_of_more_than_the_deadline_ends_the_run(talking):
    """The next account would meet it, too: it is not sent at once, and the next run goes on."""
    limited = answers(429, '{"type": "RATE_LIMITED", "message": "later"}', headers="Retry-After: 301\r\n")
    with talking(limited) as (raw, service):
        with pytest.raises(RateLimitedError, match="429"):
            bktools.create_accounts(asked("9990", "9991", "9992"), apply=True, service=service)
        assert len(raw.requests) == 1
