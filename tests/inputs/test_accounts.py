"""The list of accounts that the service's user interface exports."""

from __future__ import annotations

import pytest

from bktools.errors import InputError
from bktools.inputs.readers.accounts import read_accounts

FIRST = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
SECOND = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
COLUMNS = ["id", "external_id", "name", "code", "archived", "tax_code_external_id", "company_id"]


def test_whole_list(write):
    """All fields come to the letter, empty cells as nulls."""
    accounts = read_accounts(
        write(
            "id,companyId,externalId,name,code,archived,taxCodeExternalId\n"
            f"{FIRST.upper()},{COMPANY},X1,Machines ,0400,false,V9\n"
            f"{SECOND},{COMPANY},,Rent,,true,\n"
        )
    )
    assert list(accounts.columns) == COLUMNS
    assert accounts.iloc[0].tolist() == [FIRST, "X1", "Machines ", "0400", False, "V9", COMPANY]
    assert accounts["archived"].tolist() == [False, True]
    for field in ("external_id", "code", "tax_code_external_id"):
        assert accounts[field].isna().tolist() == [False, True]


def test_identifiers_alone(write):
    """Fields that the file lacks are null: an external ID is not taken from the code."""
    accounts = read_accounts(write(f"id;code\n{FIRST};0400\n;\n"), company=COMPANY)
    assert len(accounts) == 1
    assert accounts["external_id"].isna().all()
    assert accounts["company_id"].tolist() == [COMPANY]
    assert "cannot be matched" in accounts.attrs["bktools"]["notes"][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("external_id,name\n1,a\n", "no column found for 'id'"),
        ("id,name\nx,a\n", "line 2: 'id' must hold UUIDs"),
        ("id,name\n,a\n", "line 2: 'id' must not be empty"),
        (f"id,name\n{FIRST},a\n{FIRST.upper()},b\n", "line 3: id .* is on line 2 already"),
        (f"id,external_id\n{FIRST},1\n{SECOND},1\n", "line 3: external ID '1' is on line 2 already"),
    ],
)
def test_refusals(write, content, message):
    """A list without ids, or with one twice, is refused with the line."""
    with pytest.raises(InputError, match=message):
        read_accounts(write(content))
