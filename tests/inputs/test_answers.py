"""What a reader asks can be answered: one line says what is missing and the command, and the command reads
the file right.
"""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
import xlsxwriter
from bktools.inputs.chart_of_accounts import read_chart_of_accounts as chart
from bktools.inputs.entries import read_entries as entries
from bktools.inputs.general_ledger import read_general_ledger as ledger

from bktools.caller import command
from bktools.errors import ArgumentError, FileNoteWarning, InputError

COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
ID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"


def table(heading, *rows):
    return "".join(f"{row}\n" for row in (heading, *rows))


def texts(frame, field):
    if field == "date":
        return frame["date"].dt.strftime("%Y-%m-%d").tolist()
    return [None if pd.isna(value) else str(value) for value in frame[field]]


def same(frame, expected):
    """Compare columns of a frame with texts; amounts are the floats of these."""
    for field, values in expected.items():
        if field == "amount":
            assert frame["amount"].tolist() == [float(value) for value in values]
        else:
            assert texts(frame, field) == values


def followed(read, path):
    """Return the frame that the refusal's own arguments read, the refusal, and the arguments."""
    with pytest.raises(InputError) as caught:
        read(path)
    options: dict = {}
    for name, value in caught.value.settings:
        options[name] = {**options.get(name, {}), **value} if name == "columns" else value
    return read(path, **options), caught.value, options


# Reader, text, the arguments that are proposed, what they read.
ASKED = {
    "spending that is negative": (
        entries,
        table("Date,Amount", "2026-10-01,-5.00", "2026-10-02,-6.00", "2026-10-03,-7.00", "2026-10-04,1.00"),
        {"spending": "negative"},
        {"amount": ["5.00", "6.00", "7.00", "-1.00"]},
    ),
    "a date in the first of its rows": (
        ledger,
        table(
            "Account,Date,Debit,Credit",
            "10,2026-10-01,5.00,",
            "20,,,5.00",
            "10,2026-10-02,6.00,",
            "20,,,4.00",
            "30,,,2.00",
        ),
        {"fill_down": "date"},
        {"date": ["2026-10-01"] * 2 + ["2026-10-02"] * 3},
    ),
    "a supplier called Total, and a total, below a date": (
        ledger,
        table(
            "Account,Date,Debit,Credit,Text",
            "4000,2026-10-01,100.00,,lunch",
            "1000,,,100.00,Total Energies",
            "5000,2026-10-02,50.00,,Uber",
            "1000,,,50.00,Total SA",
            "5000,2026-10-03,70.00,,Uber",
            "1000,,,70.00,Uber",
            ",,220.00,220.00,Grand total",
            ",,220.00,220.00,",
        ),
        {"fill_down": "date", "columns": {"rows_with": "Date"}},
        {
            "amount": ["100.00", "-100.00", "50.00", "-50.00", "70.00", "-70.00"],
            "date": [f"2026-10-0{day}" for day in (1, 1, 2, 2, 3, 3)],
        },
    ),
    "an amount with cells in two forms beside a posting key": (
        ledger,
        table(
            "Account,Posting date,PK,LC amnt",
            '10,2026-10-01,40,"5,00"',
            '20,2026-10-01,50,"-5,00"',
            '20,2026-10-02,50,"-6,00"',
            '10,2026-10-02,40,"6,00"',
        ),
        {"columns": {"amount": "LC amnt"}},
        {"amount": ["5.00", "-5.00", "-6.00", "6.00"]},
    ),
    "a flag that a bank charged something": (
        entries,
        table("Date,Amount,is_bank_charge", "2026-10-01,5.00,false", "2026-10-02,6.00,true"),
        None,
        {"amount": ["5.00", "6.00"]},
    ),
    "accounts that have names alone": (
        ledger,
        table(
            "Transaction_ID,Date,Account_Name,Amount",
            "1,2026-10-01,Bank,-5.00",
            "1,2026-10-01,Rent,5.00",
            "2,2026-10-02,Bank,6.00",
            "2,2026-10-02,Sales,-6.00",
        ),
        None,
        {
            "account_code": ["Bank", "Rent", "Bank", "Sales"],
            "account_name": ["Bank", "Rent", "Bank", "Sales"],
        },
    ),
    "accounts that have names alone, under the word for accounts": (
        ledger,
        table("Date,Account,Amount", "2026-10-01,Bank,-5.00", "2026-10-01,Rent,5.00"),
        None,
        {"account_code": ["Bank", "Rent"]},
    ),
    "names of accounts beside codes under an unknown heading": (
        ledger,
        table("Date,Account,Key,Amount", "2026-10-01,Bank,1000,-5.00", "2026-10-01,Rent,4000,5.00"),
        {"columns": {"account_code": "Account"}},
        {"account_code": ["Bank", "Rent"]},
    ),
    "one day and one amount with further words in their headings": (
        entries,
        table(
            "claim_date,due_date,bank_amount,expected_amount",
            "2026-10-01,2026-11-01,5.00,6.00",
            "2026-10-02,2026-11-02,7.00,7.00",
        ),
        None,
        {"date": ["2026-10-01", "2026-10-02"], "amount": ["5.00", "7.00"]},
    ),
    "two days with further words in their headings": (
        entries,
        table("claim_date,visit_date,Amount", "2026-10-01,2026-09-01,5.00", "2026-10-02,2026-09-02,7.00"),
        {"columns": {"date": "claim_date"}},
        {"date": ["2026-10-01", "2026-10-02"]},
    ),
    "an amount with further words beside other cents": (
        entries,
        table("Date,bank_amount,Cash", "2026-10-01,5.00,6.00", "2026-10-02,7.00,7.00"),
        {"columns": {"amount": "bank_amount"}},
        {"amount": ["5.00", "7.00"]},
    ),
    "a due date alone": (
        entries,
        table("due_date,Amount", "2026-10-01,5.00", "2026-10-02,7.00"),
        {"columns": {"date": "due_date"}},
        {"amount": ["5.00", "7.00"]},
    ),
    "an amount in dollars beside one in the currency of each row": (
        entries,
        table(
            "Date,amount_local,amount_usd,currency", "2026-10-01,5.00,6.00,EUR", "2026-10-02,7.00,7.00,USD"
        ),
        None,
        {"amount": ["5.00", "7.00"], "currency": ["EUR", "USD"]},
    ),
    "an amount in dollars that is equal to another one": (
        entries,
        table("Date,amount_local,amount_usd", "2026-10-01,5.00,5.00", "2026-10-02,7.00,7.00"),
        None,
        {"amount": ["5.00", "7.00"]},
    ),
    "an amount in dollars that differs from another one": (
        entries,
        table("Date,amount_local,amount_usd", "2026-10-01,5.00,6.00", "2026-10-02,7.00,7.00"),
        {"columns": {"amount": "amount_usd"}},
        {"amount": ["6.00", "7.00"]},
    ),
    "entries of which no column could be the day": (
        entries,
        table("Person,Text,Amount", "Anna,Taxi,5.00", "Bert,Hotel,7.00"),
        None,
        {"amount": ["5.00", "7.00"]},
    ),
    "entries with a part of the day": (
        entries,
        table("Person,dueDay,Amount", "Anna,5,5.00", "Bert,8,7.00"),
        {"columns": {"date": ""}},
        {"amount": ["5.00", "7.00"]},
    ),
    "months in words and years of four digits": (
        entries,
        table("Date,Amount", "28 Feb 2026,5.00", "4 März 2026,7.00"),
        None,
        {"date": ["2026-02-28", "2026-03-04"]},
    ),
    "signs that words of a bank say": (
        entries,
        table("Date,Amount,Transaction type", "2026-10-01,-5.00,Debit", "2026-10-02,7.00,Credit"),
        None,
        {"amount": ["5.00", "-7.00"]},
    ),
    "letters that name shops": (
        entries,
        table("Date,Amount,Shop", "2026-10-01,5.00,A", "2026-10-02,7.00,B"),
        None,
        {"amount": ["5.00", "7.00"]},
    ),
    "letters of sides below a heading of its own": (
        entries,
        table("Date,Amount,Way", "2026-10-01,5.00,D", "2026-10-02,7.00,C"),
        {"columns": {"sign": "Way"}},
        {"amount": ["5.00", "-7.00"]},
    ),
    "cards by which something was paid": (
        entries,
        table("Date,Amount,Payment method", "2026-10-01,5.00,Debit", "2026-10-02,7.00,Credit"),
        None,
        {"amount": ["5.00", "7.00"]},
    ),
    "deposits and withdrawals without signs": (
        entries,
        table("Date,Amount,Transaction type", "2026-10-01,5.00,withdrawal", "2026-10-02,7.00,deposit"),
        {"columns": {"sign": "Transaction type"}},
        {"amount": ["5.00", "-7.00"]},
    ),
    "a column for codes that is empty": (
        ledger,
        table("Date,Code,Account,Amount", "2026-10-01,,Bank,-5.00", "2026-10-01,,Rent,5.00"),
        None,
        {"account_code": ["Bank", "Rent"]},
    ),
    "words of a bank beside amounts without signs": (
        entries,
        table("Date,Amount,Transaction type", "2026-10-01,5.00,Debit", "2026-10-02,7.00,Credit"),
        {"columns": {"sign": "Transaction type"}},
        {"amount": ["5.00", "-7.00"]},
    ),
    "many signs that contradict the words": (
        entries,
        table(
            "Date,Amount,Type",
            "2026-10-01,-5.00,Debit",
            "2026-10-02,7.00,Debit",
            "2026-10-03,8.00,Credit",
            "2026-10-04,-9.00,Credit",
        ),
        {"columns": {"sign": ""}},
        {"amount": ["-5.00", "7.00", "8.00", "-9.00"]},
    ),
    "an amount beside empty columns for its sides": (
        entries,
        table("Date,Amount,Credit,Debit", "2026-10-01,5.00,,", "2026-10-02,7.00,,"),
        None,
        {"amount": ["5.00", "7.00"]},
    ),
    "a pair whose headings say amount, too": (
        entries,
        table("Date,Withdrawal Amt.,Deposit Amt.", "2026-10-01,85.60,", "2026-10-02,,1500"),
        None,
        {"amount": ["85.60", "-1500.00"]},
    ),
    "vouchers with numbers like accounts": (
        ledger,
        table(
            "Date,Number of it,Key,Debit,Credit",
            *(
                f"2026-10-0{day},{day}00,{code},{amounts}"
                for day in (1, 2, 3)
                for code, amounts in ((4000, f"{day}.50,"), (1000, f",{day}.50"))
            ),
        ),
        {"columns": {"account_code": "Key"}},
        {"account_code": ["4000", "1000"] * 3},
    ),
    "external IDs that repeat": (
        chart,
        table("id,code,name", "a,10,Cash", "b,20,Bank", "a,30,Rent"),
        {"columns": {"external_id": "code", "code": "code"}},
        {"external_id": ["10", "20", "30"]},
    ),
    "codes without digits in rows as full as others": (
        chart,
        table("code,name,type,kind", *(f"{code},x,a,b" for code in ("10", "20", "30", "40", "BAL"))),
        None,
        {"code": ["10", "20", "30", "40", "BAL"]},
    ),
    "a name that begins with a word of reports": (
        chart,
        table("code,name,type", "10,Cash,a", "20,Bank,a", ",Balance Reserve,a", "30,Rent,a"),
        None,
        {"name": ["Cash", "Bank", "Balance Reserve", "Rent"]},
    ),
    "accounts in Chinese": (
        ledger,
        table(
            "日期,傳票號碼,會計項目,項目名稱,借方金額,貸方金額",
            "2026-10-01,1,5100,進貨,5.00,",
            "2026-10-01,1,1100,現金,,5.00",
        ),
        None,
        {"account_code": ["5100", "1100"], "voucher_id": ["1", "1"], "amount": ["5.00", "-5.00"]},
    ),
    "signs, names and codes of currencies": (
        entries,
        table("Date,Amount,Currency", *(f"2026-10-01,5.00,{text}" for text in ("€", "Euro", "gbp", "USDT"))),
        None,
        {"currency": ["EUR", "EUR", "GBP", "USDT"]},
    ),
    "a name that is no currency alone": (
        entries,
        table("Date,Amount,Currency", "2026-10-01,5.00,Thaler", "2026-10-02,7.00,Thaler"),
        {"columns": {"currency": ""}},
        {"amount": ["5.00", "7.00"]},
    ),
    "a day of posting beside the one on which it takes effect": (
        ledger,
        table(
            "Account,posting_date,effective_date,Amount",
            "10,2026-10-01,2026-09-30,5.00",
            "20,2026-10-01,2026-09-30,-5.00",
        ),
        None,
        {"date": ["2026-10-01", "2026-10-01"]},
    ),
    "one row without headings": (
        entries,
        "200.00,Groceries,2026-10-18,Walmart\n",
        {"columns": {"date": "column 3", "amount": "column 1"}},
        {"amount": ["200.00"], "date": ["2026-10-18"]},
    ),
    "types of transactions of Sage": (
        ledger,
        table(
            "Type,Nominal A/C Ref,Date,Details,Amount",
            "PI,5000,13/10/2026,Goods,100.00",
            "PC,5000,13/10/2026,Goods back,20.00",
            "JD,7000,13/10/2026,Rent,50.00",
            "JC,2109,13/10/2026,Rent,50.00",
        ),
        None,
        {"amount": ["100.00", "-20.00", "50.00", "-50.00"]},
    ),
    "the code of a parent beside an unknown heading": (
        chart,
        table("Parent code,Key figure,Name", "1000,1010,Cash", "1000,1020,Bank", "2000,2010,Loans"),
        {"columns": {"code": "Key figure"}},
        {"code": ["1010", "1020", "2010"]},
    ),
    "an account and a date in the first of their rows": (
        ledger,
        table(
            "Account,Date,Amount", "10,2026-10-01,5.00", ",,6.00", ",,7.00", "20,2026-10-02,-18.00", ",,0.00"
        ),
        {"fill_down": "account_code,date"},
        {"account_code": ["10", "10", "10", "20", "20"]},
    ),
    "accounts in rows of their own above their postings": (
        ledger,
        table(
            "Nordlicht Ltd,,,,",
            "General Ledger,,,,",
            ",Date,Transaction Type,Amount,Balance",
            "Checking,,,,",
            ",Beginning Balance,,,1000.00",
            ",01/13/2026,Expense,-25.00,975.00",
            ",01/14/2026,Deposit,125.00,1100.00",
            "Total for Checking,,,100.00,",
            "Travel,,,,",
            ",01/13/2026,Expense,25.00,25.00",
            "Total for Travel,,,25.00,",
            "Sales,,,,",
            ",01/14/2026,Deposit,-125.00,-125.00",
            "Total for Sales,,,-125.00,",
        ),
        {"columns": {"account_code": "column 1"}, "fill_down": "account_code"},
        {
            "account_code": ["Checking", "Checking", "Travel", "Sales"],
            "amount": ["-25.00", "125.00", "25.00", "-125.00"],
            "date": ["2026-01-13", "2026-01-14", "2026-01-13", "2026-01-14"],
        },
    ),
    "codes and names in one cell": (
        chart,
        table(
            "Account,Type",
            "1-1110 BNZ Cheque Account,Asset",
            "466300 Travel,Expense",
            "4-2000 - Rent,Expense",
        ),
        {"split_account": True},
        {"code": ["1-1110", "466300", "4-2000"], "name": ["BNZ Cheque Account", "Travel", "Rent"]},
    ),
    "codes and names in one cell of a ledger": (
        ledger,
        table("Account,Date,Amount", "466300 Travel,2026-10-01,5.00", "1-1110 Bank,2026-10-01,-5.00"),
        {"split_account": True},
        {"account_code": ["466300", "1-1110"], "account_name": ["Travel", "Bank"]},
    ),
    "a heading that stands twice": (
        chart,
        table("Code,Name,Name", "1,a,b", "2,c,d"),
        {"columns": {"name": "column 2"}},
        {"name": ["a", "c"]},
    ),
    "a heading too long to paste": (
        chart,
        table(f"Code,{'The name of the account as it is in the books'}", "1,a", "2,b"),
        {"columns": {"name": "column 2"}},
        {"name": ["a", "b"]},
    ),
    "a pair of which one column has cents": (
        entries,
        table("Date,Withdrawal,Deposit", "2026-10-01,85.60,", "2026-10-02,,1500", "2026-10-03,7.10,"),
        None,
        {"amount": ["85.60", "-1500.00", "7.10"]},
    ),
    "a pair whose headings have further words": (
        entries,
        table("Date,Funds out,Funds in", "2026-10-01,85.60,", "2026-10-02,,1500", "2026-10-03,7.10,"),
        {"columns": {"debit": "Funds out", "credit": "Funds in"}},
        {"amount": ["85.60", "-1500.00", "7.10"]},
    ),
    "a pair in Russian": (
        entries,
        table("Дата;Приход;Расход", "01.10.2026;;5,00", "02.10.2026;7,00;", "03.10.2026;;1,00"),
        None,
        {"amount": ["5.00", "-7.00", "1.00"]},
    ),
    "a running balance beside the amount": (
        entries,
        table(
            "Date,Move,Left",
            *(f"2026-10-0{day},{day}.50,{left}.50" for day, left in ((1, 1), (2, 4), (3, 7), (4, 12))),
        ),
        {"columns": {"amount": "Move"}},
        {"amount": ["1.50", "2.50", "3.50", "4.50"]},
    ),
    "a column of zeros beside the amount": (
        entries,
        table("Date,Nothing,Money", "2026-10-01,0.00,5.00", "2026-10-02,0.00,6.00"),
        {"columns": {"amount": "Money"}},
        {"amount": ["5.00", "6.00"]},
    ),
    "an amount with the tax beside one without": (
        entries,
        table(
            "Date,amount_ex_gst,gst_amount,total_inc_gst",
            "2026-10-01,5.00,0.50,5.50",
            "2026-10-02,6.00,0.60,6.60",
        ),
        None,
        {"amount": ["5.50", "6.60"]},
    ),
    "what was paid so far beside what was claimed": (
        entries,
        table(
            "Date,claim_amount,total_incl_gst,paid_amount",
            "2026-10-01,5.00,5.50,5.50",
            "2026-10-02,6.00,6.60,0.00",
        ),
        None,
        {"amount": ["5.50", "6.60"]},
    ),
    "what was paid so far beside what was invoiced": (
        entries,
        table("Date,invoice_amount,paid_amount", "2026-10-01,5.00,5.00", "2026-10-02,6.00,0.00"),
        {"columns": {"amount": "invoice_amount"}},
        {"amount": ["5.00", "6.00"]},
    ),
    "a description beside a name with a prefix": (
        chart,
        table("code,acme_account_name,description", "10,Cash,In the till", "20,Sales,All of them"),
        None,
        {"name": ["Cash", "Sales"]},
    ),
    "codes that end with a point, without headings": (
        chart,
        table("Cooperativas,0", "Activo,1", "Caja,1.1.1.", "Banco,1.1.2."),
        {"columns": {"code": "column 2", "name": "column 1"}},
        {"code": ["0", "1", "1.1.1.", "1.1.2."]},
    ),
    "thousands that could be decimals": (
        entries,
        table("Date;Amount;Rate", "2026-10-01;1.234;0,50", "2026-10-02;5.678;1,25"),
        {"decimal": ","},
        {"amount": ["1234", "5678"]},
    ),
    "days that other cells show to be behind the month": (
        entries,
        table("Date,Due,Amount", "03/04/2026,10/31/2026,5.00", "03/05/2026,11/30/2026,6.00"),
        None,
        {"date": ["2026-03-04", "2026-03-05"]},
    ),
    "an approval in words that are not known": (
        entries,
        table("Date,Amount,Approval status", "2026-10-01,5,Approved", "2026-10-02,6,Foo", "2026-10-02,7,Foo"),
        {"approved_values": "Approved"},
        {"approved": ["True", "False", "False"]},
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_the_command_that_is_printed_reads_the_file_right(write, name):
    """The one command of a refusal was tried, and reads what a person would read."""
    read, text, proposed, right = ASKED[name]
    path = write(text)
    if proposed is None:
        frame = read(path)
    else:
        frame, refused, options = followed(read, path)
        assert options == proposed
        assert str(refused).splitlines()[0].count("read it with") == 1
    same(frame, right)


def test_the_first_line_is_short(write):
    """The first line names the problem and the command; headings and rows stand below."""
    headings = [f"Heading number {number}" for number in range(40)]
    path = write(table(",".join(headings), ",".join(["x"] * 40)))
    with pytest.raises(InputError) as caught:
        chart(path)
    first, *below = str(caught.value).removeprefix(str(path)).splitlines()
    assert len(first) < 200
    assert "Heading number 5" in below[0]


def test_the_currency_that_no_column_says(write):
    """The caller's currency stands beside amounts without one, as a note says; cells that say one keep it."""
    read = entries(write("Date,Amount\n2026-10-01,5\n"), currency="eur")
    assert texts(read, "currency") == ["EUR"]
    assert any("EUR" in note for note in read.attrs["bktools"]["notes"])
    read = entries(write("Date,Amount,Currency\n2026-10-01,5,SEK\n2026-10-02,5,\n"), currency="EUR")
    assert texts(read, "currency") == ["SEK", "EUR"]
    read = ledger(write("Account,Date,Amount\n1,2026-10-01,5\n2,2026-10-01,-5\n"), currency="EUR")
    assert texts(read, "currency") == ["EUR", "EUR"]
    with pytest.raises(ArgumentError, match="three letters"):
        entries(write("Date,Amount\n2026-10-01,5\n"), currency="Euro")


@pytest.mark.parametrize(
    ("heading", "row", "settings"),
    [
        (
            "When,Money",
            "30/11/2026,5.00",
            {"columns": {"date": "When", "amount": "Money"}, "currency": "CODE"},
        ),
        ("Date,Amount,Kind", "30/11/2026,5.00,EUR", {"columns": {"currency": "Kind"}}),
        ("Date,Amount (EUR)", "30/11/2026,5.00", None),
    ],
)
def test_the_currency_is_asked_with_the_rest(write, heading, row, settings):
    """Where a currency is needed, one command asks for it and all else; a heading may say it."""
    path = write(table(heading, row, row))
    if settings is not None:
        with pytest.raises(InputError) as caught:
            entries(path, required=("currency",))
        answers: dict = {}
        for name, value in caught.value.settings:
            answers[name] = {**answers.get(name, {}), **value} if name == "columns" else value
        assert answers == settings
    options = {**(settings or {}), **({"currency": "EUR"} if settings and "currency" in settings else {})}
    same(entries(path, required=("currency",), **options), {"currency": ["EUR"] * 2, "amount": ["5.00"] * 2})


def test_any_column_has_a_number(write):
    """A column without a heading is named by its number."""
    path = write(table("Code,,Type", "1,Cash,a", "2,Sales,b"))
    assert texts(chart(path, columns={"name": "column 2"}), "name") == ["Cash", "Sales"]


def test_a_sign_is_not_taken_from_a_heading(write):
    """`-Amount` names no column."""
    with pytest.raises(InputError, match="no column has the heading '-Amount'"):
        entries(write("Date,Amount\n2026-10-01,5\n"), columns={"amount": "-Amount"})


def test_values_that_count_as_approved(write):
    """The caller says which values approve an entry; known words need no answer."""
    text = table("Date,Amount,Approved", "2026-10-01,5,OK", "2026-10-02,6,NOT_REQUIRED", "2026-10-03,7,draft")
    assert texts(entries(write(text)), "approved") == ["True", "True", "False"]
    assert texts(entries(write(text), approved_values="OK"), "approved") == ["True", "False", "False"]
    with pytest.raises(InputError, match=r"may be approvals or not: 'Maybe' \(1\)"):
        entries(write(text.replace("draft", "Maybe")))


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (
            "Export status,Exported,In progress,Not exported,Queued",
            ["exported", "in_progress", "not_exported", "queued"],
        ),
        ("exportStatus,yes,no,,exported", ["exported", "not_exported", None, "exported"]),
        ("exported_at,2026-10-05,,2026-10-06,", ["exported", None, "exported", None]),
        ("Status,Exported,Approved,Approved,Queued", ["exported", None, None, "queued"]),
    ],
)
def test_what_was_exported_elsewhere(write, column, codes):
    """A column that says whether entries were exported gives a code for each."""
    heading, *values = column.split(",")
    rows = [f"2026-10-0{day},5,{value}" for day, value in enumerate(values, 1)]
    assert texts(entries(write(table(f"Date,Amount,{heading}", *rows))), "export_status") == codes


def test_an_export_status_that_is_not_known_is_asked_about(write):
    """A value that does not say whether an entry was exported is no answer."""
    with pytest.raises(InputError, match=r"do not say whether an entry was exported: 'Foo' \(1\)"):
        entries(write("Date,Amount,Export status\n2026-10-01,5,Foo\n"))


def test_the_uuid_of_nothing_is_no_category(write):
    """The nil UUID means that an entry has no category."""
    text = f"id,Date,Amount,category_id\n{ID},2026-10-01,5,00000000-0000-0000-0000-000000000000\n"
    assert texts(entries(write(text)), "category_id") == [None]


REPORT = table(
    "Date,Text,Amount",
    "2026-10-01,Opening balance,100.00",
    "2026-10-02,Taxi,5.00",
    "2026-10-03,Lunch,7.00",
    "2026-10-31,Total,12.00",
)


def test_lines_of_a_report_are_no_entries(write):
    """Balances, and totals that add the rows above up, are left out; a note says how they are read."""
    read = entries(write(REPORT))
    assert read["amount"].tolist() == [5.0, 7.0]
    assert any("(lines 2, 5)" in note.replace("line 2", "lines 2") for note in read.attrs["bktools"]["notes"])
    assert len(entries(write(REPORT), report_rows="keep")) == 4


def test_a_total_that_adds_nothing_up_is_asked_about(write):
    """A word such as Total may be a supplier: the amount decides, or the person."""
    path = write(REPORT.replace("12.00", "55.00"))
    read, _, options = followed(entries, path)
    assert options == {"report_rows": "keep"}
    assert len(read) == 4
    assert entries(path, report_rows="skip")["amount"].tolist() == [5.0, 7.0]


TOTALS = table(
    "Date,Supplier,Text,Amount",
    "2026-10-01,Total SA,Total,5.00",
    "2026-10-02,Total Energies,lunch,7.00",
    ",,Total for lunch,7.00",
    ",Total of both suppliers,,12.00",
    ",Total,,99.00",
    ",Total Energies 2026,,",
)


def test_a_total_is_a_word_alone_a_known_name_behind_it_or_a_sum(write):
    """A name that begins with a word for a total makes no total of a row with an amount."""
    assert entries(write(TOTALS))["amount"].tolist() == [5.0, 7.0]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (entries, "Date,Supplier,Amount\n2026-10-01,Uber,5.00\n,Total Energies,3.00\n"),
        (entries, "Date,Supplier,Amount\n2026-10-01,Uber,5.00\n,Lidl,3.00\n"),
        (ledger, "Account,Date,Amount,Text\n1,2026-10-01,5,a\n2,2026-10-01,-4,a\n2,,-1,Total Energies\n"),
    ],
)
def test_no_command_leaves_an_entry_out_that_has_no_date(write, read, text):
    """A row with an amount and a name is none that a printed command may lose."""
    with pytest.raises(InputError, match="must not be empty") as caught:
        read(write(text))
    assert not caught.value.settings


def test_balances_of_a_ledger(write):
    """Opening balances without which the ledger does not balance are postings, others lines of a report."""
    rows = ["10,2026-10-02,Sale,5.00,", "20,2026-10-02,Sale,,5.00"]
    opening = ["10,2026-10-01,Opening balance,9.00,", "20,2026-10-01,Opening balance,,9.00"]
    heading = "Account,Date,Text,Debit,Credit"
    assert len(ledger(write(table(heading, *opening, *rows)))) == 4
    assert len(ledger(write(table(heading, opening[0], *rows)))) == 2
    # Of a ledger that does not balance by itself, balances that do are postings, too.
    assert len(ledger(write(table(heading, *opening, *rows, "10,2026-10-03,Rounding,0.01,")))) == 5


def test_months_in_words(write):
    """Dates with names of months are read in many languages, by a format or by an example of it."""
    for text in ("1 Oct 2026", "1st October 2026", "1 okt 2026", "1 de octubre de 2026", "1 oct. 2026"):
        path = write(table("Date,Amount", f"{text},5"))
        assert texts(entries(path, date_format="%d %b %Y"), "date") == ["2026-10-01"], text
        assert texts(entries(path, date_format="1 Oct 2026"), "date") == ["2026-10-01"], text


def test_notes_are_a_warning_in_python_and_a_line_in_a_command(write):
    """Who reads a file in Python is warned of rows that were left out; a command prints notes itself."""
    path = write(f"id,date,amount,status\n{ID},2026-10-01,5,approved\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entries(path)
    path = write(REPORT)
    with pytest.warns(FileNoteWarning, match="rows skipped") as caught:
        entries(path)
    assert caught[0].filename == __file__
    with command({}), warnings.catch_warnings():
        warnings.simplefilter("error")
        entries(path)
    for read, text in (
        (chart, "Code,Name\n,Assets\n1,Cash\n"),
        (ledger, "Account,Date,Amount\n1,2026-10-01,5\n2,,-5\nTotal,,0\n"),
    ):
        with pytest.warns(FileNoteWarning):
            read(write(text), **({"fill_down": "date"} if read is ledger else {}))


@pytest.mark.parametrize("heading", ["Amount", "Sum spent"])
def test_the_command_keeps_amounts_that_floats_do_not_keep(write, heading):
    """The residue of sums in binary is read by the command that is printed, of a proposed column, too."""
    read, _, options = followed(entries, write(f"Date,{heading}\n2026-10-01,155.790000000000020\n"))
    assert options["money"] == "decimal"
    assert [str(amount) for amount in read["amount"]] == ["155.790000000000020"]


@pytest.mark.parametrize("heading", ["Parent", "Parent code", "Parent account", "Übergeordnetes Konto"])
def test_the_code_of_a_parent_is_not_proposed(write, heading):
    """Where the parents' codes are the only codes of a chart, none is proposed."""
    with pytest.raises(InputError) as caught:
        chart(write(f"{heading},Name\n1000,Cash\n1000,Bank\n2000,Loans\n"))
    assert dict(caught.value.settings)["columns"] == {"code": "HEADING"}


@pytest.mark.parametrize("heading", ["Amount", "Sum of it"])
def test_no_command_leaves_an_entry_out_that_has_a_text(write, heading):
    """An entry without a day is not left out by a command, also where its amount is not known yet."""
    rows = [f"2026-10-0{day},5.00,rent" for day in range(1, 9)]
    path = write(table(f"Date,{heading},What for", *rows, ",7.00,rent"))
    with pytest.raises(InputError) as caught:
        entries(path)
    assert "rows_with" not in dict(caught.value.settings).get("columns", {})


def test_an_option_that_suits_no_other_sheet(tmp_path):
    """Each sheet is tried with the options, also where one has no field to fill down."""
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as workbook:
        for name, rows in {
            "a": [
                ("Account", "Date", "Debit", "Credit"),
                (1, "2026-10-01", 5, ""),
                ("", "", "", 5),
                ("", "", 5, ""),
            ],
            "b": [("Text", "Number"), ("x", "y"), ("z", "")],
        }.items():
            sheet = workbook.add_worksheet(name)
            for at, row in enumerate(rows):
                sheet.write_row(at, 0, row)
    with pytest.raises(InputError):
        ledger(path)


def test_a_list_of_files_is_refused_in_one_line(write):
    """Several files are read one by one."""
    path = write("Date,Amount\n2026-10-01,5\n")
    with pytest.raises(ArgumentError, match="path must be the path of one file"):
        entries([path, path])
