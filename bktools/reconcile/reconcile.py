"""`reconcile_accounts`: compares frames; nothing is sent and nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from bktools.contract.accounts import CompanyInFile
from bktools.frames.engine import are_few, has_order, is_spark, scannable, source_of
from bktools.frames.names import last_import
from bktools.reconcile import inputs, spark, tables
from bktools.reconcile.reconciliation import Reconciliation

# The tables that every reconciliation makes, and those that one of few rows makes with them; the others are computed on
# first use.
FIRST = ("findings", "coverage")
OF_FEW = (*FIRST, "actions", "chart_match")


def reconcile_accounts(chart: Any, accounts: Any, categories: Any) -> Reconciliation:
    """Compare the ERP's chart of accounts with the accounts and categories of the service.

    The ERP is the source of truth. Accounts are matched on their exact external ID within a company, never on name or
    code.

    Parameters
    ----------
    chart : DataFrame
        Chart of accounts: external_id, code, name, archived; optional tax_code_external_id and company_id. Rows
        without a company belong to the only company of the frames.
    accounts : DataFrame
        Accounts as `load_accounts` returns them: company_id, external_id, state; optional id, name, code, archived,
        tax_code_external_id.
    categories : DataFrame
        Categories: id, company_id, name, archived; optional account_id, tax_code_id.

    Each is a pandas, pyarrow, Polars, DuckDB or PySpark frame, or the path of a Parquet file. None is changed.

    Returns
    -------
    Reconciliation
        If a PySpark frame was given, workers, which must have bktools, compare a few companies at a time; the result is
        collected and must fit in memory here.

    Raises
    ------
    ArgumentError
        When a frame is of another kind, or chart rows have no company and the frames do not have exactly one.
    InputError
        When a required column is missing, of the wrong type or has gaps, or a file cannot be read.
    OutOfMemoryError, StorageError
        When the frames need more memory, or more disk space, than there is.

    Notes
    -----
    Interface, sections 2.1 and 2.4. The interface can only create accounts; a person must do the other actions.

    Examples
    --------
    >>> import pandas as pd
    >>> company = "123e4567-e89b-42d3-a456-426614174000"
    >>> chart = pd.DataFrame({"external_id": ["1200"], "code": ["1200"], "name": ["Bank"], "archived": [False]})
    >>> accounts = pd.DataFrame({"company_id": [], "external_id": [], "state": []}, dtype="str")
    >>> categories = pd.DataFrame({"id": ["c1"], "company_id": [company], "name": ["Fees"], "archived": [False]})
    >>> result = reconcile_accounts(chart, accounts, categories)
    >>> result.findings["message"].tolist()[1]
    '1200 Bank is in the chart and not among the accounts bktools knows: create it (bktools accounts create)'
    """
    frames = {"chart": inputs.without_unread_tax_codes(chart), "accounts": accounts, "categories": categories}
    companies: dict[str, Any] = {
        "company_in_file": _company(source_of(chart).get("company_in_file")),
        "companies_before": {
            company: CompanyInFile(*named)
            for company, named in source_of(accounts).get("companies_in_charts", {}).items()
        },
    }
    if any(is_spark(frame) for frame in frames.values()):
        results = spark.results(frames, _last_import(accounts))
        unchecked = inputs.unchecked(
            chart.columns if is_spark(chart) else inputs.read({"chart": chart})["chart"].schema.names
        )
        return Reconciliation(results.__getitem__, unchecked=unchecked, **companies)
    sides = inputs.read(frames)
    names = OF_FEW if are_few(sides.values()) else FIRST
    first = dict(zip(names, tables.results(sides, *names, known_since=_last_import(accounts)), strict=True))

    def listed(name: str) -> pa.Table:
        return first[name] if name in first else tables.results(sides, name)[0]

    return Reconciliation(listed, unchecked=inputs.unchecked(sides["chart"].schema.names), **companies)


def _company(named: Sequence[str] | None) -> CompanyInFile | None:
    # A frame that was in a Parquet file has it as a list.
    return None if named is None else CompanyInFile(*named)


def _last_import(accounts: Any) -> str:
    """Return when a list of accounts was last imported, in brackets; empty where the frame does not say.

    Other lazy frames than those of PySpark are not asked, because they would run once more.
    """
    if not (has_order(accounts) or is_spark(accounts)):
        return ""
    table: Any = scannable(accounts, "accounts", ("state", "updated_at"))
    return last_import(table)
