"""A verification as a folder to mail, in the reader's language."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from page import Page
from python_calamine import CalamineWorkbook

import bktools
from bktools.close.verification import Verification
from bktools.ledger.settlements import Settlement
from bktools.reports.verification import REPORT, WORKBOOK, write_verification

TEXTS = {
    "en": ("Verification in the ledger", "missing", "spend-tool administrator", "findings"),
    "de": ("Prüfung im Hauptbuch", "fehlt", "Administrator des Dienstes", "Befunde"),
}

# The columns of the workbook that hold days: lines, numbers of days and money are numbers.
DAYS = {"en": {"date", "booked on"}, "de": {"Datum", "gebucht am"}}


@pytest.mark.parametrize("language", TEXTS)
def test_a_verification_is_a_page_a_workbook_and_csv(language: str, tmp_path: Path):
    """Findings, control totals and batches in doubt, with the words of the language."""
    title, missing, who, sheet = TEXTS[language]
    days = pd.to_datetime([f"2026-10-{day:02}" for day in range(1, 21)])
    amounts = [100.0 + day for day in range(20)]
    entries = pd.DataFrame({"entry_id": [f"e{day}" for day in range(20)], "amount": amounts, "date": days})
    entries = entries.assign(
        account_code="5800", currency="EUR", description=[f"Taxi {n}" for n in range(20)]
    )
    booked = entries.drop(7).rename(columns={"description": "text"}).drop(columns="entry_id")
    booked = booked.assign(voucher_id=[f"V{place}" for place in booked.index])
    later = booked.head(1).assign(date=pd.Timestamp("2026-11-30"), account_code="1930", voucher_id="X")
    sent = entries.assign(state="ACCEPTED")
    match = bktools.match_ledger(sent, pd.concat([booked, later]), period="2026-10", language=language)
    settlement = Settlement("batch 1", None, "open", {}, "<b>two postings</b>", ("V1, 101.00",))
    shown = Verification(
        match=match,
        settlements=(settlement,),
        company="Muster & Söhne",
        environment="staging",
        ledger="books.se",
        months="2026-10",
        verified_at=dt.datetime(2026, 11, 30, tzinfo=dt.UTC),
    )
    write_verification(shown, tmp_path)
    page = Page(tmp_path / REPORT)
    assert title in page.text
    assert "<b>two postings</b>" in page.text
    [finding] = [row for row in page.tables["findings-table"][1:] if missing in row]
    assert who in finding
    assert any("107" in cell for cell in finding)
    book = CalamineWorkbook.from_path(tmp_path / WORKBOOK)
    assert missing in book.get_sheet_by_name(sheet).to_python()[1]
    days = set()
    for head, *rows in (book.get_sheet_by_name(name).to_python() for name in book.sheet_names[1:]):
        days |= {
            name for row in rows for name, value in zip(head, row, strict=True) if isinstance(value, dt.date)
        }
        assert "ACCEPTED" not in {value for row in rows for value in row}, "a name in place of the code"
    assert days == DAYS[language]
    totals = pd.read_csv(tmp_path / "ledger_totals.csv", sep=None, engine="python", encoding="utf-8-sig")
    assert len(totals) == len(match.totals)
    assert (tmp_path / "ledger_settlements.csv").exists()


def test_what_was_exported_is_the_sum_of_its_parts():
    """Booked, missing, and of other statuses: a line for each currency, whose parts add up."""
    days = pd.to_datetime([f"2026-10-{day:02}" for day in range(1, 21)])
    entries = pd.DataFrame({"entry_id": [f"e{day}" for day in range(20)], "date": days, "currency": "EUR"})
    entries["amount"] = [100.0 + day for day in range(20)]
    entries = entries.assign(account_code="5800", description=[f"Taxi {number}" for number in range(20)])
    booked = entries.drop(7).rename(columns={"description": "text"}).drop(columns="entry_id")
    booked.loc[3, "amount"] = 113.0
    booked = booked.assign(voucher_id=[f"V{place}" for place in booked.index])
    later = booked.head(1).assign(date=pd.Timestamp("2026-11-30"), account_code="1930", voucher_id="X")
    match = bktools.match_ledger(entries, pd.concat([booked, later]), period="2026-10")
    [line] = match.sums
    exported, *parts = (float(text.replace(",", "")) for text in re.findall(r"[\d,]+\.\d\d", line))
    assert (exported, len(parts), sum(parts)) == (entries["amount"].sum(), 3, exported)
    assert "of other statuses" in line


@pytest.mark.parametrize("lags", [(0, 1, 2, 3), (2,), (1, 4)])
def test_what_is_not_due_yet_is_no_difference(lags: tuple[int, ...]):
    """Entries whose vouchers may follow the ledger's last day are not compared; what is missing stays."""
    days = pd.date_range("2026-10-01", "2026-10-31", freq="D").repeat(2)
    entries = pd.DataFrame({"entry_id": [f"e{number}" for number in range(62)], "date": days})
    entries = entries.assign(amount=[100.0 + 7 * n for n in range(62)], account_code="5800", currency="EUR")
    entries["description"] = [f"Taxi {number}" for number in range(62)]
    late = pd.to_timedelta([lags[number % len(lags)] for number in range(62)], unit="D")
    booked = entries.rename(columns={"description": "text"}).drop(columns="entry_id")
    booked = booked.assign(date=entries["date"] + late, voucher_id=[f"V{number}" for number in range(62)])
    is_shown = booked["date"] <= "2026-10-31"
    match = bktools.match_ledger(entries, booked[is_shown].drop(20), period="2026-10")
    statuses = match.entries["status"]
    assert {*statuses[is_shown].drop(20)} == {"booked"}
    assert {*statuses[~is_shown]} == {"not_comparable"}
    assert statuses[20] == "missing"
    shown = Verification(match, (), "Muster", "staging", "books.se", "2026-10", dt.datetime.now(dt.UTC))
    assert shown.differences["check"].tolist() == ["missing"]
    assert f"vouchers follow up to {max(lags)} days" in match.findings["message"].iloc[-1]
    # A later ledger has them in the next month: one line with their sum, and no difference either.
    match = bktools.match_ledger(entries, booked.drop(20), period="2026-10")
    [usual] = match.findings.loc[match.findings["reason"] == "another_month", "message"]
    late = entries[~is_shown]
    assert usual.startswith(f"{len(late)} entries of {late['date'].min():%Y-%m-%d} to 2026-10-31")
    assert f"EUR {late['amount'].sum():,.2f}" in usual
    shown = replace(shown, match=match)
    assert shown.differences["check"].tolist() == ["missing"]
