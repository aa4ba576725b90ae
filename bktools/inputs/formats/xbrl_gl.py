"""XBRL GL as CSV: the columns are elements of the Global Ledger taxonomy, with or without the prefix of their module."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from bktools.inputs import cells
from bktools.inputs.columns import normal
from bktools.inputs.formats.delimited_text import first_cells, required, table_of
from bktools.inputs.formats.format import File, Ledger, chosen, first_of_each, from_row_above
from bktools.inputs.table import Table

_PREFIX = re.compile(r"^.*[:_./]")
_ACCOUNT, _NAME = "accountMainID", "accountMainDescription"
# Field to the elements that hold it; those of an entry stand on its own row where the file has one.
_OF_ENTRY = {
    "date": ("postingDate", "enteredDate"),
    "document_number": ("documentNumber", "documentReference"),
    "voucher_id": ("entryNumber", "uniqueID"),
}
_OF_LINE = {"currency": ("amountCurrency",), "tax_code": ("taxCode",)}
_TEXTS = ("detailComment", "entryComment")
_HEADINGS = frozenset(
    normal(name)
    for name in (
        _ACCOUNT, _NAME, "amount", "debitCreditCode", "signOfAmount", *_TEXTS,
        *(name for names in (*_OF_ENTRY.values(), *_OF_LINE.values()) for name in names),
    )
)  # fmt: skip


def recognises(file: File) -> bool:
    """Whether the headings name the account and the amount as XBRL GL does."""
    found = {_element(cell) for cell in first_cells(file)}
    return _ACCOUNT in found and bool(found & {"debitCreditCode", "amount"})


def chart(file: File) -> Table:
    """Return the accounts of the postings, each once."""
    table = _postings(_read(file))
    code, name = required(table, _ACCOUNT), required(table, _NAME)
    kept, notes = first_of_each(table, code, name)
    return chosen(table, {"code": table.columns[code], "name": table.columns[name]}, *notes)[0].rows(kept)


def ledger(file: File) -> Ledger:
    """Return the postings; debit or credit is a column of its own, or the sign of the amount."""
    whole = _read(file)
    table = _postings(whole)
    fields: dict[str, pa.ChunkedArray | int] = {
        "account_code": required(table, _ACCOUNT),
        "date": required(table, *_OF_ENTRY["date"]),
    }
    found = {
        "account_name": _first(table, (_NAME,)),
        **{field: _first(table, names) for field, names in (_OF_ENTRY | _OF_LINE).items()},
        "text": _first(table, _TEXTS),
        "side": _first(table, ("debitCreditCode",)),
    }
    fields |= {field: place for field, place in found.items() if place is not None}
    fields["amount"] = required(table, "amount")
    selected, places = chosen(table, fields)
    return Ledger(selected, places)


def _element(heading: str) -> str:
    return _PREFIX.sub("", heading.strip())


def _first(table: Table, names: tuple[str, ...]) -> int | None:
    return next((table.headings.index(name) for name in names if name in table.headings), None)


def _read(file: File) -> Table:
    prefixed = frozenset(normal(cell) for cell in first_cells(file) if normal(_element(cell)) in _HEADINGS)
    table = table_of(file, _HEADINGS | prefixed, None)
    fields: dict[str, pa.ChunkedArray | int] = {}
    for place, heading in enumerate(table.headings):
        fields.setdefault(_element(heading), table.columns[place])
    return chosen(table, fields, "read as XBRL GL")[0]


def _postings(table: Table) -> Table:
    """Return the rows with an account, each with the fields that a row above gives for the whole entry."""
    is_posting = ~cells.blank(table.columns[required(table, _ACCOUNT)])
    if not is_posting.all() and not is_posting[0]:
        of_entry = {name for names in (*_OF_ENTRY.values(), ("entryComment",)) for name in names}
        columns: dict[str, pa.ChunkedArray | int] = {
            heading: from_row_above(table.columns[place], ~is_posting) if heading in of_entry else table.columns[place]
            for place, heading in enumerate(table.headings)
        }
        table = chosen(table, columns)[0]
    return table.rows(np.asarray(is_posting))
