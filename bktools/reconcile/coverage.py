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

    The columns above, and for the checks: `account_code`, `account_action`, `account_active` and `erp_tax` of the
    account.
    """
    categories = given.categories.rename({"id": "category_id"})
    # Only accounts that a category names: there may be a million others. An ID that is on several accounts gives one.
    named = (
        given.accounts.select(*KEY, account_id="id")
        .join(categories.select("company_id", "account_id").unique(), on=["company_id", "account_id"], how="semi")
        .group_by("company_id", "account_id")
        .agg(nw.col("external_id").min())
    )
    facts = pairs.select(
        *KEY,
        account_name=nw.coalesce("name", "erp_name"),
        account_code=nw.coalesce("code", "erp_code"),
        account_archived="archived",
        account_action="action",
        erp_tax="erp_tax",
        in_chart=nw.col("chart_rows") == 1,
    )
    named = named.join(facts, on=KEY, how="left")
    covered = categories.join(named, on=["company_id", "account_id"], how="left")
    archived = nw.col("account_archived").fill_null(False)
    state = (
        nw.when(is_empty("account_id"))
        .then(nw.lit("no_account"))
        .when(nw.col("external_id").is_null())
        .then(nw.lit("unknown_account"))
        .when(archived)
        .then(nw.lit("archived_account"))
        .when((nw.col("account_action") == "archive").fill_null(False))
        .then(nw.lit("to_be_archived_account"))
        .otherwise(nw.lit("covered"))
    )
    return covered.with_columns(state=state, in_chart=nw.col("in_chart").fill_null(False)).select(
        *COVERAGE_COLUMNS, "account_code", "erp_tax", "in_chart"
    )
