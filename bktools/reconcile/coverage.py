"""Coverage: which account and tax code stand behind each category, and whether an export under it can succeed."""

from __future__ import annotations

import narwhals as nw

from bktools.frames.engine import Lazy
from bktools.reconcile.given import Given
from bktools.reconcile.pairs import KEY, is_empty

COVERAGE_COLUMNS = [
    "category_id",
    "company_id",
    "name",
    "archived",
    "account_id",
    "external_id",
    "account_name",
    "tax_code_id",
    "state",
]


def cover(given: Given, pairs: Lazy) -> Lazy:
    """Return one row per category with the account behind it.

    The columns above, and for the checks: `account_code`, `account_action`; `erp_tax`, the tax code that the chart has of the account,
    where it has it once; `first_tax`, `last_tax` of all accounts that the category's own tax code is used for;
    `of_this_name`, how many categories the company has of the name. `pairs` are the remarkable ones, judged: an account
    that is not among them is as in the chart.
    """
    categories = given.categories.rename({"id": "category_id"})
    # Only accounts that a category names: there may be a million others. An ID that is on several accounts gives one.
    named = (
        given.accounts.select(*KEY, "name", "code", archived=nw.col("archived").cast(nw.Int64), account_id="id")
        .join(categories, on=["company_id", "account_id"], how="semi")
        .group_by("company_id", "account_id")
        .agg(
            external_id=nw.col("external_id").min(),
            account_name=nw.col("name").min(),
            account_code=nw.col("code").min(),
            account_archived=nw.col("archived").max(),
        )
    )
    named = given.keep(named)
    charted = (
        given.chart.filter(~is_empty("external_id"))
        .select(*KEY, "tax_code_external_id")
        .join(named, on=KEY, how="semi")
        .group_by(*KEY)
        .agg(erp_tax=nw.col("tax_code_external_id").min(), chart_rows=nw.len())
        .filter(nw.col("chart_rows") == 1)
    )
    gone = nw.col("chart_rows").is_null() & nw.col("charted")
    verbs = pairs.select(*KEY, account_action="action", lost=gone | (nw.col("action") == "archive"))
    covered = (
        categories.join(named, on=["company_id", "account_id"], how="left")
        .join(charted, on=KEY, how="left")
        .join(verbs, on=KEY, how="left")
    )
    archived = (nw.col("account_archived") == 1).fill_null(False)
    state = (
        nw.when(is_empty("account_id"))
        .then(nw.lit("no_account"))
        .when(nw.col("external_id").is_null())
        .then(nw.lit("unknown_account"))
        .when(archived)
        .then(nw.lit("archived_account"))
        .when(nw.col("lost").fill_null(False))
        .then(nw.lit("to_be_archived_account"))
        .otherwise(nw.lit("covered"))
    )
    tax, name = ["company_id", "tax_code_id"], ["company_id", "name"]
    return covered.with_columns(
        state=state,
        first_tax=nw.col("erp_tax").min().over(*tax),
        last_tax=nw.col("erp_tax").max().over(*tax),
        of_this_name=nw.col("category_id").count().over(*name),
    ).select(*COVERAGE_COLUMNS, "account_code", "account_action", "erp_tax", "first_tax", "last_tax", "of_this_name")
