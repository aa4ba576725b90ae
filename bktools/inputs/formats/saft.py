"""SAF-T, the Standard Audit File for Tax of the OECD, of Norway, Portugal, Denmark, Lithuania and others.

The countries' schemas share the names of their elements and differ in what stands around them, so elements
are found by name wherever they are. An amount is the element itself in Portugal and Austria, and an element
below it elsewhere.
"""

from __future__ import annotations

from decimal import Decimal

from bktools.inputs import cells
from bktools.inputs.formats.format import POSTING, Books, Total, company_in_file, day_of, made_table
from bktools.inputs.formats.xml_records import Record, records
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Rows

_ACCOUNTS = ("Account", "GeneralLedger")
_LINES = ("Line", "DebitLine", "CreditLine", "TransactionLine")
_ENTRIES = "GeneralLedgerEntries"
_RECORDS = frozenset({"Header", _ENTRIES, "Journal", "Transaction", *_ACCOUNTS, *_LINES})
_SKIPPED = frozenset(
    (
        *("Customer", "Supplier", "TaxTable", "UOMTable", "AnalysisTypeTable", "MovementTypeTable"),
        *("Product", "PhysicalStock", "Owners", "Assets", "SourceDocuments"),
    )
)
# The signs of an account's balances: debit is positive, and the movement is closing less opening.
_BALANCES = {
    "OpeningDebitBalance": -1,
    "OpeningCreditBalance": 1,
    "ClosingDebitBalance": 1,
    "ClosingCreditBalance": -1,
}
# The company's numbers stand in the header itself in Portugal, and below it elsewhere.
_NUMBERS = (
    *("Company/RegistrationNumber", "Company/TaxRegistrationNumber", "TaxRegistrationNumber", "CompanyID"),
)


def recognises(file: Source) -> bool:
    """Whether the first element is SAF-T's."""
    return file.first_element.startswith("<AuditFile")


def read(file: Source, encoding: str | None) -> Books:
    """Return the accounts of the master files, or the lines of all transactions with the file's totals."""
    accounts, postings = Rows("code", "name", "type"), Rows(*POSTING, "debit", "credit")
    names: dict[str, str] = {}
    movements: dict[str, Decimal] = {}
    transactions = 0
    header, totals = Record("Header"), list[Total]()
    skipped = _SKIPPED | {_ENTRIES} if file.kind == "chart" else _SKIPPED
    for record in records(file, encoding, _RECORDS, skipped):
        if record.name in _LINES:
            _add(postings, record, names)
        elif record.name == "Transaction":
            transactions += 1
        elif record.name == "Header":
            header = record
        elif record.name == _ENTRIES:
            # Some systems count the lines of the transactions.
            lines = len(postings)
            entries = lines if record.text("NumberOfEntries") == str(lines) else transactions
            totals = record.totals(TotalDebit="debit", TotalCredit="credit", NumberOfEntries=Decimal(entries))
        elif record.name in _ACCOUNTS and (code := record.text("AccountID")):
            names[code] = record.text("AccountDescription")
            accounts.add(record.line, code, names[code], record.text("AccountType", "GroupingCategory"))
            if moved := [sign * record.number(name) for name, sign in _BALANCES.items() if record.text(name)]:
                movements[code] = sum(moved, Decimal())
    form = " ".join(filter(None, ("SAF-T", header.text("AuditFileCountry"), header.text("AuditFileVersion"))))
    company = company_in_file(header.text(*_NUMBERS), header.text("Company/Name", "CompanyName"))
    table = made_table(file, accounts if file.kind == "chart" else postings, form, company=company)
    posted = {*cells.unique(table.columns[0])}
    # An account that sums up others, as Portugal has them, has no postings of its own.
    sums = {
        code
        for code in movements.keys() - posted
        if any(one != code and one.startswith(code) for one in names)
    }
    return Books(
        table,
        currency=header.text("DefaultCurrencyCode", "CurrencyCode"),
        totals=totals,
        movements={code: moved for code, moved in movements.items() if code not in sums},
        exported_at=day_of(header.text("AuditFileDateCreated")),
    )


def _is_in_another_month(voucher: Record) -> bool:
    """Whether a voucher was posted in another month than its date's, as the ledger of its system shows."""
    # Lithuania and others may add a time to a date.
    own, posted = (voucher.text(name)[:7] for name in ("TransactionDate", "GLPostingDate"))
    return bool(own and posted) and own != posted


def _add(rows: Rows, line: Record, names: dict[str, str]) -> None:
    def of_voucher(*paths: str) -> str:
        return line.text_around("Transaction", *paths)

    is_moved = any(_is_in_another_month(record) for record in line.around)
    account = line.text("AccountID")
    debit = line.text("DebitAmount/Amount", "DebitAmount")
    credit = line.text("CreditAmount/Amount", "CreditAmount")
    if not account or not (debit or credit):
        raise line.error("saft_line", name=line.name, lacking="amount" if account else "AccountID")
    rows.add_fields(
        line.line,
        account_code=account,
        account_name=names.get(account, ""),
        date=of_voucher("GLPostingDate" if is_moved else "TransactionDate")[:10],
        text=line.text("Description") or of_voucher("Description"),
        document_number=line.text("SourceDocumentID", "ReferenceNumber")
        or of_voucher("DocArchivalNumber", "ReferenceNumber"),
        voucher_id=f"{line.text_around('Journal', 'JournalID')} {of_voucher('TransactionID')}".strip(),
        tax_code=line.text("TaxInformation/TaxCode", "TaxCode"),
        cost_centre=line.text("Analysis/AnalysisID"),
        foreign_amount=line.text("DebitAmount/CurrencyAmount", "CreditAmount/CurrencyAmount"),
        foreign_currency=line.text("DebitAmount/CurrencyCode", "CreditAmount/CurrencyCode"),
        debit=debit,
        credit=credit,
    )
