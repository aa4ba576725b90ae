"""What stands close to a rule of the readers, on either side of it: each test fails when one small thing is changed."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import subprocess
import sys
import zipfile

import pytest
import xlsxwriter

from bktools.caller import command
from bktools.errors import ArgumentError, InputError
from bktools.inputs import workbook_process
from bktools.inputs.accounts import read_accounts
from bktools.inputs.chart_of_accounts import read_chart_of_accounts
from bktools.inputs.entries import read_entries
from bktools.inputs.general_ledger import read_general_ledger

ENTRY = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
COMPANY = "6fa459ea-ee8a-4ca4-894e-db77e160355e"


MAIN = b' xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def accounts(path, **options):
    """Return code and name of each account."""
    return read_chart_of_accounts(path, **options)[["code", "name"]].values.tolist()


def notes(frame):
    """Return what the reader says of a file."""
    return list(frame.attrs["bktools"]["notes"])


def refusal(read, *arguments, **options):
    """Return the message of a refusal."""
    with pytest.raises((InputError, ArgumentError)) as caught:
        read(*arguments, **options)
    return str(caught.value)


def test_the_lines_of_wrong_cells_are_counted_only_where_there_are_several(write):
    """One wrong cell is named alone, two with their lines, five with the first three and how many more."""
    wrong = {count: f"id,company_id\n{ENTRY},{COMPANY}\n" + f"{ENTRY},7\n" * count for count in (1, 2, 5)}
    ends = {
        count: refusal(read_entries, write(text)).partition("got ")[2].partition("; ")[0]
        for count, text in wrong.items()
    }
    assert ends == {
        1: "'7'",
        2: "'7' (2 such cells: lines 3, 4)",
        5: "'7' (5 such cells: lines 3, 4, 5 and 2 more)",
    }


def test_what_a_note_counts_is_told_with_one_line_or_several(write):
    """Rows that are no entries are in a note, with the word for one line or for several."""
    assert "rows skipped as totals, not entries: 1 (line 3)" in notes(
        read_entries(write("Date,Amount\n2026-10-31,1\nTotal,1\n"))
    )
    assert "rows skipped as totals, not entries: 2 (lines 3, 5)" in notes(
        read_entries(write("Date,Amount\n2026-10-31,1\nTotal,1\n2026-10-31,1\nTotal,2\n"))
    )


def test_clean_external_ids_have_no_note(write):
    """Where no external ID has white space at an end, no note says that one has."""
    assert not any(
        "white space" in note for note in notes(read_chart_of_accounts(write("Konto;Name\n0410;a\n0420;b\n")))
    )


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"])
def test_dates_are_no_codes(write, form):
    """Without known headings, a column of dates before the codes is not taken for the codes."""
    days = [dt.date(2026, 10, day).strftime(form) for day in (1, 12, 30)]
    rows = [
        f"{day};{code};{name}"
        for day, code, name in zip(days, (1000, 1200, 4930), ("Kasse", "Bank", "Büro"), strict=True)
    ]
    assert accounts(write("\n".join(["Aaa;Bbb;Ccc", *rows]))) == [["1000", "Kasse"], ["1200", "Bank"], ["4930", "Büro"]]


def test_three_rows_show_that_a_file_has_no_headings(write):
    """A file of three rows of data is read from its first row; of two rows the first one may be headings."""
    three = "1000;Kasse\n1200;Bank\n4930;Büro\n"
    assert accounts(write(three)) == [["1000", "Kasse"], ["1200", "Bank"], ["4930", "Büro"]]
    assert "found: '1000', 'Kasse'" in refusal(read_chart_of_accounts, write("1000;Kasse\n1200;Bank\n"))


def test_identifiers_show_that_a_file_has_no_headings(write):
    """A UUID that begins with a letter is data too, and no heading."""
    rows = "".join(f"{letter}b4e28ba-2fa1-41d2-883f-0016d3cca427;Taxi\n" for letter in "abc")
    found = read_entries(write(rows), columns={"id": "column 1", "description": "column 2"})
    assert found["description"].tolist() == ["Taxi"] * 3


def test_columns_that_look_like_names_are_told(write):
    """Where two columns could be the name, both are shown; where none could, nothing is said of looks."""
    two = "Aaa;Bbb;Ccc\n1000;Kasse;Ab\n1200;Bank;Cd\n4930;Büro;Ef\n"
    assert "found: 'Aaa', 'Bbb', 'Ccc' ('Bbb', 'Ccc' look like it); choose one with columns={'name': 'Bbb'}" in refusal(
        read_chart_of_accounts, write(two)
    )
    assert "look like it" not in refusal(read_chart_of_accounts, write("Aaa;Bbb\n1000;1\n1200;1\n4930;1\n"))


def test_the_way_out_of_a_flag_turned_round(write):
    """The refusal of a column that says the opposite shows the option that takes it for what it says."""
    path = write("Code,Name,Aktiv\n1,a,ja\n")
    assert refusal(read_chart_of_accounts, path, columns={"archived": "Aktiv"}) == (
        "columns={'archived': 'Aktiv'} must not be a column that says active: use columns={'active': 'Aktiv'}"
    )


@pytest.mark.parametrize(
    "time",
    ["9:30", "09:30", "23:30:05", "23:30:05,5", "9:30 AM", "11:30PM", "09:30Z", "09:30 UTC", "09:30+02", "09:30-0230"],
)
def test_times_behind_dates(write, time):
    """A time of day in any usual form is no part of the date; an hour of three figures is no time."""
    found = read_entries(write(f"Date;Amount\n2026-10-31 {time};1\n31-10-2026;1\n".replace("31-10-2026", "2026-10-30")))
    assert found["date"].dt.date.tolist() == [dt.date(2026, 10, 31), dt.date(2026, 10, 30)]
    assert "'Date' must hold dates" in refusal(read_entries, write("Date;Amount\n2026-10-31 123:30;1\n"))
    assert "'Date' must hold dates" in refusal(read_entries, write("Date;Amount\n2026-10-31 12:3;1\n"))


def test_a_form_without_a_year_is_shown(write):
    """The refusal of a form of dates without a year shows what is missing and what was given."""
    path = write("Date;Amount\n31.10.;1\n")
    assert refusal(read_entries, path, date_format="%d.%m.").endswith(
        "date_format must have the year, such as %d.%m.%Y, got '%d.%m.'"
    )


def test_the_first_and_the_last_day_of_a_dbase_table(write):
    """A dBase table is told on the first and the last day of a month and of a year; other bytes there are none."""
    for month, day, is_dbase in (
        (1, 1, True),
        (12, 31, True),
        (0, 1, False),
        (13, 1, False),
        (1, 0, False),
        (1, 32, False),
    ):
        message = refusal(read_chart_of_accounts, write(bytes([3, 126, month, day]) + bytes(60), "a.dbf"))
        assert ("this is a dBase table" in message) == is_dbase
    for rest, is_dbase in ((28, False), (29, True)):
        message = refusal(read_chart_of_accounts, write(bytes([3, 126, 1, 1]) + bytes(rest), "a.dbf"))
        assert ("this is a dBase table" in message) == is_dbase


def test_the_old_mark_of_a_reversal_counts_beside_the_new_one(write):
    """A general reversal by its key is told in a file that has a column for general reversals as well."""
    header = '"EXTF";700;21;"Buchungsstapel";13;20261101120000000;;"RE";"";"";1001;1;20260101;4;20261001;20261031;"x";"";1;0;0;"EUR"'
    names = (
        "Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Kurs;Basis-Umsatz;WKZ Basis-Umsatz;Konto;"
        "Gegenkonto (ohne BU-Schlüssel);BU-Schlüssel;Belegdatum;Belegfeld 1;Belegfeld 2;Skonto;Buchungstext;Generalumkehr (GU)"
    )
    rows = [
        f'1,00;"S";"EUR";;;"";4930;1200;"{key}";0310;"R";"";;"x";"{mark}"'
        for key, mark in (("20", ""), ("", "1"), ("", "0"))
    ]
    path = write("\r\n".join([header, names, *rows, ""]), "EXTF.csv", "cp1252")
    assert "the other way round: 2 (lines 3, 4)" in refusal(read_general_ledger, path)


SIE = """#FLAGGA 0
#SIETYP 4
#KONTO 5800 "Tåg"
#VER A 1 20261003 "Resa"
{{
{postings}
}}
"""


def test_a_posting_that_was_added_and_is_not_repeated(write):
    """SIE's posting that was added later counts once, with the same posting behind it or without."""
    added, other = "#RTRANS 5800 {} 251.50", "#TRANS 1930 {} -251.50"
    for postings in (f"{added}\n{other}", f"{added}\n{added.replace('RTRANS', 'TRANS')}\n{other}"):
        ledger = read_general_ledger(write(SIE.format(postings=postings), "a.se", "cp437"))
        assert ledger["account_code"].tolist() == ["5800", "1930"]
        assert ledger["amount"].astype(str).tolist() == ["251.50", "-251.50"]


def test_a_file_of_sie_in_another_encoding_than_named(write):
    """A byte that the named encoding has not is told with its line and the option for the encoding."""
    path = write(SIE.format(postings="#TRANS 5800 {} 0"), "a.se", "cp1252")
    assert refusal(read_general_ledger, path, encoding="utf-8").endswith(
        "a.se, line 3: byte 0xE5 is not valid utf-8; set encoding="
    )


def test_an_account_that_moves_otherwise_than_its_balances(write):
    """The account, what its balances say and what its postings say are each told for what they are."""
    text = SIE.format(postings="#TRANS 5800 {} 5.00\n#TRANS 1930 {} -5.00").replace(
        "#VER", "#IB 0 5800 1.00\n#UB 0 5800 8.00\n#VER"
    )
    why = "the account '5800' moves by 7.00 by its balances in the file, but by 5.00 by its postings"
    assert why in refusal(read_general_ledger, write(text, "a.se", "cp437"))


def test_a_mail_of_outlook(write):
    """A mail that was saved under the name of a workbook is named, with the way to the file that came with it."""
    data = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "__substg1.0_".encode("utf-16-le") + bytes(96)
    assert refusal(read_chart_of_accounts, write(data, "a.xls")).endswith(
        ": this is an Outlook mail, which is not read here: save the file that is attached to it"
    )


def saft(totals):
    """Return a file of SAF-T with one voucher, and the totals that it states."""
    lines = "".join(
        f"<Line><RecordID>{number}</RecordID><AccountID>{account}</AccountID><Description>x</Description>"
        f"<{side}>9.80</{side}></Line>"
        for number, account, side in ((1, 7140, "DebitAmount"), (2, 1920, "CreditAmount"))
    )
    return (
        '<?xml version="1.0"?><AuditFile xmlns="urn:OECD:StandardAuditFile-Tax:AT_1.0"><Header/><GeneralLedgerEntries>'
        f"{totals}<Journal><JournalID>B</JournalID><Transaction><TransactionID>17</TransactionID>"
        f"<TransactionDate>2026-10-07</TransactionDate>{lines}</Transaction></Journal></GeneralLedgerEntries></AuditFile>"
    )


@pytest.mark.parametrize("left_out", ["NumberOfEntries", "TotalDebit", "TotalCredit"])
def test_a_total_that_a_saft_file_does_not_state(write, left_out):
    """SAF-T files of some systems lack one of their totals: the others are held to the postings, that one to nothing."""
    stated = {"NumberOfEntries": "1", "TotalDebit": "9.80", "TotalCredit": "9.80"}
    xml = saft("".join(f"<{name}>{value}</{name}>" for name, value in stated.items() if name != left_out))
    assert read_general_ledger(write(xml, "a.xml"))["amount"].astype(str).tolist() == ["9.80", "-9.80"]
    for name in set(stated) - {left_out}:
        assert name in refusal(read_general_ledger, write(xml.replace(f"<{name}>", f"<{name}>5"), "a.xml"))


def test_an_attribute_is_no_element(write):
    """An attribute with the name of an element does not stand for it."""
    ledger = read_general_ledger(write(saft("").replace("<Line>", '<Line AccountID="1" Description="y">'), "a.xml"))
    assert ledger[["account_code", "text"]].values.tolist() == [["7140", "x"], ["1920", "x"]]


def test_the_longest_text_of_a_file_in_xml(write):
    """A text of a million characters is read, and one of a character more is refused."""
    for length, is_read in ((1 << 20, True), ((1 << 20) + 1, False)):
        path = write(saft("").replace("<Description>x", f"<Description>{'x' * length}"), "a.xml")
        if is_read:
            assert read_general_ledger(path)["text"].str.len().tolist() == [length] * 2
        else:
            assert "a text has more than 1 MB" in refusal(read_general_ledger, path)


@pytest.mark.parametrize(
    "words",
    [
        "D C",
        "D K",
        "S H",
        "S h",
        "Soll Haben",
        "Debit Credit",
        "DEBET KREDIT",
        "DB CR",
        "Dr Cr",
        "Debe Haber",
        "Dare Avere",
        "Cargo Abono",
        "Débit Crédit",
        "Дебет Кредит",
        "Wn Ma",
        "Af Bij",
        "out in",
        "Expense Refund",
        "charge refund",
    ],
)
def test_words_for_debit_and_credit(write, words):
    """The words and letters for debit and credit that systems write give amounts their sign."""
    debit, credit = words.split()
    path = write(f"Date;Amount;Seite\n2026-10-31;1;{debit}\n2026-10-31;2;{credit}\n")
    assert read_entries(path, columns={"sign": "Seite"})["amount"].astype(str).tolist() == ["1", "-2"]


def test_all_headings_that_are_not_there_are_in_one_refusal(write):
    """Two fields mapped to headings that the file has not are two problems of one message."""
    message = refusal(read_chart_of_accounts, write("Konto;Name\n1;a\n"), columns={"code": "Nr", "name": "Text"})
    assert "no column has the heading 'Nr' for 'code'" in message
    assert "no column has the heading 'Text' for 'name'" in message


def test_all_headings_that_are_doubtful_are_in_one_refusal(write):
    """Fields with two headings each are in one message, and one option settles them all."""
    path = write("Konto;Code;Name;Bezeichnung\n1;2;a;b\n")
    message = refusal(read_chart_of_accounts, path)
    assert ": 2 problems: (1) 'Konto' (column 1) and 'Code' (column 2) could both be 'code'" in message
    assert message.endswith("; settle all with: columns={'code': 'Konto', 'name': 'Name'}")
    with command({"columns": "--column"}):
        assert refusal(read_chart_of_accounts, path).endswith(
            "; settle all with: --column code=Konto --column name=Name"
        )


def test_a_ledger_in_the_form_that_was_named(write):
    """The decimal mark and the form of dates that the caller names are each taken for what they are."""
    path = write('Date,Account,Amount\n03/04/2026,5800,"1,234"\n')
    ledger = read_general_ledger(path, decimal=",", date_format="%m/%d/%Y")
    assert ledger["date"].dt.date.tolist() == [dt.date(2026, 3, 4)]
    assert ledger["amount"].astype(str).tolist() == ["1.234"]


def test_one_side_beside_an_amount_is_not_read(write):
    """A column of credits beside one of amounts, without one of debits, is no field."""
    ledger = read_general_ledger(write("Date,Account,Amount,Credit\n2026-10-31,5800,-5,5\n"))
    assert ledger["amount"].astype(str).tolist() == ["-5"]
    assert ledger.attrs["bktools"]["columns"] == {"account_code": "Account", "date": "Date", "amount": "Amount"}


def test_the_currency_of_a_file_of_sie(write):
    """The postings are in the currency that the file states, and in kronor where it states none."""
    for stated, currency in (("#VALUTA EUR\n", "EUR"), ("", "SEK")):
        text = stated + SIE.format(postings="#TRANS 5800 {} 0")
        assert read_general_ledger(write("#FLAGGA 0\n" + text, "a.se", "cp437"))["currency"].tolist() == [currency]


def test_the_list_of_accounts_names_its_columns_as_a_chart_does(write):
    """In a list of accounts too, a heading for codes heads codes and one for names heads names."""
    found = read_accounts(write(f"id;Konto;Bezeichnung\n{ENTRY};0400;Büro\n"))
    assert found[["code", "name"]].values.tolist() == [["0400", "Büro"]]


def test_korean_of_seven_bits(write):
    """Escapes that change the alphabet tell Korean from Japanese."""
    for encoding, name in (("iso2022_kr", "현금"), ("iso2022_jp", "現金")):
        chart = read_chart_of_accounts(write(f"Konto;Name\n1000;{name}\n", encoding=encoding))
        assert chart["name"].tolist() == [name]
        assert chart.attrs["bktools"]["encoding"] == encoding


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (
            "Compte;Libellé\r\n101000;Capital\r\n401000;Fournisseurs\r\n411000;Créances clients\r\n512000;Banque",
            "cp850",
        ),
        (
            "Conto;Descrizione\r\n40;Debiti verso società controllate\r\n60;Acquisti di merci\r\n63;Pubblicità\r\n68;Salari",
            "cp1252",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::bktools.errors.GuessedEncodingWarning")
def test_words_of_ascii_tell_the_language(write, text, encoding):
    """A few accounts are read without an option, because words with letters beyond ASCII and without are of one language."""
    chart = read_chart_of_accounts(write(text, encoding=encoding))
    assert chart["name"].tolist() == [line.partition(";")[2] for line in text.splitlines()[1:]]
    assert chart.attrs["bktools"]["encoding"] == encoding


def test_a_line_in_another_encoding_far_down(write):
    """One line of UTF-8 behind hundreds in another encoding is not read as that encoding, whatever stands behind it."""
    lines = [f"{code};Büro {code}".encode("cp1252") for code in range(1000, 1700)]
    lines[650] = "1650;Zażółć gęślą jaźń, Środki trwałe".encode()
    with pytest.raises(InputError, match="other characters are: encodings are mixed"):
        read_chart_of_accounts(write(b"Konto;Name\n" + b"\n".join(lines)))


def test_half_a_character_shows_that_a_text_is_no_utf16(write):
    """Bytes with the line ends of UTF-16 that are none of its text are not read as such."""
    data = ("Ταμείο\nΠελάτες\n" * 30).encode("utf-16-le")
    assert "'Ταμείο'" in refusal(read_chart_of_accounts, write(data))
    assert "byte 0xA4 is not valid UTF-8" in refusal(read_chart_of_accounts, write(data + b"\x00\xd8"))


def answer(data, sheet=None, memory=1 << 40):
    """Return what the process that reads workbooks answers on a machine that allows it 4 GB."""
    done = subprocess.run(
        ["sh", "-c", 'ulimit -v 4000000 && exec "$0" -P "$1"', sys.executable, workbook_process.__file__],
        input=json.dumps({"sheet": sheet, "memory": memory}).encode() + b"\n" + data,
        capture_output=True,
        check=True,
    )
    return pickle.loads(done.stdout)


def test_a_workbook_is_read_where_less_memory_is_allowed(tmp_path):
    """Where the machine allows a process less than it may take here, a workbook is read all the same."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("A").write_row(0, 0, ["code", 1.5])
    assert answer(path.read_bytes()) == {"names": ["A"], "sheets": {"A": [["code", 1.5]]}, "broken": {"A": []}}


def test_a_workbook_without_the_namespace_of_workbooks(tmp_path):
    """A broken cell is told in a workbook of a program that leaves the namespace out."""
    with xlsxwriter.Workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_worksheet("A")
        sheet.write_row(0, 0, ["Konto", "Name"])
        sheet.write_formula(1, 0, "=NA()", None, "#N/A")
        sheet.write(1, 1, "Bank")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as whole, zipfile.ZipFile(tmp_path / "b.xlsx", "w") as bare:
        for name in whole.namelist():
            text = whole.read(name)
            if name.startswith("xl/worksheets/"):
                assert MAIN in text
                text = text.replace(MAIN, b"")
            bare.writestr(name, text)
    assert "line 2: the cell A2 of the sheet 'A' holds the error #N/A" in refusal(
        read_chart_of_accounts, tmp_path / "b.xlsx"
    )


def test_hidden_sheets_and_charts_are_not_looked_at(tmp_path):
    """The sheet is chosen among the visible ones that hold cells, however well a hidden one fits."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        shown = book.add_worksheet("shown")
        shown.write_row(0, 0, ["Konto", "Name"])
        shown.write_row(1, 0, ["0400", "Bank"])
        hidden = book.add_worksheet("hidden")
        hidden.write_row(0, 0, ["Konto", "Name", "Art", "Aktiv"])
        hidden.write_row(1, 0, ["0500", "Old", "B", "ja"])
        hidden.hide()
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=shown!$A$2:$A$2"})
        book.add_chartsheet("picture").set_chart(chart)
    assert accounts(path) == [["0400", "Bank"]]
    assert accounts(path, sheet="hidden") == [["0500", "Old"]]


def test_a_workbook_with_headings_alone(tmp_path):
    """A workbook without a row below its headings is refused as such."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet("A").write_row(0, 0, ["Konto", "Name"])
    assert refusal(read_chart_of_accounts, path).endswith("the file has headings but no rows below them")


def test_an_empty_cell_among_numbers(tmp_path):
    """Codes that are numbers of several lengths are told of, also where a cell of the column is empty."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("A")
        for row, cells in enumerate((["Konto", "Name", "Art"], [40, "a", "B"], ["", "b", "B"], [500, "c", "B"])):
            sheet.write_row(row, 0, cells)
    assert any("codes are numbers of different lengths" in note for note in notes(read_chart_of_accounts(path)))


def test_what_begins_like_an_old_workbook(write):
    """A file with the first bytes of an XLS workbook and no more is refused with what the reader of workbooks says."""
    message = refusal(read_chart_of_accounts, write(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.xls"))
    assert "is not a readable workbook" in message
    assert "zip" not in message.casefold()


ODS = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" office:version="1.3"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0">
<office:body><office:spreadsheet><table:table table:name="A">{rows}</table:table></office:spreadsheet></office:body>
</office:document-content>"""
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">
<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>"""
TEXT = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
ERROR = (
    '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" calcext:value-type="error">'
    "<text:p>#DIV/0!</text:p></table:table-cell>"
)
UNSAVED = '<table:table-cell table:formula="of:=1+1"/>'


@pytest.mark.parametrize(
    ("cells", "repeated", "place", "what"),
    [
        (TEXT.format("0400") + ERROR, 1, "B3", "the error #DIV/0!"),
        (ERROR + TEXT.format("Bank"), 1, "A3", "the error #DIV/0!"),
        (TEXT.format("0400") + ERROR, 3, "B5", "the error #DIV/0!"),
        (TEXT.format("0400") + TEXT.format("Bank") + ERROR, 1, "C3", "the error #DIV/0!"),
        (TEXT.format("0400") + UNSAVED, 1, "B3", "a formula whose value was not saved"),
        (
            '<table:table-cell table:number-columns-repeated="2" office:value-type="string"><text:p>0400</text:p>'
            "</table:table-cell>" + ERROR,
            1,
            "C3",
            "the error #DIV/0!",
        ),
    ],
)
def test_broken_cells_of_an_open_document_are_placed(tmp_path, cells, repeated, place, what):
    """The cell of an error is told, behind rows and cells that the file says once for several."""
    path = tmp_path / "a.ods"
    head = f"<table:table-row>{''.join(map(TEXT.format, ('Konto', 'Name', 'Art')))}</table:table-row>"
    good = f'<table:table-row table:number-rows-repeated="{repeated}">{TEXT.format("0300") + TEXT.format("x")}</table:table-row>'
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", MANIFEST)
        archive.writestr("content.xml", ODS.format(rows=f"{head}{good}<table:table-row>{cells}</table:table-row>"))
    message = refusal(read_chart_of_accounts, path)
    assert f"line {place[1:]}: the cell {place} of the sheet 'A' holds {what}" in message
