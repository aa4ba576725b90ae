"""What charts and lists of accounts say of each account, with the interface's bounds (section 2.4)."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.reading import Reading
from bktools.inputs.table import Mask

_MORE_DIGITS = r"^\d{16,}$"
# Values of a tax column that holds rates instead of codes: 10%, 0.25, 0,19.
_RATE = r"^\s*(?:\d{1,3}(?:[.,]\d+)?\s*%|0?[.,]\d+)\s*$"


def account_fields(reading: Reading, company: str | None) -> dict[str, pa.ChunkedArray]:
    """Return the fields of each account; values that cannot be are the reading's problems."""
    _leave_rates(reading)
    columns = {field: reading.or_null(field) for field in ("external_id", "code", "name")}
    nothing = words.values("none")
    columns["tax_code_external_id"] = cells.each(
        reading.or_null("tax_code_external_id"),
        # A cell such as N/A says that there is none.
        lambda text: None if not text.strip() or words.normal(text) in nothing else text,
        schema.TEXT,
    )
    columns["company_id"] = _company_ids(reading, company)
    columns["archived"] = _archived(reading)
    with reading.trying():
        _refuse_text(reading)
    return columns


def _leave_rates(reading: Reading) -> None:
    """Take no column of tax rates as tax codes, unless an option names it; a note tells of each."""
    field = "tax_code_external_id"
    if reading.has("tax_rate"):
        reading.note("tax_rate", heading=reading.heading("tax_rate"))
        reading.leave("tax_rate")
    if reading.has(field) and not reading.is_asked(field):
        column = reading.or_null(field)
        if column.null_count < len(column) and cells.matches(column, _RATE).all():
            reading.note("tax_rate", heading=reading.heading(field))
            reading.leave(field)


def _refuse_text(reading: Reading) -> None:
    """Refuse an external ID, code or name that is too long, or a number that a workbook does not keep."""
    table = reading.table
    for place in {
        reading.places[field] for field in ("external_id", "code", "name") if field in reading.places
    }:
        column = table.columns[place]
        long = cells.mask(pc.greater(pc.utf8_length(column), LONGEST_TEXT))
        cells.refuse(table, place, long, "too_long", most=LONGEST_TEXT)
        if table.sheet is not None and place in table.numeric:
            cells.refuse(table, place, cells.matches(column, _MORE_DIGITS), "number_cut")


def duplicated(*keys: pa.ChunkedArray) -> Mask:
    """Return the rows that repeat an earlier one's keys; rows whose first key is null are not compared."""
    encoded = (pc.dictionary_encode(key, null_encoding="encode").combine_chunks() for key in keys)
    codes = pd.DataFrame({str(at): key.indices.to_numpy() for at, key in enumerate(encoded)})
    again: Mask = codes.duplicated().to_numpy() & ~cells.mask(pc.is_null(keys[0]))
    return again


def _company_ids(reading: Reading, company: str | None) -> pa.ChunkedArray:
    """Return each row's company: the one asked for, the file's, or null; any other one is a problem."""
    if not reading.has("company_id"):
        return reading.constant(company, schema.TEXT)
    column = reading.or_null("company_id")
    is_other = ~cells.matches(column, rules.UUID_REGEX)
    ids = pc.ascii_lower(column)
    if company is not None:
        is_other |= cells.mask(pc.not_equal(ids, company))
    if is_other.any():
        # One company of another system is the one asked for, or unknown; several are not.
        is_one = pc.count_distinct(column).as_py() == 1
        choices = [{"columns": {"company_id": ""}}] if is_one else []
        reading.ask_of_rows(
            "other_company", is_other, choices, heading=reading.heading("company_id"), company=company
        )
    return ids


def _archived(reading: Reading) -> pa.ChunkedArray:
    """Return which rows are archived, by the archived or the active column or both; by default none."""
    result = reading.constant(False, schema.FLAG)
    for field, yes in (("archived", True), ("active", False)):
        if reading.has(field):
            column = cells.trimmed(reading.column(field))
            flags = _flags(column, yes=yes)
            unknown = cells.mask(pc.is_null(flags))
            if unknown.any():
                text = column[int(unknown.argmax())].as_py()
                choices = [{"columns": {field: ""}}]
                reading.ask_of_rows(
                    "no_flag", unknown, choices, field=field, heading=reading.heading(field), value=text
                )
            result = pc.or_kleene(result, pc.fill_null(flags, False))
    return result


def _flags(column: pa.ChunkedArray, *, yes: bool) -> pa.ChunkedArray:
    """Return what each cell says of being archived; null where its word is not known."""
    meanings = {"yes": yes, "no": not yes, "active": False, "archived": True}
    meant = {"": False} | {word: flag for name, flag in meanings.items() for word in words.values(name)}
    return cells.each(column, lambda text: meant.get(words.normal(text)), schema.FLAG)
