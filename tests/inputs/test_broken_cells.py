"""Cells that hold an error in place of a value never become an empty amount."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xlsxwriter

import bktools
from bktools.errors import InputError

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
FILES = Path(__file__).with_name("files")
SAVE = "open the workbook in a spreadsheet and save it"


@pytest.fixture
def book(tmp_path):
    """Write entries; the second amount, or its note, is a formula with its saved value."""

    def book(formula, value, column="amount"):
        path = tmp_path / "entries.xlsx"
        with xlsxwriter.Workbook(path) as made:
            sheet = made.add_worksheet("Buchungen")
            sheet.write_row(0, 0, ["Title"])
            sheet.write_row(2, 0, ["id", "company_id", "amount", "currency", "my note"])
            for line in (3, 4):
                sheet.write_row(line, 0, [ENTRY, COMPANY, 12.5, "EUR", "x"])
            sheet.write_formula(4, {"amount": 2, "my note": 4}[column], formula, None, value)
        return path

    return book


@pytest.mark.parametrize("error", ["#DIV/0!", "#N/A"])
def test_an_error_in_a_workbook_is_named(book, error):
    """Sheet, cell and line of an error are named, with the repair; an unread column may hold one."""
    with pytest.raises(InputError) as caught:
        bktools.read_entries(book("=1/0", error))
    assert str(caught.value).endswith(
        f"entries.xlsx, line 5: the cell C5 of the sheet 'Buchungen' holds the error {error}: "
        "correct its formula and save the workbook"
    )
    assert len(bktools.read_entries(book("=1/0", error, "my note"))) == 2


def test_an_error_far_down_beside_an_empty_cell_is_named(tmp_path):
    """The cell of an error is named far down, too, where cells before it were never written."""
    path = tmp_path / "entries.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet("Buchungen")
        sheet.write_row(0, 0, ["my note", "id", "company_id", "amount", "currency"])
        for line in range(1, 1001):
            sheet.write_row(line, 1, [ENTRY, COMPANY, 12.5, "EUR"])
        sheet.write_formula(1000, 3, "=1/0", None, "#DIV/0!")
    with pytest.raises(InputError, match=r"line 1001: the cell D1001 .* holds the error #DIV/0!"):
        bktools.read_entries(path)


def test_a_formula_without_a_value_is_named(book):
    """Uncomputed formulas leave cells that look filled and are empty; such a cell is named."""
    with pytest.raises(InputError, match=rf"cell C5 .* holds a formula whose value was not .*{SAVE}"):
        bktools.read_entries(book("=1+1", ""))
    assert bktools.read_entries(book("=1+1", 2))["amount"].tolist() == [12.5, 2.0]


def test_an_error_in_a_file_of_libreoffice_is_named():
    """LibreOffice's own files say that errors are text; the old format hides them."""
    with pytest.raises(InputError, match=r"line 5: the cell C5 .* holds the error #DIV/0!"):
        bktools.read_entries(FILES / "formula_error.ods")
    notes = bktools.read_entries(FILES / "formula_error.xls").attrs["bktools"]["notes"]
    assert any(note.startswith("cells with an error such as #DIV/0! look empty") for note in notes)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_none_is_named(tmp_path, value):
    """NaN and infinity in a Parquet file are no amounts; a null is an empty one."""
    path = tmp_path / "entries.parquet"
    table = {"id": [ENTRY] * 3, "company_id": [COMPANY] * 3, "currency": ["EUR"] * 3}
    table["amount"] = [1.5, None, value]
    pq.write_table(pa.table(table), path)
    with pytest.raises(InputError, match=rf"line 4: 'amount' holds {value}: write a null or a number"):
        bktools.read_entries(path)
    pq.write_table(pa.table(table | {"amount": [1.5, None, 2.0], "my note": [value] * 3}), path)
    assert bktools.read_entries(path)["amount"].isna().tolist() == [False, True, False]


def test_an_error_in_a_text_file_is_named(write):
    """A file that a spreadsheet saved as CSV holds errors as text."""
    errors = ("#DIV/0!", "#REF!", "#N/A", "#VALUE!", "#NAME?", "#NUM!", "#NULL!")
    for text in (*errors, "NaN", "inf", "Infinity", "-Infinity"):
        path = write(f"id,company_id,amount\n{ENTRY},{COMPANY},1.5\n{ENTRY},{COMPANY},{text}\n")
        with pytest.raises(InputError, match="line 3: 'amount' must hold amounts"):
            bktools.read_entries(path)


def test_a_broken_chart_is_named(tmp_path):
    """The readers of charts, accounts and selections tell broken cells too."""
    path = tmp_path / "chart.xlsx"
    with xlsxwriter.Workbook(path) as made:
        sheet = made.add_worksheet("A")
        sheet.write_row(0, 0, ["id", "code", "name"])
        sheet.write_row(1, 0, [ENTRY, "0400", "Bank"])
        sheet.write_formula(2, 0, "=NA()", None, "#N/A")
        sheet.write_formula(2, 1, "=NA()", None, "#N/A")
    entries = pd.DataFrame({"id": [ENTRY], "company_id": [COMPANY]})
    with pytest.raises(InputError, match=r"line 3: the cell A3 .* #N/A: .* \(2 such cells\)"):
        bktools.read_chart_of_accounts(path)
    with pytest.raises(InputError, match="line 3: the cell A3 of the sheet 'A' holds the error #N/A"):
        bktools.compose_export_jobs(entries, selection=path)
