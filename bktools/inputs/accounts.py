"""Fields of accounts, with the interface's bounds (section 2.4), and the list of accounts that the service exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.contract.accounts import LONGEST_TEXT
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.cells import leave_out, option, raise_all
from bktools.inputs.columns import Columns, Vocabulary
from bktools.inputs.file import read_table
from bktools.inputs.table import Table

# What a tax column holds when it is a rate in disguise: 10%, 0.25, 0,19.
_RATE = r"^\s*(?:\d{1,3}(?:[.,]\d+)?\s*%|0?[.,]\d+)\s*$"


def without_rates(table: Table, places: Mapping[str, int], notes: list[str], *, said: bool) -> dict[str, int]:
    """Return the columns without those that hold a tax rate, which is never the identifier of a tax code.

    Parameters
    ----------
    table : Table
        The file.
    places : mapping
        Field to column.
    notes : list of str
        Gets a line for each column that is left out.
    said : bool
        The caller named the tax code's column: then it is taken whatever it holds.
    """
    taken = dict(places)
    rate = taken.pop("tax_rate", None)
    if rate is not None:
        notes.append(f"{table.headings[rate]!r} is a tax rate, not the identifier of a tax code: not read")
    place = taken.get("tax_code_external_id")
    if place is not None and not said:
        column = cells.or_null(table.columns[place])
        if column.null_count < len(column) and cells.matches(column, _RATE).all():
            del taken["tax_code_external_id"]
            notes.append(
                f"{table.headings[place]!r} holds tax rates, not identifiers of tax codes: not read; take it all the"
                f" same with {option('tax_code_external_id', table.headings[place])}"
            )
    return taken


def optional(table: Table, places: Mapping[str, int], field: str) -> pa.ChunkedArray:
    """Return a column's text with nulls for empty cells, or nulls alone where the file has no such column."""
    if field in places:
        return cells.or_null(table.columns[places[field]])
    return cells.constant(None, schema.TEXT, len(table.lines))


def refuse_long_text(table: Table, places: Mapping[str, int]) -> None:
    """Raise an error when an external ID, code or name is longer than the interface takes."""
    for place in {places[field] for field in ("external_id", "code", "name") if field in places}:
        long = cells.mask(pc.greater(pc.utf8_length(table.columns[place]), LONGEST_TEXT))
        cells.refuse(table, place, long, f"must have at most {LONGEST_TEXT} characters (shorten it)")


def refuse_duplicates(table: Table, place: int, what: str, keys: Sequence[pa.ChunkedArray]) -> None:
    """Raise an error when a row repeats another one's keys; rows whose first key is null are not compared."""
    codes = [pc.dictionary_encode(key).combine_chunks().indices.to_pandas() for key in keys]
    again = pd.concat(codes, axis=1).duplicated().to_numpy() & ~cells.mask(pc.is_null(keys[0]))
    if not again.any():
        return
    second = int(np.argmax(again))
    same = [(code == code.iloc[second]) | (code.isna() & pd.isna(code.iloc[second])) for code in codes]
    first = int(np.argmax(np.logical_and.reduce(same)))
    many = f"; {again.sum()} rows repeat one: {cells.lines_of(table, again)}" if again.sum() > 1 else ""
    raise InputError(
        f"{what} {cells.quoted(table.columns[place][second].as_py())} is on line {table.lines[first]} already, it must be"
        f" unique{many}; correct the file",
        source=table.source,
        line=int(table.lines[second]),
    )


def company_ids(table: Table, places: Mapping[str, int], company: str | None) -> pa.ChunkedArray:
    """Return each row's company: the one asked for, the file's own, or null.

    Raises
    ------
    InputError
        When a row belongs to another company than the one asked for.
    """
    rows = len(table.lines)
    if "company_id" not in places:
        return cells.constant(company, schema.TEXT, rows)
    # One company of another system is the one asked for, or unknown; several are not.
    is_one = pc.count_distinct(cells.or_null(table.columns[places["company_id"]])).as_py() == 1
    written = cells.uuids(table, places["company_id"], required=False, instead={"company_id": ""} if is_one else {})
    if company is None:
        return written
    cells.refuse(
        table,
        places["company_id"],
        cells.mask(pc.not_equal(written, company)),
        f"must be the company asked for, {company} (split the file, or ask for its own)",
    )
    return cells.constant(company, schema.TEXT, rows)


def tax_codes(table: Table, places: Mapping[str, int]) -> pa.ChunkedArray:
    """Return the identifiers of tax codes; null where a cell is empty or says that there is none, such as N/A."""
    column = optional(table, places, "tax_code_external_id")
    return pc.if_else(words.are(column, words.values("none")), pa.scalar(None, schema.TEXT), column)


def archived(table: Table, places: Mapping[str, int]) -> pa.ChunkedArray:
    """Return which rows are archived: by the archived column, the active column, or either; without one none is."""
    flags = [
        _archived(table, places[field], field, yes=yes)
        for field, yes in (("archived", True), ("active", False))
        if field in places
    ]
    if not flags:
        return cells.constant(False, schema.FLAG, len(table.lines))
    return flags[0] if len(flags) == 1 else pc.or_(*flags)


def _archived(table: Table, place: int, field: str, *, yes: bool) -> pa.ChunkedArray:
    meanings = {"yes": yes, "no": not yes, "active": False, "archived": True}
    meant = {"": False} | {word: flag for name, flag in meanings.items() for word in words.values(name)}
    result = words.in_column(table.columns[place], meant, schema.FLAG)
    rule = f"must say yes or no, active or archived in a known word (correct it, or leave the column out: {leave_out(field)})"
    cells.refuse(table, place, cells.mask(pc.is_null(result)), rule)
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
    r"""Read the accounts that the service holds from a file its user interface exported.

    Parameters
    ----------
    path : str or path
        The file: CSV, TSV, Excel or Parquet.
    columns : mapping, optional
        Field to heading, for what is not recognised: `id`, `external_id`, `name`, `code`, `archived`, `active`,
        `tax_code_external_id`, `company_id`. An empty heading leaves the field out.
    company : str, optional
        UUID of the company the accounts belong to.
    delimiter : str, optional
        One character.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.

    Returns
    -------
    pandas.DataFrame
        One row per account, in the file's order: `id`, `external_id`, `name`, `code`, `archived`,
        `tax_code_external_id`, `company_id`. All but `id` and `archived` are null where the file does not say them: an
        external ID is never taken from the code here, since accounts are matched by it.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for `id`, or an `id` or external ID is malformed or there twice.
    ArgumentError
        When an argument is not what it must be.

    Notes
    -----
    Section 2.4 of the interface.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "accounts.csv")
    ...     _ = path.write_text("id,external_id,name\n1b4e28ba-2fa1-41d2-883f-0016d3cca427,0400,Machines\n")
    ...     accounts = read_accounts(path)
    >>> accounts[["external_id", "name"]].values.tolist()
    [['0400', 'Machines']]
    """
    company = None if company is None else rules.uuid_text("company", company)
    vocabulary = Vocabulary("accounts", columns)
    table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
    problems: list[InputError] = []
    places = vocabulary.assign(table, required=("id",), problems=problems)
    raise_all(problems, table)
    cells.refuse_broken(table, places.values())
    table = cells.without_blank_rows(table, places.values())
    notes: list[str] = []
    places = without_rates(table, places, notes, said="tax_code_external_id" in vocabulary.chosen)
    if "external_id" not in places:
        notes.append("no column found for 'external_id': these accounts cannot be matched to a chart")
    of_companies = company_ids(table, places, company)
    ids = cells.uuids(table, places["id"], required=True)
    refuse_duplicates(table, places["id"], "id", [ids])
    refuse_long_text(table, places)
    external_ids = optional(table, places, "external_id")
    if "external_id" in places:
        refuse_duplicates(table, places["external_id"], "external ID", [external_ids, of_companies])
    result = pa.table(
        {
            "id": ids,
            "external_id": external_ids,
            "name": optional(table, places, "name"),
            "code": optional(table, places, "code"),
            "archived": archived(table, places),
            "tax_code_external_id": tax_codes(table, places),
            "company_id": of_companies,
        }
    )
    return schema.to_pandas(result, table.provenance(result.num_rows, places, notes))
