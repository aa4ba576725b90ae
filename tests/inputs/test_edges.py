"""What readers do at the edges of their rules: the last value that passes and the first that does not."""

from __future__ import annotations

from decimal import Decimal

import pytest
import xlsxwriter

from bktools.errors import InputError
from bktools.inputs.accounts import read_accounts
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"


def test_tiny_numbers_of_a_workbook_have_no_exponent(tmp_path):
    """A number that Excel stores as 1E-07 is an amount with all its decimals."""
    path = tmp_path / "entries.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["id", "company_id", "amount"])
        sheet.write_row(1, 0, [ENTRY, COMPANY, 0.0000001])
        sheet.write_row(2, 0, [ENTRY, COMPANY, 0.25])
    assert read_entries(path)["amount"].tolist() == [Decimal("0.0000001"), Decimal("0.25")]


def test_excel_s_line_of_the_delimiter_heads_nothing(write):
    """Below `sep=;` the headings are looked for, also where none of them is known."""
    with pytest.raises(InputError, match="no column is the code; found: 'Farbe', 'Ton'"):
        read_chart_of_accounts(write("sep=;\nFarbe;Ton\nrot;laut\n"))


def test_what_is_there_twice_is_counted_and_can_be_chosen(write):
    """Rows that repeat an external ID are counted with their lines, and the way out is the option for that column."""
    two = "Konto;Name\n1;a\n2;b\n1;c\n2;d\n"
    with pytest.raises(InputError) as caught:
        read_chart_of_accounts(write(two))
    assert "external ID '1' is on line 2 already, it must be unique; 2 rows repeat one: lines 4, 5" in str(caught.value)
    assert "columns={'external_id': 'HEADING'}" in str(caught.value)
    with pytest.raises(InputError) as caught:
        read_chart_of_accounts(write("Konto;Name\n1;a\n2;b\n2;d\n"))
    assert "line 4: external ID '2' is on line 3 already, it must be unique; correct the file" in str(caught.value)


def test_a_company_is_required_of_every_entry(write):
    """An entry without its company is named, not left to some other company."""
    with pytest.raises(InputError, match="line 3: 'company_id' must not be empty"):
        read_entries(write(f"id,company_id,amount\n{ENTRY},{COMPANY},1\n{ENTRY},,2\n"))


def test_code_and_name_of_accounts_are_not_mixed_up(write):
    """Each text of the list of accounts is in the column that its heading says."""
    rows = f"id,external_id,code,name\n{ENTRY},X1,0400,Machines\n"
    accounts = read_accounts(write(rows))
    assert accounts[["external_id", "code", "name"]].values.tolist() == [["X1", "0400", "Machines"]]
