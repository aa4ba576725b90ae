"""DATEV's EXTF and DTVF files: a header of 31 cells, headings, and rows whose cells have fixed places.

A row of a Buchungsstapel posts an amount to an account and the opposite one to its contra account. A date is
day and month; its year is that of the fiscal year in the header, as is the length of the accounts.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
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
from bktools.inputs.formats.format import Books, File, Format, company_in_file, day_of
from bktools.inputs.grids.encoding import utf8_error
from bktools.inputs.notes import Note
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


def recognises(file: File) -> bool:
    """Whether the first cell is DATEV's mark."""
    return first_cells(file)[:1] in ([mark] for mark in _MARKS)


def read(file: File, kind: str) -> Books:
    """Return the accounts of Kontenbeschriftungen, or two postings for each row of a Buchungsstapel."""
    header = [cell.strip() for cell in first_cells(file)] + [""] * _CURRENCY
    begins, length = parsed(header[_YEAR_BEGINS], _DATE), header[_LENGTH]
    if begins is None or not (length.isdecimal() and 4 <= int(length) <= 9):
        raise file.error("datev_header", 1)
    name = header[_NAME] or "?"
    if header[_CATEGORY] != _CATEGORIES[kind]:
        raise file.error(f"datev_no_{kind}", name=name)
    encoding = None if utf8_error(file.data()) is None else "cp1252"
    table = table_of(file, 2, encoding, f"DATEV {name}", has_quotes=True)
    if kind == "chart":
        return Books(_accounts(table, header))
    return _postings(table, header, begins)


def _accounts(table: Table, header: list[str]) -> Table:
    """Return the accounts, with as many digits as the header says."""
    codes, notes = _codes(table, required(table, "Konto"), int(header[_LENGTH]))
    name = "Kontobeschriftung" if place_of(table, "Kontobeschriftung") else "Kontenbeschriftung"
    accounts = accounts_of(table, codes, name, notes)
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
    account, notes = _codes(table, _ACCOUNT, int(header[_LENGTH]))
    contra, _ = _codes(table, _CONTRA, int(header[_LENGTH]))
    days = cells.each(cells.trimmed(table.columns[_DAY]), lambda text: _date(text, begins), schema.DATE)
    cells.refuse(table, _DAY, cells.mask(pc.is_null(days)), "datev_day", begins=str(begins))
    doubts += _doubts(table, header, days)
    # DATEV books these when it imports the rows; such postings are missing here.
    for code, place in {"datev_tax_keys": _KEY, "datev_discounts": _DISCOUNT}.items():
        notes += cells.noted(table, code, cells.matches(table.columns[place], "[1-9]"))
    fields = _both_sides(table, account, contra, days, header[_CURRENCY] or "EUR")
    twice = replace(table, lines=np.repeat(table.lines, 2))
    exported_at = day_of(header[_CREATED])
    return Books(chosen(twice, fields, notes), decimal=",", doubts=doubts, exported_at=exported_at)


def _both_sides(
    table: Table, account: pa.ChunkedArray, contra: pa.ChunkedArray, days: pa.ChunkedArray, currency: str
) -> dict[str, Column]:
    """Return each row's posting to its account, and behind it the opposite one to its contra account."""
    amount, wkz, base, wkz_base = (
        cells.trimmed(table.columns[at]) for at in (_AMOUNT, _WKZ, _BASE, _WKZ_BASE)
    )
    # A row of another currency than the books' may have the amount of the books, too.
    in_books = pa.array(cells.matches(base, "[1-9]") & ~cells.blank(wkz_base))
    wkz = pc.if_else(pc.equal(wkz, ""), currency, wkz)
    row = np.repeat(np.arange(len(days)), 2)
    is_contra = np.tile([False, True], len(days))
    # DATEV takes an empty cell for S.
    is_credit = cells.matches(table.columns[_SIDE], "H")[row] ^ is_contra
    centres = [
        cells.or_null(cells.trimmed(table.columns[place]))
        for place in _COST_CENTRES
        if place < len(table.columns)
    ]
    return {
        "account_code": pc.if_else(pa.array(is_contra), contra.take(row), account.take(row)),
        "date": days.cast(schema.TEXT).take(row),
        "currency": pc.if_else(in_books, wkz_base, wkz).take(row),
        "text": table.columns[_TEXT].take(row),
        "document_number": table.columns[_DOCUMENT].take(row),
        "voucher_id": _texts(table.lines[row]),
        "tax_code": table.columns[_KEY].take(row),
        "amount": pc.if_else(in_books, base, amount).take(row),
        "side": _texts(np.where(is_credit, "H", "S")),
        "foreign_amount": pc.if_else(in_books, amount, "").take(row),
        "foreign_currency": pc.if_else(in_books, wkz, "").take(row),
        # The first of the two cost centres of each row (KOST1, KOST2), if the file has these columns.
        **({"cost_centre": pc.fill_null(pc.coalesce(*centres), "").take(row)} if centres else {}),
    }


def _texts(values: npt.NDArray[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values).cast(schema.TEXT)])


def _codes(table: Table, place: int, length: int) -> tuple[pa.ChunkedArray, list[Note]]:
    """Return accounts with the digits that a spreadsheet or a program left out."""
    codes = cells.trimmed(table.columns[place])
    cells.refuse(table, place, ~cells.matches(codes, r"^\d{1,9}$"), "no_account")
    short = cells.mask(pc.less(pc.utf8_length(codes), length))
    return pc.utf8_lpad(codes, length, "0"), cells.noted(table, "accounts_filled", short, length=length)


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
    first, last = (parsed(header[place], _DATE) or dt.date(year, 1, 1) for place, year in _PERIOD.items())
    low, high = (pa.scalar(day, schema.DATE) for day in (first, last))
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


# The period in the header, where it has one, by the years beyond all others.
_PERIOD = {_FROM: 1, _TO: 9999}

FORMAT = Format("DATEV", recognises, read)
