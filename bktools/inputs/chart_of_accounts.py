"""Charts of accounts as ERPs export them."""

from __future__ import annotations

from os import PathLike

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.contract.accounts import LONGEST_TEXT
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import headings, values
from bktools.inputs.columns import Columns, Vocabulary
from bktools.inputs.table import Table, read_table


def read_chart_of_accounts(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    company: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> pd.DataFrame:
    """Read a chart of accounts from a CSV, TSV, Excel or Parquet file of an ERP.

    Text stays as it is in the file: leading zeros, spaces at the end, newlines. What was recognised is told in
    `frame.attrs["bktools"]`, and each of it can be set.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised: `external_id`, `code`, `name`, `archived`, `active`,
        `tax_code_external_id`, `type`, `company_id`. An empty heading leaves the field out.
    company : str, optional
        UUID of the company the chart belongs to.
    delimiter : str, optional
        One character.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.

    Returns
    -------
    pandas.DataFrame
        One row per account, in the file's order, with the columns of `bktools.frames.schema.CHART`. `external_id` is
        the code where the file has no column of its own for it. Empty optional cells are null.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for code or name, or an external ID is empty, too long or there
        twice. The message names the line and the way out.

    Notes
    -----
    Section 2.4 of the interface.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "chart.csv")
    ...     _ = path.write_text("Konto;Bezeichnung;Aktiv\\n0400;Maschinen;ja\\n", encoding="utf-8")
    ...     chart = read_chart_of_accounts(path)
    >>> chart[["external_id", "code", "name", "archived"]].values.tolist()
    [['0400', '0400', 'Maschinen', False]]
    """
    vocabulary = Vocabulary(headings.CHART, columns)
    table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
    places = vocabulary.assign(table.headings, table.source, required=("code", "name"))
    notes: list[str] = []
    rate = places.pop("tax_rate", None)
    if rate is not None:
        notes.append(f"{table.headings[rate]!r} is a tax rate, not the identifier of a tax code: not read")
    table = _accounts_only(table, places, notes)
    result = _frame(table, places, None if company is None else rules.uuid_text("company", company))
    return schema.to_pandas(result, table.provenance(result.num_rows, places, notes))


def _accounts_only(table: Table, places: dict[str, int], notes: list[str]) -> Table:
    """Return the rows that are accounts: neither blank nor the title of a section."""
    identity = np.ones(len(table.lines), dtype=bool)
    for field in ("code", "external_id"):
        if field in places:
            identity &= values.blank(table.columns[places[field]])
    titles = identity & ~values.blank(table.columns[places["name"]])
    if titles.any():
        notes.append(f"{titles.sum()} rows without a code skipped as titles of sections ({values.lines_of(table, titles)})")
    kept = table.rows(~identity)
    if not len(kept.lines):
        raise InputError("no row below the headings has a code", source=table.source, line=table.heading_line)
    return kept


def _frame(table: Table, places: dict[str, int], company: str | None) -> pa.Table:
    rows = len(table.lines)
    code, name = (table.columns[places[field]] for field in ("code", "name"))
    own = places.get("external_id", places["code"])
    company_ids = _company_ids(table, places, company)
    for field in ("external_id", "code", "name"):
        place = places.get(field)
        if place is not None:
            long = values.mask(pc.greater(pc.utf8_length(table.columns[place]), LONGEST_TEXT))
            values.refuse(table, place, long, f"must have at most {LONGEST_TEXT} characters")
    values.refuse(table, own, values.blank(table.columns[own]), "must not be empty, it is the external ID")
    _refuse_duplicates(table, own, company_ids)
    columns = {
        "external_id": table.columns[own],
        "code": code,
        "name": name,
        "archived": _archived(table, places),
        "tax_code_external_id": _optional(table, places, "tax_code_external_id"),
        "company_id": company_ids,
        "type": _optional(table, places, "type"),
        "line": pa.chunked_array([pa.array(table.lines, type=schema.COUNT)]),
    }
    nothing = {field.name: pa.nulls(rows, field.type) for field in schema.CHART}
    return pa.table(
        [nothing[field.name] if columns[field.name] is None else columns[field.name] for field in schema.CHART],
        schema=schema.CHART,
    )


def _optional(table: Table, places: dict[str, int], field: str) -> pa.ChunkedArray | None:
    return values.or_null(table.columns[places[field]]) if field in places else None


def _archived(table: Table, places: dict[str, int]) -> pa.ChunkedArray:
    found = [
        values.flags(table, places[field], yes=yes, empty=False)
        for field, yes in (("archived", True), ("active", False))
        if field in places
    ]
    if not found:
        return pa.chunked_array([pa.repeat(pa.scalar(False), len(table.lines))])  # noqa: FBT003 - a value
    return found[0] if len(found) == 1 else pc.or_(*found)


def _company_ids(table: Table, places: dict[str, int], company: str | None) -> pa.ChunkedArray | None:
    rows = len(table.lines)
    said = None if company is None else pa.chunked_array([pa.repeat(pa.scalar(company, schema.TEXT), rows)])
    if "company_id" not in places:
        return said
    written = values.uuids(table, places["company_id"], required=False)
    if company is None:
        return written
    other = values.mask(pc.fill_null(pc.not_equal(written, company), False))  # noqa: FBT003 - Arrow's own
    values.refuse(table, places["company_id"], other, f"must be the company asked for, {company}")
    return said


def _refuse_duplicates(table: Table, place: int, company_ids: pa.ChunkedArray | None) -> None:
    keys = [table.columns[place], *([] if company_ids is None else [company_ids])]
    frame = pd.DataFrame({str(at): pc.dictionary_encode(key).combine_chunks().indices for at, key in enumerate(keys)})
    again = frame.duplicated(keep="first").to_numpy()
    if not again.any():
        return
    second = int(np.argmax(again))
    first = int(np.argmax((frame == frame.iloc[second]).all(axis=1).to_numpy()))
    many = f"; {int(again.sum())} rows repeat an external ID: {values.lines_of(table, again)}" if again.sum() > 1 else ""
    raise InputError(
        f"external ID {table.columns[place][second].as_py()!r} is on line {int(table.lines[first])} already, it must be"
        f" unique{many}; correct the file, or say which column is unique with columns={{\"external_id\": \"HEADING\"}}"
        " (command line: --column external_id=HEADING)",
        source=table.source,
        line=int(table.lines[second]),
    )
