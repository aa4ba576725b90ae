"""The close in German: no English in it, the same figures, and a workbook that comes back."""

from __future__ import annotations

import csv
import re
from html import unescape
from pathlib import Path

import pytest
from filling import Rows, column, filled
from october import October
from python_calamine import CalamineWorkbook

import bktools
from bktools.close.close import Close
from bktools.errors import ArgumentError
from bktools.reports.folder import README, WORKBOOK
from bktools.settings import load_settings
from bktools.wording import words

ENGLISH, GERMAN = words("en"), words("de")


@pytest.fixture(scope="module")
def german(samples: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Close:
    """October, closed in German on a service of its own with the same books."""
    root = tmp_path_factory.mktemp("german")
    with bktools.Sandbox(root / "sandbox", job_seconds=0) as service:
        chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
        options = {"month": "2026-10", "apply": True, "max_entries": 100, "by": "Ada", "language": "de"}
        return bktools.close_month(
            chart, bktools.read_entries(samples[1]), folder=root / "oktober", service=service, **options
        )


def _text(page: str) -> str:
    """Return what a person reads of a page."""
    shown = re.sub(r"<(script|style)>.*?</\1>", "", page, flags=re.DOTALL)
    titles = " ".join(re.findall(r'(?:aria-label|alt)="([^"]*)"', shown))
    return " ".join(unescape(f"{re.sub('<[^>]*>', ' ', shown)} {titles}").split())


def test_the_report_is_german(german: Close, folder: Path):
    """The page says its language; no label of the English page that is another in German is left on it."""
    page = (german.folder / "report.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    text = _text(page)
    head = ("Monatsabschluss Oktober 2026", "Was zuerst zu tun ist", "15 Einträge im Dienst freigeben")
    assert all(said in text for said in (*head, "73.344,72", "06.10.2026"))
    english = _text((folder / "report.html").read_text(encoding="utf-8"))
    labels = [
        label
        for key, label in ENGLISH.texts.items()
        if key.startswith("report.") and key.count(".") == 1 and isinstance(label, str)
        if len(label) > 3 and "{" not in label and label != GERMAN.texts[key]
    ]
    on_english = [label for label in labels if re.search(rf"\b{re.escape(label)}\b", english)]
    assert len(on_english) > 30
    # A name of a person, a file or a supplier may be an English word.
    assert [label for label in on_english if re.search(rf"\b{re.escape(label)}\b", text)] == []


def test_the_workbook_is_german(german: Close, folder: Path):
    """Sheets, headings, states and days are German, and the figures are numbers, the same as in English."""
    books = [CalamineWorkbook.from_path(one / WORKBOOK) for one in (german.folder, folder)]
    names = ["zu tun", "Zahlen", "Einträge", "Kategorien", "Kontenplan", "bktools"]
    assert books[0].sheet_names == names
    for name, other in zip(names[:-1], books[1].sheet_names, strict=False):
        pair = zip(books, (name, other), strict=True)
        sheets = [book.get_sheet_by_name(sheet).to_python() for book, sheet in pair]
        numbers = [[[cell for cell in row if isinstance(cell, float)] for row in sheet] for sheet in sheets]
        assert numbers[0] == numbers[1], name
    head, *rows = books[0].get_sheet_by_name("Einträge").to_python()
    assert head[:4] == ["Status", "Grund", "Datum", "Lieferant"]
    assert {row[0] for row in rows} == {"exportiert", "zurückgehalten", "ausgelassen"}


def test_tables_have_english_headings_and_codes(german: Close, folder: Path):
    """A program reads the tables of either language: headings, codes and figures are the same."""
    for name in ("entries.csv", "to_do.csv", "figures.csv"):
        tables = []
        for one in (german.folder, folder):
            with (one / name).open(encoding="utf-8-sig", newline="") as file:
                tables.append(list(csv.DictReader(file)))
        # Sentences, and what is another job at another time.
        others = {"message", "to_do", "about", "why", "who", "job_id", "sent_at"}
        codes = [[{key: row[key] for key in row.keys() - others} for row in table] for table in tables]
        assert codes[0] == codes[1], name
    assert "Das Blatt" not in (german.folder / README).read_text(encoding="utf-8")
    assert "das Blatt „zu tun“" in (german.folder / README).read_text(encoding="utf-8")


def test_a_filled_in_workbook_comes_back(german: Close, close: Close, folder: Path, tmp_path: Path):
    """Account and note on German lines are the same fixes as on English ones, by codes and IDs."""
    account = close.accounts[
        close.accounts["state"].eq("CREATED") & ~close.accounts["archived"].astype(bool)
    ].iloc[0]

    def change(texts: str, heading: str, note: str):
        def changed(rows: Rows) -> None:
            asked = [row for row in rows if row[column(rows, texts)] == "no_account"]
            asked[1][column(rows, heading)] = account["code"]
            rows[-1][column(rows, note)] = "später"

        return changed

    fixes = [
        bktools.read_fixes(filled(one / WORKBOOK, tmp_path / f"{sheet}.xlsx", change(*headings), sheet=sheet))
        for one, sheet, headings in (
            (german.folder, "zu tun", ("Code", "neues Konto", "Notiz")),
            (folder, "to do", ("code", "new account", "note")),
        )
    ]
    same = ["line", "new_account", "note", "check", "category_id"]
    assert fixes[0][same].equals(fixes[1][same])
    checked = bktools.check_fixes(fixes[0], close.categories, close.accounts)
    assert list(checked["outcome"]) == ["open", "note"]


def test_the_language_is_a_setting(
    monkeypatch: pytest.MonkeyPatch, october: October, service, samples, tmp_path
):
    """The configured language is that of a close that names none; one that nobody wrote is refused."""
    monkeypatch.setenv("BKTOOLS_LANGUAGE", "de")
    assert load_settings("sandbox").language == "de"
    monkeypatch.setenv("BKTOOLS_LANGUAGE", "fr")
    with pytest.raises(ValueError, match="must be one of en, de"):
        load_settings("sandbox")
    chart, entries = bktools.read_chart_of_accounts(samples[0]), bktools.read_entries(samples[1])
    with pytest.raises(ArgumentError, match="language must be one of en, de"):
        bktools.close_month(chart, entries, language="fr", folder=tmp_path / "oktober", service=service)
    assert october.planned.words.language == "en"
