"""Cost centres, and amounts in other currencies than that of the books, of each format that has them."""

from __future__ import annotations

import pandas as pd
import pytest

from bktools import read_general_ledger

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


def test_foreign_amounts_that_cannot_be_read_are_left_out(tmp_path):
    """The postings are whole in the currency of the books, and a note says what is not read."""
    path = tmp_path / "FEC.txt"
    path.write_text(FEC.replace("100,00", "many"), encoding="utf-8")
    ledger = read_general_ledger(path)
    assert "foreign_amount" not in ledger
    assert any("other currencies are not read" in note for note in ledger.attrs["bktools"]["notes"])
