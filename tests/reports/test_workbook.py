"""The close's workbook: figures as numbers, actions, a list to choose from, and pages that a person can print."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pyarrow as pa
import pytest
from october import October
from python_calamine import CalamineWorkbook

import bktools
from bktools.reports.close import Close
from bktools.reports.to_do import MAPPINGS, actions_of, as_frame
from bktools.reports.workbook import CHOICES, write_close

Rows = list[list[Any]]

SHEETS = [
    "close", "to do", "entries ready", "entries held back", "findings", "export jobs", "accounts created", "categories",
    "employees", "chart", "lines",
]  # fmt: skip
MOST_PAGES = 15
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
needs_office = pytest.mark.skipif(
    shutil.which("soffice") is None, reason="no LibreOffice is installed to open files with"
)


@pytest.fixture(scope="module")
def book(folder: Path) -> Path:
    return folder / "month-end.xlsx"


def _rows(path: Path, sheet: str) -> Rows:
    return CalamineWorkbook.from_path(path).get_sheet_by_name(sheet).to_python()


def _table(rows: Rows, heading: str) -> list[dict[str, Any]]:
    """Return the rows of a table of the first sheet by its heading, each by the titles and their place."""
    at = next(number for number, row in enumerate(rows) if row[0] == heading)
    titles = [f"{title} {place}" for place, title in enumerate(rows[at + 1]) if title]
    found = []
    for row in rows[at + 2 :]:
        if row[0] == "":
            break
        found.append(dict(zip(titles, row, strict=False)))
    return found


def _xml(path: Path, name: str) -> str:
    with zipfile.ZipFile(path) as book:
        return book.read(name).decode()


def _sums(frame: pd.DataFrame) -> dict[str, Decimal]:
    found: dict[str, Decimal] = defaultdict(Decimal)
    for currency, amount in zip(frame["currency"], frame["amount"], strict=True):
        found[currency] += amount
    return dict(found)


def _converted(path: Path, kind: str, folder: Path) -> Path:
    command = ["soffice", "--headless", "--norestore", f"-env:UserInstallation=file://{folder / 'profile'}"]
    command += ["--convert-to", kind, "--outdir", str(folder), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    made = folder / f"{path.stem}.{kind}"
    assert made.exists(), done.stdout + done.stderr
    return made


def test_figures_first_then_what_is_to_do(book: Path):
    """The sheets in the order in which a person reads them; the one for bktools is hidden."""
    found = CalamineWorkbook.from_path(book)
    assert found.sheet_names == SHEETS
    assert [str(one.visible).rpartition(".")[2] for one in found.sheets_metadata] == ["Visible"] * 10 + ["Hidden"]


def test_the_first_sheet_has_numbers_by_currency(book: Path, close: Close):
    """Count and exact amount of exported, held-back and left-out entries, added by hand from the plan."""
    held = close.plan.not_ready[~close.plan.not_ready["reason"].isin(["duplicate", "other_company"])]
    left = close.plan.not_ready[close.plan.not_ready["reason"].isin(["duplicate", "other_company"])]
    *rows, total = _table(_rows(book, "close"), "Entries and amounts by currency")
    assert [row["currency 0"] for row in rows] == sorted({*close.plan.entries["currency"], *held["currency"]})
    for row in rows:
        currency = row["currency 0"]
        for frame, count, amount in (
            (close.plan.entries, "exported: entries 1", "amount 2"),
            (held, "held back: entries 5", "amount 6"),
            (left, "left out: entries 7", "amount 8"),
        ):
            assert row[count] == (frame["currency"] == currency).sum()
            assert Decimal(str(row[amount])) == _sums(frame).get(currency, 0)
        assert row["ready: entries 3"] == row["amount 4"] == 0
        whole = sum(_sums(frame).get(currency, Decimal(0)) for frame in (close.plan.entries, held, left))
        assert Decimal(str(row["amount 10"])) == whole
    assert (total["exported: entries 1"], total["held back: entries 5"]) == (len(close.plan.entries), len(held))
    assert total["all: entries 9"] == 320
    assert total["amount 2"] == ""


def test_a_second_run_has_the_same_figures(october: October):
    """What the first run exported is exported on the second run's sheet too: figures come from the journal."""
    folders = (october.again.kept, october.again.folder)
    found = [_table(_rows(path / "month-end.xlsx", "close"), "Entries and amounts by currency") for path in folders]
    assert len(october.again.plan.entries) == 0
    assert found[0] == found[1]
    assert found[0][-1]["exported: entries 1"] > 0


def test_held_back_by_reason_and_currency(book: Path, close: Close):
    """One row a reason, one column a currency; the last row adds each currency and nothing over currencies."""
    held = close.plan.not_ready[~close.plan.not_ready["reason"].isin(["duplicate", "other_company"])]
    *rows, total = _table(_rows(book, "close"), "Held back, by reason")
    counts = Counter(message.partition(":")[0] for message in held["message"])
    assert {row["reason 0"]: row["entries 1"] for row in rows} == counts
    for reason in counts:
        row = next(row for row in rows if row["reason 0"] == reason)
        own = _sums(held[held["message"].str.partition(":")[0] == reason])
        found = {title.partition(" ")[0]: value for title, value in row.items() if title[:3].isupper() and value != ""}
        assert {currency: Decimal(str(value)) for currency, value in found.items()} == own
    assert Decimal(str(next(value for title, value in total.items() if title.startswith("EUR")))) == _sums(held)["EUR"]


def test_the_last_close_is_compared(close: Close, tmp_path: Path):
    """The newest earlier month of the journal beside this one: amounts, the difference and its share."""
    money = pd.ArrowDtype(pa.decimal128(38, 2))
    sent = pd.DataFrame(
        {
            "company_id": [close.company] * 3 + ["another"],
            "state": ["ACCEPTED", "ACCEPTED", "UNKNOWN", "ACCEPTED"],
            "period": ["2026-09", "2026-08", "2026-09", "2026-09"],
            "amount": pd.array([Decimal(text) for text in ("1000.00", "7.00", "5.00", "9.00")], dtype=money),
            "currency": ["EUR"] * 4,
        }
    )
    path = write_close(replace(close, sent=sent), tmp_path / "compared.xlsx")
    row = next(
        row for row in _table(_rows(path, "close"), "Exported, compared with 2026-09") if row["currency 0"] == "EUR"
    )
    now = _sums(close.plan.entries)["EUR"]
    assert (row["2026-09: entries 1"], row["amount 2"]) == (1, 1000)
    assert Decimal(str(row["amount 4"])) == now
    assert Decimal(str(row["change 5"])) == now - 1000
    assert row["% 6"] == pytest.approx(float((now - 1000) / 1000))
    assert "changes" not in CalamineWorkbook.from_path(path).sheet_names
    assert any(row[0] == "No earlier close is in the journal to compare with" for row in _rows(
        write_close(close, tmp_path / "alone.xlsx"), "close"
    ))  # fmt: skip


def test_changes_have_a_sheet(close: Close, tmp_path: Path):
    """What changed since the last close is a sheet of its own, counted on the first."""
    frame = bktools.compare(close.categories.iloc[:5], close.categories.iloc[2:5])
    path = write_close(replace(close, changes=frame), tmp_path / "changed.xlsx")
    head, *rows = _rows(path, "changes")
    assert [row[head.index("change")] for row in rows] == ["removed", "removed"]
    assert {row[head.index("about")] for row in rows} == set(close.categories["name"].iloc[:2])
    assert ["changes since the last close (see the sheet)", 2] in [row[:2] for row in _rows(path, "close")]


def test_one_row_an_action(book: Path, close: Close):
    """Each category without an account, and each entry that somebody corrects, is one row with its money."""
    head, *rows = _rows(book, "to do")
    found = [dict(zip(head, row, strict=True)) for row in rows]
    coverage = close.after.coverage
    open_ones = coverage[coverage["state"].isin(MAPPINGS) & ~coverage["archived"]]
    assert {row["category id"] for row in found if row["check"] in MAPPINGS} >= set(open_ones["category_id"])
    unapproved = close.plan.not_ready[close.plan.not_ready["reason"] == "not_approved"]
    approve = [row for row in found if row["check"] == "not_approved"]
    assert {row["entry id"] for row in approve} == set(unapproved["id"])
    assert sum(Decimal(str(row["amount"])) for row in approve if row["currency"] == "EUR") == _sums(unapproved)["EUR"]
    assert len({row["line id"] for row in found}) == len(found)
    assert all(row["new account"] == row["note"] == "" for row in found)
    assert not [row for row in found if row["to do"].startswith("nothing")]


def test_actions_as_a_table_have_one_currency_a_row(close: Close):
    """The money of category actions is that of the entries that wait for them, by currency, to the cent."""
    frame = as_frame(actions_of(close))
    waiting = close.plan.findings[close.plan.findings["check"].isin(["no_account", "archived_account"])]
    assert _sums(frame[frame["check"].isin(MAPPINGS)].dropna(subset="amount")) == _sums(waiting)
    assert frame.loc[frame["amount"].notna(), "currency"].notna().all()


def test_accounts_are_chosen_from_a_list(book: Path, close: Close):
    """Each line that asks for an account, and no other, offers the active accounts of the chart by code and name."""
    head, *rows = _rows(book, "to do")
    asked = [number for number, row in enumerate(rows, 2) if row[head.index("check")] in MAPPINGS]
    cells = re.findall(
        r'<dataValidation type="list"[^>]*sqref="([^"]+)"[^>]*><formula1>(\w+)<', _xml(book, "xl/worksheets/sheet2.xml")
    )
    letter = chr(ord("A") + head.index("new account"))
    assert [cell for cell, _ in cells] == [f"{letter}{number}" for number in asked]
    assert {name for _, name in cells} == {CHOICES}
    place, last = re.search(rf'name="{CHOICES}">chart!\$(\w)\$2:\$\w\$(\d+)<', _xml(book, "xl/workbook.xml")).groups()
    offered = [row[ord(place) - ord("A")] for row in _rows(book, "chart")[1 : int(last)]]
    active = close.chart[~close.chart["archived"]].sort_values("code")
    assert offered == [f"{code} · {name}" for code, name in zip(active["code"], active["name"], strict=True)]


def test_pages_are_for_people(book: Path):
    """Landscape, fitted to the width, headings on each page, and no identifier within the printed area."""
    workbook = _xml(book, "xl/workbook.xml")
    for number, name in enumerate(SHEETS[:-1], 1):
        sheet = _xml(book, f"xl/worksheets/sheet{number}.xml")
        assert 'orientation="landscape"' in sheet
        assert 'fitToPage="1"' in sheet
        area = re.search(rf"Print_Area\" localSheetId=\"{number - 1}\">[^<]*\$([A-Z]+)\$\d+<", workbook)
        if name != "close":
            assert f'Print_Titles" localSheetId="{number - 1}"' in workbook
            titles = _rows(book, name)[0]
            printed = titles[: ord(area[1]) - ord("A") + 1]
            assert printed
            assert not [title for title in printed if title.endswith((" id", "url")) and title != "external id"]
    assert _xml(book, "xl/charts/chart1.xml").count("<c:ser>") == 4
    assert _xml(book, "xl/charts/chart2.xml").count("<c:ser>") == 1


def test_hostile_names_are_text(close: Close, tmp_path: Path):
    """Formulas, scripts, terminal escapes and turned letters in names compute nothing, link nothing, turn nothing."""
    names = ['=HYPERLINK("http://books.example.com","x")', "<script>alert(1)</script>", "\x1b[31mred", "\u202egnirts"]
    coverage = close.after.coverage.copy()
    places = coverage.index[coverage["state"] == "no_account"][: len(names)]
    coverage.loc[places, "name"] = names
    path = write_close(replace(close, after=replace(close.after, coverage=coverage)), tmp_path / "hostile.xlsx")
    about = [row[3] for row in _rows(path, "to do")[1:]]
    shown = [*names[:2], r"\x1b[31mred", r"\u202egnirts"]
    assert {f"category {name}" for name in shown} <= set(about)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist() if name.endswith(".xml")}
    formulas = [formula for text in parts.values() for formula in re.findall("<f>([^<]*)</f>", text)]
    assert formulas
    assert all(re.match(r"^(SUM\(|SUMPRODUCT\(--EXACT\(|[A-Z]\d+[+])", formula) for formula in formulas)
    assert not any("<hyperlink" in text for text in parts.values())


def test_amounts_that_excel_would_round_are_text(close: Close, tmp_path: Path):
    """An amount of 18 digits, and the totals that hold it, are exact: Excel's numbers keep 15."""
    held = close.plan.not_ready.copy()
    held["amount"] = held["amount"].astype(pd.ArrowDtype(pa.decimal128(38, 2)))
    place = held.index[(held["reason"] == "no_account") & (held["currency"] == "EUR")][0]
    held.loc[place, "amount"] = Decimal("1234567890123456.78")
    path = write_close(replace(close, plan=replace(close.plan, not_ready=held)), tmp_path / "large.xlsx")
    cells = [row for row in _rows(path, "entries held back") if "1,234,567,890,123,456.78" in row]
    assert len(cells) == 1
    total = sum(held.loc[held["currency"] == "EUR", "amount"], Decimal(0))
    assert any(f"{total:,}" in row for row in _rows(path, "entries held back"))


def _pages(path: Path, folder: Path) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", _converted(path, "pdf", folder).read_bytes()))


@needs_office
def test_the_sample_prints_on_few_pages(book: Path, tmp_path: Path):
    """A spreadsheet program prints the close of the sample on at most fifteen pages, at least one a sheet."""
    assert len(SHEETS) - 1 <= _pages(book, tmp_path) <= MOST_PAGES


@needs_office
def test_a_dry_run_prints_on_few_pages(october: October, tmp_path: Path):
    """So does a dry run without a list of accounts; a table without rows is a word on the first sheet."""
    path = october.first.kept / "month-end.xlsx"
    assert "entries ready" not in CalamineWorkbook.from_path(path).sheet_names
    assert ["entries ready", "none"] in [row[:2] for row in _rows(path, "close")]
    assert _pages(path, tmp_path) <= MOST_PAGES


@needs_office
def test_formulas_compute_what_is_written_beside_them(book: Path, tmp_path: Path):
    """Without the written values, a spreadsheet program computes the same; yen have no decimals, euros have two."""
    emptied = tmp_path / "emptied.xlsx"
    with zipfile.ZipFile(book) as source, zipfile.ZipFile(emptied, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            target.writestr(name, re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1", content))
    with zipfile.ZipFile(_converted(emptied, "ods", tmp_path)) as opened:
        root = ET.fromstring(opened.read("content.xml"))
    sheets = {sheet.get(f"{TABLE}name"): sheet for sheet in root.iter(f"{TABLE}table")}
    for name in ("close", "entries ready", "entries held back"):
        computed = [cell for cell in sheets[name].iter(f"{TABLE}table-cell") if cell.get(f"{TABLE}formula")]
        letters = re.findall(
            r'<c r="([A-Z]+\d+)"[^>]*><f>[^<]*</f><v>([^<]*)</v>',
            _xml(book, f"xl/worksheets/sheet{SHEETS.index(name) + 1}.xml"),
        )
        assert len(computed) == len(letters) > 0
        found = [Decimal(cell.get(f"{OFFICE}value")) for cell in computed]
        assert [pytest.approx(Decimal(value), abs=Decimal("0.001")) for _, value in letters] == found
    shown = ["".join(text.itertext()) for text in sheets["close"].iter(f"{TEXT}p")]
    yen = next(
        row for row in _table(_rows(book, "close"), "Entries and amounts by currency") if row["currency 0"] == "JPY"
    )
    euros = next(
        row for row in _table(_rows(book, "close"), "Entries and amounts by currency") if row["currency 0"] == "EUR"
    )
    assert f"{yen['amount 2']:,.0f}" in shown
    assert f"{euros['amount 2']:,.2f}" in shown
