"""`reconcile_accounts`: compares frames; nothing is sent and nothing is changed."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa

from bktools.contract.accounts import CompanyInFile
from bktools.frames.names import import_of
from bktools.frames.tables import in_memory, is_spark, source_of
from bktools.reconcile import inputs, spark
from bktools.reconcile.reconciliation import Reconciliation
from bktools.reconcile.results import results

# The tables that every reconciliation makes; the others are made on first use.
FIRST = ("findings", "coverage")


def reconcile_accounts(chart: Any, accounts: Any, categories: Any) -> Reconciliation:
    """Compare the ERP's chart of accounts with the accounts and categories of the service.

    The ERP is the source of truth. Accounts are matched on their exact external ID within a company, never on
    name or code.

    Parameters
    ----------
    chart : DataFrame
        Chart of accounts: external_id, code, name, archived; optional tax_code_external_id and company_id.
        Rows without a company belong to the only company of the frames.
    accounts : DataFrame
        Accounts as `load_accounts` returns them: company_id, external_id, state; optional id, name, code,
        archived, tax_code_external_id.
    categories : DataFrame
        Categories: id, company_id, name, archived; optional account_id, tax_code_id.

    Each is a pandas, pyarrow, Polars, DuckDB or PySpark frame, or a Parquet file's path. None is changed.

    Returns
    -------
    Reconciliation
        If a PySpark frame was given, workers, which must have bktools, compare a few companies at a time; the
        result is collected and must fit in memory here.

    Raises
    ------
    ArgumentError
        When a frame is of another kind, or chart rows have no company and the frames do not have exactly one.
    InputError
        When a required column is missing, of the wrong type or has gaps, or a file cannot be read.

    Notes
    -----
    Interface, sections 2.1 and 2.4. The interface can only create accounts; a person does the other actions.

    Examples
    --------
    >>> import pandas as pd
    >>> company = "123e4567-e89b-42d3-a456-426614174000"
    >>> chart = {"external_id": ["1200"], "code": ["1200"], "name": ["Bank"], "archived": [False]}
    >>> chart = pd.DataFrame(chart)
    >>> accounts = pd.DataFrame({"company_id": [], "external_id": [], "state": []}, dtype="str")
    >>> categories = {"id": ["c1"], "company_id": [company], "name": ["Fees"], "archived": [False]}
    >>> categories = pd.DataFrame(categories)
    >>> result = reconcile_accounts(chart, accounts, categories)
    >>> result.findings["message"].tolist()[1]
    '1200 Bank is in the chart and not among the accounts known here. Create it (create_accounts).'
    """
    frames = {"chart": chart, "accounts": accounts, "categories": categories}
    if any(is_spark(frame) for frame in frames.values()):
        imported = import_of(in_memory(accounts, "accounts", ("state", "updated_at")))
        tables, columns = spark.collected(frames, imported)
        listed = tables.__getitem__
    else:
        sides = inputs.read(frames)
        columns = sides["chart"].column_names
        imported = import_of(sides["accounts"])
        tables = results(sides, FIRST, imported)

        @functools.cache
        def listed(name: str) -> pa.Table:
            return tables[name] if name in tables else results(sides, [name], imported)[name]

    # A frame that was in a Parquet file has them as lists.
    named = source_of(chart).get("company_in_file")
    before = source_of(accounts).get("companies_in_charts", {})
    return Reconciliation(
        listed,
        not_compared=() if inputs.TAX_CODE in columns else ("tax_codes",),
        company_in_file=None if named is None else CompanyInFile(*named),
        companies_before={company: CompanyInFile(*names) for company, names in before.items()},
    )
