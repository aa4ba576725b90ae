"""DATEV's EXTF and DTVF files: a header of 31 cells, headings, and rows whose cells have fixed places.

A row of a Buchungsstapel posts an amount to an account and the opposite one to its contra account. A date is
day and month; its year is that of the fiscal year in the header, as is the length of the accounts.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.days import parsed
from bktools.inputs.encoding import utf8_error
from bktools.inputs.formats.delimited_text import (
    Column,
    accounts_of,
    chosen,
    first_cells,
    place_of,
    required,
    table_of,
)
from bktools.inputs.formats.format import File, Format, Ledger, company_in_file, day_of
from bktools.inputs.notes import Note, note
from bktools.inputs.table import Table
from bktools.inputs.words import normal

_MARKS = ("EXTF", "DTVF")
_LABELS, _POSTINGS = "20", "21"
_DATE = "%Y%m%d"
# Some of the headings, which are on the second line.
_HEADINGS = ("Konto", "Kontobeschriftung", "Kontenbeschriftung", "WKZ Umsatz", "Belegdatum", "Buchungstext")
# Places in the header and in a row of a Buchungsstapel, which DATEV reads by place, not by heading.
_CATEGORY, _NAME, _CREATED, _ADVISER, _CLIENT = 2, 3, 5, 10, 11
_YEAR_BEGINS, _LENGTH, _FROM, _TO, _CURRENCY = 12, 13, 14, 15, 21
_AMOUNT, _SIDE, _WKZ, _BASE, _WKZ_BASE, _ACCOUNT, _CONTRA = 0, 1, 2, 4, 5, 6, 7
_KEY, _DAY, _DOCUMENT, _DISCOUNT, _TEXT = 8, 9, 10, 12, 13
_COST_CENTRES = (36, 37)


class _Header(NamedTuple):
    cells: list[str]
    year_begins: dt.date
    length: int


def recognises(file: File) -> bool:
    """Whether the first cell is DATEV's mark."""
    return first_cells(file)[:1] in ([mark] for mark in _MARKS)


def chart(file: File) -> Table:
    """Return the accounts of Kontenbeschriftungen, with as many digits as the header says."""
    header, table = _read(file, _LABELS, "no names of accounts: export Kontenbeschriftungen")
    codes, notes = _codes(table, required(table, "Konto"), header.length)
    accounts = accounts_of(table, codes, ("Kontobeschriftung", "Kontenbeschriftung"), *notes)
    adviser, client = header.cells[_ADVISER], header.cells[_CLIENT]
    # A client's number is one of its adviser's.
    company = company_in_file("/".join(filter(None, (adviser, client))) if client else "", "")
    return replace(accounts, company=company)


def ledger(file: File) -> Ledger:
    """Return two postings for each row of a Buchungsstapel."""
    header, table = _read(file, _POSTINGS, "no postings: export the Buchungsstapel")
    if len(table.headings) <= _TEXT or not normal(table.headings[_AMOUNT]).startswith("umsatz"):
        raise table.error(
            "its columns are not those of a DATEV Buchungsstapel (Umsatz, Soll/Haben-Kennzeichen, …): "
            "export it again",
            table.heading_line,
        )
    incomplete = np.logical_or.reduce(
        [cells.blank(table.columns[place]) for place in (_AMOUNT, _ACCOUNT, _CONTRA)]
    )
    incomplete &= not incomplete.all()
    doubts = cells.noted(table, "datev_incomplete", incomplete)
    table = table.rows(~incomplete)
    _refuse_wrong_rows(table)
    account, notes = _codes(table, _ACCOUNT, header.length)
    contra, _ = _codes(table, _CONTRA, header.length)
    days = _days(table, header.year_begins)
    doubts += _doubts(table, header, days)
    # DATEV books these when it imports the rows; such postings are missing here.
    places = {"datev_tax_keys": _KEY, "datev_discounts": _DISCOUNT}
    for code, place in places.items():
        notes += cells.noted(table, code, cells.matches(table.columns[place], "[1-9]"))
    fields = _both_sides(table, account, contra, days, header.cells[_CURRENCY] or "EUR")
    twice = replace(table, lines=np.repeat(table.lines, 2))
    return Ledger(
        chosen(twice, fields, *notes), decimal=",", doubts=doubts, exported_at=day_of(header.cells[_CREATED])
    )


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
        **_cost_centre(table, row),
    }


def _cost_centre(table: Table, row: npt.NDArray[np.int64]) -> dict[str, Column]:
    """Return the first of the two cost centres of each row (KOST1, KOST2), if the file has these columns."""
    places = [place for place in _COST_CENTRES if place < len(table.columns)]
    texts = [cells.or_null(cells.trimmed(table.columns[place])) for place in places]
    return {"cost_centre": pc.fill_null(pc.coalesce(*texts), "").take(row)} if texts else {}


def _texts(values: npt.NDArray[Any]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values).cast(schema.TEXT)])


def _read(file: File, category: str, lacking: str) -> tuple[_Header, Table]:
    """Return header and rows; refuse a file of another category with the name of what it lacks."""
    head = [cell.strip() for cell in first_cells(file)] + [""] * _CURRENCY
    begins, length = parsed(head[_YEAR_BEGINS], _DATE), head[_LENGTH]
    if begins is None or not (length.isdecimal() and 4 <= int(length) <= 9):
        raise file.error(
            "the DATEV header does not say when the fiscal year begins (cell 13) and how long accounts are "
            "(cell 14): export the file again",
            line=1,
        )
    name = head[_NAME] or "another kind"
    if head[_CATEGORY] != category:
        raise file.error(f"is a DATEV file of {name}, which holds {lacking}")
    encoding = None if utf8_error(file.data()) is None else "cp1252"
    return _Header(head, begins, int(length)), table_of(
        file, _HEADINGS, encoding, note("format", name=f"DATEV {name}")
    )


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


def _days(table: Table, year_begins: dt.date) -> pa.ChunkedArray:
    encoded = pc.dictionary_encode(cells.trimmed(table.columns[_DAY])).combine_chunks()
    dates = pa.array([_date(text, year_begins) for text in encoded.dictionary.to_pylist()], schema.DATE)
    days = pa.chunked_array([dates.take(encoded.indices)])
    cells.refuse(table, _DAY, cells.mask(pc.is_null(days)), "datev_day", begins=str(year_begins))
    return days


def _date(text: str, begins: dt.date) -> dt.date | None:
    if not (text.isdecimal() and 3 <= len(text) <= 4):
        return None
    day, month = divmod(int(text), 100)
    try:
        return dt.date(begins.year + ((month, day) < (begins.month, begins.day)), month, day)
    except ValueError:
        return None


def _doubts(table: Table, header: _Header, days: pa.ChunkedArray) -> list[Note]:
    """Return the rows of other days than those the header is about, and those that reverse others."""
    first, last = (parsed(header.cells[place], _DATE) for place in (_FROM, _TO))
    outside = np.zeros(len(days), dtype=bool)
    if first is not None and last is not None:
        low, high = (pa.scalar(day, schema.DATE) for day in (first, last))
        outside = cells.mask(pc.or_(pc.less(days, low), pc.greater(days, high)))
    # Some programs turn Soll/Haben for a reversal, others rely on its mark; an older mark is a key such as
    # 20.
    is_reversal = cells.matches(cells.trimmed(table.columns[_KEY]), r"^[23]\d$")
    place = place_of(table, "Generalumkehr (GU)", "Generalumkehr")
    if place is not None:
        is_reversal |= cells.matches(cells.trimmed(table.columns[place]), "^[1G]$")
    return [
        *cells.noted(table, "datev_outside", outside, first=str(first), last=str(last)),
        *cells.noted(table, "datev_reversals", is_reversal),
    ]


FORMATS = (Format("DATEV", recognises, chart, ledger),)
