"""The list of accounts that the service's own user interface exports."""

from __future__ import annotations

from os import PathLike

import pandas as pd
import pyarrow as pa

from bktools.contract import rules
from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs import account_fields, cells, flags, headings
from bktools.inputs.columns import Columns, Vocabulary
from bktools.inputs.file import read_table
from bktools.inputs.problems import raise_all


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
    vocabulary = Vocabulary(headings.ACCOUNTS, columns)
    table = read_table(path, vocabulary.score, delimiter=delimiter, encoding=encoding, sheet=sheet)
    problems: list[InputError] = []
    places = vocabulary.assign(table.headings, table.source, required=("id",), problems=problems)
    raise_all(problems, table.source, table.other_sheets)
    cells.refuse_broken(table, places.values())
    table = cells.without_blank_rows(table, places.values())
    notes: list[str] = []
    places = account_fields.without_rates(table, places, notes, said="tax_code_external_id" in vocabulary.chosen)
    if "external_id" not in places:
        notes.append("no column found for 'external_id': these accounts cannot be matched to a chart")
    company_ids = account_fields.company_ids(table, places, company)
    ids = cells.uuids(table, places["id"], required=True)
    account_fields.refuse_duplicates(table, places["id"], "id", [ids])
    account_fields.refuse_long_text(table, places)
    external_ids = account_fields.optional(table, places, "external_id")
    if "external_id" in places:
        account_fields.refuse_duplicates(table, places["external_id"], "external ID", [external_ids, company_ids])
    result = pa.table(
        {
            "id": ids,
            "external_id": external_ids,
            "name": account_fields.optional(table, places, "name"),
            "code": account_fields.optional(table, places, "code"),
            "archived": flags.archived(table, places),
            "tax_code_external_id": account_fields.optional(table, places, "tax_code_external_id"),
            "company_id": company_ids,
        }
    )
    return schema.to_pandas(result, table.provenance(result.num_rows, places, notes))
