"""Days, amounts, currencies and sides: one table of cells each, read by the whole column."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import bktools
from bktools.errors import QuestionError
from bktools.frames import schema
from bktools.inputs.question import Problems
from bktools.inputs.values.amounts import Figures, decimal_mark


def entries(write, cells, heading="Amount", dates=None, **options):
    """Read entries with these cells in a column."""
    dates = dates or [f"2026-10-{day:02}" for day in range(1, len(cells) + 1)]
    rows = "".join(f'"{day}";"{cell}"\n' for day, cell in zip(dates, cells, strict=True))
    return bktools.read_entries(
        write(f"Date;{heading}\n{rows}"), money="decimal", **{"currency": "EUR", **options}
    )


@pytest.mark.parametrize(
    ("cells", "amounts"),
    [
        (["1,234.50", "-7.00"], ["1234.50", "-7.00"]),
        (["1.234,50", "-7,00"], ["1234.50", "-7.00"]),
        (["1 234,50", "7,00-"], ["1234.50", "-7.00"]),
        (["1'234.50", "(7.00)"], ["1234.50", "-7.00"]),
        (["\u2212100,00", "–7,00"], ["-100.00", "-7.00"]),
        (["12,34,567.00", "7.00"], ["1234567.00", "7.00"]),
        (["7", "-8"], ["7", "-8"]),
        ([".50", "0.5"], ["0.50", "0.50"]),
        (["1234.5678", "1.00"], ["1234.5678", "1.00"]),
        (["0,001", "7,50"], ["0.001", "7.50"]),
        (["1.000", "7,50"], ["1000", "7.50"]),
        (["12.50 CR", "7.00 DR"], ["-12.50", "7.00"]),
        (["+12.50", "- 7.00"], ["12.50", "-7.00"]),
        (["1.50", "-2,50"], ["1.50", "-2.50"]),
        (["\uff0d1\uff12\uff0e50", "\u202a7.00\u202c"], ["-12.50", "7.00"]),
    ],
)
def test_amounts(write, cells, amounts):
    """Marks, groups, signs and sides are read by what the whole column shows."""
    assert entries(write, cells)["amount"].tolist() == [Decimal(amount) for amount in amounts]


@pytest.mark.parametrize(
    ("cells", "codes"),
    [
        (["1.255", "7.000"], ["decimal"]),
        (["1.50", "2,50", "1,255"], ["decimal_marks"]),
        (["1,00.00", "7.00"], ["broken_amount"]),
        (["", "7.00"], ["rows_lack_amount"]),
        (["9" * 30, "7.00"], ["broken_amount"]),
    ],
)
def test_amounts_that_are_asked_about(write, cells, codes):
    """What two marks fit, or no mark, is a question; a broken number is to be corrected."""
    with pytest.raises(QuestionError) as caught:
        entries(write, cells)
    assert [problem.code for problem in caught.value.problems] == codes
    is_broken = codes[0] in ("broken_amount", "decimal_marks")
    assert caught.value.problems[0].has_way_out != is_broken
    assert ("Read it with" in str(caught.value)) != is_broken


@pytest.mark.parametrize(("currency", "amount"), [("KWD", "1.255"), ("JPY", "1255"), ("TND", "1.255")])
def test_decimals_of_a_currency_settle_the_mark(write, currency, amount):
    """Three decimals are those of a currency with three; without decimals a mark parts thousands."""
    assert entries(write, ["1.255", "2.500"], currency=currency)["amount"][0] == Decimal(amount)


def test_debit_and_credit_share_one_mark():
    """An amount that one column leaves open is settled by the other one."""
    debit, credit = (
        Figures.of(pa.chunked_array([pa.array(cells, schema.TEXT)])) for cells in (["1.255"], ["7,50"])
    )
    problems = Problems()
    assert decimal_mark([debit, credit], "EUR", problems) == ","
    assert not problems
    assert debit.values(",")[0].to_pylist() == [Decimal("1255.00")]


@pytest.mark.parametrize(
    ("cells", "days"),
    [
        (["2026-10-31", "2026/1/5"], ["2026-10-31", "2026-01-05"]),
        (["31.10.2026", "5.1.26"], ["2026-10-31", "2026-01-05"]),
        (["31/10/2026", "05/01/2026"], ["2026-10-31", "2026-01-05"]),
        (["10/31/2026", "05/01/2026"], ["2026-10-31", "2026-05-01"]),
        (["31 Oct 2026", "5 janvier 2026"], ["2026-10-31", "2026-01-05"]),
        (["Oct 31, 2026", "Jan-05-2026"], ["2026-10-31", "2026-01-05"]),
        (["20261031", "20260105"], ["2026-10-31", "2026-01-05"]),
        (["2026-10-31T08:15:00Z", "2026-01-05 23:59"], ["2026-10-31", "2026-01-05"]),
        (["2026年10月31日", "2026年1月5日"], ["2026-10-31", "2026-01-05"]),
        (["10.12.2026", "2026-01-29"], ["2026-12-10", "2026-01-29"]),
        (["31. 10. 2026", "5. 1. 2026"], ["2026-10-31", "2026-01-05"]),
    ],
)
def test_days(write, cells, days):
    """Days of many forms; a day above 12 settles the order of all."""
    read = entries(write, ["1.00", "2.00"], dates=cells)
    assert read["date"].dt.strftime("%Y-%m-%d").tolist() == days


def test_days_that_are_asked_about(write):
    """An open order, a missing year and a day that is none are questions with choices."""
    with pytest.raises(QuestionError) as caught:
        entries(write, ["1.00"], dates=["03/04/2026"])
    assert [choice["date_format"] for choice in caught.value.problems[0].choices] == ["%d/%m/%Y", "%m/%d/%Y"]
    read = entries(write, ["1.00"], dates=["03/04/2026"], date_format="%m/%d/%Y")
    assert read["date"][0].strftime("%Y-%m-%d") == "2026-03-04"
    with pytest.raises(QuestionError) as caught:
        entries(write, ["1.00", "2.00"], dates=["2026-04-03", "03/04/2026"], date_format="%Y-%m-%d")
    assert caught.value.problems[0].code == "broken_date"
    with pytest.raises(QuestionError) as caught:
        entries(write, ["1.00"], dates=["31 Oct"])
    assert (caught.value.problems[0].code, caught.value.problems[0].option) == ("year", "year")
    assert entries(write, ["1.00"], dates=["31 Oct"], year=2026)["date"][0].year == 2026
    with pytest.raises(QuestionError) as caught:
        entries(write, ["1.00", "2.00"], dates=["2026-10-31", "2026-02-30"])
    assert [(one.code, one.has_way_out) for one in caught.value.problems] == [("broken_date", False)]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Date,Amount,Currency\n2026-10-01,1.00,usd\n2026-10-02,2.00,€\n", ["USD", "EUR"]),
        ("Date,Amount (EUR)\n2026-10-01,1.00\n", ["EUR"]),
        ("Date,amount_eur\n2026-10-01,1.00\n", ["EUR"]),
        ("Date,Amount\n2026-10-01,£1.00\n2026-10-02,R$ 2.00\n", ["GBP", "BRL"]),
        ("Currency:,SEK\nDate,Amount\n2026-10-01,1.00\n", ["SEK"]),
        ("Date,Amount,Currency\n2026-10-01,1.00,USDT\n", ["USDT"]),
    ],
)
def test_currencies(write, text, codes):
    """A code, a sign or a name: in a column, a heading, beside the amounts or above the table."""
    assert bktools.read_entries(write(text))["currency"].tolist() == codes


def test_currencies_that_are_asked_about(write):
    """A sign of several currencies, an unknown word, and a missing currency are asked about."""
    dollars = write("Date,Amount\n2026-10-01,$1.00\n")
    with pytest.raises(QuestionError) as caught:
        bktools.read_entries(dollars)
    assert {"currency": "CAD"} in caught.value.problems[0].choices
    assert bktools.read_entries(dollars, currency="CAD")["currency"].tolist() == ["CAD"]
    for text, code in (
        ("Date,Amount,Currency\n2026-10-01,1.00,Taler\n", "currency_unknown"),
        ("Date,Amount\n2026-10-01,€1.00\n2026-10-02,1.00\n", "currency_missing"),
        ("Date,Amount\n2026-10-01,1.00\n", "currency_nowhere"),
        ("Date,Amount (USD),Currency\n2026-10-01,1.00,EUR\n", "currency_contradiction"),
    ):
        with pytest.raises(QuestionError) as caught:
            bktools.read_entries(write(text))
        assert [problem.code for problem in caught.value.problems] == [code]


def test_the_companys_own_currency(write):
    """It is that of files which name none, with a note; where a column names others it is asked."""
    read = bktools.read_entries(write("Date,Amount\n2026-10-01,1.00\n"), company_currency="CHF")
    assert read["currency"].tolist() == ["CHF"]
    assert "currency_of_company" in {note["code"] for note in read.attrs["bktools"]["note_facts"]}
    dollars = bktools.read_entries(write("Date,Amount\n2026-10-01,$1.00\n"), company_currency="CAD")
    assert dollars["currency"].tolist() == ["CAD"]
    with pytest.raises(QuestionError) as caught:
        bktools.read_entries(write("Date,Amount,Unit\n2026-10-01,1.00,USD\n"), company_currency="CHF")
    assert [*caught.value.problems[0].choices] == [{"columns": {"currency": "Unit"}}, {"currency": "CHF"}]


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("Date,Amount,D/C\n2026-10-01,5.00,D\n2026-10-02,7.00,C\n", [5, -7]),
        ("Datum;Betrag;S/H\n2026-10-01;5,00;S\n2026-10-02;7,00;H\n", [5, -7]),
        ("Datum;Částka;MD/D\n2026-10-01;5,00;MD\n2026-10-02;7,00;D\n", [5, -7]),
        ("Date,Amount,D/C\n2026-10-01,-5.00,D\n2026-10-02,7.00,C\n", [-5, 7]),
        ("Date,Paid out,Paid in\n2026-10-01,5.00,\n2026-10-02,,7.00\n", [5, -7]),
        ("Date,Debit,Credit\n2026-10-01,-5.00,\n2026-10-02,,7.00\n", [-5, 7]),
        ("Date,Debit,Credit\n2026-10-01,5.00,\n2026-10-02,6.00,\n", [5, 6]),
    ],
)
def test_sides(write, text, amounts):
    """Debit is positive, unless the file has its own signs."""
    columns = {"amount": "Částka"} if "Částka" in text else None
    assert bktools.read_entries(write(text), columns=columns, currency="EUR")["amount"].tolist() == amounts


def test_signs_are_turned_where_it_is_asked(write):
    """`negate` turns every amount, with a note."""
    read = bktools.read_entries(write("Date,Amount\n2026-10-01,-5.00\n"), negate=True, currency="EUR")
    assert read["amount"].tolist() == [5.0]
    assert "negated" in {note["code"] for note in read.attrs["bktools"]["note_facts"]}
    read = bktools.read_entries(write("Date,Amount\n2026-10-01,-5.00\n"), currency="EUR")
    assert "if they are spending, turn them by negate=True" in read.attrs["bktools"]["notes"][0]


def test_the_currency_of_the_settings_needs_no_environment(write, monkeypatch):
    """The variable of the company's currency is used by what reads files, also without a service."""
    for name in ("BKTOOLS_ENVIRONMENT", "BKTOOLS_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BKTOOLS_CURRENCY", "CHF")
    entries = bktools.read_entries(write("Date;Amount\n2026-10-01;1,00\n"))
    assert entries["currency"].tolist() == ["CHF"]


@pytest.mark.parametrize(
    ("text", "column", "result"),
    [
        ("Konto;Betrag\n4660;5,00\n0027;7,00\n", "account_code", ["4660", "0027"]),
        ("account code,account name,amount\n4660,Travel,5.00\n", "account_code", ["4660"]),
        ("category,amount\nTrips,5.00\nRrent,7.00\n", "category_name", ["Trips", "Rrent"]),
    ],
)
def test_a_budget_is_by_account_or_by_names_as_they_are(write, text, column, result):
    """Codes of accounts and names of categories are read as they are; they are looked up where compared."""
    categories = pd.DataFrame({"id": ["i1", "i2", "i3"], "name": ["Trips", "Trips", "Rent"]})
    # Accounts with amounts are a trial balance, too: it is asked.
    columns = {"date": ""} if column == "account_code" else {}
    options = {"columns": columns, "currency": "EUR", "categories": categories}
    assert bktools.read_entries(write(text), **options)[column].tolist() == result


def test_what_a_file_lacks_is_held_back_and_not_lost(write):
    """An entry without a day, with another ID or an unknown currency is an entry, and the plan says why."""
    ids = [f"123e4567-e89b-42d3-a456-42661417400{number}" for number in range(4)]
    cells = ["2026-10-21,A,5.00,EUR", ",B,6.00,EUR", "2026-10-22,C,7.00,CND", "2026-10-23,D,8.00,EUR"]
    rows = [*map(",".join, zip(ids, cells, strict=True)), "EXP-0815,2026-10-24,E,9.00,EUR"]
    rows.append(",2026-10-25,F,10.00,EUR")
    path = write("\n".join(["Entry ID,Date,Supplier,Amount,Currency", *rows, ",,,45.00,"]))
    with pytest.raises(QuestionError) as caught:
        bktools.read_entries(path, company="9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d")
    assert [problem.code for problem in caught.value.problems] == ["sum_rows"]
    frame = bktools.read_entries(path, company="9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d", skip_rows="8")
    assert frame["amount"].tolist() == [5, 6, 7, 8, 9, 10]
    notes = {note["code"] for note in frame.attrs["bktools"]["note_facts"]}
    assert {"entries_without_date", "ids_not_of_the_service", "currency_not_listed"} <= notes
    plan = bktools.compose_export_jobs(frame)
    reasons = dict(zip(plan.not_ready["amount"], plan.not_ready["reason"], strict=True))
    assert reasons == {6: "no_date", 7: "unknown_currency", 9: "not_a_uuid", 10: "no_service_id"}
