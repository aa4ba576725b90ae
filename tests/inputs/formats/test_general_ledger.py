"""General ledgers that are tables: CSV and workbooks, with the columns that systems give them."""

from __future__ import annotations

import pandas as pd
import pytest

import bktools
from bktools.errors import InputError, UnverifiedTableWarning

TABLES = {
    "English": (
        "Date,Journal No,Account,Account Name,Debit,Credit,Currency,Description,Reference,Tax Code\n"
        '2026-10-05,7,5800,Travel,"1,120.50",,EUR,Train,R1,V20\n2026-10-05,7,1930,Bank,,"1,120.50",EUR,Train,R1,\n'
    ),
    "German with S/H": (
        "Datum;Beleg;Konto;Kontobezeichnung;Betrag;S/H;Währung;Text\n"
        "05.10.2026;R1;5800;Travel;1.120,50;S;EUR;Train\n05.10.2026;R1;1930;Bank;1.120,50;H;EUR;Train\n"
    ),
    "Czech, where D is credit": (
        "Datum;Účet;Název účtu;Částka;MD/D;Valuta;Text;Číslo dokladu\n"
        "2026-10-05;5800;Travel;1120,50;MD;EUR;Train;R1\n2026-10-05;1930;Bank;1120,50;D;EUR;Train;R1\n"
    ),
    "signed": (
        "Posting date\tGL account\tGL account name\tAmount\tCurrency\tMemo\tDoc no\n"
        "2026-10-05\t5800\tTravel\t1120.50\tEUR\tTrain\tR1\n2026-10-05\t1930\tBank\t(1120.50)\tEUR\tTrain\tR1\n"
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables(write, name):
    """Two columns, a column with a word beside the amount, or a sign: debit is positive, in any language."""
    columns = {"amount": "Částka"} if "Czech" in name else None
    found = bktools.read_general_ledger(write(TABLES[name]), columns=columns)
    assert found[
        ["account_code", "account_name", "amount", "currency", "text", "document_number"]
    ].to_numpy().tolist() == [
        ["5800", "Travel", 1120.5, "EUR", "Train", "R1"],
        ["1930", "Bank", -1120.5, "EUR", "Train", "R1"],
    ]
    assert found["date"].dt.strftime("%Y-%m-%d")[0] == "2026-10-05"
    assert str(found["amount"].dtype) == "float64"
    assert found["line"].tolist() == [2, 3]


@pytest.mark.parametrize("suffix", ["xlsx", "parquet"])
def test_a_workbook_or_parquet(tmp_path, suffix):
    """The same table in a workbook, whose amounts are numbers, and in a Parquet file."""
    frame = pd.DataFrame(
        {
            "Date": ["2026-10-05"] * 2,
            "Account": ["0580", "1930"],
            "Debit": [1120.5, None],
            "Credit": [None, 1120.5],
        }
    )
    path = tmp_path / f"ledger.{suffix}"
    (frame.to_excel if suffix == "xlsx" else frame.to_parquet)(path, index=False)
    found = bktools.read_general_ledger(path)
    assert found[["account_code", "amount"]].to_numpy().tolist() == [["0580", 1120.5], ["1930", -1120.5]]


def test_a_part_of_a_ledger(write):
    """A voucher that does not balance among others that do is read with a note."""
    rows = ["7,5800,10.00", "7,1200,-10.00", "8,5800,5.00"]
    found = bktools.read_general_ledger(
        write("Date,Voucher,Account,Amount\n" + "".join(f"2026-10-05,{row}\n" for row in rows))
    )
    assert {"code": "unbalanced", "count": 1} in found.attrs["bktools"]["note_facts"]


def test_a_ledger_has_two_sides(write):
    """Amounts of one side alone are refused, or read with a warning."""
    path = write("Date,Account,Amount\n2026-10-05,5800,1.00\n2026-10-06,5800,2.00\n")
    with pytest.raises(InputError, match="all 2 amounts are on one side"):
        bktools.read_general_ledger(path)
    with pytest.warns(UnverifiedTableWarning):
        assert len(bktools.read_general_ledger(path, verify="warn")) == 2
