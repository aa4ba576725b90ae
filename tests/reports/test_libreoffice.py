"""Files opened with a real spreadsheet program: what the analyst's Excel shows is what was written."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET
from zipfile import ZipFile

import pandas as pd
import pyarrow as pa
import pytest
from office import needs_office, saved

import bktools

TEXTS = ["0400", "=SUM(1)", "Größe ÄÖÜß", "Snacks 🥨 会議費", "Zeile eins\nZeile zwei", "1-2"]
TEXTS += ["12345678901234567", "@x"]
AMOUNTS = ["-12.50", "0.00", "1234567.89", "3.10", "7.00", "-0.01", "99.99", "0.30"]

# How LibreOffice reads a file: delimiter, text mark, UTF-8, first line, English or German numbers.
OPENED_AS = {"excel": "44,34,76,1,,1033", "excel-eu": "59,34,76,1,,1031", "machine": "44,34,76,1,1/2,1033"}
NAMES = {
    "office": "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}",
    "table": "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}",
    "text": "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}",
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    amounts = pd.array([Decimal(text) for text in AMOUNTS], dtype=pd.ArrowDtype(pa.decimal128(38, 2)))
    return pd.DataFrame({"name": pd.Series(TEXTS, dtype="str"), "amount": amounts})


def _opened(path: Path, *options: str) -> list[list[tuple[str, str]]]:
    """Return type and value of each cell as LibreOffice has them after opening the file."""
    with ZipFile(saved(path, "ods", path.parent, *options)) as book:
        root = ET.fromstring(book.read("content.xml"))
    first = next(root.iter(f"{NAMES['table']}table"))
    rows = first.findall(f".//{NAMES['table']}table-row")
    return [[_cell(cell) for cell in row.findall(f"{NAMES['table']}table-cell")] for row in rows][
        : len(TEXTS) + 1
    ]


def _cell(cell: Any) -> tuple[str, str]:
    kind = cell.get(f"{NAMES['office']}value-type") or ""
    if kind == "float":
        return "number", cell.get(f"{NAMES['office']}value")
    lines = ["".join(line.itertext()) for line in cell.findall(f"{NAMES['text']}p")]
    return kind, "\n".join(lines)


def _same(rows: list[list[tuple[str, str]]], *, unguard: bool) -> None:
    head, *body = rows
    assert [value for _, value in head[:2]] == ["name", "amount"]
    assert [row[0][0] for row in body] == ["string"] * len(TEXTS)
    shown = [row[0][1] for row in body]
    assert [re.sub(r"^'(?='*[=+\-@])", "", text) if unguard else text for text in shown] == TEXTS
    assert [row[1][0] for row in body] == ["number"] * len(AMOUNTS)
    assert [Decimal(row[1][1]) for row in body] == [Decimal(text) for text in AMOUNTS]


@needs_office
@pytest.mark.parametrize("profile", OPENED_AS)
def test_csv_opens_with_the_same_values(frame: pd.DataFrame, tmp_path: Path, profile: str):
    """Codes keep their zeros, =SUM(1) is text, -12.50 a number, umlauts, emoji and the newline are there."""
    path = bktools.to_csv(frame, tmp_path / f"{profile}.csv", profile)
    _same(_opened(path, f"--infilter=CSV:{OPENED_AS[profile]}"), unguard=profile != "machine")


@needs_office
def test_a_workbook_opens_with_the_same_values(frame: pd.DataFrame, tmp_path: Path):
    """The same from a workbook, without a guard."""
    _same(_opened(bktools.to_excel(frame, tmp_path / "book.xlsx")), unguard=False)
