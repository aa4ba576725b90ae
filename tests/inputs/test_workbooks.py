"""Workbooks: sheets, numbers as Excel shows them, broken cells, and files that are no workbook."""

from __future__ import annotations

import datetime as dt
import re
import tracemalloc
import zipfile

import pytest
import xlsxwriter

import bktools
from bktools.errors import InputError, QuestionError, SheetNotFoundError

HEADINGS = ["Date", "Text", "Amount", "Currency"]


def book(path, sheets, formats=None):
    """Write a workbook of rows by sheet; `formats` has a number format by column."""
    with xlsxwriter.Workbook(path) as workbook:
        for name, rows in sheets.items():
            sheet = workbook.add_worksheet(name)
            for line, row in enumerate(rows):
                for place, cell in enumerate(row):
                    form = (formats or {}).get(place) if line else None
                    if isinstance(cell, dt.date):
                        form = "yyyy-mm-dd"
                    style = workbook.add_format({"num_format": form}) if form else None
                    sheet.write(line, place, cell, style)
    return path


def changed(path, pattern, by):
    """Replace a part of a workbook's first sheet."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    parts["xl/worksheets/sheet1.xml"] = re.sub(pattern, by, parts["xl/worksheets/sheet1.xml"])
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    return path


def test_codes_are_read_as_they_are_shown(tmp_path):
    """A number of the format 000000 has its leading zeros; others have none."""
    rows = [["Code", "Name", "Type"], [400, "Machines", "Asset"], [123456, "Bank", "Asset"]]
    path = book(tmp_path / "chart.xlsx", {"Chart": rows}, {0: "000000"})
    assert bktools.read_chart_of_accounts(path)["code"].tolist() == ["000400", "123456"]


def test_numbers_and_days_of_cells(tmp_path):
    """A number's mark is a point, whatever marks the texts have; a day is a day."""
    rows = [
        HEADINGS,
        [dt.date(2026, 10, 31), "1.000,50", 1.255, "EUR"],
        [dt.date(2026, 10, 1), "x", 7, "EUR"],
    ]
    read = bktools.read_entries(book(tmp_path / "a.xlsx", {"Data": rows}))
    assert read["amount"].tolist() == [1.255, 7.0]
    assert read["date"].dt.day.tolist() == [31, 1]


def test_the_sheet_with_all_fields_is_read(tmp_path):
    """Other sheets are noted; sheets that could both be read are asked about."""
    rows = [HEADINGS, ["2026-10-01", "a", 1, "EUR"]]
    path = book(tmp_path / "a.xlsx", {"Notes": [["Hello", "World"], ["x", "y"]], "Data": rows})
    read = bktools.read_entries(path)
    assert read.attrs["bktools"]["sheet"] == "Data"
    assert "sheet_read" in {note["code"] for note in read.attrs["bktools"]["note_facts"]}
    other = [["Text", "Date", "Amount", "Currency"], ["b", "2026-10-02", 2, "EUR"]]
    path = book(tmp_path / "b.xlsx", {"One": rows, "Two": other})
    with pytest.raises(QuestionError) as caught:
        bktools.read_entries(path)
    assert [choice["sheet"] for choice in caught.value.problems[0].choices] == ["One", "Two"]
    assert bktools.read_entries(path, sheet="Two")["amount"].tolist() == [2.0]
    with pytest.raises(SheetNotFoundError, match="there is no sheet 'Three'; found: 'One', 'Two'"):
        bktools.read_entries(path, sheet="Three")


def test_cells_right_of_the_headings_are_another_table(tmp_path):
    """They are noted, and no shift."""
    rows = [HEADINGS, ["2026-10-01", "a", 1, "EUR", "", "Total", 5]]
    read = bktools.read_entries(book(tmp_path / "a.xlsx", {"Data": rows}))
    assert "cells_beside" in {note["code"] for note in read.attrs["bktools"]["note_facts"]}


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ('<c r="C3" t="e"><f>1/0</f><v>#DIV/0!</v></c>', '#DIV/0!" under'),
        ('<c r="C3"><f>A1</f></c>', '=A1" under'),
    ],
)
def test_broken_cells_are_to_be_corrected(tmp_path, cell, told):
    """An error, or a formula without a value, is no empty amount: no command drops its entry."""
    rows = [HEADINGS, ["2026-10-01", "a", 1, "EUR"], ["2026-10-02", "b", 2, "EUR"]]
    path = changed(book(tmp_path / "a.xlsx", {"Data": rows}), r'<c r="C3"[^>]*>.*?</c>', cell)
    with pytest.raises(QuestionError, match=told) as caught:
        bktools.read_entries(path)
    assert not caught.value.problems[0].has_way_out


def test_a_sheet_of_far_cells_is_refused(tmp_path):
    """A cell far below and far to the right would fill the memory, whatever size the sheet states."""
    path = book(tmp_path / "far.xlsx", {"Data": [HEADINGS]})
    changed(path, "</sheetData>", '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
    with pytest.raises(InputError, match="takes up more than 60,000,000 cells"):
        bktools.read_entries(path)


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, write):
    """A workbook by its parts' sizes, a text by its cells: both before they fill the memory."""
    path = tmp_path / "bomb.xlsx"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("xl/sharedStrings.xml", "w") as stream,
    ):
        for _ in range(1100):
            stream.write(bytes(1 << 20))
    head, row = ",".join(HEADINGS), "2026-10-01,a,1,EUR\n"
    wide = write(f"{head}\n{',' * 20_000}\n{row}", "wide.csv")
    regular = write(f"{head}\n{',' * 16_000}\n{row * 10_000}", "regular.csv")
    quoted = write(f"{head}\n{',' * 16_000}\n" + f'"a\nb",{row}' * 7_000, "quoted.csv")
    for file, why in (
        (path, "unpacks to more than 1,024 MB"),
        (wide, "a row has more than 16,384 cells"),
        (regular, "more than 100,000,000 cells"),
        (quoted, "more than 100,000,000 cells"),
    ):
        tracemalloc.start()
        with pytest.raises(InputError, match=why):
            bktools.read_entries(file)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"PK\x03\x04" + b"x" * 99, "is not a readable workbook"),
        (b"", "the file is empty"),
        (b" \n", "is empty"),
    ],
)
def test_what_is_no_workbook(write, data, why):
    """A damaged or empty file is one line."""
    with pytest.raises(InputError, match=why):
        bktools.read_entries(write(data, "a.xlsx"))
