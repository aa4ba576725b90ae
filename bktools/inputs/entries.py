"""Accounting entries as files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import amounts, cells, dates, flags, headings
from bktools.inputs.columns import Columns, Vocabulary
from bktools.inputs.file import read_table
from bktools.inputs.table import Table

_SHOWN_WORDS = 8


def read_entries(
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    decimal: str | None = None,
    date_format: str | None = None,
    required: Sequence[str] = (),
) -> pd.DataFrame:
    r"""Read accounting entries from a CSV, TSV, Excel or Parquet file.

    Parameters
    ----------
    path : str or path
        The file.
    columns : mapping, optional
        Field to heading, for what is not recognised: `id`, `company_id`, `date`, `amount`, `currency`, `category_id`,
        `employee_id`, `status`, `approved`, `description`. An empty heading leaves the field out.
    delimiter : str, optional
        One character.
    encoding : str, optional
        A name such as `"cp1252"`.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.
    decimal : str, optional
        The decimal mark of the amounts, `"."` or `","`, where the column alone does not say it.
    date_format : str, optional
        Format of the dates such as `"%d/%m/%Y"`, where the column alone does not say it.
    required : sequence of str
        Fields beside `id` and `company_id` that the file must have a column for.

    Returns
    -------
    pandas.DataFrame
        One row per row of the file, in its order, with those columns of `bktools.frames.schema.ENTRIES` that the file
        has, and `line`. Amounts are exact, with the largest scale in the file. The same entry twice stays twice.

    Raises
    ------
    InputError
        When the file cannot be read, has no column for `id`, `company_id` or what is required, or a value is not what
        its column says.
    ArgumentError
        When an argument is not what it must be.

    Notes
    -----
    Sections 2.5 and 4.2 of the interface: an export job takes the entries' IDs and the company's.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> entry = "1b4e28ba-2fa1-41d2-883f-0016d3cca427,6fa459ea-ee8a-4ca4-894e-db77e160355e,12.50"
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "entries.csv")
    ...     _ = path.write_text(f"entry_id,company_id,amount\n{entry}\n", encoding="utf-8")
    ...     entries = read_entries(path)
    >>> entries["amount"].tolist()
    [Decimal('12.50')]
    """
    vocabulary = Vocabulary(headings.ENTRIES, columns)
    table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
    places = vocabulary.assign(table.headings, table.source, required=("id", "company_id", *required))
    table = cells.without_blank_rows(table, places.values())
    notes: list[str] = []
    result = {
        "id": cells.uuids(table, places["id"], required=True),
        "company_id": cells.uuids(table, places["company_id"], required=True),
    }
    if "date" in places:
        result["date"] = dates.dates(table, places["date"], date_format)
    if "amount" in places:
        result["amount"] = amounts.amounts(table, places["amount"], decimal)
    if "currency" in places:
        result["currency"] = _currencies(table, places["currency"])
    for field in ("category_id", "employee_id"):
        if field in places:
            result[field] = cells.uuids(table, places[field], required=False)
    saying = places.get("approved", places.get("status"))
    if saying is not None:
        result["status"] = cells.or_null(table.columns[places.get("status", saying)])
        result["approved"] = flags.approved(table, saying, headed_approved="approved" in places)
        notes += _approvals(table.columns[saying], result["approved"])
    if "description" in places:
        result["description"] = cells.or_null(table.columns[places["description"]])
    result["line"] = pa.chunked_array([pa.array(table.lines, type=schema.COUNT)])
    ordered = pa.table({field.name: result[field.name] for field in schema.ENTRIES if field.name in result})
    return schema.to_pandas(ordered, table.provenance(ordered.num_rows, places, notes))


def _currencies(table: Table, place: int) -> pa.ChunkedArray:
    column = pc.ascii_upper(cells.or_null(cells.trimmed(table.columns[place])))
    rule = "must hold currency codes of three letters such as EUR"
    cells.refuse(table, place, ~cells.matches(column, "^[A-Z]{3}$"), rule)
    return column


def _approvals(column: pa.ChunkedArray, approved: pa.ChunkedArray) -> list[str]:
    """Return which words were taken as an approval and which were not."""
    notes: list[str] = []
    for rows, said in ((approved, "approved"), (pc.invert(approved), "not approved")):
        words = pc.value_counts(column.filter(rows)).to_pylist()
        if words:
            shown = ", ".join(f"{cells.quoted(word['values'])} ({word['counts']})" for word in words[:_SHOWN_WORDS])
            more = f" and {len(words) - _SHOWN_WORDS} more words" if len(words) > _SHOWN_WORDS else ""
            notes.append(f"taken as {said}: {shown}{more}")
    return notes
