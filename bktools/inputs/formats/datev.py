"""DATEV's EXTF and DTVF files: a header of 31 cells, headings, and rows whose cells have fixed places.

A row of a Buchungsstapel posts an amount to an account and the opposite one to its contra account. A date is day and
month; its year is that of the fiscal year in the header, as is the length of the accounts.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.accounts import CompanyInFile
from bktools.errors import InputError
from bktools.inputs import cells
from bktools.inputs.encoding import utf8_error
from bktools.inputs.formats.delimited_text import chosen, first_cells, first_of_each, place_of, required, table_of
from bktools.inputs.formats.format import (
    Chart,
    File,
    Format,
    Ledger,
    company_in_file,
    headed_by_fields,
)
from bktools.inputs.table import Rows, Table
from bktools.inputs.words import normal

_MARKS = ("EXTF", "DTVF")
_LABELS, _POSTINGS = "20", "21"
_POSTING = ("account_code", "date", "currency", "text", "document_number", "voucher_id", "tax_code")
# Some of the headings, which are on the second line.
_HEADINGS = frozenset(
    map(normal, ("Konto", "Kontobeschriftung", "Kontenbeschriftung", "WKZ Umsatz", "Belegdatum", "Buchungstext"))
)
# Places in the header, and in a row of a Buchungsstapel, which DATEV reads by place whatever the headings say.
_CATEGORY, _NAME, _ADVISER, _CLIENT, _YEAR_BEGINS, _LENGTH, _FROM, _TO, _CURRENCY = 2, 3, 10, 11, 12, 13, 14, 15, 21
_AMOUNT, _SIDE, _WKZ, _BASE, _WKZ_BASE, _ACCOUNT, _CONTRA, _KEY, _DAY, _DOCUMENT, _DISCOUNT, _TEXT = (
    0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 12, 13,
)  # fmt: skip


class _Header(NamedTuple):
    category: str
    name: str
    year_begins: dt.date
    length: int
    first: dt.date | None
    last: dt.date | None
    currency: str
    company: CompanyInFile | None


def recognises(file: File) -> bool:
    """Whether the first cell is DATEV's mark."""
    return first_cells(file)[:1] in ([mark] for mark in _MARKS)


def chart(file: File) -> Chart:
    """Return the accounts of Kontenbeschriftungen, with as many digits as the header says."""
    header = _header(file)
    if header.category != _LABELS:
        raise InputError(
            f"is a DATEV file of {header.name}, which holds no names of accounts: export Kontenbeschriftungen",
            source=file.source,
        )
    table = _read(file, header)
    code, name = required(table, "Konto"), required(table, "Kontobeschriftung", "Kontenbeschriftung")
    codes, notes = _codes(table, code, header)
    kept, several = first_of_each(codes, table.columns[name])
    accounts, places = chosen(table, {"code": codes, "name": name}, *notes, *several)
    return Chart(replace(accounts.rows(kept), company=header.company), places)


def ledger(file: File) -> Ledger:
    """Return two postings for each row of a Buchungsstapel."""
    header = _header(file)
    if header.category != _POSTINGS:
        raise InputError(
            f"is a DATEV file of {header.name}, which holds no postings: export the Buchungsstapel", source=file.source
        )
    table = _read(file, header)
    if len(table.headings) <= _TEXT or not normal(table.headings[_AMOUNT]).startswith("umsatz"):
        raise InputError(
            "its columns are not those of a DATEV Buchungsstapel (Umsatz, Soll/Haben-Kennzeichen, …): export it again",
            source=file.source,
            line=table.heading_line,
        )
    table, doubts = _postings(table)
    _refuse_wrong_rows(table)
    account, notes = _codes(table, _ACCOUNT, header)
    contra, _ = _codes(table, _CONTRA, header)
    days = _days(table, header)
    rows = Rows(*_POSTING, "amount", "side")
    for line, row, own, other, day in zip(
        table.lines.tolist(),
        zip(*(column.to_pylist() for column in table.columns[: _TEXT + 1]), strict=True),
        account.to_pylist(),
        contra.to_pylist(),
        days,
        strict=True,
    ):
        amount, currency = _in_books([cell.strip() for cell in row], header)
        # DATEV takes an empty cell for S.
        side = row[_SIDE].strip() or "S"
        for code, side_of_code in ((own, side), (other, "H" if side == "S" else "S")):
            rows.add_fields(
                line,
                account_code=code,
                date=day.isoformat(),
                currency=currency,
                text=row[_TEXT],
                document_number=row[_DOCUMENT],
                voucher_id=str(line),
                tax_code=row[_KEY],
                amount=amount,
                side=side_of_code,
            )
    doubts += [*_outside_of_period(table, header, days), *_reversals(table)]
    notes = [*table.notes, *notes, *_remarks(table)]
    form = {"heading_line": table.heading_line, "delimiter": table.delimiter, "encoding": table.encoding}
    wide = file.table(rows, "is a DATEV file without postings", *notes, **form)
    return Ledger(wide, headed_by_fields(wide), decimal=",", doubts=doubts)


def _header(file: File) -> _Header:
    head = [cell.strip() for cell in first_cells(file)] + [""] * _CURRENCY
    begins, length = _day(head[_YEAR_BEGINS]), head[_LENGTH]
    if begins is None or not (length.isdecimal() and 4 <= int(length) <= 9):  # noqa: PLR2004 - DATEV's lengths
        raise InputError(
            "the DATEV header does not say when the fiscal year begins (cell 13) and how long accounts are (cell 14):"
            " export the file again",
            source=file.source,
            line=1,
        )
    # A client's number is one of its adviser's.
    company = company_in_file("/".join(filter(None, (head[_ADVISER], head[_CLIENT]))) if head[_CLIENT] else "", "")
    name, first, last = head[_NAME] or "another kind", _day(head[_FROM]), _day(head[_TO])
    return _Header(head[_CATEGORY], name, begins, int(length), first, last, head[_CURRENCY] or "EUR", company)


def _day(text: str) -> dt.date | None:
    try:
        return dt.datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007 - a calendar date has no zone
    except ValueError:
        return None


def _read(file: File, header: _Header) -> Table:
    encoding = None if utf8_error(file.data()) is None else "cp1252"
    return table_of(file, _HEADINGS, encoding, f"read as DATEV {header.name}")


def _codes(table: Table, place: int, header: _Header) -> tuple[pa.ChunkedArray, list[str]]:
    """Return accounts with the digits that a spreadsheet or a program left out."""
    codes = cells.trimmed(table.columns[place])
    cells.refuse(table, place, ~cells.matches(codes, r"^\d{1,9}$"), "must hold accounts of 1 to 9 digits")
    short = cells.mask(pc.less(pc.utf8_length(codes), header.length))
    padded = pc.utf8_lpad(codes, header.length, "0")
    remark = f"accounts filled with zeros to {header.length} digits, as the header says"
    return padded, cells.counted(table, {remark: short})


def _postings(table: Table) -> tuple[Table, list[str]]:
    """Return the rows that have an amount and two accounts, and a doubt of those that have not."""
    incomplete = np.logical_or.reduce([cells.blank(table.columns[place]) for place in (_AMOUNT, _ACCOUNT, _CONTRA)])
    if incomplete.all():
        return table, []
    remark = "rows without an amount or one of their two accounts, such as sums, which are no postings and are left out"
    return table.rows(~incomplete), cells.counted(table, {remark: incomplete})


def _refuse_wrong_rows(table: Table) -> None:
    amount, side = (cells.trimmed(table.columns[place]) for place in (_AMOUNT, _SIDE))
    cells.refuse(
        table, _AMOUNT, ~cells.matches(amount, r"^\d{1,13}(?:,\d{1,2})?$"), "must hold amounts above 0 such as 119,00"
    )
    cells.refuse(table, _SIDE, ~cells.matches(side, "^[SH]?$"), "must be S (debit) or H (credit)")
    account, contra = (cells.trimmed(table.columns[place]) for place in (_ACCOUNT, _CONTRA))
    same = cells.mask(pc.equal(account, contra)) & ~cells.blank(account)
    cells.refuse(table, _CONTRA, same, "must be another account than Konto")


def _in_books(row: Sequence[str], header: _Header) -> tuple[str, str]:
    """Return the amount and its currency: those of the books where the row has both, which it has for foreign ones."""
    if row[_WKZ_BASE] and re.search("[1-9]", row[_BASE]):
        return row[_BASE], row[_WKZ_BASE]
    return row[_AMOUNT], row[_WKZ] or header.currency


def _days(table: Table, header: _Header) -> list[dt.date]:
    days = [_date(text.strip(), header) for text in table.columns[_DAY].to_pylist()]
    rule = f"must be a day and month (DDMM) of the fiscal year that begins on {header.year_begins.isoformat()}"
    cells.refuse(table, _DAY, np.array([day is None for day in days]), rule)
    return [day for day in days if day]


def _outside_of_period(table: Table, header: _Header, days: Sequence[dt.date]) -> list[str]:
    """Return the rows of other days than those the header is about."""
    if not (header.first and header.last):
        return []
    outside = np.array([not header.first <= day <= header.last for day in days])
    period = f"{header.first.isoformat()} to {header.last.isoformat()}, the period in the header"
    return cells.counted(table, {f"rows dated outside of {period}, such as opening balances": outside})


def _date(text: str, header: _Header) -> dt.date | None:
    if not (text.isdecimal() and 3 <= len(text) <= 4):  # noqa: PLR2004 - DDMM, whose first zero a spreadsheet drops
        return None
    day, month = int(text[:-2]), int(text[-2:])
    begins = header.year_begins
    year = begins.year + ((month, day) < (begins.month, begins.day))
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


def _remarks(table: Table) -> list[str]:
    """Return notes of the postings that DATEV adds when it imports the rows, which are missing here."""
    has_key = pc.match_substring_regex(cells.trimmed(table.columns[_KEY]), "[1-9]")
    has_discount = pc.match_substring_regex(cells.trimmed(table.columns[_DISCOUNT]), "[1-9]")
    remarks = {
        "rows with a BU-Schlüssel, whose amounts include the tax that DATEV takes out of them": has_key,
        "rows with a cash discount (Skonto), which DATEV books itself": has_discount,
    }
    return cells.counted(table, {remark: cells.mask(rows) for remark, rows in remarks.items()})


def _reversals(table: Table) -> list[str]:
    """Return the rows that reverse others: some programs turn Soll/Haben for them, others leave it to this mark."""
    # A key of two digits that begins with 2 or 3 is the older mark.
    is_reversal = cells.mask(pc.match_substring_regex(cells.trimmed(table.columns[_KEY]), r"^[23]\d$"))
    place = place_of(table, "Generalumkehr (GU)", "Generalumkehr")
    if place is not None:
        is_reversal |= cells.mask(pc.match_substring_regex(cells.trimmed(table.columns[place]), "^[1G]$"))
    remark = (
        "rows marked as general reversals (Generalumkehr), whose Soll/Haben is read as written though it may be meant"
    )
    return cells.counted(table, {f"{remark} the other way round": is_reversal})


FORMATS = (Format("DATEV", recognises, chart, ledger),)
