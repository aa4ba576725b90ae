"""SAF-T, the Standard Audit File for Tax of the OECD, as Norway, Portugal, Denmark, Lithuania, Romania and others have it.

The countries' schemas share the names of their elements and differ in what stands around them, so elements are found by
name wherever they are. An amount is the element itself in Portugal and Austria, and an element below it elsewhere.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.inputs.formats.format import (
    POSTING,
    Chart,
    File,
    Format,
    Ledger,
    Total,
    company_in_file,
    headed_by_fields,
)
from bktools.inputs.formats.xml_records import Record, from_first_element, records
from bktools.inputs.table import Rows

_ACCOUNTS = ("Account", "GeneralLedger")

_LINES = ("Line", "DebitLine", "CreditLine", "TransactionLine")
_ACCOUNT = frozenset({"AccountID", "AccountDescription", "AccountType", "GroupingCategory"})
# Of an account: debit is positive, and what the file states moves by closing less opening.
_BALANCES = {
    "OpeningDebitBalance": -1,
    "OpeningCreditBalance": 1,
    "ClosingDebitBalance": 1,
    "ClosingCreditBalance": -1,
}
_LINE = frozenset(
    {
        "AccountID", "Description", "SourceDocumentID", "ReferenceNumber",
        "DebitAmount", "DebitAmount/Amount", "CreditAmount", "CreditAmount/Amount",
        "TaxInformation/TaxCode", "TaxCode",
    }
)  # fmt: skip
# Of the company, in the header itself in Portugal and below it elsewhere.
_NUMBERS = ("Company/RegistrationNumber", "Company/TaxRegistrationNumber", "TaxRegistrationNumber", "CompanyID")
_NAMES = ("Company/Name", "CompanyName")
_WANTED = {
    "Header": frozenset(
        {"DefaultCurrencyCode", "CurrencyCode", "AuditFileCountry", "AuditFileVersion", *_NUMBERS, *_NAMES}
    ),
    **dict.fromkeys(_ACCOUNTS, _ACCOUNT | _BALANCES.keys()),
    "GeneralLedgerEntries": frozenset({"NumberOfEntries", "TotalDebit", "TotalCredit"}),
    "Journal": frozenset({"JournalID"}),
    "Transaction": frozenset(
        {"TransactionID", "TransactionDate", "Description", "DocArchivalNumber", "ReferenceNumber"}
    ),
    **dict.fromkeys(_LINES, _LINE),
}
_SKIPPED = frozenset(
    {
        "Customer", "Supplier", "TaxTable", "UOMTable", "AnalysisTypeTable", "MovementTypeTable", "Product",
        "PhysicalStock", "Owners", "Assets", "SourceDocuments",
    }
)  # fmt: skip


def recognises(file: File) -> bool:
    """Whether the first element is SAF-T's."""
    return from_first_element(file).startswith("<AuditFile")


def chart(file: File) -> Chart:
    """Return the accounts of the master files."""
    rows = Rows("code", "name", "type")
    note, company = "read as SAF-T", None
    for record in records(file, _WANTED, skipped=_SKIPPED | {"GeneralLedgerEntries"}):
        if record.name == "Header":
            note = _note(record)
            company = company_in_file(record.text(*_NUMBERS), record.text(*_NAMES))
        elif _is_account(record):
            rows.add(
                record.line,
                record.text("AccountID"),
                record.text("AccountDescription"),
                record.text("AccountType", "GroupingCategory"),
            )
    nothing = "is a SAF-T file without accounts (MasterFiles): export it with the chart of accounts"
    table = file.table(rows, nothing, note, company=company)
    return Chart(table, headed_by_fields(table))


def ledger(file: File) -> Ledger:
    """Return the lines of all transactions, and the totals that the file states of them."""
    names: dict[str, str] = {}
    movements: dict[str, Decimal] = {}
    rows = Rows(*POSTING, "debit", "credit")
    transactions = 0
    currency, note = "", "read as SAF-T"
    totals: list[Total] = []
    for record in records(file, _WANTED, skipped=_SKIPPED):
        if record.name in _LINES:
            _add(rows, record, names, file)
        elif record.name == "Transaction":
            transactions += 1
        elif record.name == "Header":
            currency, note = record.text("DefaultCurrencyCode", "CurrencyCode"), _note(record)
        elif record.name == "GeneralLedgerEntries":
            totals = _totals(record, transactions, len(rows), file)
        elif _is_account(record):
            names[record.text("AccountID")] = record.text("AccountDescription")
            if any(record.text(name) for name in _BALANCES):
                movements[record.text("AccountID")] = _movement(record, file)
    table = file.table(
        rows, "is a SAF-T file without postings (GeneralLedgerEntries): export it with the general ledger", note
    )
    places = headed_by_fields(table)
    posted = set(pc.unique(table.columns[places["account_code"]]).to_pylist())
    # An account that sums up others, as Portugal has them, has no postings of its own.
    sums = {code for code in movements.keys() - posted if any(one != code and one.startswith(code) for one in names)}
    movements = {code: moved for code, moved in movements.items() if code not in sums}
    return Ledger(table, places, currency=currency or None, totals=totals, movements=movements)


def _movement(account: Record, file: File) -> Decimal:
    movements = (sign * account.number(name, file) for name, sign in _BALANCES.items() if account.text(name))
    return sum(movements, Decimal())


def _note(header: Record) -> str:
    said = (header.text("AuditFileCountry"), header.text("AuditFileVersion"))
    return " ".join(["read as SAF-T", *filter(None, said)])


def _is_account(record: Record) -> bool:
    return record.name in _ACCOUNTS and "AccountID" in record.texts


def _add(rows: Rows, line: Record, names: dict[str, str], file: File) -> None:
    debit = line.text("DebitAmount/Amount", "DebitAmount")
    credit = line.text("CreditAmount/Amount", "CreditAmount")
    account = line.text("AccountID")
    if not account or not (debit or credit):
        missing = "amount" if account else "AccountID"
        raise InputError(f"a {line.name} has no {missing}: export the file again", source=file.source, line=line.line)
    number = " ".join(filter(None, (line.text_around("Journal", "JournalID"), _of_voucher(line, "TransactionID"))))
    own_document = line.text("SourceDocumentID", "ReferenceNumber")
    rows.add_fields(
        line.line,
        account_code=account,
        account_name=names.get(account, ""),
        # Lithuania and others may add a time to a date.
        date=_of_voucher(line, "TransactionDate")[:10],
        text=line.text("Description") or _of_voucher(line, "Description"),
        document_number=own_document or _of_voucher(line, "DocArchivalNumber", "ReferenceNumber"),
        voucher_id=number,
        tax_code=line.text("TaxInformation/TaxCode", "TaxCode"),
        debit=debit,
        credit=credit,
    )


def _of_voucher(line: Record, *paths: str) -> str:
    return line.text_around("Transaction", *paths)


def _totals(record: Record, transactions: int, lines: int, file: File) -> list[Total]:
    totals = [
        Total(name, record.number(name, file), side)
        for name, side in (("TotalDebit", "debit"), ("TotalCredit", "credit"))
        if record.text(name)
    ]
    if record.text("NumberOfEntries"):
        number = record.number("NumberOfEntries", file)
        # Some systems count the lines of the transactions.
        counted = lines if number == lines else transactions
        totals.append(Total("NumberOfEntries", number, Decimal(counted)))
    return totals


FORMATS = (Format("SAF-T", recognises, chart, ledger),)
