"""Small files that were once read wrongly: each is read right, or refused with a right proposal."""

from __future__ import annotations

import pandas as pd
import pytest
import xlsxwriter

from bktools.errors import InputError
from bktools.export import compose_export_jobs
from bktools.inputs.chart_of_accounts import read_chart_of_accounts as chart
from bktools.inputs.entries import read_entries as entries
from bktools.inputs.general_ledger import read_general_ledger as ledger

COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"
IDS = [f"1b4e28ba-2fa1-41d2-883f-0016d3cca42{digit}" for digit in range(4)]


def table(heading, *rows):
    return "".join(f"{row}\n" for row in (heading, *rows))


def column(frame, field):
    if field == "date":
        return frame["date"].dt.strftime("%Y-%m-%d").tolist()
    if field == "amount":
        return frame["amount"].tolist()
    return [
        None if pd.isna(value) else value if field == "archived" else str(value) for value in frame[field]
    ]


def sided(heading, debit, credit):
    """Return a ledger of one voucher, whose sides are said by words in a column of this heading."""
    return table(
        f"Konto;Datum;Betrag;{heading}",
        f"4930;2026-10-01;119,00;{debit}",
        f"1200;2026-10-01;119,00;{credit}",
        f"4940;2026-10-02;5,00;{debit}",
        f"1200;2026-10-02;5,00;{credit}",
    )


BOTH_SIDES = {"amount": ["119.00", "-119.00", "5.00", "-5.00"]}

# Reader, text, what is right. Without options, or with those that a refusal proposes.
RIGHT = {
    **{
        f"a ledger with {heading} {debit} and {credit}": (ledger, sided(heading, debit, credit), BOTH_SIDES)
        for heading, debit, credit in (
            ("Typ", "Soll", "Haben"),
            ("entry_type", "Debit", "Credit"),
            ("Seite", "Soll", "Haben"),
            ("Tipo", "Cargo", "Abono"),
            ("D/C", "Debiit", "Kreedit"),
            ("D/C", "Χρέωση", "Πίστωση"),
            ("Dr/Cr", "Dr", "Cr"),
            ("Type", "Debits", "Credits"),
            ("Sens", "D", "C"),
        )
    },
    "a ledger with columns for both in Greek": (
        ledger,
        table("Κωδικός;Ημερομηνία;Χρέωση;Πίστωση", "60;2026-10-01;5,00;", "38;2026-10-01;;5,00"),
        {"amount": ["5.00", "-5.00"]},
    ),
    "entries with words for both": (
        entries,
        table("Date;Amount;type", "2026-10-01;5.00;expense", "2026-10-02;7.00;income"),
        {"amount": ["5.00", "-7.00"]},
    ),
    "entries with Dr and Cr": (
        entries,
        table("Date;Amount;Dr/Cr", "2026-10-01;5.00;Dr", "2026-10-02;7.00;Cr"),
        {"amount": ["5.00", "-7.00"]},
    ),
    "words under a heading of any meaning": (
        entries,
        table(
            "Date;Amount;Richtung", "2026-10-01;5.00;Soll", "2026-10-02;7.00;Haben", "2026-10-02;1.00;Soll"
        ),
        {"amount": ["5.00", "-7.00", "1.00"]},
    ),
    "a side with its own sign": (
        ledger,
        table("Konto;Datum;Betrag;Soll/Haben", "1;2026-10-01;2,98;Soll", "2;2026-10-01;-2,98;Haben"),
        {"amount": ["2.98", "-2.98"]},
    ),
    "a running balance beside amounts under an unknown heading": (
        entries,
        table(
            "Datum;Text;Bewegung;Saldo CHF",
            "2026-10-01;a;-5,00;95,00",
            "2026-10-02;b;10,00;105,00",
            "2026-10-03;c;-1,50;103,50",
            "2026-10-04;d;-3,50;100,00",
            "2026-10-05;e;7,00;107,00",
        ),
        {"amount": ["-5.00", "10.00", "-1.50", "-3.50", "7.00"]},
    ),
    "a cumulated column under a heading of amounts": (
        entries,
        table(
            "Date;Amount;Each",
            "2026-10-01;5.00;5.00",
            "2026-10-02;15.00;10.00",
            "2026-10-03;16.50;1.50",
            "2026-10-04;20.00;3.50",
            "2026-10-05;27.00;7.00",
        ),
        {"amount": ["5.00", "10.00", "1.50", "3.50", "7.00"]},
    ),
    "a pair beside the column that was taken": (
        entries,
        table("Date;Amount;Debit;Credit", "2026-10-01;100.00;5.00;", "2026-10-02;93.00;;7.00"),
        {"amount": ["5.00", "-7.00"]},
    ),
    "a value date under Valuta": (
        entries,
        table("Buchungstag;Valuta;Betrag", "01.10.2026;02.10.2026;5,00", "03.10.2026;03.10.2026;6,00"),
        {"date": ["2026-10-01", "2026-10-03"], "amount": ["5.00", "6.00"]},
    ),
    "a currency under Valuta": (
        entries,
        table("Dato;Valuta;Beløp", "01.10.2026;NOK;5,00"),
        {"currency": ["NOK"]},
    ),
    "a value date under Wert": (
        entries,
        table("Datum;Wert;Betrag", "01.10.2026;02.10.2026;5,00", "03.10.2026;03.10.2026;6,00"),
        {"amount": ["5.00", "6.00"]},
    ),
    "amounts under Wert": (entries, table("Datum;Wert", "01.10.2026;5,00"), {"amount": ["5.00"]}),
    "an amount with its currency in the heading": (
        entries,
        table("Datum;Betrag (EUR);Saldo EUR", "01.10.2026;5,00;7,00"),
        {"amount": ["5.00"]},
    ),
    "a total of movements": (
        entries,
        table("Data registrazione;Importo;Causale", "01.10.2026;5,00;a", ";5,00;Totale movimenti"),
        {"amount": ["5.00"]},
    ),
    "a total in the column of dates": (
        entries,
        table("Date,Amount", "2026-10-01,5.00", "Total:,5.00"),
        {"amount": ["5.00"]},
    ),
    "a total of expenses in a chart": (
        chart,
        table("Konto;Bezeichnung;Saldo", "4000;Miete;5", "4100;Strom;6", ";Summe Aufwand;11"),
        {"code": ["4000", "4100"]},
    ),
    "a line of a report in a chart": (
        chart,
        table("Code,Name,Type", "1,a,x", "2,b,x", "3,c,x", "4,d,x", "Printed on 3 October,,"),
        {"code": [*"1234"]},
    ),
    "two rows without headings": (chart, table("1010;Kassa", "1220;Bank"), {"code": ["1010", "1220"]}),
    "metadata above the table": (
        entries,
        table(
            "Account;123;;;",
            "Currency;EUR;;;",
            "Buchungsdatum;Betrag;Währung;Lieferant;Buchungstext",
            "01.10.2026;5,00;EUR;A;b",
            "02.10.2026;6,00;EUR;A;b",
            "03.10.2026;7,00;EUR;A;b",
        ),
        {"amount": ["5.00", "6.00", "7.00"]},
    ),
    "an id where nothing else is a code": (
        chart,
        table("account_id,account_name", "1010,Cash", "2000,Sales"),
        {"code": ["1010", "2000"], "name": ["Cash", "Sales"]},
    ),
    "a key beside the number": (
        chart,
        table("accountkey,accountnumber,accountname", "1,50010,Lamps", "2,50020,Rugs"),
        {"code": ["50010", "50020"]},
    ),
    "ID alone": (chart, table("ID;Name", "1010;Cash", "2000;Sales"), {"code": ["1010", "2000"]}),
    "an account that is a name": (
        chart,
        table("Code;Account;Description", "10;Cash;In the till", "20;Sales;All of them"),
        {"name": ["Cash", "Sales"]},
    ),
    "an account that is a code": (
        chart,
        table("Account;Description", "10;Cash", "20;Sales"),
        {"code": ["10", "20"]},
    ),
    "Código contable": (chart, table("Código contable;Nombre", "10;Caja"), {"code": ["10"]}),
    "Cuenta PUC": (
        chart,
        table("Cuenta PUC;Nombre;Descripción", "1105;Caja;Dinero"),
        {"code": ["1105"], "name": ["Caja"]},
    ),
    "tax codes that say none": (
        chart,
        table("Code,Name,Tax code", "1,a,-", "2,b,N/A", "3,c,V9"),
        {"tax_code_external_id": [None, None, "V9"]},
    ),
    "Desactivado": (
        chart,
        table("Código;Nombre;Estado", "1;a;Activo", "2;b;Desactivado"),
        {"archived": [False, True]},
    ),
    "Disattivato": (
        chart,
        table("Codice;Nome;Stato", "1;a;Attivo", "2;b;Disattivato"),
        {"archived": [False, True]},
    ),
    "dates with two digits of the year": (
        entries,
        table("Datum;Betrag", "22.02.18;1,00", "13.10.18;2,00"),
        {"date": ["2018-02-22", "2018-10-13"]},
    ),
    "dates of the United States": (
        entries,
        table("Date,Amount", "2/20/19,1.00", "10/3/19,2.00"),
        {"date": ["2019-02-20", "2019-10-03"]},
    ),
    "dates with names of months": (
        entries,
        table("Date,Amount", "30 Jun 2023,1.00"),
        {"date": ["2023-06-30"]},
    ),
    "IDs of another system": (
        entries,
        table("Expense ID,Date,Amount", "EXP001,2026-10-01,1.00", "JE-2,2026-10-02,2.00"),
        {"id": [None, None], "Expense ID": ["EXP001", "JE-2"]},
    ),
    "an opening balance and an empty amount at the end": (
        ledger,
        table(
            "Konto;Datum;Soll;Haben;Text",
            "1200;;;;Anfangsbestand",
            "4930;2026-10-01;5,00;;a",
            "1200;2026-10-01;;5,00;b",
            "Summe;;5,00;5,00;",
            "1200;;;;Endbestand",
        ),
        {"amount": ["5.00", "-5.00"]},
    ),
    "an opening balance with a date": (
        ledger,
        table(
            "Konto;Datum;Soll;Haben;Saldo",
            "1200;2026-10-01;;;7,00",
            *["4930;2026-10-02;5,00;;", "1200;2026-10-02;;5,00;"] * 5,
        ),
        {"amount": ["5.00", "-5.00"] * 5},
    ),
    "results without an account": (
        ledger,
        table("Konto;Datum;Betrag", "8400;2026-10-01;-5", "1200;2026-10-01;5", ";2026-10-31;9"),
        {"amount": ["-5", "5"]},
    ),
    "a posting without an amount": (
        ledger,
        table("Konto;Datum;Betrag", "8400;2026-10-01;-5", "1200;2026-10-01;5", "9000;2026-10-31;"),
        {"amount": ["-5", "5"]},
    ),
    "an entry without a date": (entries, table("Date;Amount", "2026-10-01;5", ";6"), {"amount": ["5"]}),
    "the first of each month": (
        entries,
        table("Date,Amount", *(f"{month}/1/{year},5" for year in (2025, 2026) for month in range(1, 13))),
        {"date": [f"{year}-{month:02}-01" for year in (2025, 2026) for month in range(1, 13)]},
    ),
    "the first days of a month": (
        entries,
        table("Date,Amount", "10-2-2026,5", "10-3-2026,5", "10-8-2026,6"),
        {"date": ["2026-10-02", "2026-10-03", "2026-10-08"]},
    ),
    "a time behind two digits of the year": (
        entries,
        table("datetime,amount", "3/14/23 0:00,5", "10/2/23 9:30,6"),
        {"date": ["2023-03-14", "2023-10-02"]},
    ),
    "a name beside its long description": (
        chart,
        table(
            "gl_code,gl_category,description",
            *(
                f"6{place}00,Kind {letter},{letter} {'and more of it ' * 5}"
                for place, letter in enumerate("abc")
            ),
        ),
        {"name": ["Kind a", "Kind b", "Kind c"]},
    ),
    "amounts in the currency of each row beside those in one": (
        entries,
        table(
            "date,amount_usd,amount_local,currency", "2026-10-01,6.25,5.00,GBP", "2026-10-02,7.00,7.00,USD"
        ),
        {"amount": ["5.00", "7.00"]},
    ),
    "a flag for one side": (
        entries,
        table("Data,Despesa?,Valor", "2026-10-01,TRUE,5.00", "2026-10-02,FALSE,7.00"),
        {"amount": ["5.00", "-7.00"]},
    ),
    "a flag for the other side": (
        ledger,
        table("account,date,amount,is_credit", "10,2026-10-01,5.00,no", "20,2026-10-01,5.00,yes"),
        {"amount": ["5.00", "-5.00"]},
    ),
    "letters for money that goes out and comes in": (
        entries,
        table("Data,Tipo,Valor", "2026-10-01,S,5.00", "2026-10-02,E,7.00"),
        {"amount": ["5.00", "-7.00"]},
    ),
    "names of accounts under debit and credit": (
        entries,
        table(
            "data,descricao,debito,credito,valor",
            "2026-10-01,a,Caixa,Receita,5.00",
            "2026-10-02,b,Despesa,Caixa,7.00",
        ),
        {"amount": ["5.00", "7.00"]},
    ),
    "a company of another system": (
        chart,
        table("company_id,account_code,account_name", "1,10,Cash", "1,20,Sales", ",30,Rent"),
        {"code": ["10", "20", "30"]},
    ),
    "IDs that some accounts lack": (
        chart,
        table("account_id,account_code,account_name", "1,10,Cash", "2,20,Sales", ",30,Rent"),
        {"external_id": ["10", "20", "30"]},
    ),
    "states of an approval": (
        entries,
        table("Datum;Betrag;Freigabe", "2026-10-01;5;ja", "2026-10-02;6;offen"),
        {"approved": ["True", "False"]},
    ),
    "approvals that all are open": (
        entries,
        table("Datum;Betrag;Freigabe", "2026-10-01;5;Offen"),
        {"approved": ["False"]},
    ),
    "days of an approval": (
        entries,
        table("Datum;Betrag;Freigabe", "2026-10-01;5;03.10.2026"),
        {"Freigabe": ["03.10.2026"]},
    ),
    "a debit whose sign says it once more": (
        entries,
        table(
            "Date;Soll;Haben",
            "2026-10-01;-85,60;",
            "2026-10-02;;1500,00",
            "2026-10-03;;-4,00",
            "2026-10-04;;5,00",
        ),
        {"amount": ["85.60", "-1500.00", "4.00", "-5.00"]},
    ),
    "a credit whose sign says it once more": (
        ledger,
        table(
            "Konto;Datum;Soll;Haben",
            "1;2026-10-01;5,00;",
            "2;2026-10-01;;-3,00",
            "2;2026-10-01;;-2,00",
            "3;2026-10-02;1,00;",
            "2;2026-10-02;;-1,00",
        ),
        {"amount": ["5.00", "-3.00", "-2.00", "1.00", "-1.00"]},
    ),
    "the time of a report in the last row": (
        chart,
        table(
            "Account number,Full name",
            "10,Cash",
            "20,Sales",
            "30,Rent",
            "TOTAL,",
            '" Wednesday, February 25, 2026 05:23 PM",',
        ),
        {"code": ["10", "20", "30"]},
    ),
}


def settled(read, path):
    """Read a file without options, or else with those that the refusal proposes."""
    try:
        return read(path)
    except InputError as error:
        assert error.proposal, str(error)  # noqa: PT017 - a refusal without a proposal is no right outcome
        options = dict(pair for pair in error.settings if pair[0] != "columns")
        columns = {
            field: heading
            for name, value in error.settings
            if name == "columns"
            for field, heading in value.items()
        }
        return read(path, columns=columns or None, **options)


@pytest.mark.parametrize("name", RIGHT)
def test_proposals(write, name):
    """Each file reads as it is right, unaided or with the options that its refusal proposes."""
    read, text, right = RIGHT[name]
    frame = settled(read, write(text))
    right = {field: [*map(float, values)] if field == "amount" else values for field, values in right.items()}
    assert {field: column(frame, field) for field in right} == right


def test_the_sheet_whose_rows_are_whole(tmp_path):
    """Of sheets without headings, the one in which each account has code and name is proposed."""
    rows = [["1", "101", "Cash"], ["1", "102", "Bank"], ["2", "201", "Loans"], ["2", "202", "Taxes"]]
    path = tmp_path / "chart.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name, cells in (
            ("By type", [*rows[:2], ["2", "Liabilities", ""], *rows[2:]]),
            ("Accounts", rows),
        ):
            sheet = book.add_worksheet(name)
            for line, row in enumerate(cells):
                sheet.write_row(line, 0, row)
    with pytest.raises(InputError) as caught:
        chart(path)
    said = str(caught.value)
    assert "read it with columns={'code': 'column 2', 'name': 'column 3'}, sheet='Accounts'" in said
    assert "accounts of the sheet 'Accounts' would be read from 4 rows" in said


# Reader, text, words of the refusal.
REFUSED = {
    "letters that may say a side": (
        entries,
        table("Date,Type,Amount", "2026-10-01,S,5.00", "2026-10-02,E,7.00"),
        "have one sign, and 'Type' beside them",
    ),
    "words and signs that disagree": (
        ledger,
        table("Konto;Datum;Betrag;S/H", "1;2026-10-01;5;S", "2;2026-10-01;-5;S", "3;2026-10-01;-5;H"),
        "do not agree",
    ),
    "a bank statement": (
        entries,
        table("Datum;Bedrag;Af Bij", "2026-10-01;5,00;Af", "2026-10-02;7,00;Bij"),
        "bank statements",
    ),
    "deposits alone": (
        entries,
        table("Date;Credit;Paid", "2026-10-01;5,00;", "2026-10-02;;7,00"),
        "no column found for 'amount'",
    ),
    "a ledger on one side": (
        ledger,
        table("Konto;Datum;Betrag", "1;2026-10-01;5", "2;2026-10-01;6"),
        "verify='warn'",
    ),
    "vouchers of which most do not balance": (
        ledger,
        table(
            "Konto;Datum;Betrag;Voucher",
            "1;2026-10-01;5;A",
            "2;2026-10-01;6;B",
            "3;2026-10-01;-7;C",
            "4;2026-10-01;-8;C",
        ),
        "3 of 3 vouchers do not balance",
    ),
    "an entry without a date": (
        entries,
        table("Date;Amount;Text", "2026-10-01;5;a", ";6;b"),
        "line 3: 'Date' is the date and must not be empty",
    ),
    "no column that is known": (
        entries,
        table('"a,in,out"', '"Sale,500,0"', '"Rent,0,200"'),
        "no column found for 'date'",
    ),
    "codes of accounts under debit and credit": (
        ledger,
        table("account,date,debit,credit,amount", *["10,2026-10-01,1200,4000,5.00"] * 3),
        "hold an amount in the same rows",
    ),
    "no date": (
        entries,
        table("Moment;Amount", "2026-10-01;5"),
        r"(?s)no column found for 'date'.*Without it: columns=\{'date': ''\}",
    ),
    "decimals that no sum leaves": (
        ledger,
        table("account,date,amount", "10,2026-10-01,5", "20,2026-10-01,0.123456781234"),
        r"10 of them decimals \(round it",
    ),
    "a chart instead of entries": (
        entries,
        table("Konto;Name", "10;Kasse", "20;Bank"),
        "is a chart of accounts, as 'Konto' and 'Name' show: read it with read_ch",
    ),
    "a chart instead of a ledger": (
        ledger,
        table("Konto;Name", "10;Kasse", "20;Bank"),
        "read it with read_chart_of_accounts$",
    ),
    "entries instead of a chart": (
        chart,
        table("Date;Amount;Text", "2026-10-01;5;a"),
        "holds entries, as 'Date' and 'Amount' show: read it with read_entries$",
    ),
    "a column of days beside code and name": (
        entries,
        table("Kod;Name;Wann", "10;a;2026-10-01", "20;b;2026-10-02"),
        "no column found for 'date'.*read it with columns={'date': 'Wann'",
    ),
    "a lone code without a digit": (
        chart,
        table("Code;Name", "1;a", "2;b", "3;c", "4;d", "Prepared by;Ann"),
        "'Prepared by', 'Ann' is unlike the other accounts",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_way_out(write, name):
    """What contradicts itself, or is no file of its kind, is refused with the reason."""
    read, text, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(write(text))


def test_errors_of_a_ledger_that_may_be_a_part_of_one(write):
    """A ledger on one side, or of which most vouchers do not balance, is read with a warning."""
    path = write(REFUSED["a ledger on one side"][1])
    with pytest.warns(UserWarning, match="on one side"):
        assert ledger(path, verify="warn")["amount"].tolist() == [5.0, 6.0]


def test_what_sums_in_binary_leave(write):
    """Digits that binary sums leave far behind the point are no money; an option reads without them."""
    rows = ("10,2026-10-01,1699.4160000000002,", "20,2026-10-01,,1699.416", "20,2026-10-01,0,0.12345678")
    path = write(table("account,date,debit,credit", *rows))
    said = (
        r"'debit' holds amounts such as 1699.4160000000002 \(line 2\), whose last digits .* are read "
        r"with 6 decimals"
    )
    with pytest.raises(
        InputError, match=f"{said}: correct it .* or take it as it is: read it with verify='warn'"
    ):
        ledger(path)
    with pytest.warns(UserWarning, match=said):
        read = ledger(path, verify="warn")
    assert column(read, "amount") == [1699.416, -1699.416, -0.12345678]
    with pytest.warns(UserWarning, match="such as 0.29999999999998"):
        below = ledger(
            write(table("account,date,amount", "10,2026-10-01,0.29999999999998", "20,2026-10-01,-0.3")),
            verify="warn",
        )
    assert column(below, "amount") == [0.3, -0.3]
    with pytest.raises(InputError, match="at most 28 digits, 10 of them decimals"):
        ledger(
            write(table("account,date,amount", "10,2026-10-01,0.12945678901234", "20,2026-10-01,-0.1")),
            verify="warn",
        )


def test_a_proposal_shows_rows_sums_and_dates(write):
    """The refusal shows rows as read, sums of both sides, first and last date, and the columns."""
    text = table(
        "Wann;Wieviel;Was",
        "2026-10-01;5,50;a",
        "2026-10-02;-7,25;b",
        "2026-10-03;0,50;c",
        "2026-10-09;2,00;d",
    )
    with pytest.raises(InputError) as caught:
        entries(write(text))
    shown = str(caught.value)
    for part in (
        "columns={'date': 'Wann', 'amount': 'Wieviel'}",
        "line 2: date 2026-10-01, amount 5.50",
        "line 5: date 2026-10-09",
        "positive 8.00, negative -7.25",
        "from 2026-10-01 to 2026-10-09",
    ):
        assert part in shown
    assert "sheet" not in shown, "a text has none"


def test_an_unknown_name_holds_its_entry_back_and_no_other(write):
    """One unknown category does not stop the file: its entry is not ready, a note suggests a name."""
    categories = pd.DataFrame(
        {"id": IDS[:1], "company_id": COMPANY, "name": ["Travel"], "account_id": IDS[3], "archived": False}
    )
    text = table("id;Date;Amount;Category", f"{IDS[0]};2026-10-01;5;Travel", f"{IDS[1]};2026-10-02;6;Travl")
    read = entries(write(text), company=COMPANY, categories=categories)
    assert read["category_name"].tolist() == ["Travel", "Travl"]
    assert read["category_id"].tolist()[0] == IDS[0]
    assert "'Travl' (did you mean 'Travel'?)" in "".join(read.attrs["bktools"]["notes"])
    plan = compose_export_jobs(read, categories=categories)
    assert plan.not_ready[["id", "reason"]].to_numpy().tolist() == [[IDS[1], "unknown_category"]]


def test_the_sheet_that_is_called_a_chart_of_accounts(tmp_path):
    """A sheet of that name is the chart, and no sheet of another year is proposed beside it."""
    path = tmp_path / "books.xlsx"
    for heading, is_read in (("Name", True), ("Nickname", False)):
        with xlsxwriter.Workbook(path) as book:
            budget, own = book.add_worksheet("2024"), book.add_worksheet("Chart of Accounts")
            budget.write_row(0, 0, ["Code", "Name", "Type", "Active"])
            budget.write_row(1, 0, ["9000", "Other year", "x", "yes"])
            own.write_row(0, 0, ["Code", heading])
            own.write_row(1, 0, ["1010", "Cash"])
            own.write_row(2, 0, ["2000", "Sales"])
        if is_read:
            assert column(chart(path), "code") == ["1010", "2000"]
        else:
            with pytest.raises(InputError) as caught:
                chart(path)
            assert "sheet" not in dict(caught.value.settings)


def test_a_counter_and_an_id_are_no_account(write):
    """A column that counts the rows, and one of UUIDs, is not proposed as the code of an account."""
    for heading, cell in (
        ("row id", str),
        ("company", lambda row: f"1b4e28ba-2fa1-41d2-883f-0016d3cca4{row:02}"),
    ):
        rows = [f"{cell(row)},2026-10-01,{'5,' if row % 2 else ',5'}" for row in range(1, 15)]
        with pytest.raises(InputError) as caught:
            ledger(write(table(f"{heading},date,debit,credit", *rows)))
        assert dict(caught.value.settings) == {"columns": {"account_code": "HEADING"}}, heading
