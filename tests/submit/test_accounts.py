"""Accounts: created once, each answer with its outcome; imported; and not from another company's chart."""

from __future__ import annotations

import json
import uuid

import pandas as pd
import pytest
from backends import BOTH
from entries_by_hand import COMPANY, to_create
from raw_service import in_turn, says

import bktools
from bktools.errors import ArgumentError, AuthenticationError, InputError, RateLimitedError
from bktools.frames.tables import in_memory
from bktools.journal.accounts import record_accounts
from bktools.journal.writing import open_for_writing
from bktools.sandbox.faults import Fault

# Creating: an answer has one outcome

ID = "00000000-0000-4000-8000-00000000000A"
BANK = {"code": "0400", "name": "Bank", "archived": True}
ASKED = BANK | {"external_id": "9990", "tax_code_external_id": "V19"}
SENT = BANK | {"externalId": "9990", "taxCodeExternalId": "V19", "companyId": COMPANY}


def asked(*names: str):
    """Return accounts to create that differ by their external IDs."""
    return to_create(*(ASKED | {"external_id": name} for name in names))


def answers(status: int, body: str | None = None, headers: dict[str, str] | None = None, **changes: object):
    """Return an answer of a status; without a body, the account as asked, with changes."""

    def steps(raw, request):
        held = {key: value for key, value in request.items() if value is not None}
        account = json.dumps({"data": held | {"id": ID, "metadata": {"k": 1}} | changes})
        return says(status, account if body is None else body, **headers or {})

    return steps


# The answer, its outcome, what the message has, and the requests that were made.
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
    with talking(answer, read=10.0) as (raw, service):
        made = bktools.create_accounts(to_create(ASKED), apply=True, service=service)
        known = bktools.load_accounts(service=service)
    row = made.iloc[0]
    assert (row["outcome"], len(raw.requests)) == (outcome, requests)
    assert raw.requests[0] == SENT
    assert message in row["message"]
    has_id = outcome in {"CREATED", "MATCHED"}
    assert (None if pd.isna(row["id"]) else row["id"]) == (ID.lower() if has_id else None)
    # What was asked for is known of an account only where the service said that it holds it.
    assert (known["state"].tolist(), known["name"].notna().tolist()) == ([outcome], [has_id])


def test_the_answer_is_remembered_not_the_request(talking):
    """Where the answer differs from the request, it counts; where it says nothing, the request does."""
    with talking(answers(200, name="Bank AG", code=None, archived=False)) as (_, service):
        bktools.create_accounts(to_create(ASKED), apply=True, service=service)
        known = bktools.load_accounts(service=service).iloc[0]
    held = {"id": ID.lower(), "name": "Bank AG", "code": "0400", "tax_code_external_id": "V19"}
    held |= {"archived": False, "metadata": '{"k": 1}'}
    assert {name: known[name] for name in held} == held


LIMITED = answers(429, '{"type": "RATE_LIMITED", "message": "later"}', headers={"retry_after": "301"})


@pytest.mark.parametrize(
    ("stops", "error"), [(answers(401, ""), AuthenticationError), (LIMITED, RateLimitedError)]
)
def test_an_answer_for_all_accounts_stops_all(talking, stops, error):
    """A refused credential, and a rate limit that outlasts the deadline; a second run goes on from there."""
    seen, created = [], answers(201)

    def watched(raw, request):
        # The intents of a group are in the journal before its first request.
        with bktools.connect(raw.url, token="t") as other:
            seen.append(bktools.load_accounts(service=other)["state"].tolist())
        return created(raw, request)

    accounts = asked("1", "2", "3")
    with talking(in_turn(watched, stops, created), read=10.0) as (raw, service):
        with pytest.raises(error):
            bktools.create_accounts(accounts, apply=True, service=service)
        assert (len(raw.requests), seen) == (2, [["SENDING"] * 3])
        again = bktools.create_accounts(accounts, apply=True, service=service)
    assert again["outcome"].tolist() == ["CREATED"] * 3
    assert again["message"].str.contains("exists already").tolist() == [True, False, False]
    assert [request["externalId"] for request in raw.requests] == ["1", "2", "2", "3"]


def test_each_account_exists_once_afterwards(sandbox, service, samples):
    """With lost answers, too: created or existing already, each is there once; again nothing is sent."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    known = bktools.load_accounts(service=service)
    reconciliation = bktools.reconcile_accounts(chart, known, bktools.load_categories(service=service))
    before = len(sandbox.server.accounts())
    assert set(bktools.create_accounts(reconciliation, service=service)["outcome"]) == {"PLANNED"}
    assert len(sandbox.server.accounts()) == before
    sandbox.server.inject(Fault("drop", "create_account", times=2))
    made = bktools.create_accounts(reconciliation, apply=True, service=service)
    assert {"CREATED"} <= set(made["outcome"]) <= {"CREATED", "MATCHED", "EXISTS"}
    there = [account.external_id for account in sandbox.server.accounts()]
    assert len(there) == len(set(there))
    assert set(made["external_id"]) <= set(there)
    again = bktools.create_accounts(reconciliation, apply=True, service=service)
    assert again["outcome"].to_list() == made["outcome"].to_list()
    assert (again["message"] == "exists already; nothing was sent").all()


def test_what_is_no_account_is_not_created(sandbox, service):
    """One that breaks a rule keeps all back; a line without a name, or a total, is refused alone."""
    company, before = service.settings.company, len(sandbox.server.accounts())
    right = {"company_id": company, "external_id": "9990", "name": "First"}
    wrong = to_create(right, {"company_id": "nobody", "external_id": "9991", "name": "Second"})
    with pytest.raises(InputError, match="account '9991' cannot be created: company_id must be a UUID"):
        bktools.create_accounts(wrong, apply=True, service=service)
    with pytest.raises(ArgumentError, match="must be a result of reconcile_accounts, is a DataFrame"):
        bktools.create_accounts(pd.DataFrame({"actions": ["create"]}), service=service)
    assert (len(sandbox.server.accounts()), len(bktools.load_accounts(service=service))) == (before, 0)
    rows = [("9990", "9990", None), ("Summe", "Summe", "Summe"), ("9991", "9991", "Total")]
    fixed = {"company_id": company, "action": "create", "archived": False, "tax_code_external_id": None}
    actions = pd.DataFrame(rows, columns=["external_id", "code", "name"]).assign(**fixed)
    wanted = bktools.Reconciliation(lambda _: in_memory(actions))
    made = bktools.create_accounts(wanted, apply=True, new_chart=True, service=service)
    outcomes = dict(zip(made["external_id"], made["outcome"], strict=True))
    assert outcomes == {"9990": "REJECTED", "Summe": "REJECTED", "9991": "CREATED"}
    assert made["message"].str.startswith("not sent: it has no name").any()
    assert bktools.load_accounts(company, service=service)["external_id"].tolist() == ["9991"]


# Importing a list

BANK_ID, FEES_ID, OTHER = (f"{number}23e4567-e89b-42d3-a456-426614174000" for number in (1, 2, 4))
FEES = pd.DataFrame({"id": [FEES_ID], "external_id": ["0500"]})


@pytest.fixture
def imported(service):
    """An account of which everything is known."""
    listed = pd.DataFrame({"id": [BANK_ID], "external_id": ["0400"], "name": ["Bank"], "code": ["0400"]})
    listed = listed.assign(archived=True, tax_code_external_id="V19", metadata='{"a": 1}')
    return bktools.import_accounts(listed, service=service)


WRONG_LISTS = [
    ({"external_id": ["0400"] * 2}, r"has the external ID 0400 twice \(accounts 1 and 2\)"),
    ({"archived": ["yes", "no"]}, "archived of account 1 .* must be True or False"),
    ({"metadata": [{"a": 1}, None]}, "metadata of account 1 in the frame must be text"),
    ({"id": [BANK_ID, "7"]}, "id of account 2 in the frame must be a UUID"),
    ({"external_id": ["0400", None]}, "external_id of account 2 .* must be text"),
]


def test_a_field_that_a_list_lacks_stays_known(imported, service, tmp_path):
    """A list of IDs and names takes no tax code or flag away; an empty cell does; a wrong list nothing."""
    (tmp_path / "accounts.csv").write_text(f"id,external_id,name,code\n{BANK_ID},0400,Bank account,\n")
    known = bktools.import_accounts(tmp_path / "accounts.csv", service=service)
    names = ["name", "archived", "tax_code_external_id", "metadata"]
    assert known[names].to_numpy().tolist() == [["Bank account", True, "V19", '{"a": 1}']]
    assert known["code"].isna().all()
    (tmp_path / "list.csv").write_text(f"id,Nr,name\n{BANK_ID},0400,Bank account\n")
    columns = {"external_id": "Nr"}
    assert len(bktools.import_accounts(tmp_path / "list.csv", columns=columns, service=service)) == 1
    with pytest.raises(ArgumentError, match="columns is not an argument of import_accounts for a frame"):
        bktools.import_accounts(known, columns=columns, service=service)
    for more, line in WRONG_LISTS:
        columns = {"id": [BANK_ID, FEES_ID], "external_id": ["0400", "0500"], "name": ["a", "b"]} | more
        with pytest.raises((ArgumentError, InputError), match=line):
            bktools.import_accounts(pd.DataFrame(columns), service=service)
    assert bktools.load_accounts(service=service)["name"].to_list() == ["Bank account"]


@BOTH
def test_a_complete_list_retires_the_accounts_that_it_lacks(imported, service):
    """Only accounts that the service may have, of the list's companies, are retired."""
    elsewhere = FEES.assign(company_id=OTHER, external_id="0600")
    assert bktools.import_accounts(elsewhere, service=service).attrs["bktools"]["retired"] == []
    company = imported["company_id"][0]
    with open_for_writing(service.settings) as journal:
        record_accounts(journal, [{"company_id": company, "external_id": "0700", "state": "UNKNOWN"}])
    assert len(bktools.import_accounts(FEES, service=service)) == 4
    left = bktools.import_accounts(FEES, complete=True, service=service)
    assert left.attrs["bktools"]["retired"] == ["0400"]
    assert set(left["external_id"]) == {"0500", "0600", "0700"}
    with pytest.raises(InputError, match="has no account, so it cannot be complete: nothing was changed"):
        bktools.import_accounts(FEES[:0], complete=True, service=service)


# Another company's chart: accounts cannot be deleted


@pytest.mark.parametrize("known", [["0400", "1000", "1200"], ["0400", "8000"]])
def test_a_chart_of_another_company_is_not_written(sandbox, service, known):
    """Nothing is created without the word for a new chart; the message has the doubt and both ways."""
    listed = pd.DataFrame({"external_id": known, "code": known, "name": known, "archived": False})
    listed["id"] = [str(uuid.uuid4()) for _ in known]
    accounts = bktools.import_accounts(listed, service=service)
    chart = pd.DataFrame({"external_id": ["0400", "8000"], "code": ["0400", "8000"], "name": "Fees"})
    chart = chart.assign(company_id=service.settings.company, archived=False, tax_code_external_id=None)
    categories = pd.DataFrame(columns=["id", "company_id", "name", "account_id"], dtype="str")
    reconciliation = bktools.reconcile_accounts(chart, accounts, categories.assign(archived=False))
    before, is_doubted = len(sandbox.server.accounts()), len(known) == 3
    if is_doubted:
        with pytest.raises(InputError, match=r"lacks 2 of 3 accounts.*Nothing was written.*new_chart=True"):
            bktools.create_accounts(reconciliation, apply=True, service=service)
        assert len(sandbox.server.accounts()) == before
    made = bktools.create_accounts(reconciliation, apply=True, new_chart=is_doubted, service=service)
    assert {*made["outcome"]} <= {"CREATED"}
    assert len(sandbox.server.accounts()) == before + is_doubted


SIE = '#FLAGGA 0\n#FORMAT PC8\n#SIETYP 1\n#FNAMN {}\n#ORGNR {}\n#KONTO 0400 "Machines"\n'


def test_a_file_of_another_company_is_not_written(service, tmp_path):
    """The first chart written is remembered with its company; another company's chart asks, once."""

    def reconciled(name, number):
        (tmp_path / "chart").write_text(SIE.format(name, number))
        chart = bktools.read_chart_of_accounts(tmp_path / "chart", company=service.settings.company)
        categories = bktools.load_categories(service=service)
        return bktools.reconcile_accounts(chart, bktools.load_accounts(service=service), categories)

    own, renamed, theirs = ("Ours", "556000-0001"), ("Renamed", "556000-0001"), ("Theirs", "556000-0002")
    bktools.create_accounts(reconciled(*own), apply=True, new_chart=True, service=service)
    assert "names 556000" not in reconciled(*renamed).another_chart
    with pytest.raises(InputError, match=r"its file names 556000-0002.*was that of 556000-0001"):
        bktools.create_accounts(reconciled(*theirs), apply=True, service=service)
    bktools.create_accounts(reconciled(*theirs), apply=True, new_chart=True, service=service)
    assert reconciled(*theirs).another_chart == ""
