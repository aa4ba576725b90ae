"""DATEV's EXTF and DTVF files: a header of 31 cells, headings, and rows whose cells have fixed places.

A row of a Buchungsstapel posts an amount to an account and the opposite one to its contra account. A date is
day and month; its year is that of the fiscal year in the header, as is the length of the accounts. The format
has no vouchers: rows of one document, day and text that share an account are taken for one.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.formats.delimited_text import (
    Column,
    accounts_of,
    chosen,
    first_cells,
    place_of,
    required,
    table_of,
)
from bktools.inputs.formats.format import Books, company_in_file, day_of
from bktools.inputs.notes import Note
from bktools.inputs.raw.encoding import is_utf8
from bktools.inputs.raw.source import Source
from bktools.inputs.table import Table
from bktools.inputs.terms import normal
from bktools.inputs.values.days import parsed

_MARKS = ("EXTF", "DTVF")
_CATEGORIES = {"chart": "20", "ledger": "21"}
_DATE = "%Y%m%d"
# Places in the header and in a row of a Buchungsstapel, which DATEV reads by place, not by heading.
_CATEGORY, _NAME, _CREATED, _ADVISER, _CLIENT = 2, 3, 5, 10, 11
_YEAR_BEGINS, _LENGTH, _FROM, _TO, _CURRENCY = 12, 13, 14, 15, 21
_AMOUNT, _SIDE, _WKZ, _BASE, _WKZ_BASE, _ACCOUNT, _CONTRA = 0, 1, 2, 4, 5, 6, 7
_KEY, _DAY, _DOCUMENT, _DISCOUNT, _TEXT = 8, 9, 10, 12, 13
_COST_CENTRES = (36, 37)
_REVERSAL_HEADINGS = ("Generalumkehr (GU)", "Generalumkehr")


def recognises(file: Source) -> bool:
    """Whether the first cell is DATEV's mark."""
    return first_cells(file)[:1] in ([mark] for mark in _MARKS)


def read(file: Source, encoding: str | None) -> Books:
    """Return the accounts of Kontenbeschriftungen, or two postings for each row of a Buchungsstapel."""
    header = [cell.strip() for cell in first_cells(file)] + [""] * _CURRENCY
    begins, length = parsed(header[_YEAR_BEGINS], _DATE), header[_LENGTH]
    if begins is None or not (length.isdecimal() and 4 <= int(length) <= 9):
        raise file.error("datev_header", 1)
    name = header[_NAME] or "?"
    if header[_CATEGORY] != _CATEGORIES[file.kind]:
        raise file.error(f"datev_no_{file.kind}", name=name)
    encoding = encoding or (None if is_utf8(file.data()) else "cp1252")
    table = table_of(file, 2, encoding, f"DATEV {name}", has_quotes=True)
    if file.kind == "chart":
        return Books(_accounts(table, header))
    return _postings(table, header, begins)


def _accounts(table: Table, header: list[str]) -> Table:
    """Return the accounts, with as many digits as the header says."""
    codes = _codes(table, required(table, "Konto"), int(header[_LENGTH]))
    name = "Kontobeschriftung" if place_of(table, "Kontobeschriftung") else "Kontenbeschriftung"
    accounts = accounts_of(table, codes, name)
    adviser, client = header[_ADVISER], header[_CLIENT]
    # A client's number is one of its adviser's.
    company = company_in_file("/".join(filter(None, (adviser, client))) if client else "", "")
    return replace(accounts, company=company)


def _postings(table: Table, header: list[str], begins: dt.date) -> Books:
    if len(table.headings) <= _TEXT or not normal(table.headings[_AMOUNT]).startswith("umsatz"):
        raise table.error("datev_columns", table.heading_line)
    incomplete = np.logical_or.reduce(
        [cells.blank(table.columns[place]) for place in (_AMOUNT, _ACCOUNT, _CONTRA)]
    )
    incomplete &= not incomplete.all()
    doubts = cells.noted(table, "datev_incomplete", incomplete)
    table = table.rows(~incomplete)
    _refuse_wrong_rows(table)
    account, contra = (_codes(table, place, int(header[_LENGTH])) for place in (_ACCOUNT, _CONTRA))
    notes = list[Note]()
    days = cells.each(cells.trimmed(table.columns[_DAY]), lambda text: _date(text, begins), schema.DATE)
    cells.refuse(table, _DAY, cells.mask(pc.is_null(days)), "datev_day", begins=str(begins))
    doubts += _doubts(table, header, days)
    # DATEV books these when it imports the rows; such postings are missing here.
    for code, place in {"datev_tax_keys": _KEY, "datev_discounts": _DISCOUNT}.items():
        notes += cells.noted(table, code, cells.matches(table.columns[place], "[1-9]"))
    exported_at = day_of(header[_CREATED])
    postings = chosen(table, _fields(table, account, contra, days, header[_CURRENCY] or "EUR"), notes)
    return Books(postings, decimal=",", doubts=doubts, exported_at=exported_at)


def _fields(
    table: Table, account: pa.ChunkedArray, contra: pa.ChunkedArray, days: pa.ChunkedArray, currency: str
) -> dict[str, Column]:
    """Return the cells of each field: a row is a posting to its account, and one to its contra account."""
    amount, wkz, base, wkz_base, side = (
        cells.trimmed(table.columns[at]) for at in (_AMOUNT, _WKZ, _BASE, _WKZ_BASE, _SIDE)
    )
    # A row of another currency than the books' may have the amount of the books, too.
    in_books = pa.array(cells.matches(base, "[1-9]") & ~cells.blank(wkz_base))
    wkz = pc.if_else(pc.equal(wkz, ""), currency, wkz)
    centres = [
        cells.or_null(cells.trimmed(table.columns[place]))
        for place in _COST_CENTRES
        if place < len(table.columns)
    ]
    return {
        "debit_account": account,
        "credit_account": contra,
        "date": days.cast(schema.TEXT),
        "currency": pc.if_else(in_books, wkz_base, wkz),
        "text": table.columns[_TEXT],
        "document_number": table.columns[_DOCUMENT],
        "voucher_id": _vouchers(table, account, contra),
        "tax_code": table.columns[_KEY],
        "amount": pc.if_else(in_books, base, amount),
        # DATEV takes an empty cell for S.
        "side": pc.if_else(pc.equal(side, ""), "S", side),
        "foreign_amount": pc.if_else(in_books, amount, ""),
        "foreign_currency": pc.if_else(in_books, wkz, ""),
        # The first of the two cost centres of each row (KOST1, KOST2), if the file has these columns.
        **({"cost_centre": pc.fill_null(pc.coalesce(*centres), "")} if centres else {}),
    }


def _vouchers(table: Table, account: pa.ChunkedArray, contra: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the first line of each row's voucher: rows of one document, day, text and account are one."""
    first_of: dict[tuple[str, ...], int] = {}
    vouchers = list[str]()
    columns = [*(table.columns[place] for place in (_DOCUMENT, _DAY, _TEXT)), account, contra]
    rows = zip(*(column.to_pylist() for column in columns), table.lines.tolist(), strict=True)
    for document, day, text, *accounts, line in rows:
        keys = [(document, day, text, one) for one in accounts if document.strip()]
        first = min([line, *filter(None, map(first_of.get, keys))])
        for key in keys:
            first_of.setdefault(key, first)
        vouchers.append(str(first))
    return pa.chunked_array([vouchers], schema.TEXT)


def _codes(table: Table, place: int, length: int) -> pa.ChunkedArray:
    """Return accounts with the digits that a spreadsheet or a program left out."""
    codes = cells.trimmed(table.columns[place])
    cells.refuse(table, place, ~cells.matches(codes, r"^\d{1,9}$"), "no_account")
    return pc.utf8_lpad(codes, length, "0")


def _refuse_wrong_rows(table: Table) -> None:
    amount, side, account, contra = (
        cells.trimmed(table.columns[place]) for place in (_AMOUNT, _SIDE, _ACCOUNT, _CONTRA)
    )
    is_amount = cells.matches(amount, r"^\d{1,13}(?:,\d{1,2})?$")
    cells.refuse(table, _AMOUNT, ~is_amount, "datev_amount")
    cells.refuse(table, _SIDE, ~cells.matches(side, "^[SH]?$"), "datev_side")
    same = cells.mask(pc.equal(account, contra)) & ~cells.blank(account)
    cells.refuse(table, _CONTRA, same, "datev_contra")


def _date(text: str, begins: dt.date) -> dt.date | None:
    """Return the day of a fiscal year by its day and month."""
    if not (text.isdecimal() and 3 <= len(text) <= 4):
        return None
    day, month = divmod(int(text), 100)
    year = begins.year + ((month, day) < (begins.month, begins.day))
    return parsed(f"{year}{month:02}{day:02}", _DATE)


def _doubts(table: Table, header: list[str], days: pa.ChunkedArray) -> list[Note]:
    """Return the rows of other days than those the header is about, and those that reverse others."""
    first, last = (parsed(header[place], _DATE) for place in (_FROM, _TO))
    # A header without a period is about every day.
    low, high = (pa.scalar(day, schema.DATE) for day in (first or dt.date.min, last or dt.date.max))
    outside = cells.mask(pc.or_(pc.less(days, low), pc.greater(days, high)))
    # Some programs turn Soll/Haben for a reversal, others rely on its mark; an older mark is a key such as
    # 20.
    is_reversal = cells.matches(cells.trimmed(table.columns[_KEY]), r"^[23]\d$")
    for place in filter(None, (place_of(table, heading) for heading in _REVERSAL_HEADINGS)):
        is_reversal |= cells.matches(cells.trimmed(table.columns[place]), "^[1G]$")
    return [
        *cells.noted(table, "datev_outside", outside, first=str(first), last=str(last)),
        *cells.noted(table, "datev_reversals", is_reversal),
    ]
