"""FEC, the fichier des écritures comptables of French tax audits: one posting a line, with tabs or pipes."""

from __future__ import annotations

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
    table_of,
)
from bktools.inputs.formats.format import Books
from bktools.inputs.raw.encoding import is_utf8
from bktools.inputs.raw.source import Source
from bktools.inputs.terms import normal

_HEADINGS = ("EcritureNum", "CompteNum")
# Books in France are kept in euros; a foreign amount stands beside, in Montantdevise.
_CURRENCY = "EUR"
_SPACE = pa.scalar(" ", schema.TEXT)
# Bytes that are no characters in ISO 8859 and that UTF-16 contains.
_NOT_LATIN = bytes([0, *range(0x80, 0xA0)])


def recognises(file: Source) -> bool:
    """Whether the first line holds the headings that no other format has."""
    return {*map(normal, _HEADINGS)} <= {*map(normal, first_cells(file))}


def read(file: Source, encoding: str | None) -> Books:
    """Return the accounts of the postings, or the postings; a voucher is a number of a journal."""
    data = file.data()
    # The norm's encodings are UTF-8 and ISO 8859-15; what is neither is told by its letters.
    is_latin = not is_utf8(data) and data.translate(None, _NOT_LATIN) == data
    encoding = encoding or ("iso8859-15" if is_latin else None)
    head, first, *_ = [*file.text.split("\n", 2), ""]
    table = table_of(file, 1, encoding, "FEC", has_quotes='"' in head)
    # Programs leave out the last cells in all rows: a last row with fewer cells than the first is cut off.
    end = len(data.rstrip(b"\r\n\0"))
    last, mark = data[data.rfind(b"\n", 0, end) + 1 : end], table.delimiter or ""
    if last.count(mark.encode()) < first.count(mark):
        raise file.error("cut_off")
    if file.kind == "chart":
        return Books(accounts_of(table, "CompteNum", "CompteLib"))
    journal, number = chosen(table, {"journal": "JournalCode", "number": "EcritureNum"}).columns
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
    has_sides = None not in (place_of(table, "Montant"), place_of(table, "Sens"))
    money: dict[str, Column] = (
        {"amount": "Montant", "side": "Sens"} if has_sides else {"debit": "Debit", "credit": "Credit"}
    )
    selected = chosen(table, fields | money)
    amounts = [selected.columns[selected.places[name]] for name in money]
    # A comma by the norm, a point where a file has points and no comma.
    points, commas = (any(cells.matches(column, mark).any() for column in amounts) for mark in (r"\.", ","))
    return Books(
        selected,
        decimal="." if points and not commas else ",",
        # In France the day stands first.
        date_format="%d/%m/%Y",
        currency=_CURRENCY,
    )
