"""A verification as a folder to mail: a page, a workbook and CSV, in the reader's language."""

from __future__ import annotations

import io
from pathlib import Path

from bktools import disk
from bktools.close.verification import Verification
from bktools.frames.delimited import to_csv
from bktools.frames.tables import in_memory
from bktools.ledger.settlements import as_frame
from bktools.reports import sheets
from bktools.reports.html import page_of
from bktools.reports.sheets import Book
from bktools.reports.workbook import OPTIONS, listing

REPORT, WORKBOOK, SETTLEMENTS = "report.html", "verification.xlsx", "ledger_settlements.csv"
# The tables of the workbook, and the columns of each that come first and are printed.
SHEETS = {
    "findings": "about severity reason message to_do who",
    "open_groups": "accounts first_day last_day entries exported currency ledger difference vouchers "
    "likeliest",
    "totals": "account_code account_name month currency difference exported ledger "
    "of_other_months foreign on_other_accounts not_from_export entries",
    "matched": "status date supplier description amount currency account_code booked_date booked_amount "
    "booked_account_code booked_voucher_id",
}
# Columns of the page, by the kinds that its style knows.
KINDS = {
    "number": "entries exported of_other_months foreign ledger on_other_accounts not_from_export difference",
    "date": "first_day last_day",
    "list": "message to_do likeliest",
    "choice": "severity reason",
}
KIND_OF = {column: kind for kind, columns in KINDS.items() for column in columns.split()}


def write_verification(verification: Verification, folder: Path, profile: str = "excel") -> Path:
    """Write page, workbook and CSV to a folder, in place of those of an earlier verification."""
    verification.match.to_csv(folder, profile)
    # Without rows, too: one of an earlier run would tell of batches that are settled by now.
    to_csv(as_frame(verification.settlements), folder / SETTLEMENTS, profile)
    for name, content in {REPORT: page(verification), WORKBOOK: workbook(verification)}.items():
        disk.replace_content(folder / name, content)
    return folder


def page(verification: Verification) -> bytes:
    """Return a verification as one HTML file to mail."""
    columns = {name: columns_of(verification, name) for name in SHEETS}
    return page_of("verification.html", verification.words, of=verification, columns=columns)


def columns_of(verification: Verification, name: str) -> list[tuple[str, str]]:
    """Return the columns of a table for people, with their kinds; of totals those that are not all 0."""
    columns = SHEETS[name].split()
    if name == "totals":
        shown = in_memory(verification.match.open_accounts[columns])
        columns = [column for column in columns if {*shown[column].to_pylist()} - {None, "", 0}]
    return [(column, KIND_OF.get(column, "text")) for column in columns]


def workbook(verification: Verification) -> bytes:
    """Return a verification as a workbook: what was found, then its tables."""
    import xlsxwriter

    words, match, file = verification.words, verification.match, io.BytesIO()
    with xlsxwriter.Workbook(file, OPTIONS) as book_file:
        book_file.set_properties({"title": verification.title, "created": verification.verified_at})
        foot = words("verification.at", moment=verification.verified_at)
        book = Book(book_file, verification.title, foot, words)
        sheet = book.sheet(words("report.sheet.verification"), sheets.NAVY, [110])
        sheet.write([verification.title], sheets.TITLE)
        sheet.write([words("verification.of_ledger", ledger=verification.ledger)], sheets.NOTE)
        sheet.skip()
        for line in (match.headline, *match.sums, *verification.remarks, *verification.moved):
            sheet.write([line.strip()], sheets.WRAPPED)
        sheet.page(1, pages=0)
        for name, columns in SHEETS.items():
            table = verification.table(name)
            if len(table):
                listing(book, name, table, columns.split())
    return file.getvalue()
