"""What is near a rule of the readers, on both sides: texts, and what is read or refused."""

from __future__ import annotations

import zipfile

import pytest
import xlsxwriter
from bktools.inputs.chart_of_accounts import read_chart_of_accounts as chart
from bktools.inputs.entries import read_entries as entries
from bktools.inputs.general_ledger import read_general_ledger as ledger

from bktools.errors import ArgumentError, InputError
from bktools.inputs.readers.accounts import read_accounts

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"


def check(read, path, expected, options=None):
    """Compare what is read, columns and notes, with a dict, or a refusal with its parts ($: its end)."""
    if not isinstance(expected, dict):
        with pytest.raises((InputError, ArgumentError)) as caught:
            read(path, **options or {})
        assert [part for part in expected if part not in f"{caught.value}$"] == [], caught.value
        assert isinstance(caught.value, ArgumentError) or str(caught.value).startswith(str(path)), (
            "it is named"
        )
        return
    frame = read(path, **options or {})
    facts = frame.attrs["bktools"]
    found = {name: frame[name].astype(str).tolist() if name in frame else facts[name] for name in expected}
    if "amount" in expected:
        amounts = frame["amount"].tolist()
        expected = expected | {
            "amount": [type(amount)(text) for amount, text in zip(amounts, expected["amount"], strict=True)]
        }
        found["amount"] = amounts
    if "notes" in expected:
        found["notes"] = [note for note in found["notes"] if note in expected["notes"]]
    assert found == expected


def wrong_companies(count):
    return f"id,company_id\n{ENTRY},{COMPANY}\n" + f"{ENTRY},7\n" * count


ACCOUNTS = {"code": ["1000", "1200", "4930"], "name": ["Kasse", "Bank", "Büro"]}
THREE = "1000;Kasse\n1200;Bank\n4930;Büro\n"
DOUBT = "Konto;Code;Name;Bezeichnung\n1;2;a;b\n"
UUIDS = "".join(f"{letter}b4e28ba-2fa1-41d2-883f-0016d3cca427;Taxi\n" for letter in "abc")
PAIR = "Date,Amount,Debit,Credit\n"
LEDGER = 'Date,Account,Amount\n03/04/2026,5800,"1,234"\n'
FRENCH = "Compte;Libellé\r\n101000;Capital\r\n401000;Fournisseurs\r\n411000;Créances clients\r\n512000;Banque"
ITALIAN = "Conto;Descrizione\r\n40;Debiti verso società\r\n60;Acquisti\r\n63;Pubblicità\r\n68;Salari"

TABLES = {
    "status words": (chart, "Code,Name,Status\n1,a,Active\n2,b,ARCHIVED\n", {"archived": ["False", "True"]}),
    "inch marks in a cell without quotes": (chart, 'Code,Name\n1,3" pipe\n2,b\n', {"name": ['3" pipe', "b"]}),
    "Excel's first line": (chart, "sep=;\r\nKonto;Name\r\n0400;a,b\r\n", {"name": ["a,b"], "line": ["3"]}),
    "one wrong cell": (entries, wrong_companies(1), ["got '7'$"]),
    "two wrong cells": (entries, wrong_companies(2), ["got '7' (2 such cells: lines 3, 4)"]),
    "five wrong cells": (entries, wrong_companies(5), ["got '7' (5 such cells: lines 3, 4, 5 and 2 more)"]),
    "one total": (
        entries,
        "Date,Amount\n2026-10-31,1\nTotal,1\n",
        {"amount": ["1"], "notes": ["rows skipped as totals or lines of a report, not entries: 1 (line 3)"]},
    ),
    "two totals": (
        entries,
        "Date,Amount\n2026-10-31,1\nTotal,1\n2026-10-31,1\nTotal,2\n",
        {
            "amount": ["1", "1"],
            "notes": ["rows skipped as totals or lines of a report, not entries: 2 (lines 3, 5)"],
        },
    ),
    "dates without marks under Valuta": (entries, "Valuta;Betrag\n20180222;5,00\n", {"date": ["2018-02-22"]}),
    "short dates under Valuta": (
        entries,
        "Valuta;Betrag\n22.02.18;5,00\n",
        {"date": ["2018-02-22"]},
        {"date_format": "%d.%m.%y"},
    ),
    "no marks under Wert": (entries, "Datum;Wert\n20180222;20180223\n", ["no column found for 'amount'"]),
    "dates of one form": (
        entries,
        "Date,Amount\n30 Jun 23,1.00\n",
        ["'Date' holds dates such as '30 Jun 23': read it with date_format='%d %b %y'"],
    ),
    "a title of two cells above five": (
        chart,
        "Bericht;2026\nFoo;Bar;Baz;Qux;Quux\n1;a;b;c;d\n2;e;f;g;h\n",
        ["headings: 'Foo', 'Bar', 'Baz', 'Qux', 'Quux'"],
    ),
    "identifiers under a heading of codes and names": (
        chart,
        "Account;Description\nloans_receivable;Loans\nbank_fees;Fees\ncash;Cash\n",
        {"code": ["loans_receivable", "bank_fees", "cash"]},
    ),
    "a date and an amount that are none": (
        ledger,
        "Konto;Datum;Betrag\n10;x;5\n20;2026-10-01;y\n",
        ["2 problems: (1) line 2: 'Datum' must hold dates", "(2) line 3: 'Betrag' must hold"],
    ),
    "dates of two forms, of which one is in order": (
        entries,
        "Date,Amount\n" + "".join(f"{day}/2026,1\n" for day in ("09/07", "09/09", "07/10", "11/10")),
        ["read it with date_format='%d/%m/%Y'"],
    ),
    "a line of a report with something beside it": (
        chart,
        "Konto;Name;Art\n"
        + "".join(f"{code};Kasse;B\n" for code in range(1000, 1030))
        + "Seite 1 von 3;;x\n",
        {"notes": ["rows skipped as lines of a report, not accounts: 1 (line 32)"]},
    ),
    "an ID and a company that are none": (
        entries,
        f"id,company_id\n7,{COMPANY}\n{ENTRY},8\n",
        ["2 problems: (1) line 2: 'id' must hold", "(2) line 3: 'company_id' must hold"],
    ),
    "rates of taxes": (
        read_accounts,
        f"id,company_id,Tax Code\n{ENTRY},{COMPANY},19%\n",
        {
            "notes": [
                (
                    "'Tax Code' holds tax rates, not identifiers of tax codes: not read; "
                    "take it all the same with columns={'tax_code_external_id': 'Tax Code'}"
                )
            ]
        },
    ),
    "rates of taxes that were named": (
        read_accounts,
        f"id,company_id,Tax Code\n{ENTRY},{COMPANY},19%\n",
        {"tax_code_external_id": ["19%"]},
        {"columns": {"tax_code_external_id": "Tax Code"}},
    ),
    "dates with names of months under Valuta": (
        entries,
        "Valuta;Betrag\n30 Jun 2023;5,00\n",
        {"date": ["2023-06-30"]},
        {"date_format": "%d %b %Y"},
    ),
    "addresses of people under an unknown heading": (
        entries,
        "Date,Amount,Foo\n2026-10-01,5,ada@example.com\n",
        ["no column found for 'employee_id'", "{'employee_id': 'Foo'}"],
        {"required": ["employee_id"]},
    ),
    "a chart with a flag, a company and an external ID that are none": (
        chart,
        f"company_id,external_id,Code,Name,Archived\n7,a,1,x,no\n{COMPANY},b,2,y,perhaps\n{COMPANY},,3,z,no\n",
        [
            "3 problems: (1) line 2: 'company_id' must",
            "(2) line 3: 'Archived' must",
            "(3) line 4: 'external_id' is the external ID",
        ],
    ),
    "a last line that is cut off": (
        chart,
        "Code;Name;Type\n1000;Kasse;B\n1200;Bank;B\n1300;Ca",
        ["line 4: the last line has 2 of 3 cells and no end"],
    ),
    "a column that stays beside amounts that are zero": (
        entries,
        "Date,Amount,Foo\n" + "".join(f"2026-10-0{day},0,5\n" for day in range(1, 10)),
        {"amount": ["0"] * 9},
    ),
    "days and months in a file with semicolons": (
        entries,
        "Datum;Betrag\n01/02/2026;1\n03/04/2026;1\n",
        {
            "date": ["2026-02-01", "2026-04-03"],
            "notes": [
                (
                    "'Datum' read with the day first, as in files with semicolons; "
                    "else set date_format='%m/%d/%Y'"
                )
            ],
        },
    ),
    "sides under another heading, beside signs": (
        entries,
        "Date;Amount;Foo\n2026-10-01;5;Debit\n2026-10-02;-6;Credit\n2026-10-03;7;Debit\n",
        {"amount": ["5", "-6", "7"]},
    ),
    "an encoding that is none": (
        chart,
        THREE,
        ["must be an encoding such as utf-8 or cp1252, got 'utf-9'"],
        {"encoding": "utf-9"},
    ),
    "codes and names in one cell, under a heading of both": (
        chart,
        "Account;Description\n1000 Kasse;of the shop\n1200 Bank;of the house\n4930 Büro;of the office\n",
        ["'Account' holds the code and the name of an account in one cell"],
    ),
    "a decimal mark that is none": (
        entries,
        "Date,Amount\n2026-10-01,5\n",
        ["decimal must be . or ,, got ';'"],
        {"decimal": ";"},
    ),
    "vouchers of which two balance": (
        ledger,
        "Account,Date,Amount,Voucher\n"
        + "".join(
            f"10,2026-10-01,{amount},{voucher}\n"
            for voucher, amounts in enumerate(["5 -5", "6 -6", "1", "-2", "3", "4"])
            for amount in amounts.split()
        ),
        ["4 of 6 vouchers do not balance"],
    ),
    "a pair with signs of its own": (
        ledger,
        "Account,Date,Debit,Credit\n10,2026-10-01,5,\n20,2026-10-01,,-3\n",
        ["'Debit' and 'Credit' have signs of their own, with which all amounts are on one side"],
    ),
    "sides under another heading, in two of five rows": (
        entries,
        "Date;Amount;Foo\n2026-10-01;5;Debit\n2026-10-02;6;Credit\n" + "2026-10-03;7;\n" * 3,
        ["have one sign, and 'Foo' beside them says debit or credit"],
    ),
    "two rows without headings": (chart, "1000;Kasse\n1200;Bank\n", ["line 1: code '1000', name 'Kasse'"]),
    "identifiers without headings": (
        entries,
        UUIDS,
        {"description": ["Taxi"] * 3},
        {"columns": {"id": "column 1", "description": "column 2"}},
    ),
    "two columns that look like names": (
        chart,
        "Aaa;Bbb;Ccc\n1000;Kasse;Ab\n1200;Bank;Cd\n4930;Büro;Ef\n",
        ["Several columns look like 'name': 'Bbb', 'Ccc'"],
    ),
    "no names at all": (chart, "Aaa;Bbb\n1000;1\n1200;1\n4930;1\n", ["headings: 'Aaa', 'Bbb'"]),
    "a flag turned round": (
        chart,
        "Code,Name,Aktiv\n1,a,ja\n",
        ["must not be a column that says active: use columns={'active': 'Aktiv'}"],
        {"columns": {"archived": "Aktiv"}},
    ),
    "two headings that are not there": (
        chart,
        "Konto;Name\n1;a\n",
        ["the heading 'Nr' for 'code'", "the heading 'Text' for 'name'"],
        {"columns": {"code": "Nr", "name": "Text"}},
    ),
    "two doubtful headings": (
        chart,
        DOUBT,
        [
            "2 problems: (1) 'Konto' (column 1) and 'Code'",
            "read it with columns={'code': 'Konto', 'name': 'Name'}",
        ],
    ),
    "two doubtful headings, settled": (
        chart,
        DOUBT,
        {"code": ["1"], "name": ["a"]},
        {"columns": {"code": "Konto", "name": "Name"}},
    ),
    "a chart with a date and an amount, whose code is named": (
        chart,
        "Date,Amount,X,Name\n2026-10-31,5,1,a\n",
        {"code": ["1"]},
        {"columns": {"code": "X"}},
    ),
    "an amount beside the pair that says the same": (
        entries,
        f"{PAIR}2026-10-01,5,5,\n2026-10-02,-7,,7\n",
        {"amount": ["5", "-7"]},
    ),
    "an amount beside the pair that says another one": (
        entries,
        f"{PAIR}2026-10-01,6,5,\n",
        ["'Amount' differs from 'Debit' less 'Credit' beside it"],
    ),
    "the amount that was named beside its pair": (
        entries,
        f"{PAIR}2026-10-01,6,5,\n",
        {"amount": ["6"]},
        {"columns": {"amount": "Amount"}},
    ),
    "one side that has amounts where the amount has none": (
        entries,
        "Date,Amount,Credit\n2026-10-01,5,\n2026-10-02,,7\n",
        [
            "'Credit' has amounts where 'Amount' has none (line 3)",
            "columns={'debit': 'Amount', 'credit': 'Credit', 'amount': ''}",
        ],
    ),
    "a bank statement with a pair": (
        entries,
        "Date,Debit,Credit,Balance\n"
        + "".join(f"2026-10-0{day},{day},,{9 - day * (day + 1) // 2}\n" for day in range(1, 6)),
        {
            "amount": ["1", "2", "3", "4", "5"],
            "notes": [
                (
                    "is a bank statement, as its running balance 'Balance' shows: "
                    "a debit is money that leaves the account"
                )
            ],
        },
    ),
    "an account whose balance rises by debits": (
        entries,
        "Date,Debit,Credit,Balance\n"
        + "".join(f"2026-10-0{day},{day},,{9 + day * (day + 1) // 2}\n" for day in range(1, 6)),
        [
            "the running balance 'Balance' rises by 'Debit'",
            "If it comes in: columns={'credit': 'Debit', 'debit': 'Credit'}",
        ],
    ),
    "a column of sides without a side": (entries, "Date,Amount,Type\n2026-10-01,5,\n", {"amount": ["5"]}),
    "IDs of another system's categories": (
        entries,
        "Date,Amount,Category ID\n2026-10-01,5,C-1\n",
        {"notes": ["'Category ID' holds IDs such as 'C-1', which are none of the service"]},
    ),
    "two columns of texts": (
        entries,
        "Date,Amount,Description,Text\n2026-10-01,5,a,b\n",
        {
            "notes": [
                (
                    "'Description' (column 3) and 'Text' (column 4) could each be 'description': "
                    "read it with columns={'description': 'Description'}"
                )
            ]
        },
    ),
    "a required field that is none": (
        entries,
        "Date,Amount\n2026-10-01,5\n",
        ["required may name these fields: id, company_id"],
        {"required": ["x"]},
    ),
    "amounts of both sides that are none": (
        entries,
        "Soll;Haben\nx;\n;y\n",
        ["2 problems", "'Soll' must hold amounts", "'Haben' must hold amounts"],
    ),
    "an entry without its company": (
        entries,
        f"id,company_id\n{ENTRY},{COMPANY}\n{ENTRY},\n",
        ["line 3: 'company_id' must not be empty"],
    ),
    "headings that nobody knows below Excel's line of the delimiter": (
        chart,
        "sep=;\nFarbe;Ton\nrot;laut\n",
        ["no column found for 'code'", "'Farbe', 'Ton'"],
    ),
    "dates and amounts that are none": (
        entries,
        "Date,Amount\nx,y\n",
        ["2 problems: (1) line 2: 'Date' must hold dates", "(2) line 2: 'Amount' must hold"],
    ),
    "a date and a side that are none": (
        ledger,
        "Konto;Datum;Betrag;S/H\n10;x;5;S\n20;2026-10-01;5;Q\n",
        ["2 problems: (1) line 2: 'Datum' must hold dates", "(2) line 3: 'S/H' must say debit or credit"],
    ),
    "signs that contradict each side": (
        ledger,
        "Konto;Datum;Betrag;S/H\n10;2026-10-01;-5;S\n20;2026-10-01;5;H\n",
        ["do not agree in any row: read it with columns={'side': ''}"],
    ),
    "sums of both sides": (
        ledger,
        "Konto;Datum;Soll;Haben\n10;2026-10-01;5,00;\n20;2026-10-01;;7,00\n",
        {"debit": "5.00", "credit": "7.00"},
    ),
    "credits with a sign that add up to the debits": (
        ledger,
        "Konto;Datum;Soll;Haben\n10;2026-10-01;5,00;\n20;2026-10-01;;-5,00\n",
        {"amount": ["5.00", "-5.00"]},
    ),
    "a ledger with accounts on the other side": (
        ledger,
        "Konto;Gegenkonto;Datum;Betrag\n10;20;2026-10-01;5\n10;30;2026-10-02;-3\n",
        ["the postings of 'Gegenkonto', the account on the other side of each row, are not in its amounts"],
    ),
    "29 digits in a ledger": (
        ledger,
        f"Konto;Datum;Betrag\n10;2026-10-01;1{'0' * 28}\n",
        ["'Betrag' must have at most 28 digits"],
    ),
    "28 digits in a ledger": (
        ledger,
        f"Konto;Datum;Betrag\n10;2026-10-01;{'9' * 28}\n20;2026-10-01;-{'9' * 28}\n",
        {"amount": ["9" * 28, "-" + "9" * 28]},
        {"money": "decimal"},
    ),
    "short dates of few figures under Valuta": (
        entries,
        "Valuta;Betrag\n1/3/23;5,00\n",
        {"date": ["2023-03-01"]},
        {"date_format": "%d/%m/%y"},
    ),
    "amounts without cents beside an ID": (
        entries,
        "Date,Zug ID,Wieviel\n" + "".join(f"2026-10-0{day},{day}12,{day}\n" for day in (5, 6, 9)),
        ["read it with columns={'amount': 'Wieviel'}"],
    ),
    "a chart by levels": (
        chart,
        "Code,Name,Sub code\n1,Assets,\n,Cash,10\n,Bank,11\n2,Debts,\n",
        ["'Sub code' has a code in rows where 'Code' has none (lines 3, 4), as in a chart by levels"],
    ),
    "a chart whose names are all under another heading": (
        chart,
        "Konto,Bezeichnung,Zug\n1,,Kasse Nord\n2,,Bank West\n",
        ["'Zug' has a name in rows where 'Bezeichnung' has none (lines 2, 3)"],
    ),
    "a column that counts the rows": (
        chart,
        "No.,Name\n1,a\n2,b\n3,c\n4,d\n",
        ["'No.' only counts the rows, so that it may not be 'code'"],
    ),
    "codes and names in one cell": (
        chart,
        "Aaa\n1000 Kasse\n1200 Bank\n",
        ["'Aaa' holds the code and the name of an account in one cell: read it with split_account=True"],
    ),
    "a heading that is there twice": (
        chart,
        "Konto;Konto;Name\n1;2;a\n",
        ["could each be 'code': read it with columns={'code': 'column 1'}"],
        {"columns": {"code": "Konto"}},
    ),
    "a list of accounts": (
        read_accounts,
        f"id;Konto;Bezeichnung\n{ENTRY};0400;Büro\n",
        {"code": ["0400"], "name": ["Büro"]},
    ),
    "a form without a year": (
        entries,
        "Date;Amount\n31.10.;1\n",
        ["date_format must have the year, such as %d.%m.%Y, got '%d.%m.'"],
        {"date_format": "%d.%m."},
    ),
    "an hour of three figures": (entries, "Date;Amount\n2026-10-31 123:30;1\n", ["'Date' must hold dates"]),
    "a minute of one figure": (entries, "Date;Amount\n2026-10-31 12:3;1\n", ["'Date' must hold dates"]),
    "a ledger in the form that was named": (
        ledger,
        LEDGER,
        {"date": ["2026-03-04"], "amount": ["1.234"]},
        {"decimal": ",", "date_format": "%m/%d/%Y"},
    ),
    "one side beside an amount": (
        ledger,
        "Date,Account,Amount,Credit\n2026-10-31,5800,-5,5\n",
        {"amount": ["-5"], "columns": {"account_code": "Account", "date": "Date", "amount": "Amount"}},
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(write, name):
    """What is read of a small table, what its notes count, or what the refusal says."""
    read, text, *expected = TABLES[name]
    check(read, write(text), *expected)


@pytest.mark.parametrize("days", ["2026-10-{}", "2026/10/{}", "{}.10.2026", "{}/10/2026", "{}-10-2026"])
def test_dates_are_no_codes(write, days):
    """Without known headings, a column of dates before the codes is not proposed as the codes."""
    rows = [
        f"{days.format(day)};{row}" for day, row in zip(("01", "12", "30"), THREE.splitlines(), strict=True)
    ]
    proposed = ["columns={'code': 'Bbb', 'name': 'Ccc'}", "line 3: code '1200', name 'Bank'"]
    check(chart, write("\n".join(["Aaa;Bbb;Ccc", *rows])), proposed)


def test_words_for_money_out_and_in(write):
    """Words for refunds and for what a bank account does give amounts their sign."""
    for debit, credit in (
        ("out", "in"),
        ("Expense", "Refund"),
        ("charge", "refund"),
        ("Af", "Bij"),
        ("S", "h"),
    ):
        path = write(f"Date;Amount;Seite\n2026-10-31;1;{debit}\n2026-10-31;2;{credit}\n")
        check(entries, path, {"amount": ["1", "-2"]}, {"columns": {"sign": "Seite"}})


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Konto;Name\n1000;현금", "iso2022_kr"),
        ("Konto;Name\n1000;現金", "iso2022_jp"),
        (FRENCH, "cp850"),
        (ITALIAN, "cp1252"),
    ],
)
@pytest.mark.filterwarnings("ignore::bktools.errors.GuessedEncodingWarning")
def test_encodings(write, text, encoding):
    """Escapes that change the alphabet tell Korean from Japanese; a few words tell others."""
    names = [line.partition(";")[2] for line in text.splitlines()[1:]]
    check(chart, write(text, encoding=encoding), {"name": names, "encoding": encoding})


def test_texts_that_are_not_in_one_encoding(write):
    """UTF-8 far down in another encoding, and half a UTF-16 character, are not read as others."""
    lines = [f"{code};Büro {code}".encode("cp1252") for code in range(1000, 1700)]
    lines[650] = "1650;Zażółć gęślą jaźń, Środki trwałe".encode()
    mixed = b"Konto;Name\n" + b"\n".join(lines)
    check(chart, write(mixed), ["other characters are: encodings are mixed"])
    greek = ("Ταμείο\nΠελάτες\n" * 30).encode("utf-16-le")
    check(chart, write(greek), ["'Ταμείο'"])
    check(chart, write(greek + b"\x00\xd8"), ["byte 0xA4 is not valid UTF-8"])


def sie(postings, stated=""):
    return f'#FLAGGA 0\n{stated}#SIETYP 4\n#KONTO 5800 "Tåg"\n#VER A 1 20261003 "Resa"\n{{\n{postings}\n}}\n'


def saft(totals="", line="<Line>", text="x"):
    lines = "".join(
        f"{line}<RecordID>{number}</RecordID><AccountID>{account}</AccountID><Description>{text}</Description>"
        f"<{side}>9.80</{side}></Line>"
        for number, account, side in ((1, 7140, "DebitAmount"), (2, 1920, "CreditAmount"))
    )
    return (
        '<?xml version="1.0"?><AuditFile '
        'xmlns="urn:OECD:StandardAuditFile-Tax:AT_1.0"><Header/><GeneralLedgerEntries>'
        f"{totals}<Journal><JournalID>B</JournalID><Transaction><TransactionID>17</TransactionID>"
        f"<TransactionDate>2026-10-07</TransactionDate>{lines}</Transaction></Journal></GeneralLedgerEntries></AuditFile>"
    )


DATEV = (
    '"EXTF";700;21;"Buchungsstapel";13;20261101120000000;;"RE";"";"";1001;1;20260101;4;20261001;20261031;"x";"";1;0;0;"EUR"',
    (
        "Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;WKZ "
        "Basis-Umsatz;Konto;Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;Belegfeld "
        "2;Skonto;Buchungstext;Generalumkehr (GU)"
    ),
    *(
        f'1,00;"S";"EUR";;;"";4930;1200;"{key}";0310;"R";"";;"x";"{mark}"'
        for key, mark in (("20", ""), ("", "1"), ("", "0"))
    ),
    "",
)
ADDED, OTHER = "#RTRANS 5800 {} 251.50\n", "#TRANS 1930 {} -251.50"
BALANCES = "#IB 0 5800 1.00\n#UB 0 5800 8.00\n"
MOVED = "the account '5800' moves by 7.00 by its balances in the file, but by 5.00 by its postings"
TRAIN = {"account_code": ["5800", "1930"], "amount": ["251.50", "-251.50"]}
BOOKED = {"account_code": ["7140", "1920"], "text": ["x", "x"], "amount": ["9.80", "-9.80"]}
TOTALS = {"NumberOfEntries": "1", "TotalDebit": "9.80", "TotalCredit": "9.80"}
LONGEST = "x" * (1 << 20)

FORMATS = {
    "marks of a reversal": (
        "EXTF.csv",
        "\r\n".join(DATEV),
        "cp1252",
        ["the other way round: 2 (lines 3, 4)"],
    ),
    "an added posting": ("a.se", sie(ADDED + OTHER), "cp437", TRAIN),
    "one repeated": ("a.se", sie(ADDED + ADDED.replace("RTRANS", "TRANS") + OTHER), "cp437", TRAIN),
    "balances": ("a.se", sie("#TRANS 5800 {} 5.00\n#TRANS 1930 {} -5.00", BALANCES), "cp437", [MOVED]),
    "a currency": ("a.se", sie("#TRANS 5800 {} 0", "#VALUTA EUR\n"), "cp437", {"currency": ["EUR"]}),
    "no currency": ("a.se", sie("#TRANS 5800 {} 0"), "cp437", {"currency": ["SEK"]}),
    "attributes": ("a.xml", saft(line='<Line AccountID="1" Description="y">'), "utf-8", BOOKED),
    "the longest text": ("a.xml", saft(text=LONGEST), "utf-8", {"text": [LONGEST] * 2}),
    "a longer text": ("a.xml", saft(text=LONGEST + "x"), "utf-8", ["a text has more than 1 MB"]),
}


@pytest.mark.parametrize("name", FORMATS)
def test_formats(write, name):
    """What is read of a small file of DATEV, SIE or SAF-T, or what the refusal says."""
    file, text, encoding, expected = FORMATS[name]
    check(ledger, write(text, file, encoding), expected)


@pytest.mark.parametrize("left_out", TOTALS)
def test_a_total_that_a_saft_file_does_not_state(write, left_out):
    """SAF-T files of some systems lack a total: the others are checked, that one is not."""
    xml = saft("".join(f"<{name}>{value}</{name}>" for name, value in TOTALS.items() if name != left_out))
    check(ledger, write(xml, "a.xml"), BOOKED)
    for name in set(TOTALS) - {left_out}:
        check(ledger, write(xml.replace(f"<{name}>", f"<{name}>5"), "a.xml"), [name])


@pytest.fixture
def workbook(tmp_path):
    """Write sheets of rows, in which `=` is a formula with an error; a function may change the book."""

    def workbook(sheets, change=None):
        with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
            for name, rows in sheets.items():
                sheet = book.add_worksheet(name)
                for line, row in enumerate(rows):
                    for place, cell in enumerate(row):
                        if cell == "=":
                            sheet.write_formula(line, place, "=NA()", None, "#N/A")
                        else:
                            sheet.write(line, place, cell)
            if change:
                change(book)
        return tmp_path / "a.xlsx"

    return workbook


def test_a_workbook_without_the_namespace_of_workbooks(workbook, tmp_path):
    """A broken cell is told in a workbook of a program that leaves the namespace out."""
    namespace = b' xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    path = workbook({"A": [["Konto", "Name"], ["=", "Bank"]]})
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as bare:
        for name in whole.namelist():
            text = whole.read(name)
            if name.startswith("xl/worksheets/"):
                assert namespace in text
                text = text.replace(namespace, b"")
            bare.writestr(name, text)
    check(chart, tmp_path / "b.xlsx", ["line 2: the cell A2 of the sheet 'A' holds the error #N/A"])


def test_hidden_sheets_and_charts_are_not_looked_at(workbook):
    """The sheet is chosen among the visible ones that hold cells, however well a hidden one fits."""

    def hide(book):
        book.get_worksheet_by_name("hidden").hide()
        picture = book.add_chart({"type": "column"})
        picture.add_series({"values": "=shown!$A$2:$A$2"})
        book.add_chartsheet("picture").set_chart(picture)

    sheets = {"shown": [["Konto", "Name"], ["0400", "Bank"]]}
    sheets["hidden"] = [["Konto", "Name", "Art", "Aktiv"], ["0500", "Old", "B", "ja"]]
    path = workbook(sheets, hide)
    check(chart, path, {"code": ["0400"], "name": ["Bank"]})
    check(chart, path, {"code": ["0500"], "name": ["Old"]}, {"sheet": "hidden"})
    check(chart, path, ["sheet must be the name of a sheet, or its position from 0, got 1.5"], {"sheet": 1.5})
    way = "no cells on a sheet that is shown: read a hidden one with sheet='hidden'"
    check(chart, workbook({"shown": [], "hidden": sheets["hidden"]}, hide), [way])


def test_a_broken_cell_far_to_the_right(workbook):
    """A column of two letters is counted as spreadsheets count it."""
    path = workbook({"A": [["x"] * 26 + ["Konto", "Name"], ["y"] * 26 + ["0400", "="]]})
    check(chart, path, ["the cell AB2 of the sheet 'A' holds the error #N/A"])


def test_a_duration_beside_a_chart(workbook):
    """A cell with hours is a text like any other that is not read."""

    def hours(book):
        book.get_worksheet_by_name("A").write(1, 2, 1.5, book.add_format({"num_format": "[h]:mm"}))

    path = workbook({"A": [["Konto", "Name", "Stunden"], ["1000", "Kasse", ""], ["1200", "Bank", ""]]}, hours)
    check(chart, path, {"code": ["1000", "1200"]})


def test_a_file_that_names_no_company(write):
    """It says nothing of one, in place of an empty name."""
    assert "company_in_file" not in chart(write(THREE.join(["Konto;Name\n", ""]))).attrs["bktools"]


@pytest.mark.parametrize("count", [10, 11])
def test_sheets_that_are_not_read(workbook, count):
    """Ten of them are named, more are counted."""
    sheets = {"first": [["Konto"], ["1000"]]} | {f"sheet {number}": [["x"], ["y"]] for number in range(count)}
    with pytest.raises(InputError) as caught:
        chart(workbook(sheets))
    assert (" and 1 more: choose one" in str(caught.value), " more: choose" in str(caught.value)) == (
        (count > 10,) * 2
    )


HEADINGS_OF = {
    chart: ("Code", "Name", "1000", "name"),
    entries: ("Date", "Description", "2026-10-01", "description"),
    ledger: ("Account", "Text", "1000", "text"),
    read_accounts: ("ID", "Name", ENTRY, "name"),
}


@pytest.mark.parametrize("read", HEADINGS_OF)
def test_every_reader_takes_the_options_of_tables(write, workbook, read):
    """A rare delimiter, an encoding that is not the first guess, and a sheet by its name."""
    first, second, value, field = HEADINGS_OF[read]
    rows = [
        [first, second, "Date", "Amount"],
        [value, "Жук", "2026-10-01", "5"],
        [value[:-1] + "1", "Кот", "2026-10-02", "-5"],
    ]
    # A heading stands once.
    lines = [list(dict(zip(rows[0], row, strict=True)).values()) for row in rows]
    for encoding in ("cp1251", "koi8-r"):
        path = write("\n".join("^".join(line) for line in lines), encoding=encoding)
        options = {"delimiter": "^", "encoding": encoding}
        assert read(path, **options)[field].tolist() == ["Жук", "Кот"]
    path = workbook({"A": [["nothing"]], "B": lines, "C": lines[:2]})
    assert [len(read(path, sheet=sheet)) for sheet in ("B", "C")] == [2, 1]


def test_a_broken_cell_above_the_headings(workbook):
    """Nothing of it is read, so that it spoils nothing."""
    path = workbook({"A": [["=", "Bericht"], [], ["Konto", "Name"], ["1000", "Kasse"], ["1200", "Bank"]]})
    check(chart, path, {"code": ["1000", "1200"]})


@pytest.mark.parametrize("cell", [123456789012345, 1234567890123456, "1234567890123456"])
def test_numbers_of_more_digits_than_a_workbook_keeps(workbook, cell):
    """An external ID that is a number of 16 digits is refused, because the workbook may hold another one."""
    path = workbook({"chart": [["External ID", "Konto", "Name"], [cell, "1000", "Kasse"]]})
    if cell == 1234567890123456:
        with pytest.raises(InputError, match=r"line 2: 'External ID' is a number, .* keeps 15 digits"):
            chart(path)
    else:
        assert chart(path)["external_id"].tolist() == [str(cell)]


def test_an_empty_cell_among_numbers(workbook):
    """Codes that are numbers of several lengths are told of, also where a cell of the column is empty."""
    path = workbook({"A": [["Konto", "Name", "Art"], [40, "a", "B"], ["", "b", "B"], [500, "c", "B"]]})
    assert any("numbers of different lengths" in note for note in chart(path).attrs["bktools"]["notes"])


ODS = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" office:version="1.3"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">
<office:body><office:spreadsheet><table:table table:name="A">{rows}</table:table></office:spreadsheet>
</office:body>
</office:document-content>"""
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">
<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>"""
TEXT = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
TWICE = (
    '<table:table-cell table:number-columns-repeated="2" '
    'office:value-type="string"><text:p>0</text:p></table:table-cell>'
)
ERROR = (
    '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" '
    'calcext:value-type="error">'
    "<text:p>#DIV/0!</text:p></table:table-cell>"
)
UNSAVED = '<table:table-cell table:formula="of:=1+1"/>'


@pytest.mark.parametrize(
    ("cells", "repeated", "place", "what"),
    [
        (ERROR + TEXT.format("Bank"), 1, "A3", "the error #DIV/0!"),
        (TEXT.format("0400") + ERROR, 3, "B5", "the error #DIV/0!"),
        (TEXT.format("0400") + TEXT.format("Bank") + ERROR, 1, "C3", "the error #DIV/0!"),
        (TEXT.format("0400") + UNSAVED, 1, "B3", "a formula whose value was not saved"),
        (TWICE + ERROR, 1, "C3", "the error #DIV/0!"),
    ],
)
def test_broken_cells_of_an_open_document_are_placed(tmp_path, cells, repeated, place, what):
    """The cell of an error is told, behind rows and cells that the file says once for several."""
    path = tmp_path / "a.ods"
    head = f"<table:table-row>{''.join(map(TEXT.format, ('Konto', 'Name', 'Art')))}</table:table-row>"
    good = (
        "<table:table-row "
        f'table:number-rows-repeated="{repeated}">{TEXT.format("0300") + TEXT.format("x")}</table:table-row>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr(
            "content.xml", ODS.format(rows=f"{head}{good}<table:table-row>{cells}</table:table-row>")
        )
    check(chart, path, [f"line {place[1:]}: the cell {place} of the sheet 'A' holds {what}"])
