"""The close's workbook: figures as numbers, actions, and pages to print."""

from __future__ import annotations

import io
import re
import subprocess
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xlsxwriter
from office import needs_office, saved
from python_calamine import CalamineWorkbook

from bktools.close.actions import ACCOUNT, Thing
from bktools.close.close import Close
from bktools.reports import sheets
from bktools.reports.workbook import workbook_of
from bktools.wording import words

Rows = list[list[Any]]

ENGLISH = words("en")

SHEETS = ["to do", "figures", "entries", "coverage", "chart", "bktools"]
MOST_PAGES = 17
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


@pytest.fixture(scope="module")
def book(folder: Path) -> Path:
    return folder / "month-end.xlsx"


def _rows(book: Path | bytes, sheet: str) -> Rows:
    content = book if isinstance(book, bytes) else book.read_bytes()
    return CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_name(sheet).to_python()


def _xml(path: Path, name: str) -> str:
    with zipfile.ZipFile(path) as book:
        return book.read(name).decode()


def test_pages_are_for_people(book: Path, close: Close):
    """Each page names company, month and state, has headings, and no identifier in the printed area."""
    workbook = _xml(book, "xl/workbook.xml")
    for number, name in enumerate(SHEETS[:-1], 1):
        sheet = _xml(book, f"xl/worksheets/sheet{number}.xml")
        assert 'fitToPage="1"' in sheet
        header = f"Month-end October 2026 · {close.name} · applied, not approved"
        assert header in sheet.partition("<oddHeader>")[2]
        area = re.search(rf"Print_Area\" localSheetId=\"{number - 1}\">[^<]*\$([A-Z]+)\$\d+<", workbook)
        assert f'Print_Titles" localSheetId="{number - 1}"' in workbook
        printed = _rows(book, name)[0][: ord(area[1]) - ord("A") + 1]
        assert printed
        assert {title for title in printed if title.endswith((" id", "url"))} <= {"external id"}


def test_hostile_names_are_text(close: Close):
    """Formulas, scripts and turned letters in names compute nothing, link nothing, turn nothing."""
    link = '=HYPERLINK("http://books.example.com","x")'
    names = [link, "<script>alert(1)</script>", "&D&A", "\u202egnirts"]
    things = [Thing(ACCOUNT, {"name": name}, {"external_id": name}) for name in names]
    actions = tuple(replace(close.actions[0], things=(thing,)) for thing in things)
    content = workbook_of(replace(close, actions=actions, company_name=names[2]))
    assert [row[3] for row in _rows(content, "to do")[1:]] == [*names[:3], "\\u202egnirts"]
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        parts = {name: book.read(name).decode() for name in book.namelist() if name.endswith(".xml")}
    assert not any("<hyperlink" in text or "<f>" in text for text in parts.values())
    assert "&amp;&amp;D&amp;&amp;A" in parts["xl/worksheets/sheet1.xml"]


def test_amounts_that_excel_would_round_are_text(close: Close):
    """An amount of 18 digits, and the totals that hold it, are exact: Excel's numbers keep 15."""
    entries = close.tables["entries"]
    amounts = [Decimal("1234567890123456.78"), *entries["amount"].to_pylist()[1:]]
    column = pa.array(amounts, pa.decimal128(38, 2))
    entries = entries.set_column(entries.column_names.index("amount"), "amount", column)
    figures = replace(close.figures, entries=entries)
    large = replace(close, tables={**close.tables, "entries": entries}, figures=figures)
    book = workbook_of(large)
    texts = [row[8] for row in _rows(book, "entries")[1:] if isinstance(row[8], str)]
    assert texts == ["1,234,567,890,123,456.78"]
    fate, currency = (entries[name][0].as_py() for name in ("fate", "currency"))
    [total] = [part.amounts[currency] for part in large.figures.by("fate") if part["fate"] == fate]
    assert f"{total:,}" in {row[4] for row in _rows(book, "figures")[1:]}


def test_a_row_of_bold_text_is_as_high_as_its_lines():
    """Bold letters are wider: a step of the to-do sheet does not run into the next row."""
    step = "Den Betrag im Dienst ändern oder den Eintrag dort löschen"
    with xlsxwriter.Workbook(io.BytesIO()) as file:
        sheet = sheets.Book(file, "", "", ENGLISH).sheet("x", sheets.RED, [26])
        for look in ({}, {"bold": True}):
            sheet.write([(step, {**sheets.WRAPPED, **look})])
        plain, bold = sheet._heights
    assert (plain, bold) == (2 * sheets.LINE, 3 * sheets.LINE)


@needs_office
def test_it_prints_on_few_pages_without_a_stray_row(book: Path, tmp_path: Path):
    """A spreadsheet program prints the sample on at most 17 pages, none nearly empty."""
    pdf = saved(book, "pdf", tmp_path)
    text = subprocess.run(
        ["pdftotext", "-layout", str(pdf), "-"], capture_output=True, text=True, check=True
    ).stdout
    lines = [len([line for line in page.splitlines() if line.strip()]) for page in text.split("\f")[:-1]]
    assert len(SHEETS) - 1 <= len(lines) <= MOST_PAGES
    assert min(lines) > 10
