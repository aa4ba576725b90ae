"""Reconciling: frames in, a reconciliation out; nothing is asked of the service and nothing is changed."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd

from bktools.frames.engine import Lazy, collect
from bktools.frames.schema import to_pandas
from bktools.reconcile import checks, given
from bktools.reconcile.actions import actions, judged
from bktools.reconcile.coverage import COVERAGE_COLUMNS, cover
from bktools.reconcile.findings import Tables
from bktools.reconcile.pairs import pair
from bktools.reconcile.reconciliation import Reconciliation


def reconcile_accounts(chart: Any, accounts: Any, categories: Any) -> Reconciliation:
    """Compare the ERP's chart of accounts with the accounts and categories of the service.

    The ERP is the source of truth. Accounts are matched on external ID within a company, to the letter, never on name
    or code.

    Parameters
    ----------
    chart : DataFrame
        Chart of accounts: external_id, code, name, archived; optional tax_code_external_id and company_id. Rows
        without a company are of the one company that the other frames are of.
    accounts : DataFrame
        Accounts known here: company_id, external_id, state; optional id, name, code, archived, tax_code_external_id.
    categories : DataFrame
        Categories: id, company_id, category_group_id, name, archived; optional account_id, tax_code_id.

    Each is a pandas, pyarrow, Polars, DuckDB or PySpark frame. It is never changed.

    Returns
    -------
    Reconciliation
        pandas DataFrames for pandas and pyarrow; for the others native lazy frames of their engine, not collected.

    Raises
    ------
    ArgumentError
        When the chart has no company and there is not exactly one, or the frames' engines cannot be joined.
    InputError
        When a required column is missing, of the wrong type or has gaps.

    Notes
    -----
    The interface, sections 2.1 and 2.4. It can only create accounts; the other verbs are for a person to do.

    Examples
    --------
    >>> import pandas as pd
    >>> company = "123e4567-e89b-42d3-a456-426614174000"
    >>> chart = pd.DataFrame({"external_id": ["1200"], "code": ["1200"], "name": ["Bank"], "archived": [False]})
    >>> accounts = pd.DataFrame({"company_id": [], "external_id": [], "state": []}, dtype="str")
    >>> categories = pd.DataFrame(
    ...     {"id": ["c1"], "company_id": [company], "category_group_id": ["g1"], "name": ["Fees"], "archived": [False]}
    ... )
    >>> result = reconcile_accounts(chart, accounts, categories)
    >>> result.findings["message"].tolist()[1]
    '1200 Bank is in the chart and not in the service: create it (bktools accounts create)'
    """
    frames = given.read(chart, accounts, categories)
    pairs = pair(frames)
    said = frames.keep(judged(pairs.remarkable()))
    coverage = frames.keep(cover(frames, said))
    tables = Tables(frames.chart, frames.accounts, frames.categories, frames.charts, said, coverage)
    found = checks.run(tables, frames.look)
    give = _collected if frames.own else nw.to_native
    return Reconciliation(
        findings=give(found),
        coverage=give(coverage.select(COVERAGE_COLUMNS).sort("company_id", "name", "category_id")),
        _list_actions=lambda: give(actions(pairs, said, frames.chart)),
    )


def _collected(frame: Lazy) -> pd.DataFrame:
    return to_pandas(collect(frame))
