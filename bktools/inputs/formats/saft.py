"""SAF-T, the Standard Audit File for Tax of the OECD, of Norway, Portugal, Denmark, Lithuania and others.

The countries' schemas share the names of their elements and differ in what stands around them, so elements
are found by name wherever they are. An amount is the element itself in Portugal and Austria, and an element
below it elsewhere.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow.compute as pc

from bktools.inputs.formats.format import (
    POSTING,
    File,
    Format,
    Ledger,
    Record,
    Total,
    company_in_file,
    day_of,
)
from bktools.inputs.formats.xml_records import from_first_element, records
from bktools.inputs.notes import Note, note
from bktools.inputs.table import Rows, Table

_ACCOUNTS = ("Account", "GeneralLedger")
_LINES = ("Line", "DebitLine", "CreditLine", "TransactionLine")
_RECORDS = frozenset({"Header", "GeneralLedgerEntries", "Journal", "Transaction", *_ACCOUNTS, *_LINES})
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
    "Company/RegistrationNumber",
    "Company/TaxRegistrationNumber",
    "TaxRegistrationNumber",
    "CompanyID",
)


def recognises(file: File) -> bool:
    """Whether the first element is SAF-T's."""
    return from_first_element(file).startswith("<AuditFile")


def chart(file: File) -> Table:
    """Return the accounts of the master files."""
    rows = Rows("code", "name", "type")
    form, company = _note(None), None
    for record in records(file, _RECORDS, skipped=_SKIPPED | {"GeneralLedgerEntries"}):
        if record.name == "Header":
            form = _note(record)
            company = company_in_file(record.text(*_NUMBERS), record.text("Company/Name", "CompanyName"))
        elif _is_account(record):
            kind = record.text("AccountType", "GroupingCategory")
            rows.add(record.line, record.text("AccountID"), record.text("AccountDescription"), kind)
    nothing = "is a SAF-T file without accounts (MasterFiles): export it with the chart of accounts"
    return file.table(rows, nothing, form, company=company)


def ledger(file: File) -> Ledger:
    """Return the lines of all transactions, and the totals that the file states of them."""
    names: dict[str, str] = {}
    movements: dict[str, Decimal] = {}
    rows = Rows(*POSTING, "debit", "credit")
    transactions = in_another_month = 0
    currency, form, exported_at = "", _note(None), None
    totals: list[Total] = []
    for record in records(file, _RECORDS, skipped=_SKIPPED):
        if record.name in _LINES:
            _add(rows, record, names)
        elif record.name == "Transaction":
            transactions += 1
            in_another_month += _is_in_another_month(record)
        elif record.name == "Header":
            exported_at = day_of(record.text("AuditFileDateCreated"))
            currency, form = record.text("DefaultCurrencyCode", "CurrencyCode"), _note(record)
        elif record.name == "GeneralLedgerEntries":
            # Some systems count the lines of the transactions.
            entries = len(rows) if record.text("NumberOfEntries") == str(len(rows)) else transactions
            totals = record.totals(TotalDebit="debit", TotalCredit="credit", NumberOfEntries=Decimal(entries))
        elif _is_account(record):
            code = record.text("AccountID")
            names[code] = record.text("AccountDescription")
            if moved := [sign * record.number(name) for name, sign in _BALANCES.items() if record.text(name)]:
                movements[code] = sum(moved, Decimal())
    nothing = "is a SAF-T file without postings (GeneralLedgerEntries): export it with the general ledger"
    moved_vouchers = [note("posted_in_another_month", count=in_another_month)] if in_another_month else []
    table = file.table(rows, nothing, form, *moved_vouchers)
    posted = set(pc.unique(table.columns[table.places["account_code"]]).to_pylist())
    # An account that sums up others, as Portugal has them, has no postings of its own.
    sums = {
        code
        for code in movements.keys() - posted
        if any(one != code and one.startswith(code) for one in names)
    }
    movements = {code: moved for code, moved in movements.items() if code not in sums}
    return Ledger(
        table, currency=currency or None, totals=totals, movements=movements, exported_at=exported_at
    )


def _note(header: Record | None) -> Note:
    edition = (header.text("AuditFileCountry"), header.text("AuditFileVersion")) if header else ()
    return note("format", name=" ".join(["SAF-T", *filter(None, edition)]))


def _is_account(record: Record) -> bool:
    return record.name in _ACCOUNTS and "AccountID" in record.texts


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
        raise line.error(
            f"a {line.name} has no {'amount' if account else 'AccountID'}: export the file again"
        )
    own_document = line.text("SourceDocumentID", "ReferenceNumber")
    rows.add_fields(
        line.line,
        account_code=account,
        account_name=names.get(account, ""),
        date=of_voucher("GLPostingDate" if is_moved else "TransactionDate")[:10],
        text=line.text("Description") or of_voucher("Description"),
        document_number=own_document or of_voucher("DocArchivalNumber", "ReferenceNumber"),
        voucher_id=f"{line.text_around('Journal', 'JournalID')} {of_voucher('TransactionID')}".strip(),
        tax_code=line.text("TaxInformation/TaxCode", "TaxCode"),
        cost_centre=line.text("Analysis/AnalysisID"),
        foreign_amount=line.text("DebitAmount/CurrencyAmount", "CreditAmount/CurrencyAmount"),
        foreign_currency=line.text("DebitAmount/CurrencyCode", "CreditAmount/CurrencyCode"),
        debit=debit,
        credit=credit,
    )


FORMATS = (Format("SAF-T", recognises, chart, ledger),)
