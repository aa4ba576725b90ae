"""DATEV EXTF by its public description: header, Buchungsstapel and Kontenbeschriftungen."""

from __future__ import annotations

import pytest

import bktools
from bktools.errors import InputError, UnverifiedTableWarning

COLUMNS = (
    "Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;WKZ Basis-Umsatz;Konto;"
    "Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;Belegfeld 2;Skonto;Buchungstext"
)
ROWS = (
    '119,00;"S";"EUR";;;"";27;1200;"9";0310;"R-77";"";;"Büro ""Bedarf"""',
    '20,00;"H";"EUR";;;"";4930;1200;"";3010;"G-3";"";;"Gutschrift"',
    '100,00;"S";"USD";1,085;92,17;"EUR";4930;70000;"";1510;"US-1";"";;"Cloud"',
    '50,00;"";"";;;"";4930;1200;"40";110;"R-78";"";1,50;""',
)


def batch(
    *rows,
    begins="20260101",
    first="20261001",
    last="20261031",
    length="4",
    name="Buchungsstapel",
    category="21",
):
    header = (
        f'"EXTF";700;{category};"{name}";13;20261101120000000;;"RE";"";"";1001;1;{begins};{length};{first};{last};"Oktober"'
        ';"";1;0;0;"EUR";;"";;;"";;;"";""'
    )
    return "\r\n".join((header, COLUMNS, *rows, ""))


def ledger(write, text, encoding="cp1252"):
    return bktools.read_general_ledger(write(text, "EXTF_Buchungsstapel.csv", encoding))


def test_a_currency_without_the_books_amount(write):
    """A row in another currency than the books' keeps it where its amount in the books' is empty."""
    found = ledger(write, batch('10,00;"S";"USD";;;"";4930;1200;"";310;"R";"";;"x"'))
    assert found[["amount", "currency"]].values.tolist() == [[10.0, "USD"], [-10.0, "USD"]]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-8"])
def test_a_row_is_two_postings(write, encoding):
    """Signs by S and H, contra account, booked amount of a foreign one, account, date, tax code."""
    found = ledger(write, batch(*ROWS), encoding)
    assert found[["account_code", "amount", "currency", "document_number"]].values.tolist() == [
        ["0027", 119.0, "EUR", "R-77"],
        ["1200", -119.0, "EUR", "R-77"],
        ["4930", -20.0, "EUR", "G-3"],
        ["1200", 20.0, "EUR", "G-3"],
        ["4930", 92.17, "EUR", "US-1"],
        ["70000", -92.17, "EUR", "US-1"],
        ["4930", 50.0, "EUR", "R-78"],
        ["1200", -50.0, "EUR", "R-78"],
    ]
    days = found["date"].dt.strftime("%Y-%m-%d").tolist()
    assert (
        days
        == [day for day in ("2026-10-03", "2026-10-30", "2026-10-15", "2026-10-01") for _ in range(2)][:6]
        + ["2026-10-01"] * 2
    )
    assert found["tax_code"].fillna("").tolist() == ["9", "9", "", "", "", "", "40", "40"]
    assert found["text"][0] == 'Büro "Bedarf"'
    assert "read as DATEV Buchungsstapel" in found.attrs["bktools"]["notes"]
    assert found["voucher_id"].tolist() == [line for line in ("3", "4", "5", "6") for _ in range(2)]
    about = found.attrs["bktools"]
    noted = {note["code"]: note.get("lines") for note in about["note_facts"]}
    assert noted["datev_tax_keys"] == [3, 6]
    assert noted["datev_discounts"] == [6]


def test_rows_of_one_document_are_one_voucher(write):
    """Rows of one document, day and text that share an account are one voucher; other rows are their own."""
    row = '{};"H";"EUR";;;"";1210;{};"9";0310;"{}";"";;"Meal"'
    cells = [("70,00", 4650, "K-1"), ("30,00", 4654, "K-1"), ("5,00", 4650, "K-2"), ("5,00", 4650, "")]
    found = ledger(write, batch(*(row.format(*own) for own in cells), row.format("5,00", 4650, "")))
    assert found["voucher_id"].tolist()[::2] == ["3", "3", "5", "6", "7"]


def test_a_fiscal_year_that_spans_two_years(write):
    """The year of a day and month is that in which it falls into the fiscal year."""
    rows = [
        f'1,00;"S";"EUR";;;"";4930;1200;"";{day};"";"";;""'
        for day in ("0107", "3112", "0101", "3006", "2902")
    ]
    found = ledger(write, batch(*rows, begins="20270701", first="", last=""))
    assert found["date"].dt.strftime("%Y-%m-%d").tolist()[::2] == [
        "2027-07-01",
        "2027-12-31",
        "2028-01-01",
        "2028-06-30",
        "2028-02-29",
    ]


@pytest.mark.parametrize(("key", "mark"), [("20", ""), ("39", ""), ("9", "1"), ("", "G")])
def test_general_reversals(write, key, mark):
    """Programs write the sign of a general reversal in two ways, so that it is asked for and not guessed."""
    row = f'119,00;"H";"EUR";;;"";4930;1200;"{key}";0310;"";"";;"";"{mark}"'
    path = write(batch(row).replace("Buchungstext", "Buchungstext;Generalumkehr (GU)"), "a.csv", "cp1252")
    why = r"1 row marked as general reversals .* may be meant the other way round: line 3"
    with pytest.raises(InputError, match=why):
        bktools.read_general_ledger(path)
    with pytest.warns(UnverifiedTableWarning, match=why):
        found = bktools.read_general_ledger(path, verify="warn")
    assert [f"{amount:.2f}" for amount in found["amount"]] == ["-119.00", "119.00"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ('-5,00;"S";"EUR";;;"";4930;1200;"";0310;"";"";;""', "line 3: 'Umsatz .*' must hold amounts above 0"),
        ('5.00;"S";"EUR";;;"";4930;1200;"";0310;"";"";;""', "must hold amounts above 0 such as 119,00"),
        ('5,00;"X";"EUR";;;"";4930;1200;"";0310;"";"";;""', r"must be S \(debit\) or H \(credit\)"),
        ('5,00;"S";"EUR";;;"";;1200;"";0310;"";"";;""', "'Konto' must hold accounts of 1 to 9 digits"),
        ('5,00;"S";"EUR";;;"";4930;;"";0310;"";"";;""', "'Gegenkonto .*' must hold accounts"),
        ('5,00;"S";"EUR";;;"";4930;4930;"";0310;"";"";;""', "must be another account than Konto"),
        ('5,00;"S";"EUR";;;"";4930;1200;"";3110;"";"";;""', "must be a day and month"),
        ('5,00;"S";"EUR";;;"";4930;1200;"";2902;"";"";;""', "must be a day and month"),
        ('5,00;"S";"EUR"', "must hold accounts of 1 to 9 digits"),
    ],
)
def test_rows_that_break_a_rule(write, row, why):
    """Amount, side, accounts and date have rules, and a row that breaks one is named with its line."""
    row = row.replace("3110", "3109") if "day and month" in why and "3110" in row else row
    with pytest.raises(InputError, match=why):
        ledger(write, batch(row))


@pytest.mark.parametrize(
    ("row", "why", "amounts"),
    [
        # An opening balance: the first day of the year, in an export of October.
        (
            '900,00;"S";"EUR";;;"";1200;9000;"";0101;"EB";"";;"Saldovortrag"',
            r"row dated outside of 2026-10-01 to 2026-10-31, the period in the header, .*: line 4",
            ["119.00", "-119.00", "900.00", "-900.00"],
        ),
        (
            '900,00;"S";"EUR";;;"";1200;;"";0310;"EB";"";;"x"',
            r"left out: line 4",
            ["119.00", "-119.00"],
        ),
        ('1.019,00;;;;;;;;;;"";"";;"Summe"', r"left out: line 4", ["119.00", "-119.00"]),
        ('"";"S";"EUR";;;"";4930;1200;"";0310;"";"";;""', r"left out: line 4", ["119.00", "-119.00"]),
    ],
)
def test_rows_that_may_be_no_postings(write, row, why, amounts):
    """Balances, sums and rows without amount are refused with the way out, which reads or drops them."""
    text = batch(ROWS[0], row)
    with pytest.raises(InputError, match=why) as caught:
        ledger(write, text)
    assert "verify='warn'" in str(caught.value)
    with pytest.warns(UnverifiedTableWarning, match=why):
        postings = bktools.read_general_ledger(write(text, "a.csv", "cp1252"), verify="warn")
    assert [f"{amount:.2f}" for amount in postings["amount"]] == amounts


@pytest.mark.parametrize("row", [";" * 13, ";".join(['""'] * 14), " ;" * 13])
def test_empty_rows(write, row):
    """A row without anything, as spreadsheets leave below a table, is none."""
    assert len(ledger(write, batch(ROWS[0], row, ROWS[1], row))) == 4
    rows = labels('27;"EDV-Software";"de-DE"', ";;")
    assert len(bktools.read_chart_of_accounts(write(rows, "labels.csv", "cp1252"))) == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"begins": ""}, "header does not say when the fiscal year begins"),
        ({"length": "40"}, "how long accounts are"),
        (
            {"category": "16", "name": "Debitoren/Kreditoren"},
            "is a DATEV file of Debitoren/Kreditoren, which holds no postings",
        ),
        ({"category": "20", "name": "Kontenbeschriftungen"}, "no postings: export the Buchungsstapel"),
    ],
)
def test_headers(write, options, why):
    """The header must say what the rows are and what they leave out."""
    with pytest.raises(InputError, match=why):
        ledger(write, batch(*ROWS, **options))


def labels(*rows, length="4"):
    about = '"EXTF";700;20;"Kontenbeschriftungen";3;20261031120000000;;"RE";"";""'
    header = f'{about};1001;1;20260101;{length};;;"";"";;;;;;;;;;;;;'
    return "\r\n".join((header, "Konto;Kontobeschriftung;SprachId", *rows, ""))


def test_account_labels(write):
    """Accounts have the digits that the header says, and one in two languages is one account."""
    text = labels('27;"EDV-Software";"de-DE"', '8400;"Erlöse";"de-DE"', '8400;"Revenue";"en-GB"', length="6")
    chart = bktools.read_chart_of_accounts(write(text, "labels.csv", "cp1252"))
    assert chart[["code", "name"]].values.tolist() == [["000027", "EDV-Software"], ["008400", "Erlöse"]]
    assert chart.attrs["bktools"]["company_in_file"] == ("1001/1", ""), (
        "the adviser's number and the client's"
    )


def test_postings_hold_no_names(write):
    """A Buchungsstapel as a chart is refused with the file to export instead."""
    with pytest.raises(InputError, match="which holds no names of accounts: export Kontenbeschriftungen"):
        bktools.read_chart_of_accounts(write(batch(*ROWS), "a.csv", "cp1252"))
