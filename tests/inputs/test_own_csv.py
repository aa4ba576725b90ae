"""What `to_csv` writes is read back to the letter, whatever it did for spreadsheets."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pytest

import bktools
from bktools.frames.delimited import PROFILES
from bktools.frames.schema import to_pandas
from bktools.frames.tables import in_memory
from bktools.inputs.readers.accounts import read_accounts

COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
IDS = [f"1b4e28ba-2fa1-41d2-883f-0016d3cca4{at:02}" for at in range(20)]

NAMES = [
    *("Bank", "=1+1", "+Zins", "-12,50 Skonto", "@name", "\tTab", "'=1+1", "''+x", "'apostrophe"),
    *("+49 221 101", "1-2", "10:30", 'say "so", twice; or not', '="5" pipe', "Zeile eins\nZeile zwei"),
    *("-\r\n-", " 0400", "true", "Größe"),
]
CODES = [f"{at:06}" for at in range(1000, 1000 + len(NAMES))]


@pytest.fixture(params=PROFILES)
def written(request, tmp_path):
    """A function that writes a frame in each of the profiles."""
    return lambda frame: bktools.to_csv(frame, tmp_path / "own.csv", request.param)


def same(read: pd.DataFrame, frame: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(read[list(frame.columns)], to_pandas(in_memory(frame)), check_dtype=False)


def test_charts_come_back(written):
    """A chart with leading zeros and names of every kind, without the blanks before a name."""
    frame = pd.DataFrame({"external_id": CODES, "code": CODES, "name": NAMES, "archived": False})
    frame = frame.assign(tax_code_external_id="019", company_id=COMPANY, type="-")
    read = bktools.read_chart_of_accounts(written(frame))
    same(read, frame.assign(name=frame["name"].str.lstrip()))


def test_accounts_come_back(written, service):
    """The accounts known here, given to another journal as a file."""
    frame = pd.DataFrame(
        {"id": IDS[: len(NAMES)], "external_id": CODES, "name": NAMES, "code": CODES, "archived": True}
    )
    frame = frame.assign(tax_code_external_id=["=9", *[None] * (len(NAMES) - 1)], company_id=COMPANY)
    path = written(frame)
    same(read_accounts(path), frame)
    # One that the service did not give an ID is nothing to import.
    listed = read_accounts(written(frame.assign(id=[None, *IDS[1 : len(NAMES)]])))
    assert (len(listed), listed.attrs["bktools"]["note_facts"][0]["code"]) == (
        len(NAMES) - 1,
        "accounts_without_id",
    )
    path = written(frame)
    known = bktools.import_accounts(path, service=service)
    same(known[["external_id", "code", "name"]], frame[["external_id", "code", "name"]])


def test_entries_come_back(written):
    """Entries with amounts below zero and descriptions of every kind."""
    frame = pd.DataFrame({"id": IDS[: len(NAMES)], "company_id": COMPANY, "description": NAMES})
    frame.insert(2, "amount", [Decimal(f"{at}.50") for at in range(-3, len(NAMES) - 3)])
    frame = frame.assign(date=pd.Timestamp("2026-10-06"), currency="EUR")
    same(bktools.read_entries(written(frame)), frame)


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [
        ('Konto;Name\n="0400";\'=1+1\n', "0400", "'=1+1"),
        ('\ufeffKonto;Name\n"=""0400""";\'=1+1\n', "0400", "'=1+1"),
        ('\ufeff"Konto";"Name"\r\n"=""04""""00""";"\'=1+1"\r\n', '04"00', "'=1+1"),
        ("\ufeffKonto;Name\r\n0400;'=1+1\r\n0500;=2+2\r\n", "0400", "'=1+1"),
        ("\ufeffKonto\tName\r\n0400\t'=1+1\r\n", "0400", "'=1+1"),
        ("\ufeffKonto;Name\r\n0400;'Bank\r\n", "0400", "'Bank"),
        ('Konto;Name\n"=""04""00""";="\n', '="04"00"', '="'),
    ],
    ids=["another's", "LF", "quotes everywhere", "a bare formula", "tabs", "no formula", "not one text"],
)
def test_apostrophes_of_others_stay(write, text, code, name):
    """="0400" is 0400 whoever wrote it; an apostrophe goes only where `to_csv` must have put it."""
    chart = bktools.read_chart_of_accounts(write(text))
    assert chart.loc[0, ["code", "name"]].to_list() == [code, name]
