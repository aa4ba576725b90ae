"""The month-end folder: whole or none, what is in it, and the earlier one kept."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from matplotlib import image
from python_calamine import CalamineWorkbook

from bktools.errors import InputError, StorageError
from bktools.reports import excel, month_end
from bktools.reports.close import Close
from bktools.reports.month_end import (
    MACHINE,
    MANIFEST,
    REPORTS,
    WORKBOOK,
    check_target,
    write_month_end,
)
from bktools.reports.pictures import PICTURES
from bktools.reports.workbook import write_close


def _manifest(folder: Path) -> dict:
    return json.loads((folder / MANIFEST).read_text(encoding="utf-8"))


def test_every_file_is_in_the_manifest(folder: Path):
    """The manifest names each file with its digest and its size, and nothing else is there."""
    listed = _manifest(folder)["files"]
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {*listed, MANIFEST}
    for name, described in listed.items():
        content = (folder / name).read_bytes()
        assert described["sha256"] == hashlib.sha256(content).hexdigest()
        assert described["bytes"] == len(content)


def test_tables_are_whole(folder: Path, close: Close):
    """Each CSV file has all rows and columns of its table."""
    listed = _manifest(folder)["files"]
    for name, table in REPORTS.items():
        frame = table(close)
        with (folder / name).open(encoding="utf-8-sig", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == list(frame.columns) == listed[name]["columns"]
        assert len(rows) == len(frame) == listed[name]["rows"]


def test_the_manifest_says_what_was_done(folder: Path, close: Close):
    """Who, when, from which data, and counts that are those of the tables."""
    manifest = _manifest(folder)
    counts = manifest["counts"]
    assert manifest["begun_at"] == "2026-11-02T08:30:00+00:00"
    assert manifest["environment"] == "sandbox"
    assert manifest["done_by"]
    assert counts["entries"] == counts["entries_ready"] + sum(counts["entries_not_ready"].values()) == 320
    assert counts["export_jobs"] == {"ACCEPTED": len(close.plan.batches)}
    assert manifest["sources"]["entries"]["source"].endswith("accounting_entries.csv")


def test_counts_before_and_after_are_not_mixed_up(folder: Path, close: Close):
    """Findings by check before accounts were created and after, each counted from its own reconciliation."""
    counts = _manifest(folder)["counts"]
    expected = {
        name: dict(Counter(found.findings["check"]))
        for name, found in (("findings_before", close.before), ("findings_after", close.after))
    }
    assert expected["findings_before"] != expected["findings_after"]
    assert {name: counts[name] for name in expected} == expected
    with (folder / "reconciliation.csv").open(encoding="utf-8-sig", newline="") as file:
        assert Counter(row["check"] for row in csv.DictReader(file)) == expected["findings_after"]


def test_every_count_is_of_its_own_table(folder: Path, close: Close):
    """No count of the manifest is another table's, and each source is named by its own table."""
    manifest = _manifest(folder)
    tables = {
        "categories": close.categories,
        "employees": close.employees,
        "chart_accounts": close.chart,
        "entries": close.entries,
        "entries_ready": close.plan.entries,
        "batches": close.plan.batches,
    }
    assert len({len(table) for table in tables.values()}) == len(tables), "counts that are alike could be swapped"
    assert {name: manifest["counts"][name] for name in tables} == {name: len(table) for name, table in tables.items()}
    assert manifest["counts"]["accounts"] == dict(Counter(close.accounts["outcome"]))
    assert manifest["counts"]["entries_not_ready"] == dict(Counter(close.plan.not_ready["reason"]))
    for name in ("chart", "entries"):
        told = getattr(close, name).attrs["bktools"]
        assert manifest["sources"][name]["source"] == told["source"]
        assert manifest["sources"][name]["sha256"] == hashlib.sha256(Path(told["source"]).read_bytes()).hexdigest()
    for name in ("categories", "employees"):
        assert manifest["sources"][name]["rows"] == len(getattr(close, name))
    assert manifest["company_id"] == close.company
    assert manifest["plan_id"] == close.plan.plan_id
    assert manifest["applied"] is True


def test_real_books_are_not_called_a_sandbox(close: Close, tmp_path: Path):
    """A close of another environment has its name, on the workbook and wherever it is shown."""
    real = replace(close, environment="production")
    book = CalamineWorkbook.from_path(write_close(real, tmp_path / WORKBOOK))
    about = book.get_sheet_by_name("close").to_python()[1][0]
    assert about.startswith("production · company")
    assert "sandbox" not in repr(real)


def test_totals_are_exact_and_by_currency(folder: Path, close: Close):
    """One line a currency, the sum of the exported entries to the cent."""
    expected: dict[str, Decimal] = {}
    for currency, amount in zip(close.plan.entries["currency"], close.plan.entries["amount"], strict=True):
        expected[currency] = expected.get(currency, Decimal(0)) + amount
    assert _manifest(folder)["totals"] == {currency: str(amount) for currency, amount in sorted(expected.items())}


def test_the_same_close_gives_the_same_workbook(folder: Path, close: Close, tmp_path: Path):
    """Two runs of the writer give the same bytes, so that a digest in a manifest means something."""
    assert write_close(close, tmp_path / WORKBOOK).read_bytes() == (folder / WORKBOOK).read_bytes()


def test_programs_get_plain_values(folder: Path, close: Close):
    """Each table is there a second time for programs: no byte order mark, codes without a guard, the same rows."""
    chart_code = next(code for code in close.accounts["code"] if code.startswith("0"))
    for name, table in REPORTS.items():
        with (folder / MACHINE / name).open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == list(table(close).columns)
        assert len(rows) == len(table(close))
    assert f',"=""{chart_code}""",' in (folder / "accounts_created.csv").read_text(encoding="utf-8-sig")
    assert f",{chart_code}," in (folder / MACHINE / "accounts_created.csv").read_text(encoding="utf-8")


def test_actions_coverage_and_totals_are_tables(folder: Path, close: Close):
    """The action of each account, the state of each category, and totals with the names of categories."""
    with (folder / MACHINE / "actions.csv").open(encoding="utf-8", newline="") as file:
        assert Counter(row["action"] for row in csv.DictReader(file)) == Counter(close.after.actions["action"])
    with (folder / MACHINE / "coverage.csv").open(encoding="utf-8", newline="") as file:
        assert Counter(row["state"] for row in csv.DictReader(file)) == Counter(close.after.coverage["state"])
    names = dict(zip(close.categories["id"], close.categories["name"], strict=True))
    with (folder / MACHINE / "totals.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["category_name"] == names[row["category_id"]] for row in rows)
    found: dict[str, Decimal] = {}
    for row in rows:
        found[row["currency"]] = found.get(row["currency"], Decimal(0)) + Decimal(row["amount"])
    assert found == close.plan.amounts


def test_a_table_too_large_for_a_sheet_is_in_its_csv_file(
    close: Close, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The workbook is written all the same, and says what it lacks."""
    monkeypatch.setattr(excel, "MAX_ROWS", len(close.categories))
    book = CalamineWorkbook.from_path(write_close(close, tmp_path / WORKBOOK))
    assert "categories" not in book.sheet_names
    cells = [cell for row in book.get_sheet_by_name("close").to_python() for cell in row]
    assert any(str(cell).startswith("only in its CSV file: it has 240 rows") for cell in cells)


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_pictures(folder: Path, name: str):
    """Each picture is there, large enough to be read, and not blank."""
    pixels = image.imread(folder / name)
    assert pixels.shape[0] > 300
    assert pixels.shape[1] > 1000
    assert pixels[..., :3].std() > 0.05


def test_an_earlier_close_is_kept(close: Close, folder: Path, tmp_path: Path):
    """A second close of the month takes the folder's name; the first stands beside it under its time."""
    folder = Path(shutil.copytree(folder, tmp_path / "october"))
    first = (folder / MANIFEST).read_bytes()
    later = replace(close, begun_at=close.begun_at.replace(hour=9))
    write_month_end(later, folder)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith("october")) == [
        "october",
        "october.2026-11-02T083000.000000Z",
    ]
    assert (tmp_path / "october.2026-11-02T083000.000000Z" / MANIFEST).read_bytes() == first
    assert _manifest(folder)["begun_at"] == "2026-11-02T09:30:00+00:00"


def test_whole_or_none(close: Close, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A disk that is full in the middle leaves the earlier close as it was and nothing half-written."""
    folder = Path(shutil.copytree(folder, tmp_path / "october"))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    left = iter(range(3))
    real = month_end.to_csv

    def full(*args, **kwargs):
        if next(left, None) is None:
            raise OSError(28, "No space left on device")
        return real(*args, **kwargs)

    monkeypatch.setattr(month_end, "to_csv", full)
    with pytest.raises(StorageError, match="No space left on device"):
        write_month_end(close, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir() if "october" in path.name] == ["october"]


def test_folders_of_something_else_are_refused(tmp_path: Path):
    """A close is not written over somebody's files."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"cat")
    with pytest.raises(InputError, match="holds something else than a close"):
        check_target(tmp_path / "photos")
    with pytest.raises(InputError, match="is a file"):
        check_target(tmp_path / "photos" / "cat.jpg")
    (tmp_path / "empty").mkdir()
    check_target(tmp_path / "empty")


def test_a_manifest_that_cannot_be_read_is_not_put_aside(close: Close, tmp_path: Path):
    """What is not certainly a close stays where it is."""
    folder = tmp_path / "october"
    folder.mkdir()
    (folder / MANIFEST).write_text("{}")
    with pytest.raises(StorageError, match="cannot be read"):
        write_month_end(close, folder)
    assert (folder / MANIFEST).read_text() == "{}"
