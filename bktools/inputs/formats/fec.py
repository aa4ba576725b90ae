"""FEC, the fichier des écritures comptables of French tax audits: a posting a line, with tabs or pipes between cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs.encoding import to_utf8, utf8_error
from bktools.inputs.formats.delimited_text import chosen, first_of_each, has_headings, place_of, required, table_of
from bktools.inputs.formats.format import Chart, File, Format, Ledger
from bktools.inputs.table import Rows, Table
from bktools.inputs.words import normal

_READ = frozenset(
    {
        "journalcode", "ecriturenum", "ecrituredate", "comptenum", "comptelib", "pieceref", "ecriturelib", "debit", "credit",
        "montant", "sens",
    }
)  # fmt: skip
# Books in France are kept in euros; a foreign amount stands beside, in Montantdevise.
_CURRENCY = "EUR"
_NOTE = "read as FEC"
_DELIMITERS = "\t|;"
# What ISO 8859 has no characters for, and what UTF-16 has.
_NOT_LATIN = bytes([0, *range(0x80, 0xA0)])
_SPACE = pa.scalar(" ", schema.TEXT)


def recognises(file: File) -> bool:
    """Whether the first line holds the headings that no other format has."""
    return has_headings(file, "EcritureNum", "CompteNum")


def chart(file: File) -> Chart:
    """Return the accounts of the postings, each once."""
    table = _read(file)
    code, name = required(table, "CompteNum"), required(table, "CompteLib")
    kept, notes = first_of_each(table.columns[code], table.columns[name])
    accounts, places = chosen(table, {"code": code, "name": name}, *notes)
    return Chart(accounts.rows(kept), places)


def ledger(file: File) -> Ledger:
    """Return the postings; a voucher is a number of a journal."""
    table = _read(file)
    journal, number = (table.columns[required(table, name)] for name in ("JournalCode", "EcritureNum"))
    fields: dict[str, pa.ChunkedArray | int] = {
        "account_code": required(table, "CompteNum"),
        "account_name": required(table, "CompteLib"),
        "date": required(table, "EcritureDate"),
        "text": required(table, "EcritureLib"),
        "document_number": required(table, "PieceRef"),
        "voucher_id": pc.utf8_trim_whitespace(pc.binary_join_element_wise(journal, number, _SPACE)),
    }
    amount, side = place_of(table, "Montant"), place_of(table, "Sens")
    if amount is not None and side is not None:
        fields |= {"amount": amount, "side": side}
    else:
        fields |= {"debit": required(table, "Debit"), "credit": required(table, "Credit")}
    selected, places = chosen(table, fields)
    return Ledger(selected, places, decimal=_decimal(selected, places), date_format="%Y%m%d", currency=_CURRENCY)


def _read(file: File) -> Table:
    data = file.data()
    # The norm's encodings are UTF-8 and ISO 8859-15; what is neither is told by its letters, or asked for.
    is_latin = utf8_error(data) is not None and data.translate(None, _NOT_LATIN) == data
    encoding = file.encoding or ("iso8859-15" if is_latin else None)
    head = file.text.split("\n", 1)[0]
    if '"' in head:
        return table_of(file, _READ, encoding, _NOTE)
    return _split(file, data, encoding, max(_DELIMITERS, key=head.count))


def _split(file: File, data: bytes, encoding: str | None, delimiter: str) -> Table:
    """Return the cells of a file whose texts are not quoted, as the norm has it: a quote is a character like others."""
    text, read_as = to_utf8(data, encoding, file.source)
    first, *lines = text.decode().split("\n")
    headings = first.strip().split(delimiter)
    kept = [place for place, heading in enumerate(headings) if normal(heading) in _READ]
    rows = Rows(*(headings[place].strip() for place in kept))
    for line, row in enumerate(lines, 2):
        cells = row.rstrip("\r").split(delimiter)
        if not row.strip(f" \r{delimiter}"):
            continue
        if len(cells) < len(headings) or any(cells[len(headings) :]):
            raise InputError(
                f"{len(cells)} cells, but {len(headings)} headings: the file is damaged or cut off, export it again",
                source=file.source,
                line=line,
            )
        rows.add(line, *(cells[place] for place in kept))
    return file.table(rows, "is a FEC without postings", _NOTE, encoding=read_as, delimiter=delimiter)


def _decimal(table: Table, places: dict[str, int]) -> str:
    """Return the decimal mark: a comma by the norm, a point where a file has points and no comma."""
    amounts = [table.columns[places[name]] for name in ("amount", "debit", "credit") if name in places]

    def has(mark: str) -> bool:
        return any(bool(np.any(pc.match_substring(column, mark).to_numpy())) for column in amounts)

    return "." if has(".") and not has(",") else ","


FORMATS = (Format("FEC", recognises, chart, ledger),)
