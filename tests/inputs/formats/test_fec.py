"""FEC by the French norm (article A. 47 A-1): 18 columns, tabs or pipes, two forms of amounts."""

from __future__ import annotations

import pytest

import bktools
from bktools.errors import InputError

DEBIT_CREDIT = (
    "JournalCode|JournalLib|EcritureNum|EcritureDate|CompteNum|CompteLib|CompAuxNum|CompAuxLib|PieceRef|PieceDate|EcritureLib"
    "|Debit|Credit|EcritureLet|DateLet|ValidDate|Montantdevise|Idevise"
)
ROWS = [
    row.split("|")
    for row in """\
AC|Achats|1|20261005|625100|Voyages et déplacements|||F12|20261004|Train|1120,50|0,00|||20261031|1215,00|USD
AC|Achats|1|20261005|445660|TVA déductible|||F12|20261004|Train|24,10||||20261031||
AC|Achats|1|20261005|401000|Fournisseurs|F001|SNCF|F12|20261004|Train|0,00|1144,60|A|20261031|20261031||
BQ|Banque|1|20261009|401000|Fournisseur|F001|SNCF|V1|20261009|Règlement|1144,60|0|A|20261031|20261031||
BQ|Banque|1|20261009|512000|Banque|||V1|20261009|Règlement|0|1144,60|||20261031||
""".splitlines()
]
AMOUNTS = ["1120.50", "24.10", "-1144.60", "1144.60", "-1144.60"]


def fec(rows=ROWS, delimiter="\t", sense=None):
    heading = DEBIT_CREDIT.split("|")
    rows = [list(row) for row in rows]
    if sense is not None:
        heading[11:13] = ["Montant", "Sens"]
        for row in rows:
            is_credit = row[11] in {"", "0", "0,00"}
            row[11:13] = [row[12] if is_credit else row[11], sense[is_credit]]
    return "\r\n".join(delimiter.join(row) for row in (heading, *rows)) + "\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso8859-15", "cp1252"])
@pytest.mark.parametrize("delimiter", ["\t", "|"])
@pytest.mark.parametrize("sense", [None, "DC"])
def test_every_form_of_the_norm(write, encoding, delimiter, sense):
    """Tabs and pipes, debit and credit or amount and sense, in all encodings, are equal postings."""
    found = bktools.read_general_ledger(write(fec(delimiter=delimiter, sense=sense), "FEC.txt", encoding))
    assert [f"{amount:.2f}" for amount in found["amount"]] == AMOUNTS
    assert found["voucher_id"].tolist() == ["AC 1"] * 3 + ["BQ 1"] * 2
    assert found["account_name"][0] == "Voyages et déplacements"
    assert found["document_number"].tolist() == ["F12"] * 3 + ["V1"] * 2
    assert set(found["currency"]) == {"EUR"}


@pytest.mark.parametrize(
    ("comma", "thousands"), [("1120,50", "1.120,50"), (",", ".")], ids=["thousands", "points"]
)
def test_points_in_amounts(write, comma, thousands):
    """A point stands between thousands where there are commas, and for the comma where there is none."""
    found = bktools.read_general_ledger(write(fec().replace(comma, thousands), "FEC.txt"))
    assert [f"{amount:.2f}" for amount in found["amount"]] == AMOUNTS


@pytest.mark.parametrize("quote", ["", '"'])
def test_empty_rows(write, quote):
    """Rows without anything, as spreadsheets leave them, are none, with quoted headings or not."""
    heading, rows = fec().split("\r\n", 1)
    text = "\t".join(f"{quote}{cell}{quote}" for cell in heading.split("\t"))
    path = write(f"{text}\r\n{rows}{heading.count(chr(9)) * chr(9)}\r\n\r\n", "FEC.txt")
    assert [f"{amount:.2f}" for amount in bktools.read_general_ledger(path)["amount"]] == AMOUNTS


def test_quotes_are_characters(write):
    """The norm quotes no text: a quote at the beginning stays, in a file without quoted headings."""
    rows = [tuple(cell.replace("Règlement", '"Le Bistro" SARL') for cell in row) for row in ROWS]
    found = bktools.read_general_ledger(write(fec(rows), "FEC.txt"))
    assert found["text"][4] == '"Le Bistro" SARL'
    quoted = "\r\n".join(";".join(f'"{cell}"' for cell in line.split("\t")) for line in fec().splitlines())
    assert [
        f"{amount:.2f}" for amount in bktools.read_general_ledger(write(quoted, "FEC.txt"))["amount"]
    ] == AMOUNTS


def test_a_row_that_is_cut_off(write):
    """A row with fewer cells than headings is refused with its line, whatever is missing of it."""
    with pytest.raises(InputError, match="the last row has fewer cells than the first: the file is cut off"):
        bktools.read_general_ledger(write(fec()[:-3], "FEC.txt"))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("24,10", "24,11", r"'AC 1' \(line 2\) does not balance: debit 1144.61, credit 1144.60, difference"),
        ("1120,50", "x", "line 2: 'Debit' must hold amounts"),
        ("1120,50", "", "line 2: 'Debit' must hold an amount"),
        ("1120,50", "NaN", "'Debit' must hold amounts"),
        ("1120,50", "9" * 33, "'Debit' must hold amounts"),
        ("1120,50", "1," + "1" * 12, "'Debit' must hold amounts"),
        ("20261009", "20260931", "line 5: 'EcritureDate' must hold dates"),
        ("625100", "", "'CompteNum' is the account code and must not be empty"),
        ("EcritureLib", "Texte", "has no column 'EcritureLib', which its format has"),
    ],
)
def test_what_does_not_hold(write, old, new, why):
    """A voucher, a number, a date or a column that is not by the norm is one line with its place."""
    text = fec()
    text = (
        text.replace("1120,50\t0,00", f"{new}\t") if (old, new) == ("1120,50", "") else text.replace(old, new)
    )
    with pytest.raises(InputError, match=why) as caught:
        bktools.read_general_ledger(write(text, "FEC.txt"))
    first, *others = str(caught.value).splitlines()
    # A voucher that does not balance is read all the same by an option.
    assert not others or ("balance" in first and "verify='warn'" in others[-1])


SHORT = (
    *("JournalCode", "EcritureNum", "EcritureDate", "CompteNum", "CompteLib", "EcritureLib", "PieceRef"),
    *("Debit", "Credit", "Montantdevise", "Idevise"),
)


@pytest.mark.parametrize(("date", "cells"), [("2026-10-05", 11), ("05/10/2026", 11), ("20261005", 9)])
def test_files_of_programs_that_do_not_keep_to_the_norm(tmp_path, date, cells):
    """Dates may have another form in each row, and all rows may lack the last cells, of foreign amounts."""
    rows = [
        ("AC", "1", date, "625", "", "Train", "", "5,00", "", "", ""),
        ("AC", "1", date, "401", "", "Train", "", "", "5,00", "", ""),
    ]
    path = tmp_path / "fec.txt"
    path.write_text("\n".join(["\t".join(SHORT), *("\t".join(row[:cells]) for row in rows)]))
    ledger = bktools.read_general_ledger(path)
    assert ledger["amount"].tolist() == [5.0, -5.0]
    assert set(ledger["date"].dt.strftime("%Y-%m-%d")) == {"2026-10-05"}


def test_a_last_row_that_is_cut_off_is_refused(tmp_path):
    """A line that is cut off is no other form of the file."""
    rows = ("20261005\t625\t\tTrain\t\t5,00\t\t\t", "20261005\t401\t\tTrain\t\t\t5,00")
    path = tmp_path / "fec.txt"
    path.write_text("\n".join(["\t".join(SHORT), *(f"AC\t1\t{row}" for row in rows)]))
    with pytest.raises(InputError, match="export"):
        bktools.read_general_ledger(path)
