"""Accounting entries: identifiers, approval, and the frame they make."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pandas as pd
import pytest

from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs.entries import read_entries

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
CATEGORY = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
HEADINGS = "entry_id,company_id,date,amount,currency,category_id,employee_id,status,description"


def test_whole_entries(write):
    """All columns come with their types; a quoted newline and an exact duplicate row stay."""
    row = f'{ENTRY.upper()},{COMPANY},2026-10-31,-12.50,eur,,{CATEGORY},Approved,"a\nb"\r\n'
    entries = read_entries(write(f"{HEADINGS}\r\n{row}{row}"))
    assert list(entries.columns) == schema.ENTRIES.names
    assert len(entries) == 2
    first = entries.iloc[0]
    assert (first["id"], first["company_id"], first["employee_id"]) == (ENTRY, COMPANY, CATEGORY)
    assert first["date"] == pd.Timestamp(2026, 10, 31)
    assert (first["amount"], str(first["amount"])) == (Decimal("-12.50"), "-12.50")
    assert first["currency"] == "EUR"
    assert pd.isna(first["category_id"])
    assert (first["status"], first["description"]) == ("Approved", "a\nb")
    assert entries["approved"].dtype == bool
    assert entries["line"].tolist() == [2, 4]
    assert entries.attrs["bktools"]["notes"] == ["taken as approved: 'Approved' (2)"]


def test_only_the_identifiers(write):
    """Columns that the file lacks are not in the frame, but the line is; blank rows are no entries."""
    entries = read_entries(write(f"Buchungs-ID;Firmen-ID\n{ENTRY};{COMPANY}\n;\n"))
    assert list(entries.columns) == ["id", "company_id", "line"]
    assert len(entries) == 1


def test_approval_words(write):
    """Approval is what a status says in a word of ten languages; all else is none, and an empty status is null."""
    said = ["approved", "Genehmigt", "freigegeben", "godkänd", "APPROUVÉ", "not approved", "draft", "yes", ""]
    entries = read_entries(write("id;company_id;Status\n" + "".join(f"{ENTRY};{COMPANY};{one}\n" for one in said)))
    assert entries["approved"].tolist() == [True] * 5 + [False] * 4
    assert entries["status"].isna().tolist() == [False] * 8 + [True]
    assert (
        "taken as not approved: 'not approved' (1), 'draft' (1), 'yes' (1), '' (1)" in entries.attrs["bktools"]["notes"]
    )


def test_approved_column(write):
    """In a column headed approved a yes is an approval."""
    entries = read_entries(write(f"id,company_id,Approved\n{ENTRY},{COMPANY},yes\n{ENTRY},{COMPANY},no\n"))
    assert entries["approved"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("headings", "row", "message"),
    [
        (
            "company_id,date",
            f"{COMPANY},2026-01-01",
            "no column found for 'id'; found: 'company_id', 'date'; .*columns=\\{'id': 'HEADING'",
        ),
        ("id,date", f"{ENTRY},2026-01-01", "no column found for 'company_id'"),
        ("id,company_id", f"{ENTRY}x,{COMPANY}", "line 2: 'id' must hold UUIDs such as .*, got '1b4e"),
        ("id,company_id", f"{ENTRY} ,{COMPANY}", "line 2: 'id' must hold UUIDs"),
        ("id,company_id", f'"{ENTRY}\n",{COMPANY}', "line 2: 'id' must hold UUIDs"),
        ("id,company_id", f",{COMPANY}", "line 2: 'id' must not be empty"),
        ("id,company_id", f"{ENTRY},acme", "line 2: 'company_id' must hold UUIDs"),
        ("id,company_id,category_id", f"{ENTRY},{COMPANY},Travel", "line 2: 'category_id' must hold UUIDs.*'Travel'"),
        ("id,company_id,employee_id", f"{ENTRY},{COMPANY},Ann", "line 2: 'employee_id' must hold UUIDs"),
        ("id,company_id,currency", f"{ENTRY},{COMPANY},Euro", "line 2: 'currency' must hold currency codes"),
    ],
)
def test_refusals(write, headings, row, message):
    """A malformed value is named with line, column and value."""
    with pytest.raises(InputError, match=message):
        read_entries(write(f"{headings}\n{row}\n"))


def test_german_entries(write):
    """A German export with its own dates and amounts is read without an option."""
    entries = read_entries(
        write(
            "Buchungs-ID;Firmen-ID;Buchungsdatum;Betrag;Währung;Freigabestatus;Buchungstext\r\n"
            f"{ENTRY};{COMPANY};31.10.2026;1.234,56;EUR;Genehmigt;Größe\r\n",
            encoding="cp1252",
        )
    )
    assert entries["amount"].tolist() == [Decimal("1234.56")]
    assert entries["date"].dt.date.tolist() == [dt.date(2026, 10, 31)]
    assert entries["description"].tolist() == ["Größe"]
    assert entries["approved"].tolist() == [True]
