"""Fields of accounts, with the interface's bounds (section 2.4), and the service's export of accounts."""

from __future__ import annotations

from os import PathLike

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.connection import company_named
from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.cells import leave_out, option, raise_all
from bktools.inputs.columns import Columns, Reading, Vocabulary, opened

# The columns of a list of accounts, in their order.
_FIELDS = ("id", "external_id", "name", "code", "archived", "tax_code_external_id", "company_id")
_MORE_DIGITS = r"^\d{16,}$"
# Values of a tax column that holds rates instead of codes: 10%, 0.25, 0,19.
_RATE = r"^\s*(?:\d{1,3}(?:[.,]\d+)?\s*%|0?[.,]\d+)\s*$"


def checked(reading: Reading, company: str | None, *, are_accounts: bool) -> dict[str, pa.ChunkedArray]:
    """Return the facts of charts and account lists about each account; bad values are the reading's problems.

    `are_accounts` says that no row is a title or a total, whose texts may be long or repeated.
    """
    _leave_rates(reading)
    columns = {field: reading.or_null(field) for field in ("external_id", "code", "name")}
    tax_codes = reading.or_null("tax_code_external_id")
    # A cell such as N/A says that there is none.
    says_none = words.are(tax_codes, words.values("none"))
    columns["tax_code_external_id"] = pc.if_else(says_none, pa.scalar(None, schema.TEXT), tax_codes)
    with reading.trying():
        columns["company_id"] = _company_ids(reading, company)
    with reading.trying():
        columns["archived"] = _archived(reading)
    if are_accounts:
        with reading.trying():
            _refuse_text(reading)
        if reading.has("external_id") and "company_id" in columns:
            with reading.trying():
                _refuse_duplicates(reading, "external_id", columns["external_id"], columns["company_id"])
    return columns


def _leave_rates(reading: Reading) -> None:
    """Take no column of tax rates as tax codes, unless the caller named it; a note tells of each."""
    if reading.has("tax_rate"):
        reading.notes.append(
            f"{reading.heading('tax_rate')!r} is a tax rate, not the identifier of a tax code: not read"
        )
        reading.leave("tax_rate")
    field = "tax_code_external_id"
    if reading.has(field) and not reading.is_settled(field):
        column = reading.or_null(field)
        if column.null_count < len(column) and cells.matches(column, _RATE).all():
            heading = reading.heading(field)
            reading.notes.append(
                f"{heading!r} holds tax rates, not identifiers of tax codes: not read; "
                f"take it all the same with {option(field, heading)}"
            )
            reading.leave(field)


def _refuse_text(reading: Reading) -> None:
    """Refuse an external ID, code or name that is too long, or a number that a workbook does not keep."""
    table = reading.table
    for place in {
        reading.places[field] for field in ("external_id", "code", "name") if field in reading.places
    }:
        column = table.columns[place]
        long = cells.mask(pc.greater(pc.utf8_length(column), LONGEST_TEXT))
        cells.refuse(table, place, long, f"must have at most {LONGEST_TEXT} characters (shorten it)")
        if table.sheet is not None and place in table.numeric:
            rule = "is a number, of which a workbook keeps 15 digits (write it as text)"
            cells.refuse(table, place, cells.matches(column, _MORE_DIGITS), rule)


def _refuse_duplicates(reading: Reading, field: str, *keys: pa.ChunkedArray) -> None:
    """Raise an error when a row repeats another one's keys; rows whose first key is null are not compared."""
    table = reading.table
    encoded = (pc.dictionary_encode(key, null_encoding="encode").combine_chunks() for key in keys)
    codes = pd.DataFrame({at: key.indices.to_numpy() for at, key in enumerate(encoded)})
    again = codes.duplicated().to_numpy() & ~cells.mask(pc.is_null(keys[0]))
    if not again.any():
        return
    second = int(again.argmax())
    first = int((codes == codes.iloc[second]).all(axis="columns").to_numpy().argmax())
    many = f"; {again.sum()} rows repeat one: {cells.lines_of(table, again)}" if again.sum() > 1 else ""
    what = {"external_id": "external ID"}.get(field, field)
    raise table.error(
        f"{what} {cells.quoted(reading.column(field)[second].as_py())} is on line {table.lines[first]} "
        f"already, it must be unique{many}; correct the file",
        int(table.lines[second]),
        columns=_codes_as_ids(reading) if field == "external_id" else {},
    )


def _codes_as_ids(reading: Reading) -> dict[str, str]:
    """Return the columns with which the codes are the external IDs, if each row has a code of its own."""
    if not reading.has("code") or reading.places["code"] == reading.places["external_id"]:
        return {}
    code = reading.or_null("code")
    is_unique = not code.null_count and pc.count_distinct(code).as_py() == len(code)
    heading = cells.heading_of(reading.table, reading.places["code"])
    return dict.fromkeys(("external_id", "code"), heading) if is_unique else {}


def _company_ids(reading: Reading, company: str | None) -> pa.ChunkedArray:
    """Return each row's company: the one asked for, the file's, or null; refuse any other company."""
    if reading.has("company_id"):
        # One company of another system is the one asked for, or unknown; several are not.
        is_one = pc.count_distinct(reading.or_null("company_id")).as_py() == 1
        instead = {"company_id": ""} if is_one else {}
        written = cells.uuids(reading.table, reading.places["company_id"], required=False, instead=instead)
        if company is None:
            return written
        rule = f"must be the company asked for, {company} (split the file, or ask for its own)"
        reading.refuse("company_id", cells.mask(pc.not_equal(written, company)), rule)
    return reading.constant(company, schema.TEXT)


def _archived(reading: Reading) -> pa.ChunkedArray:
    """Return which rows are archived, by the archived or the active column or both; by default none."""
    result = reading.constant(False, schema.FLAG)
    for field, yes in (("archived", True), ("active", False)):
        if reading.has(field):
            meanings = {"yes": yes, "no": not yes, "active": False, "archived": True}
            meant = {"": False} | {
                word: flag for name, flag in meanings.items() for word in words.values(name)
            }
            flags = words.in_column(reading.column(field), meant)
            rule = (
                "must say yes or no, active or archived in a known word (correct it, "
                "or leave the column out: "
            )
            reading.refuse(field, cells.mask(pc.is_null(flags)), f"{rule}{leave_out(field)})")
            result = pc.or_(result, flags)
    return result


def read_accounts(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    company: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> pd.DataFrame:
    """Read the service's accounts (interface, section 2.4) from a file that its user interface exported.

    The arguments are those of `read_chart_of_accounts`. Returns one row per account, in the file's order,
    with `_FIELDS`. All but `id` and `archived` are null where the file does not say them: an external ID is
    never taken from the code here, since accounts are matched by it. A file without a column for `id`, and an
    `id` or external ID that is malformed or there twice, are an `InputError`.
    """
    company = None if company is None else company_named(company)
    reading = opened(
        path, Vocabulary("accounts", columns), delimiter=delimiter, encoding=encoding, sheet=sheet
    )
    reading.assign(required=("id",))
    raise_all(reading.problems, reading.table)
    cells.refuse_broken(reading.table, reading.places.values())
    reading.table = cells.without_blank_rows(reading.table, reading.places.values())
    fields = checked(reading, company, are_accounts=True)
    with reading.trying():
        fields["id"] = cells.uuids(reading.table, reading.places["id"], required=True)
        _refuse_duplicates(reading, "id", fields["id"])
    raise_all(reading.problems, reading.table)
    if not reading.has("external_id"):
        reading.notes.append("no column found for 'external_id': these accounts cannot be matched to a chart")
    result = pa.table({field: fields[field] for field in _FIELDS})
    return schema.to_pandas(result, reading.provenance(result.num_rows, reading.places))
