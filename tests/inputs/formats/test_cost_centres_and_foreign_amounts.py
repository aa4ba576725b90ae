"""Cost centres, and amounts in other currencies than that of the books, of each format that has them."""

from __future__ import annotations

import pandas as pd
import pytest

from bktools import read_general_ledger
from bktools.errors import QuestionError

SIE = """#FLAGGA 0
#SIETYP 4
#KONTO 5800 "Travel"
#VER A 1 20261003 "Train"
{
#TRANS 5800 {1 "100" 6 "P 1"} 800.00
#TRANS 1930 {} -800.00
}
"""
FEC = """\
JournalCode|EcritureNum|EcritureDate|CompteNum|CompteLib|PieceRef|EcritureLib|Debit|Credit|Montantdevise|Idevise
AC|1|20261003|5800|Travel|p|t|90,00|0,00|100,00|USD
AC|1|20261003|1930|Bank|p|t|0,00|90,00|100,00|USD
AC|2|20261004|5800|Travel|p|t|10,00|0,00|0|
AC|2|20261004|1930|Bank|p|t|0,00|10,00||
"""
SAFT = """<?xml version="1.0"?><AuditFile><Header><DefaultCurrencyCode>NOK</DefaultCurrencyCode></Header>
<GeneralLedgerEntries><Journal><JournalID>A</JournalID><Transaction><TransactionID>1</TransactionID>
<TransactionDate>2026-10-03</TransactionDate>
<Line><AccountID>5800</AccountID><Analysis><AnalysisType>KST</AnalysisType><AnalysisID>100</AnalysisID></Analysis>
<DebitAmount><Amount>90.00</Amount><CurrencyCode>USD</CurrencyCode><CurrencyAmount>100.00</CurrencyAmount></DebitAmount></Line>
<Line><AccountID>1930</AccountID><CreditAmount><Amount>90.00</Amount></CreditAmount></Line>
</Transaction></Journal></GeneralLedgerEntries></AuditFile>
"""
CSV = "Date,Account,Amount,Currency,Cost centre\n2026-10-03,5800,90.00,EUR,100\n2026-10-03,1930,-90.00,EUR,\n"
TABLE = """\
Datum;Konto;Soll;Haben;Währung;{heading}
01.10.2026;4930;100,00;;EUR;
01.10.2026;1200;;100,00;EUR;
02.10.2026;4660;2.214,33;;CZK;54.406,25
02.10.2026;1200;;2.214,33;CZK;54.406,25
"""


def values(path, content, name):
    path.write_text(content, encoding="utf-8")
    ledger = read_general_ledger(path)
    return [None if pd.isna(value) else value for value in ledger[name]] if name in ledger else None


@pytest.mark.parametrize(("name", "content"), {"a.se": SIE, "saft.xml": SAFT, "a.csv": CSV}.items())
def test_cost_centres(tmp_path, name, content):
    """The cost centre of a posting is read from objects, analyses and columns."""
    assert values(tmp_path / name, content, "cost_centre") == ["100", None]


def test_foreign_amounts(tmp_path):
    """A foreign amount has the sign of the amount beside it; where a file has none there is no column."""
    dollars = [100.0, -100.0, None, None]
    assert values(tmp_path / "FEC.txt", FEC, "foreign_amount") == dollars
    assert values(tmp_path / "FEC.txt", FEC, "foreign_currency") == ["USD", "USD", None, None]
    assert values(tmp_path / "saft.xml", SAFT, "foreign_amount") == [100.0, None]
    assert values(tmp_path / "a.csv", CSV, "foreign_amount") is None


def test_departments_and_tax_codes_of_a_table(tmp_path):
    """A department is the cost centre where no column is; T/C is a tax code, unless it has rates."""
    path, content = tmp_path / "a.csv", CSV.replace("Cost centre", "Department")
    assert values(path, content, "cost_centre") == ["100", None]
    assert values(
        path,
        CSV.replace("Cost centre", "Department,Cost centre").replace("EUR", "EUR,A"),
        "cost_centre",
    ) == ["100", None]
    coded = CSV.replace("Cost centre", "T/C")
    assert values(path, coded.replace("EUR,\n", "EUR,T9\n").replace("100", "T1"), "tax_code") == ["T1", "T9"]
    assert values(path, coded.replace("100", "17.05"), "tax_code") is None


@pytest.mark.parametrize("heading", ["FW-Betrag", "Betrag", "Wert in WKZ", "Transaction amount"])
def test_the_owner_of_a_currency_that_nothing_shows_is_asked_about(tmp_path, heading):
    """A second amount beside the currency is never left unread in silence; both answers read the file."""
    path = tmp_path / "a.csv"
    assert values(path, TABLE.format(heading=heading).replace("CZK", "EUR"), "currency") == ["EUR"] * 4
    path.write_text(TABLE.format(heading=heading).replace("EUR", "USD", 1), encoding="utf-8")
    with pytest.raises(QuestionError) as caught:
        read_general_ledger(path)
    (problem,) = caught.value.problems
    assert problem.code == "whose_currency"
    is_foreign, is_own = (read_general_ledger(path, **choice) for choice in problem.choices)
    assert is_foreign["foreign_amount"].dropna().tolist() == [54406.25, -54406.25]
    assert is_own["currency"].tolist() == ["USD", "EUR", "CZK", "CZK"]


def test_foreign_amounts_that_cannot_be_read_are_left_out(tmp_path):
    """The postings are whole in the currency of the books, and a note says what is not read."""
    path = tmp_path / "FEC.txt"
    path.write_text(FEC.replace("100,00", "many"), encoding="utf-8")
    ledger = read_general_ledger(path)
    assert "foreign_amount" not in ledger
    assert any("other currencies are not read" in note for note in ledger.attrs["bktools"]["notes"])
