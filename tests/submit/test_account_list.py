"""Accounts that were created elsewhere, made known by the list of them."""

from __future__ import annotations

import pandas as pd
import pytest
from backends import BOTH

import bktools
from bktools.errors import ArgumentError, InputError
from bktools.journal.accounts import record_accounts
from bktools.journal.statements import events_by_code
from bktools.journal.writing import open_for_writing

BANK = "123e4567-e89b-42d3-a456-426614174000"
FEES = "223e4567-e89b-42d3-a456-426614174000"


@pytest.fixture
def known(service):
    """An account of which everything is known."""
    listed = pd.DataFrame({"id": [BANK], "external_id": ["0400"], "name": ["Bank"], "code": ["0400"]})
    listed = listed.assign(archived=True, tax_code_external_id="V19", metadata='{"a": 1}')
    return bktools.import_accounts(listed, service=service)


@BOTH
def test_each_account_is_an_event(known, service):
    """Each account that a list has is an event; the frame names its origin and is all that is known."""
    origin = {"environment": "sandbox", "table": "accounts", "rows": 1, "complete": True}
    assert bktools.load_accounts(service=service).attrs["bktools"] == origin
    listed = pd.DataFrame({"id": [FEES, BANK], "external_id": ["0500", "0400"]})
    bktools.import_accounts(listed, service=service)
    with open_for_writing(service.settings) as journal:
        events = events_by_code(journal, "account")
    told = [(event.state, event.facts["external_id"]) for event in events]
    assert told == [("IMPORTED", name) for name in ("0400", "0500", "0400")]


@pytest.mark.parametrize("kind", ["frame", "file"])
def test_what_a_list_does_not_say_stays_known(known, service, kind, tmp_path):
    """A list of IDs and names takes no code, tax code or archived flag away; an empty cell does."""
    shorter = pd.DataFrame({"id": [BANK], "external_id": ["0400"], "name": ["Bank account"], "code": [None]})
    path = tmp_path / "accounts.csv"
    shorter.to_csv(path, index=False)
    known = bktools.import_accounts(shorter if kind == "frame" else path, service=service)
    names = ["name", "archived", "tax_code_external_id", "metadata"]
    assert known[names].to_numpy().tolist() == [["Bank account", True, "V19", '{"a": 1}']]
    assert known["code"].isna().all()


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"external_id": ["0400"] * 2}, InputError, r"has the external ID 0400 twice \(accounts 1 and 2\)"),
        ({"archived": ["yes", "no"]}, ArgumentError, "archived of account 1 .* must be True or False"),
        ({"metadata": [{"a": 1}, None]}, ArgumentError, "metadata of account 1 in the frame must be text"),
        ({"id": [BANK, "7"]}, ArgumentError, "id of account 2 in the frame must be a UUID"),
        ({"external_id": ["0400", None]}, ArgumentError, "external_id of account 2 .* must be text"),
    ],
)
def test_a_list_that_breaks_a_rule_changes_nothing(known, service, more, error, said):
    """The account and the rule are named, and what was known stays."""
    frame = pd.DataFrame({"id": [BANK, FEES], "external_id": ["0400", "0500"], "name": ["a", "b"]} | more)
    with pytest.raises(error, match=said) as caught:
        bktools.import_accounts(frame, service=service)
    assert "\n" not in str(caught.value)
    assert bktools.load_accounts(service=service)["name"].to_list() == ["Bank"]


def test_how_a_list_is_read_can_be_said(service, tmp_path):
    """Columns, delimiter and encoding of a list reach its reader, each as what it is."""
    path = tmp_path / "konten.csv"
    path.write_bytes(f"Kennung|Nummer|Name\n{BANK}|0400|Köln\n".encode("cp1252"))
    columns = {"id": "Kennung", "external_id": "Nummer"}
    known = bktools.import_accounts(path, columns=columns, delimiter="|", encoding="cp1252", service=service)
    assert known[["id", "external_id", "name"]].to_numpy().tolist() == [[BANK, "0400", "Köln"]]


def test_how_a_file_is_read_says_nothing_of_a_frame(service):
    """The argument that only a file can have is named."""
    frame = pd.DataFrame({"id": [BANK], "external_id": ["0400"]})
    for argument in ("columns", "delimiter", "encoding", "sheet"):
        with pytest.raises(ArgumentError, match=f"{argument} is for a file"):
            bktools.import_accounts(frame, service=service, **{argument: "a"})


def test_the_sheet_of_a_list_can_be_said(service, tmp_path):
    """Of a workbook with several sheets, the named one is read."""
    path = tmp_path / "konten.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"id": [FEES], "external_id": ["0500"]}).to_excel(book, sheet_name="first", index=False)
        pd.DataFrame({"id": [BANK], "external_id": ["0400"]}).to_excel(book, sheet_name="second", index=False)
    assert bktools.import_accounts(path, sheet="second", service=service)["external_id"].to_list() == ["0400"]


@BOTH
def test_a_complete_list_retires_what_it_lacks(known, service):
    """Only accounts that the service may have, of the list's companies, are retired; events keep them."""
    other = "423e4567-e89b-42d3-a456-426614174000"
    fees = pd.DataFrame({"id": [FEES], "external_id": ["0500"]})
    elsewhere = fees.assign(company_id=other, external_id="0600")
    assert bktools.import_accounts(elsewhere, service=service).attrs["bktools"]["retired"] == []
    with open_for_writing(service.settings) as journal:
        company = known["company_id"][0]
        record_accounts(journal, [{"company_id": company, "external_id": "0700", "state": "UNKNOWN"}])
    merged = bktools.import_accounts(fees, service=service)
    assert set(merged["external_id"]) == {"0400", "0500", "0600", "0700"}
    left = bktools.import_accounts(fees, complete=True, service=service)
    assert left.attrs["bktools"]["retired"] == ["0400"]
    assert set(left["external_id"]) == {"0500", "0600", "0700"}
    with open_for_writing(service.settings) as journal:
        events = [event for event in events_by_code(journal, "account") if event.state == "RETIRED"]
    told = {"external_id": "0400", "list": "the frame"}
    assert [(event.company_id, event.facts) for event in events] == [(company, told)]
    with pytest.raises(InputError, match="has no account, so it cannot be complete: nothing was changed"):
        bktools.import_accounts(fees[:0], complete=True, service=service)
    assert len(bktools.load_accounts(service=service)) == 3
