"""`to_excel`: every value back from the workbook, and nothing in it that computes."""

from __future__ import annotations

import datetime as dt
import re
import zipfile
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from python_calamine import CalamineWorkbook

import bktools
from bktools.errors import ArgumentError, InputError, StorageError
from bktools.frames import excel
from bktools.service import Service


def _parts(path: Path, pattern: str) -> str:
    with zipfile.ZipFile(path) as book:
        return "".join(book.read(name).decode() for name in book.namelist() if re.search(pattern, name))


def test_round_trip(awkward: pd.DataFrame, tmp_path: Path):
    """Every value comes back with its type: text as text, amounts and counts as numbers, dates as dates."""
    path = bktools.to_excel(awkward, tmp_path / "awkward.xlsx")
    (sheet,) = CalamineWorkbook.from_path(path).sheet_names
    head, *rows = CalamineWorkbook.from_path(path).get_sheet_by_name(sheet).to_python()
    read = pd.DataFrame(rows, columns=head, dtype="object")
    assert head == list(awkward.columns)
    assert list(read["code"]) == [value if isinstance(value, str) else "" for value in awkward["code"]]
    amounts = [None if pd.isna(value) else value for value in awkward["amount"]]
    assert [Decimal(str(cell)) if cell != "" else None for cell in read["amount"]] == amounts
    assert read["amount"][0] == -12.5
    assert read["amount"][3] == "99999999999999999.99"
    assert list(read["date"]) == [dt.date(2026, 10, 31)] * (len(awkward) - 1) + [""]
    assert list(read["at"]) == [dt.datetime(2026, 10, 31, 23, 59, 59)] * (len(awkward) - 1) + [""]  # noqa: DTZ001
    assert list(read["archived"]) == list(awkward["archived"])
    assert list(read["count"]) == list(awkward["count"])


def test_no_formula_and_no_link(tmp_path: Path):
    """Text that looks like a formula or an address is text."""
    texts = ["=SUM(1)", "{=SUM(1)}", "@x", "https://books.example.com", "mailto:a@b.c", "internal:A!A1"]
    path = bktools.to_excel(pd.DataFrame({"name": texts}), tmp_path / "names.xlsx")
    sheets = _parts(path, r"worksheets/sheet\d+\.xml$")
    assert "<f>" not in sheets
    assert "<hyperlink" not in sheets
    assert pd.read_excel(path, engine="calamine")["name"].to_list() == texts


def test_headings_are_frozen_and_filtered(service: Service, samples: tuple[Path, Path], tmp_path: Path):
    """Each sheet has its headings in view and a filter over all rows and columns."""
    tables = {
        "categories": bktools.load_categories(service=service),
        "chart": bktools.read_chart_of_accounts(samples[0]),
    }
    path = bktools.to_excel(tables, tmp_path / "tables.xlsx")
    assert CalamineWorkbook.from_path(path).sheet_names == ["categories", "chart"]
    sheet = _parts(path, r"sheet1\.xml$")
    assert '<pane ySplit="1"' in sheet
    assert f'<autoFilter ref="A1:H{len(tables["categories"]) + 1}"/>' in sheet


def test_what_a_workbook_cannot_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Too long a text, too many rows and bad names of sheets are one line, and nothing is written."""
    path = tmp_path / "large.xlsx"
    with pytest.raises(InputError, match=r"'t' has a text of 32,768 characters in 'name'"):
        bktools.to_excel({"t": pd.DataFrame({"name": ["x" * 32_768]})}, path)
    monkeypatch.setattr(excel, "MAX_ROWS", 3)
    with pytest.raises(InputError, match="has 3 rows, a sheet holds 2"):
        bktools.to_excel(pd.DataFrame({"n": [1, 2, 3]}), path)
    frame = pd.DataFrame({"n": [1]})
    for names in (["a/b"], ["x" * 32], ["one", "ONE"], ["'quoted'"]):
        with pytest.raises(ArgumentError, match="tables must have names that Excel takes"):
            bktools.to_excel(dict.fromkeys(names, frame), path)
    with pytest.raises(ArgumentError, match="at least one table"):
        bktools.to_excel({}, path)
    with pytest.raises(StorageError, match="cannot be written"):
        bktools.to_excel(frame, tmp_path / "nowhere" / "file.xlsx")
    assert not path.exists()


def test_numbers_that_excel_would_round_are_text(tmp_path: Path):
    """More than fifteen digits are kept as text, so that none is lost."""
    amounts = [Decimal("1234567890123.45"), Decimal("12345678901234.56")]
    counts = [123_456_789_012_345, 1_234_567_890_123_456]
    frame = pd.DataFrame({"amount": amounts, "count": counts, "share": [0.1, float("inf")]})
    path = bktools.to_excel(frame, tmp_path / "numbers.xlsx")
    _, *rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    assert rows == [
        [1234567890123.45, 123456789012345.0, 0.1],
        ["12345678901234.56", "1234567890123456", "inf"],
    ]


def test_dates_that_excel_does_not_know_are_text(tmp_path: Path):
    """Excel's days begin in 1900, with a 29 February that never was."""
    dates = pd.to_datetime(["1899-12-31", "1900-03-01"]).as_unit("s")
    path = bktools.to_excel(pd.DataFrame({"date": dates}), tmp_path / "dates.xlsx")
    _, *rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    assert rows == [["1899-12-31"], [dt.date(1900, 3, 1)]]


def test_times_are_in_utc_and_long_decimals_are_texts(tmp_path: Path):
    """A time of another zone is written in UTC; what Excel would round is a text with each digit."""
    at = pd.to_datetime(["2026-10-31T10:00:00"]).tz_localize("Europe/Berlin")
    long = pd.array([Decimal(10**30 + 1)], dtype=pd.ArrowDtype(pa.decimal128(38, 0)))
    path = bktools.to_excel(pd.DataFrame({"at": at, "count": long}), tmp_path / "times.xlsx")
    (_, row) = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    assert row == [dt.datetime(2026, 10, 31, 9), str(10**30 + 1)]  # noqa: DTZ001
