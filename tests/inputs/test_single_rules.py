"""What readers do at the edges of their rules: the last value that passes and the first that does not."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from bktools.errors import ArgumentError, InputError
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
    assert read_entries(path)["amount"].tolist() == [1e-07, 0.25]


def test_excel_s_line_of_the_delimiter_heads_nothing(write):
    """Below `sep=;` the headings are looked for, also where none of them is known."""
    with pytest.raises(InputError, match=r"(?s)no column found for 'code'.*'Farbe', 'Ton'"):
        read_chart_of_accounts(write("sep=;\nFarbe;Ton\nrot;laut\n"))


def test_a_company_is_required_of_every_entry(write):
    """An entry without its company is named, not left to some other company."""
    with pytest.raises(InputError, match="line 3: 'company_id' must not be empty"):
        read_entries(write(f"id,company_id,amount\n{ENTRY},{COMPANY},1\n{ENTRY},,2\n"))


def test_code_and_name_of_accounts_are_not_mixed_up(write):
    """Each text of the list of accounts is in the column that its heading says."""
    rows = f"id,external_id,code,name\n{ENTRY},X1,0400,Machines\n"
    accounts = read_accounts(write(rows))
    assert accounts[["external_id", "code", "name"]].values.tolist() == [["X1", "0400", "Machines"]]


def test_an_empty_cell_makes_no_text_of_a_column_of_numbers(tmp_path):
    """The decimal mark of a workbook's numbers is a point, whatever cells are empty."""
    path = tmp_path / "entries.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["id", "company_id", "amount"])
        sheet.write_row(1, 0, [ENTRY, COMPANY, 1.234])
        sheet.write_row(2, 0, [ENTRY, COMPANY])
    assert read_entries(path)["amount"].tolist()[:1] == [1.234]


def test_tiny_and_missing_numbers_of_a_parquet_file(tmp_path):
    """Beside a number with an exponent, a missing one is missing and the others are themselves."""
    table = pa.table({"id": [ENTRY] * 3, "company_id": [COMPANY] * 3, "amount": [1e-7, None, 2.5]})
    pq.write_table(table, tmp_path / "entries.parquet")
    amounts = read_entries(tmp_path / "entries.parquet")["amount"]
    assert amounts.isna().tolist() == [False, True, False]
    assert amounts.dropna().tolist() == [1e-07, 2.5]


@pytest.mark.parametrize("heading", [3, ["Konto"], b"Konto"])
def test_a_column_is_named_by_text(write, heading):
    """A heading that is no text is the caller's mistake, and named with its field."""
    with pytest.raises(ArgumentError, match=r"columns\['code'\] must be a heading of the file"):
        read_chart_of_accounts(write("Konto;Name\n1;a\n"), columns={"code": heading})


def test_options_of_another_kind_of_file_are_refused(tmp_path):
    """A Parquet file has no encoding, delimiter or sheet: an option that cannot be obeyed is not ignored."""
    pq.write_table(pa.table({"Konto": ["1"], "Name": ["a"]}), tmp_path / "chart.parquet")
    assert read_chart_of_accounts(tmp_path / "chart.parquet")["code"].tolist() == ["1"]
    for options in ({"encoding": "utf-8"}, {"delimiter": ";"}, {"sheet": 0}):
        with pytest.raises(
            ArgumentError, match=f"{next(iter(options))} does not apply to .*, a Parquet file"
        ):
            read_chart_of_accounts(tmp_path / "chart.parquet", **options)
