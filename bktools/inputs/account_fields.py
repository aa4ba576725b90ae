"""Fields that a chart of accounts and a list of accounts share, with the interface's bounds (section 2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.accounts import LONGEST_TEXT
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.columns import option
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
    kept = dict(places)
    rate = kept.pop("tax_rate", None)
    if rate is not None:
        notes.append(f"{table.headings[rate]!r} is a tax rate, not the identifier of a tax code: not read")
    place = kept.get("tax_code_external_id")
    if place is not None and not said:
        column = cells.or_null(table.columns[place])
        if column.null_count < len(column) and cells.matches(column, _RATE).all():
            del kept["tax_code_external_id"]
            notes.append(
                f"{table.headings[place]!r} holds tax rates, not identifiers of tax codes: not read; take it all the"
                f" same with {option('tax_code_external_id', table.headings[place])}"
            )
    return kept


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
        f" unique{many}; correct the file, or say which column is unique with {option(what.replace(' ', '_').lower())}",
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
    written = cells.uuids(table, places["company_id"], required=False)
    if company is None:
        return written
    cells.refuse(
        table,
        places["company_id"],
        cells.mask(pc.not_equal(written, company)),
        f"must be the company asked for, {company} (split the file, or ask for its own)",
    )
    return cells.constant(company, schema.TEXT, rows)
