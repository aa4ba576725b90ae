"""Quarters and years, and amounts in the company's own currency at rates that a person gives."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
import pyarrow as pa
import pytest

from bktools import spend, versus
from bktools.errors import ArgumentError, InputError
from bktools.frames.delimited import to_csv
from bktools.spending.rates import rates_of

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


def test_shares_and_sizes_with_rates_are_of_all_currencies():
    """Within each month, a share is that of the converted amounts of all currencies, by pandas."""
    sizes = spend(NAMED, "supplier", rates=RATES, largest_first=True)["home_amount"].tolist()
    assert sizes == sorted(sizes, reverse=True)
    for by, within in ((["supplier"], []), (["month", "supplier"], ["month"])):
        sums = spend(NAMED, by, rates=RATES, shares=True)
        groups = [*within] or pd.Series(0, index=sums.index)
        whole = sums.groupby(groups)["home_amount"].transform("sum")
        has_share = sums["home_amount"] * whole > 0
        same = sums["home_amount"].where(has_share)
        expected = same / same.groupby([sums[name] for name in within] or groups).transform("sum") * 100
        assert sums["share"].round(2).equals(expected.round(2))
        assert len({*sums.loc[has_share, "currency"]}) > 1


# Suppliers, and what a budget plans for them; with a currency, in that one.
NAMED = ENTRIES.assign(supplier=["Bahn", "Hotel", "Hotel", "Bahn", "Hotel", "Bahn"])
BY_MONTH = {"USD": [("2026-07-01", "0.9"), ("2026-10-01", "0.8")], "JPY": [("2026-01-01", "0.006")]}
PLANNED = [("Bahn", "USD", "200.01"), ("Hotel", "USD", "10.00"), ("Messe", "EUR", "5.00")]


def _in_euro(currency: str, amount: str, day: str | None, last: str) -> Decimal:
    """Return an amount at the last rate until its day, or until the last day where it has none."""
    rates = [rate for begins, rate in BY_MONTH.get(currency, []) if begins <= (day or last)]
    return (Decimal(amount) * Decimal((rates or ["1"])[-1])).quantize(Decimal("0.01"), ROUND_HALF_UP)


@pytest.mark.parametrize("budget", ["with currencies", "without"])
@pytest.mark.parametrize("period", [None, "2026-Q3"])
def test_a_budget_is_compared_in_the_own_currency(tmp_path, period, budget):
    """Each amount at its rate, a budget's at that of the month's end; without a currency it is in the own."""
    file = tmp_path / "rates.csv"
    lines = [f"{currency},{rate},{day}" for currency, own in BY_MONTH.items() for day, rate in own]
    file.write_text("\n".join(["currency,rate,date", *lines]), encoding="utf-8")
    that = pd.DataFrame(PLANNED, columns=["supplier", "currency", "amount"])
    that["amount"] = that["amount"].astype(float)
    that = that if budget == "with currencies" else that.drop(columns="currency")
    changes = versus(NAMED, that, by="supplier", period=period, rates=file, every=True)
    last = "2026-09-30" if period else "2026-10-31"
    sums = {supplier: [Decimal(0), Decimal(0)] for supplier in ("Bahn", "Hotel", "Messe")}
    for supplier, (day, currency, amount) in zip(NAMED["supplier"], ROWS, strict=True):
        if period is None or (day and "2026-07" <= day[:7] <= "2026-09"):
            sums[supplier][0] += _in_euro(currency, amount, day, last)
    for supplier, currency, amount in PLANNED:
        sums[supplier][1] += _in_euro(currency if "currency" in that else "EUR", amount, None, last)
    got = {row.supplier: [Decimal(repr(row.this)), Decimal(repr(row.that))] for row in changes.itertuples()}
    assert got == sums
    assert {*changes["currency"]} == {"EUR"}


def test_an_entry_of_the_same_price_at_another_rate_is_no_driver():
    """What both sides paid in its currency drives nothing; another entry does, in the own currency."""
    july = pd.DataFrame({"date": pd.to_datetime(["2026-07-01"]), "currency": "USD", "amount": [20.0]})
    july["supplier"] = "Zoom"
    october = july.assign(date=pd.Timestamp("2026-10-01"))
    fair = october.assign(supplier="Fair", amount=100.0)
    rates = rates_of({"USD": 1, "EUR": 1})
    by_day = [(dt.date(2026, 7, 1), Decimal("0.9")), (dt.date(2026, 10, 1), Decimal("0.8"))]
    rates = replace(rates, rows=tuple((day, "USD", rate) for day, rate in by_day), own="EUR")
    changes = versus(pd.concat([october, fair]), july, by=[], rates=rates)
    assert changes[["currency", "this", "that", "drivers"]].to_numpy().tolist() == [
        ["EUR", 96.0, 18.0, "2026-10-01 Fair +80.00"]
    ]


def test_without_a_rate_nothing_is_compared(monkeypatch):
    """A currency without a rate is an error, on either side."""
    planned = pd.DataFrame(PLANNED, columns=["supplier", "currency", "amount"]).astype({"amount": float})
    with pytest.raises(InputError, match="none for EUR, JPY"):
        versus(NAMED, planned, by="supplier", rates={"USD": 0.9})
    with pytest.raises(InputError, match="none for EUR, GBP"):
        versus(NAMED, planned.assign(currency="GBP"), by="supplier", rates={"USD": 0.9, "JPY": 1})
    monkeypatch.setenv("BKTOOLS_CURRENCY", "EUR")
    with pytest.raises(InputError, match="none for JPY on"):
        spend(NAMED, [], rates={"USD": 0.9})


@pytest.mark.parametrize("mark", [",", ";", "excel"])
@pytest.mark.parametrize(
    "headings",
    ["date currency rate", "Datum Währung Kurs", "Date Currency FX_rate", "currency rate date"],
)
def test_the_rate_of_the_day(tmp_path, mark, headings):
    """Of rates by day the last one until the entry's day holds, however the file is written."""
    rows = [["2026-07-01", "USD", 0.9], ["2026-09-01", "US$", 0.8]]
    rows = [[currency, rate, day] for day, currency, rate in rows] if headings.endswith("date") else rows
    file = tmp_path / ("rates.xlsx" if mark == "excel" else "rates.csv")
    if mark == "excel":
        pd.DataFrame(rows, columns=headings.split()).to_excel(file, index=False)
    else:
        decimal = "," if mark == ";" else "."
        pd.DataFrame(rows, columns=headings.split()).to_csv(file, sep=mark, decimal=decimal, index=False)
    dated = ENTRIES[ENTRIES["currency"] != "JPY"]
    home = spend(dated, by="month", rates=str(file)).set_index(["month", "currency"])["home_amount"]
    assert home["2026-07", "USD"] == 90.05
    assert home["2026-10", "USD"] == -2.40


def test_a_day_before_the_first_rate_is_refused(tmp_path):
    """No rate is guessed for a day that has none."""
    file = tmp_path / "rates.csv"
    dated = ENTRIES[ENTRIES["currency"] != "JPY"]
    file.write_text("date,currency,rate\n2026-08-01,USD,0.90\n", encoding="utf-8")
    with pytest.raises(InputError, match="none for USD on 2026-07-01"):
        spend(dated, by="month", rates=file)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("currency,rate\nUSD,0.87\nJPY,\n", "line 3: 'rate' must hold numbers above zero"),
        ("currency,rate\nUSD,-1\n", "line 2: 'rate' must hold numbers above zero"),
        ("currency,rate\nDollar,1\n", "line 2: 'currency' must hold the code"),
        ("date,currency,rate\n2026-10-31,USD,1\n,JPY,2\n", "line 3: 'date' must have the day"),
        ("date,currency,rate\n03/04/2026,USD,1\n", "no date shows the order(.|\n)*Correct the file"),
        ("when,currency,rate\n2026-10-31,USD,1\n", "No heading is known for the date"),
        ("currency,price\nUSD,0.87\n", "No heading is known for the rate(.|\n)*Correct the file"),
        ("date,currency,rate\n2026-10-31,USD,1\n2026-10-31,USD,2\n", "two rates for USD"),
    ],
)
def test_a_file_of_rates_that_leaves_something_open_is_refused(tmp_path, text, match):
    """A cell that is no rate is named by its line; an open column, or order of days, says how to write it."""
    file = tmp_path / "rates.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises((ArgumentError, InputError), match=match):
        spend(ENTRIES, by=[], rates=file)


def test_an_entry_without_the_date_that_its_rate_needs_is_left_out_and_counted(tmp_path):
    """In sums and in comparisons alike; an amount in the own currency needs no rate."""
    (tmp_path / "rates.csv").write_text("date,currency,rate\n2026-01-01,USD,0.5\n2026-10-01,USD,0.9\n")
    dated = pd.to_datetime(["2026-06-30", None, None])
    entries = pd.DataFrame({"date": dated, "currency": ["USD", "USD", "EUR"], "amount": [10.0, 20.0, 1.0]})
    rates, left = tmp_path / "rates.csv", {"entries": 1, "amounts": {"USD": "20.00"}}
    sums = spend(entries, by=[], rates=rates)
    assert sums["home_amount"].sum() == 6.0
    assert sums.attrs["bktools"]["questionable"]["undated"] == left
    changes = versus(entries, entries.iloc[:1], by=[], rates=rates)
    assert changes[["this", "that"]].to_numpy().tolist() == [[6.0, 5.0]]
    assert changes.attrs["bktools"]["questionable"]["this"]["undated"] == left


def test_rates_without_days_hold_on_every_day(tmp_path):
    """A file without dates, as it is kept for the next close of its month, too."""
    file = tmp_path / "rates.csv"
    file.write_text("Währung;Kurs\nUSD;0,8712\nJPY;0,0058\n", encoding="utf-8")
    rates = rates_of(file)
    assert [row[1:] for row in rates.rows] == [("JPY", Decimal("0.0058")), ("USD", Decimal("0.8712"))]
    to_csv(rates.table, file, "machine")
    assert rates_of(file) == rates


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
