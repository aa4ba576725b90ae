"""FEC, the fichier des écritures comptables of French tax audits: one posting a line, with tabs or pipes."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.encoding import read_text, recoded, utf8_error
from bktools.inputs.formats.delimited_text import (
    Column,
    accounts_of,
    chosen,
    first_cells,
    place_of,
    required,
    table_of,
)
from bktools.inputs.formats.format import File, Format, Ledger
from bktools.inputs.notes import note
from bktools.inputs.regular_text import regular_body
from bktools.inputs.table import Body, Rows, Table
from bktools.inputs.words import normal

_HEADINGS = ("EcritureNum", "CompteNum")
# Books in France are kept in euros; a foreign amount stands beside, in Montantdevise.
_CURRENCY = "EUR"
_NOTE = note("format", name="FEC")
# The norm's dates, and those of programs that do not keep to it. In France the day stands first.
_DATES = "%Y%m%d"
_OTHER_DATES = {"%Y-%m-%d": r"^\d{4}-\d\d-\d\d$", "%d/%m/%Y": r"^\d\d/\d\d/\d{4}$"}
_DELIMITERS = "\t|;"
# Montantdevise and Idevise, the last columns of the norm.
_FOREIGN_CELLS = 2
# Bytes that are no characters in ISO 8859 and that UTF-16 contains.
_NOT_LATIN = bytes([0, *range(0x80, 0xA0)])
_SPACE = pa.scalar(" ", schema.TEXT)


def recognises(file: File) -> bool:
    """Whether the first line holds the headings that no other format has."""
    return {*map(normal, _HEADINGS)} <= {*map(normal, first_cells(file))}


def chart(file: File) -> Table:
    """Return the accounts of the postings, each once."""
    return accounts_of(_read(file), "CompteNum", "CompteLib")


def ledger(file: File) -> Ledger:
    """Return the postings; a voucher is a number of a journal."""
    table = _read(file)
    journal, number = (table.columns[required(table, name)] for name in ("JournalCode", "EcritureNum"))
    fields: dict[str, Column] = {
        "account_code": "CompteNum",
        "account_name": "CompteLib",
        "date": "EcritureDate",
        "text": "EcritureLib",
        "document_number": "PieceRef",
        "voucher_id": cells.trimmed(pc.binary_join_element_wise(journal, number, _SPACE)),
    }
    if None not in (place_of(table, "Montantdevise"), place_of(table, "Idevise")):
        fields |= {"foreign_amount": "Montantdevise", "foreign_currency": "Idevise"}
    if None in (place_of(table, "Montant"), place_of(table, "Sens")):
        money: dict[str, Column] = {"debit": "Debit", "credit": "Credit"}
    else:
        money = {"amount": "Montant", "side": "Sens"}
    selected = chosen(table, fields | money)
    amounts = [selected.columns[selected.places[name]] for name in money]
    # A comma by the norm, a point where a file has points and no comma.
    points, commas = (any(cells.matches(column, mark).any() for column in amounts) for mark in (r"\.", ","))
    decimal = "." if points and not commas else ","
    return Ledger(selected, decimal=decimal, date_format=_form_of_dates(selected), currency=_CURRENCY)


def _form_of_dates(table: Table) -> str:
    """Return the form of the dates: that of the norm, unless each date has the one of another program."""
    column = cells.trimmed(table.columns[table.places["date"]])
    return next((form for form, look in _OTHER_DATES.items() if cells.matches(column, look).all()), _DATES)


def _read(file: File) -> Table:
    data = file.data()
    # The norm's encodings are UTF-8 and ISO 8859-15; what is neither is told by its letters, or asked for.
    is_latin = utf8_error(data) is not None and data.translate(None, _NOT_LATIN) == data
    encoding = file.encoding or ("iso8859-15" if is_latin else None)
    head = file.text.split("\n", 1)[0]
    if '"' in head:
        return table_of(file, _HEADINGS, encoding, _NOTE)
    return _split(file, data, encoding, max(_DELIMITERS, key=head.count))


def _split(file: File, data: bytes, encoding: str | None, delimiter: str) -> Table:
    """Return the cells of a file without quoted texts, as in the norm: a quote is like other characters."""
    text, read_as = (
        (recoded(data, encoding, file.source), encoding)
        if encoding
        else read_text(data, None, file.source, lambda _: set())[1::-1]
    )
    headings = tuple(map(str.strip, text.split(b"\n", 1)[0].decode().strip().split(delimiter)))
    body = regular_body(text, first_line=2, width=len(headings), delimiter=delimiter, has_quotes=False)
    columns, lines = body or _careful_body(file, text.decode(), len(headings), delimiter)
    if not len(lines):
        raise file.error("is a FEC without postings")
    table = Table(file.source, headings, columns, lines, 0, notes=(_NOTE,), sha256=file.sha256)
    table = replace(table, encoding=read_as, delimiter=delimiter)
    return cells.without_blank_rows(table, range(len(headings)))


def _careful_body(file: File, text: str, width: int, delimiter: str) -> Body:
    """Return the rows below the headings; one of another width is an `InputError`.

    All rows may lack the last cells, which hold amounts in other currencies.
    """
    lines = enumerate(text.split("\n")[1:], 2)
    filled = [
        (line, row.rstrip("\r").split(delimiter)) for line, row in lines if row.strip(f" \r{delimiter}")
    ]
    widths = {len(own) for _, own in filled}
    missing = width - min(widths, default=width)
    padding = [""] * missing if len(widths) == 1 and missing <= _FOREIGN_CELLS else []
    rows = Rows(*map(str, range(width)))
    for line, own in filled:
        if len(own) + len(padding) < width or any(own[width:]):
            why = f"{len(own)} cells, but {width} headings: the file is damaged or cut off, export it again"
            raise file.error(why, line)
        rows.add(line, *(own + padding)[:width])
    return rows.body()


FORMATS = (Format("FEC", recognises, chart, ledger),)
