"""Checks of categories: whether an export under each can succeed. Each returns its findings.

What an archived category lacks is good to know and no more: nothing new is coded with it.
"""

from __future__ import annotations

import narwhals as nw

from bktools.frames.engine import Lazy
from bktools.reconcile.findings import Tables, account, category, findings, line, shown

ACCOUNT = account("account_code", "account_name")
CATEGORY = category()


def category_without_account(tables: Tables) -> Lazy:
    """Find categories without an account: every entry under them fails in the export."""
    return _broken(
        tables,
        "category_without_account",
        "no_account",
        line("{} has no account: give it one in the service", CATEGORY),
    )


def category_on_unknown_account(tables: Tables) -> Lazy:
    """Find categories on an account that is not among those known here."""
    return _broken(
        tables,
        "category_on_unknown_account",
        "unknown_account",
        line(
            "{} is on account {}, which is not known here: import it (bktools accounts import FILE), "
            "or give the category another account",
            CATEGORY,
            nw.col("account_id"),
        ),
    )


def category_on_archived_account(tables: Tables) -> Lazy:
    """Find categories on an archived account: every entry under them fails in the export."""
    template = "{} is on {}, which is archived in the service: give it another account"
    return _broken(tables, "category_on_archived_account", "archived_account", line(template, CATEGORY, ACCOUNT))


def category_on_account_to_be_archived(tables: Tables) -> Lazy:
    """Find categories on an account that the ERP no longer has, or has archived."""
    template = (
        "{} is on {}, which the ERP has archived or no longer has: give it another account before the next export"
    )
    return _broken(
        tables,
        "category_on_account_to_be_archived",
        "to_be_archived_account",
        line(template, CATEGORY, ACCOUNT),
        action="archive",
    )


def archived_category_on_active_account(tables: Tables) -> Lazy:
    """Find archived categories on an active account, which may be free to archive."""
    return _of_categories(
        tables.coverage.filter(nw.col("archived") & (nw.col("state") == "covered")),
        "archived_category_on_active_account",
        severity="info",
        message=line("{} is archived and its account {} is active", CATEGORY, ACCOUNT),
    )


def category_name_duplicate(tables: Tables) -> Lazy:
    """Find categories of a company that have one name, so that people pick the wrong one."""
    several = (
        tables.categories.filter(~nw.col("name").is_null())
        .group_by("company_id", "name")
        .agg(count=nw.len())
        .filter(nw.col("count") > 1)
    )
    return _of_categories(
        tables.coverage.join(several, on=["company_id", "name"]),
        "category_name_duplicate",
        severity=_unless_archived("warning"),
        field="name",
        service_value="name",
        message=line(
            "{} has the name of {} other categories of the company: rename it, so that people can tell them apart",
            CATEGORY,
            (nw.col("count") - 1).cast(nw.String),
        ),
    )


def category_without_tax_code(tables: Tables) -> Lazy:
    """Find categories without a tax code on an account that has one in the ERP."""
    lacking = nw.col("in_chart") & ~nw.col("erp_tax").is_null() & nw.col("tax_code_id").is_null()
    return _of_categories(
        tables.coverage.filter(lacking),
        "category_without_tax_code",
        # Many categories rightly have none of their own.
        severity="info",
        field="tax_code_id",
        erp_value="erp_tax",
        message=line(
            "{} has no tax code and its account {} has {} in the ERP: give it the tax code, if it should have one",
            CATEGORY,
            ACCOUNT,
            shown("erp_tax"),
        ),
    )


def category_tax_code_ambiguous(tables: Tables) -> Lazy:
    """Find tax codes that stand on accounts with several tax codes in the ERP: not all of them can fit."""
    taxed = tables.coverage.filter(nw.col("in_chart") & ~nw.col("erp_tax").is_null() & ~nw.col("tax_code_id").is_null())
    several = (
        taxed.group_by("company_id", "tax_code_id")
        .agg(first=nw.col("erp_tax").min(), last=nw.col("erp_tax").max())
        .filter(nw.col("first") != nw.col("last"))
    )
    return _of_categories(
        taxed.join(several, on=["company_id", "tax_code_id"]),
        "category_tax_code_ambiguous",
        severity=_unless_archived("warning"),
        field="tax_code_id",
        erp_value="erp_tax",
        service_value="tax_code_id",
        message=line(
            "{} is on {}, which has {} in the ERP; its tax code is used for {} and {} there: check which one it is",
            CATEGORY,
            ACCOUNT,
            shown("erp_tax"),
            shown("first"),
            shown("last"),
        ),
    )


def _broken(tables: Tables, check: str, state: str, message: nw.Expr, action: str = "none") -> Lazy:
    return _of_categories(
        tables.coverage.filter(nw.col("state") == state),
        check,
        severity=_unless_archived("error"),
        action=action,
        field="account_id",
        service_value="account_id",
        message=message,
    )


def _of_categories(
    frame: Lazy,
    check: str,
    *,
    severity: str | nw.Expr,
    message: nw.Expr,
    action: str = "none",
    field: str | None = None,
    erp_value: str | None = None,
    service_value: str | None = None,
) -> Lazy:
    return findings(
        frame,
        check,
        severity=severity,
        message=message,
        action=action,
        external_id="external_id",
        account_id="account_id",
        category_id="category_id",
        field=field,
        erp_value=erp_value,
        service_value=service_value,
    )


def _unless_archived(severity: str) -> nw.Expr:
    return nw.when(nw.col("archived")).then(nw.lit("info")).otherwise(nw.lit(severity))
