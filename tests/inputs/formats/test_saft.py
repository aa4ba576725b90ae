"""SAF-T and JPK_KR by their public schemas: amounts in each country's way, and the files' totals."""

from __future__ import annotations

from pathlib import Path

import pytest

import bktools
from bktools.errors import InputError, UnverifiedTableWarning

WORLDS = Path(__file__).parents[2] / "worlds" / "inputs" / "formats"


def family(
    namespace,
    accounts,
    lines,
    *,
    prefix="",
    totals=(1, "980.00", "980.00"),
    currency="DefaultCurrencyCode",
    around="",
):
    """Return a file with the elements that a country has."""
    number, debit, credit = totals
    xml = f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- <AuditFileOf comments> -->
<AuditFile xmlns="{namespace}">
<Header><AuditFileVersion>1.0</AuditFileVersion><Company><BankAccount><IBANNumber>1</IBANNumber></BankAccount></Company>
<{currency}>EUR</{currency}></Header>
<MasterFiles>{accounts}
<Customers><Customer><CustomerID>C1</CustomerID><AccountID>1500</AccountID><OpeningDebitBalance>7.00</OpeningDebitBalance></Customer></Customers>
</MasterFiles>
<GeneralLedgerEntries><NumberOfEntries>{number}</NumberOfEntries><TotalDebit>{debit}</TotalDebit><TotalCredit>{credit}</TotalCredit>
<Journal><JournalID>B</JournalID><Description>Bank</Description>
<Transaction><TransactionID>17</TransactionID><TransactionDate>2026-10-07</TransactionDate>
<Description>Flight &amp; fees</Description>
<GLPostingDate>2026-10-31</GLPostingDate><DocArchivalNumber>AR1</DocArchivalNumber>{lines}</Transaction></Journal></GeneralLedgerEntries>
<SourceDocuments><SalesInvoices><Invoice><Line><AccountID>3000</AccountID><CreditAmount>5.00</CreditAmount></Line></Invoice></SalesInvoices></SourceDocuments>
{around}</AuditFile>"""
    return (
        xml.replace("<", f"<{prefix}")
        .replace(f"<{prefix}/", f"</{prefix}")
        .replace(f"<{prefix}?", "<?")
        .replace(f"<{prefix}!", "<!")
        if prefix
        else xml
    )


def account(code, name, kind="AccountType", value="GL"):
    closing = "<ClosingCreditBalance>979.00</ClosingCreditBalance>"
    if code == "7140":
        closing = "<ClosingDebitBalance>981.00</ClosingDebitBalance>"
    return f"""<Account><AccountID>{code}</AccountID><AccountDescription>{name}</AccountDescription>
<{kind}>{value}</{kind}>
<OpeningDebitBalance>1.00</OpeningDebitBalance>{closing}</Account>"""


ACCOUNTS = (
    f"<GeneralLedgerAccounts>{account('7140', 'Travel')}{account('1920', 'Bank')}</GeneralLedgerAccounts>"
)
GROUPED = (
    "<GeneralLedgerAccounts><TaxonomyReference>S</TaxonomyReference>"
    f"{account('7140', 'Travel', 'GroupingCategory', 'GM')}"
    f"{account('1920', 'Bank', 'GroupingCategory', 'GM')}"
    "</GeneralLedgerAccounts>"
)
NESTED = (
    "<{line}><RecordID>1</RecordID><AccountID>7140</AccountID><SourceDocumentID>F12</SourceDocumentID>"
    "<Description>Flight</Description><DebitAmount><Amount>980.00</Amount><CurrencyCode>USD</CurrencyCode>"
    "<CurrencyAmount>1050.00</CurrencyAmount></DebitAmount>"
    "<TaxInformation><TaxType>MVA</TaxType><TaxCode>1</TaxCode><TaxBase>784.00</TaxBase></TaxInformation></{line}>"
    "<{line}><RecordID>2</RecordID><AccountID>1920</AccountID><CreditAmount><Amount>980.00</Amount></CreditAmount></{line}>"
)
FLAT = (
    "<Line><RecordID>1</RecordID><AccountID>7140</AccountID><SourceDocumentID>F12</SourceDocumentID><DebitAmount>980.00"
    "</DebitAmount><Description>Flight</Description></Line>"
    "<Line><RecordID>2</RecordID><AccountID>1920</AccountID><CreditAmount>980.00</CreditAmount></Line>"
)
PORTUGAL = (
    "<Lines><DebitLine><RecordID>1</RecordID><AccountID>7140</AccountID><SourceDocumentID>F12</SourceDocumentID>"
    "<Description>Flight</Description><DebitAmount>980.00</DebitAmount></DebitLine>"
    "<CreditLine><RecordID>2</RecordID><AccountID>1920</AccountID><CreditAmount>980.00</CreditAmount></CreditLine></Lines>"
)
COUNTRIES = {
    "Norway": family("urn:StandardAuditFile-Taxation-Financial:NO", ACCOUNTS, NESTED.format(line="Line")),
    "Denmark": family(
        "urn:StandardAuditFile-Taxation-Financial:DK", ACCOUNTS, NESTED.format(line="Line"), prefix="n1:"
    ),
    "Portugal": family(
        "urn:OECD:StandardAuditFile-Tax:PT_1.04_01", GROUPED, PORTUGAL, currency="CurrencyCode"
    ),
    "Romania": family(
        "mfp:anaf:dgti:d406:declaratie:v1", ACCOUNTS, NESTED.format(line="TransactionLine"), prefix="nsSAFT:"
    ),
    "Lithuania": family(
        "https://www.vmi.lt/cms/saf-t",
        ACCOUNTS,
        f"<Lines>{NESTED.format(line='Line')}</Lines>",
        totals=(2, "980", "980.0"),
    ),
    "Austria": family("urn:OECD:StandardAuditFile-Tax:AT_1.0", ACCOUNTS, FLAT, currency="CurrencyCode"),
}


@pytest.mark.parametrize("country", COUNTRIES)
def test_the_family(write, country):
    """Accounts and postings of each country's elements, with nothing of customers and invoices among them."""
    path = write(COUNTRIES[country], "saft.xml")
    found = bktools.read_general_ledger(path)
    assert found[["account_code", "account_name", "amount", "text"]].values.tolist() == [
        ["7140", "Travel", 980.0, "Flight"],
        ["1920", "Bank", -980.0, "Flight & fees"],
    ]
    assert found["date"].dt.strftime("%Y-%m-%d").tolist() == ["2026-10-07"] * 2
    assert found["voucher_id"].tolist() == ["B 17"] * 2
    assert found["document_number"].tolist() == ["F12", "AR1"]
    assert set(found["currency"]) == {"EUR"}
    assert found["tax_code"].fillna("")[0] == ("1" if "TaxCode" in COUNTRIES[country] else "")
    chart = bktools.read_chart_of_accounts(path)
    assert chart[["code", "name"]].values.tolist() == [["7140", "Travel"], ["1920", "Bank"]]
    assert chart["type"][0] == ("GM" if country == "Portugal" else "GL")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252", "windows-1250"])
def test_the_encoding_that_the_xml_states(write, encoding):
    """The XML declaration decides, as it does in XML."""
    text = COUNTRIES["Norway"].replace("UTF-8", encoding).replace(">Travel<", ">Reisegebühr<")
    chart = bktools.read_chart_of_accounts(write(text, "saft.xml", encoding))
    assert chart["name"].tolist() == ["Reisegebühr", "Bank"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("<TotalDebit>980.00", "<TotalDebit>981.00", "TotalDebit is 981.00 in the file, but 980.00 by"),
        ("<TotalCredit>980.00", "<TotalCredit>0", "TotalCredit is 0 in the file, but 980.00 by its postings"),
        ("<NumberOfEntries>1<", "<NumberOfEntries>3<", "NumberOfEntries is 3 in the file, but 1 by"),
        ("<CreditAmount><Amount>980.00", "<CreditAmount><Amount>970.00", "'B 17' .line 17. does not balance"),
    ],
)
def test_totals_and_vouchers(write, old, new, why):
    """What the file states of itself is held to its postings; `verify="warn"` goes on."""
    path = write(COUNTRIES["Norway"].replace(old, new), "saft.xml")
    with pytest.raises(InputError, match=why):
        bktools.read_general_ledger(path)
    with pytest.warns(UnverifiedTableWarning, match=why):
        assert len(bktools.read_general_ledger(path, verify="warn")) == 2


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("<AccountID>1920</AccountID><CreditAmount>", "<CreditAmount>", "line 17: a Line has no AccountID"),
        ("<CreditAmount><Amount>980.00</Amount></CreditAmount>", "", "line 17: a Line has no amount"),
        ("<Amount>980.00", "<Amount>INF", "must hold amounts"),
        ("<Amount>980.00", "<Amount>9.8E2", "must hold amounts"),
        ("2026-10-07", "2026-10-32", "must hold dates"),
        ("<TransactionDate>2026-10-07</TransactionDate>", "", "'date' is the date and must not be empty"),
        ("<TotalDebit>980.00", "<TotalDebit>a lot", "line 13: TotalDebit is 'a lot', must be a number"),
    ],
)
def test_what_is_no_number_or_date(write, old, new, why):
    """A line without account, amount or date, or with another thing there, is one line with its place."""
    with pytest.raises(InputError, match=why) as caught:
        bktools.read_general_ledger(write(COUNTRIES["Norway"].replace(old, new), "saft.xml"))
    assert "\n" not in str(caught.value)


def test_a_file_of_master_data_alone(write):
    """A file without a general ledger is a chart, and says what to export for a ledger."""
    text = COUNTRIES["Norway"]
    path = write(text[: text.index("<GeneralLedgerEntries>")] + "</AuditFile>", "saft.xml")
    assert len(bktools.read_chart_of_accounts(path)) == 2
    with pytest.raises(InputError, match="without postings: export one"):
        bktools.read_general_ledger(path)


JPK = (WORLDS / "jpk.xml").read_text(encoding="utf-8")


def test_jpk(write):
    """The two sides of a posting, one of them a filler, with the date, document and text of the journal."""
    path = write(JPK, "jpk.xml")
    found = bktools.read_general_ledger(path)
    assert found[["account_code", "account_name", "amount", "text"]].values.tolist() == [
        ["402", "Usługi obce", 1000.0, "Netto"],
        ["131", "Rachunek bieżący", -1230.0, "Licencja"],
        ["222", "VAT naliczony", 230.0, "Licencja"],
    ]
    assert set(found["document_number"]) == {"FV 7/2026"}
    assert set(found["currency"]) == {"PLN"}
    assert set(found["date"].dt.strftime("%Y-%m-%d")) == {"2026-10-05"}
    chart = bktools.read_chart_of_accounts(path)
    assert chart["code"].tolist() == ["131", "402", "222"]
    assert chart["type"].tolist() == ["bilansowe", "wynikowe", "bilansowe"]
    assert chart["name"].tolist() == ["Rachunek bieżący", "Usługi obce", "VAT naliczony"]
    of_another_currency = write(JPK.replace(">PLN<", ">EUR<"), "jpk.xml")
    assert set(bktools.read_general_ledger(of_another_currency)["currency"]) == {"EUR"}


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Dziennika>1</tns:Liczba", "Dziennika>2</tns:Liczba", "WierszyDziennika is 2 in the file, but 1"),
        ("SumaKwotOperacji>1230.00", "SumaKwotOperacji>1231.00", "is 1231.00 in the file, but 1230.00"),
        ("KontoZapisj>2", "KontoZapisj>3", "LiczbaWierszyKontoZapisj is 3 in the file, but 2"),
        ("SumaWinien>1230.00", "SumaWinien>1000.00", "SumaWinien is 1000.00 in the file, but 1230.00"),
        ("SumaMa>1230.00", "SumaMa>0.00", "SumaMa is 0.00 in the file, but 1230.00"),
        (
            "KwotaMa>1230.00",
            "KwotaMa>1220.00",
            "'PK/1' .line 23. does not balance: debit 1230.00, credit 1220",
        ),
        ("NrZapisu>PK/1", "NrZapisu>PK/9", "NrZapisu 'PK/9' is not in the journal"),
    ],
)
def test_jpk_that_does_not_agree(write, old, new, why):
    """Counts, sums and vouchers of a JPK are held to its postings."""
    with pytest.raises(InputError, match=why):
        bktools.read_general_ledger(write(JPK.replace(old, new), "jpk.xml"))


def test_figures_of_several_vouchers(write):
    """What a file states is of all its vouchers, not of the last one."""
    saft = family("urn:x", "", FLAT, totals=(2, "1960.00", "1960.00"))
    begin, end = saft.index("<Transaction>"), saft.index("</Journal>")
    assert len(bktools.read_general_ledger(write(saft[:end] + saft[begin:], "saft.xml"))) == 4
    begin, end = JPK.index("<tns:Dziennik typ"), JPK.index("<tns:DziennikCtrl>")
    jpk = (
        JPK[:end]
        + JPK[begin:end].replace("PK/1", "PK/2")
        + JPK[end:].replace("SumaKwotOperacji>12", "SumaKwotOperacji>24")
    )
    jpk = jpk.replace("LiczbaWierszyDziennika>1<", "LiczbaWierszyDziennika>2<").replace(
        ">2430.00<", ">2460.00<"
    )
    assert len(bktools.read_general_ledger(write(jpk, "jpk.xml"))) == 3


def test_balances_of_accounts_are_verified(write):
    """An account's postings sum up to closing less opening balance; sums of accounts have none."""
    grouped = GROUPED.replace(
        "</GeneralLedgerAccounts>",
        "<Account><AccountID>71</AccountID><AccountDescription>All travel</AccountDescription>"
        "<GroupingCategory>GA</GroupingCategory><ClosingDebitBalance>980.00</ClosingDebitBalance></Account>"
        "</GeneralLedgerAccounts>",
    )
    text = family("urn:OECD:StandardAuditFile-Tax:PT_1.04_01", grouped, PORTUGAL, currency="CurrencyCode")
    found = bktools.read_general_ledger(write(text, "saft.xml"))
    verified = next(note for note in found.attrs["bktools"]["note_facts"] if note["code"] == "verified")
    assert verified["names"] == ["TotalDebit", "TotalCredit", "NumberOfEntries"]
    assert verified["balances"] == 2
    wrong = write(text.replace(">981.00<", ">982.00<"), "saft.xml")
    with pytest.raises(InputError, match=r"account '7140' moves by 981\.00 by .* but by 980\.00 by"):
        bktools.read_general_ledger(wrong)
    with pytest.warns(UnverifiedTableWarning, match="7140"):
        bktools.read_general_ledger(wrong, verify="warn")


def test_vouchers_that_are_posted_in_another_month(write):
    """A voucher is in the month in which its ledger shows it; a note counts those of another month."""
    lines = "".join(NESTED.format(line="Line"))
    text = family("urn:StandardAuditFile-Taxation-Financial:NO", ACCOUNTS, lines)
    read = bktools.read_general_ledger(write(text, "saft.xml"))
    assert set(read["date"].dt.strftime("%Y-%m-%d")) == {"2026-10-07"}
    moved = text.replace("<GLPostingDate>2026-10-31", "<GLPostingDate>2026-11-02")
    read = bktools.read_general_ledger(write(moved, "saft.xml"))
    assert set(read["date"].dt.strftime("%Y-%m-%d")) == {"2026-11-02"}
