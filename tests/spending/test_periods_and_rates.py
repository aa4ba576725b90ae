"""Quarters and years, and amounts in the company's own currency at rates that a person gives."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from bktools import spend
from bktools.errors import ArgumentError, InputError

ROWS = [
    ("2026-06-30", "EUR", "10.00"),
    ("2026-07-01", "USD", "100.05"),
    ("2026-08-15", "EUR", "40.00"),
    ("2026-09-30", "JPY", "12345"),
    ("2026-10-01", "USD", "-3.00"),
    (None, "EUR", "7.00"),
]
ENTRIES = pd.DataFrame(ROWS, columns=["date", "currency", "amount"])
ENTRIES["date"] = pd.to_datetime(ENTRIES["date"])
ENTRIES["amount"] = pd.array([Decimal(row[2]) for row in ROWS], pd.ArrowDtype(pa.decimal128(38, 2)))
RATES = {"USD": 0.8712, "JPY": "0.006"}


@pytest.mark.parametrize(
    ("period", "months"),
    [
        ("2026-07", ["2026-07"]),
        ("2026-Q3", ["2026-07", "2026-08", "2026-09"]),
        ("2026", ["2026-06", "2026-07", "2026-08", "2026-09", "2026-10"]),
        ("2026-06..2026-08", ["2026-06", "2026-07", "2026-08"]),
        (pd.Period("2026-10"), ["2026-10"]),
        ("2025", []),
    ],
)
def test_the_entries_of_a_period(period, months):
    """Entries of a month, a quarter, a year or several months are added up; undated ones are counted."""
    sums = spend(ENTRIES, by="month", period=period)
    plain = ENTRIES[ENTRIES["date"].dt.strftime("%Y-%m").isin(months)]
    assert sorted(sums["month"]) == months
    assert sums["amount"].sum() == float(plain["amount"].sum())
    assert sums.attrs["bktools"]["without_date"] == 1


@pytest.mark.parametrize("period", ["2026-Q5", "Q3", "2026-10..2026-01", "2026-1", "", "..", "2026-13"])
def test_what_is_no_period_is_refused(period):
    """A quarter that does not exist, and months that end before they begin, are refused."""
    with pytest.raises(ArgumentError, match="period"):
        spend(ENTRIES, by="month", period=period)


def test_amounts_in_the_own_currency():
    """Each entry is converted at its rate and rounded to cents; the sums are those of plain arithmetic."""
    sums = spend(ENTRIES, by=[], rates=RATES)
    home = dict(zip(sums["currency"], sums["home_amount"], strict=True))
    # 100.05 x 0.8712 = 87.16356, -3.00 x 0.8712 = -2.6136, 12345 x 0.006 = 74.07
    assert home == {"EUR": 57.00, "USD": 87.16 - 2.61, "JPY": 74.07}
    assert {*sums["home_currency"]} == {"EUR"}
    assert "home_amount" not in spend(ENTRIES, by=[])


def test_the_rate_of_the_day(tmp_path):
    """Of rates by day the last one until the entry's day holds; a day before the first one is refused."""
    file = tmp_path / "rates.csv"
    file.write_text("date,currency,rate\n2026-07-01,USD,0.90\n2026-09-01,USD,0.80\n", encoding="utf-8")
    dated = ENTRIES[ENTRIES["currency"] != "JPY"]
    spreadsheet = tmp_path / "spreadsheet.csv"
    spreadsheet.write_text(
        "Date;Currency;Rate\n2026-07-01;USD;0,90\n2026-09-01;USD;0,80\n", encoding="utf-8-sig"
    )
    for rates in (file, str(file), spreadsheet):
        home = spend(dated, by="month", rates=rates).set_index(["month", "currency"])["home_amount"]
        assert home["2026-07", "USD"] == 90.05
        assert home["2026-10", "USD"] == -2.40
    file.write_text("date,currency,rate\n2026-08-01,USD,0.90\n", encoding="utf-8")
    with pytest.raises(InputError, match="none for USD on 2026-07-01"):
        spend(dated, by="month", rates=file)


@pytest.mark.parametrize(
    ("rates", "match"),
    [
        ({"USD": 0.87}, "none for EUR, JPY"),
        ({"USD": 0.87, "JPY": 0.006, "EUR": 1.1}, "company's own the rate 1"),
        ({"USD": 0, "JPY": 1}, "above zero"),
        ({"USD": "x", "JPY": 1}, "numbers"),
    ],
)
def test_rates_that_leave_something_open_are_refused(rates, match):
    """No rate is guessed: a missing one, no own currency, and what is no rate are refused."""
    with pytest.raises((ArgumentError, InputError), match=match):
        spend(ENTRIES, by=[], rates=rates)
