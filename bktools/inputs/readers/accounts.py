"""The service's list of accounts (interface, section 2.4), as its user interface exports it."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Unpack

import pandas as pd
import pyarrow as pa

from bktools.connection import company_named
from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.account_fields import account_fields, duplicated
from bktools.inputs.assignment import ask_for
from bktools.inputs.headings import opened
from bktools.inputs.options import Options, TableOptions, takes_options
from bktools.inputs.question import answered
from bktools.inputs.source import Source

# The columns of a list of accounts, in their order.
_FIELDS = ("id", "external_id", "name", "code", "archived", "tax_code_external_id", "company_id")


@takes_options("accounts")
def read_accounts(
    path: str | PathLike[str], *, company: str | None = None, **options: Unpack[TableOptions]
) -> pd.DataFrame:
    """Read the service's accounts from a file that its user interface exported.

    The arguments are those of `read_chart_of_accounts`. Returns one row per account, in the file's order,
    with `_FIELDS`. All but `id` and `archived` are null where the file does not have them: an external ID is
    never taken from the code here, since accounts are matched by it. A file without a column for `id` is a
    `QuestionError`; an `id` or external ID that is malformed or there twice is to be corrected.
    """
    company = None if company is None else company_named(company)
    return answered(
        partial(_read, Source(path, "accounts"), company=company), Options.of("accounts", options)
    )


def _read(source: Source, options: Options, *, company: str | None) -> pd.DataFrame:
    reading = opened(source, options)
    if not reading.has("id"):
        ask_for(reading, "id", ())
    reading.raise_problems()
    reading.table = cells.without_blank_rows(reading.table, reading.places.values())
    fields = account_fields(reading, company)
    with reading.trying():
        fields["id"] = cells.uuids(reading.table, reading.places["id"], required=True)
        reading.ask_of_rows("code_twice", duplicated(fields["id"]))
    reading.ask_of_rows("code_twice", duplicated(fields["external_id"], fields["company_id"]))
    reading.raise_problems()
    if not reading.has("external_id"):
        reading.note("no_external_ids")
    result = pa.table({field: fields[field] for field in _FIELDS})
    return schema.to_pandas(result, reading.provenance(result.num_rows, reading.places))
