"""The story of card expenses: files of people's own, one refusal, one command after it, none next month."""

from __future__ import annotations

import re
import shlex

import pandas as pd
import pytest
import xlsxwriter
from typer.testing import CliRunner

import bktools
from bktools.cli.app import app
from bktools.errors import InputError
from bktools.export.plan_file import read_plan

IDS = ("bea1859c-73ae-5b5f-8abd-62856dc235c9", "a5d9b515-63a7-5c88-be1f-6f3f844ec56e")
HEADINGS = "Expense ID,Belegdatum,Laden,Betrag,Währung,Mitarbeiter E-Mail,Wofür,Kostenstelle,Status"


def run(line, *arguments):
    return CliRunner().invoke(app, [*shlex.split(line), *map(str, arguments), "--sandbox"])


@pytest.fixture
def books():
    """Names of categories that are there once, and the employees of the sandbox's books."""
    with bktools.connect("sandbox") as service:
        categories = bktools.load_categories(service=service, progress=False)
        employees = bktools.load_employees(service=service, progress=False)
    single = categories[~categories["name"].duplicated(keep=False) & categories["name"].str.isalpha()]
    return single.reset_index(drop=True), employees


def card_expenses(path, books, dates, amounts):
    """Write the service's card expenses, with names and e-mails where it has UUIDs."""
    categories, employees = books
    rows = [
        f"{entry},{date},Café "
        f'“Ö”,"{amount}",EUR,{employees["email"][row].upper()},{categories["name"][row]},K{row},Approved'
        for row, (entry, date, amount) in enumerate(zip(IDS, dates, amounts, strict=True))
    ]
    path.write_text("\n".join([HEADINGS, *rows, ""]), encoding="utf-8")


def test_one_refusal_one_command_then_none(tmp_path, monkeypatch, books):
    """One refusal lists all problems; its own command settles them, and next month's file needs no option."""
    monkeypatch.chdir(tmp_path)
    categories, employees = books
    card_expenses(tmp_path / "october.csv", books, ("03/10/2026", "04/10/2026"), ("1,234", "-5,600"))
    refused = run("export compose october.csv").exception
    assert isinstance(refused, InputError)
    assert str(refused).startswith("october.csv: 3 problems: (1) no column found for 'category_id'")
    assert "(2) 'Belegdatum' holds dates such as '03/10/2026'" in str(refused)
    settling = re.search(r": read it with (.*)", str(refused))[1]
    settled = run(f"export compose october.csv {settling}", "--save-mapping", "card", "--out", "october.plan")
    assert settled.exit_code == 0, settled.output
    assert "mapping 'card' saved" in settled.output
    card_expenses(tmp_path / "november.csv", books, ("03/11/2026", "05/11/2026"), ("2,345", "-6,700"))
    done = run("export compose november.csv --out november.plan")
    assert done.exit_code == 0, done.output
    assert "mapping 'card' used for november.csv" in done.output
    for month, amounts in ((10, [1234.0, -5600.0]), (11, [2345.0, -6700.0])):
        plan = read_plan(tmp_path / {10: "october.plan", 11: "november.plan"}[month]).plan
        entries = pd.concat([plan.entries, plan.not_ready]).set_index(
            "id" if "id" in plan.entries else "entry_id"
        )
        assert entries.loc[list(IDS), "category_id"].tolist() == categories["id"][:2].tolist()
        assert entries.loc[list(IDS), "employee_id"].tolist() == employees["id"][:2].tolist()
        assert entries.loc[list(IDS), "amount"].tolist() == amounts
        assert entries.loc[list(IDS), "date"].dt.month.tolist() == [month] * 2
        assert entries.loc[list(IDS), "cost_centre"].tolist() == ["K0", "K1"]


def test_a_chart_with_a_title_merged_headings_and_totals(tmp_path, monkeypatch):
    """A chart's workbook needs no option: title, merged headings and totals are no accounts."""
    monkeypatch.chdir(tmp_path)
    with xlsxwriter.Workbook("chart.xlsx") as book:
        sheet = book.add_worksheet("Kontenplan")
        sheet.write(0, 0, "Kontenplan der Nordlicht GmbH")
        sheet.merge_range(2, 0, 2, 1, "Konto")
        sheet.merge_range(2, 2, 2, 3, "Saldo")
        for column, heading in enumerate(("Nummer", "Bezeichnung", "Soll", "Haben")):
            sheet.write(3, column, heading)
        for row, (code, name) in enumerate(
            (("0400", "Maschinen"), ("1200", "Bank"), ("4930", "Bürobedarf")), 4
        ):
            sheet.write_row(row, 0, [code, name, 10, 0])
        sheet.write_row(7, 0, ["", "Summe", 30, 0])
    done = run("accounts create --chart chart.xlsx --output made.csv --profile machine")
    assert done.exit_code == 0, done.output
    assert "rows skipped as totals, not accounts: 1 (line 8)" in done.output
    made = pd.read_csv("made.csv", dtype=str)
    assert made.set_index("external_id")["name"].to_dict() == {
        "0400": "Maschinen",
        "1200": "Bank",
        "4930": "Bürobedarf",
    }
