"""Checks of categories: whether an export under each can succeed. Each returns what breaks it.

What an archived category lacks is good to know and no more: nothing new is coded with it.
"""

from __future__ import annotations

import narwhals as nw

from bktools.reconcile.findings import Breach, Tables, account, category, line, shown

ACCOUNT = account("account_code", "account_name")
CATEGORY = category()
ERROR, WARNING = (
    nw.when(nw.col("archived")).then(nw.lit("info")).otherwise(nw.lit(severity)) for severity in ("error", "warning")
)


def category_without_account(tables: Tables) -> list[Breach]:
    """Find categories without an account: every entry under them fails in the export."""
    return _broken(
        tables,
        "category_without_account",
        "no_account",
        line("{} has no account: give it one in the service", CATEGORY),
    )


def category_on_unknown_account(tables: Tables) -> list[Breach]:
    """Find categories on an account that is not among those known here."""
    return _broken(
        tables,
        "category_on_unknown_account",
        "unknown_account",
        line(
            "{} is on account {}, which is not known here: create the chart's accounts first, import it (bktools "
            "accounts import FILE), or give the category another account",
            CATEGORY,
            nw.col("account_id"),
        ),
    )


def category_on_archived_account(tables: Tables) -> list[Breach]:
    """Find categories on an archived account: every entry under them fails in the export."""
    template = "{} is on {}, which is archived in the service: give it another account"
    return _broken(tables, "category_on_archived_account", "archived_account", line(template, CATEGORY, ACCOUNT))


def category_on_account_to_be_archived(tables: Tables) -> list[Breach]:
    """Find categories on an account that the ERP no longer has, or has archived."""
    template = (
        "{} is on {}, which the ERP has archived or no longer has: give it another account before the next export"
    )
    return _broken(
        tables,
        "category_on_account_to_be_archived",
        "to_be_archived_account",
        line(template, CATEGORY, ACCOUNT),
        action=nw.col("account_action"),
    )


def archived_category_on_active_account(tables: Tables) -> list[Breach]:
    """Find archived categories on an active account, which may be free to archive."""
    return _of_category(
        tables,
        "archived_category_on_active_account",
        nw.col("archived") & (nw.col("state") == "covered"),
        severity="info",
        message=line("{} is archived and its account {} is active", CATEGORY, ACCOUNT),
    )


def category_name_duplicate(tables: Tables) -> list[Breach]:
    """Find categories of a company that have one name, so that people pick the wrong one."""
    return _of_category(
        tables,
        "category_name_duplicate",
        ~nw.col("name").is_null() & (nw.col("of_this_name") > 1),
        severity=WARNING,
        field="name",
        service_value="name",
        message=line(
            "{} is one of {} categories of the company with this name: rename it, so that people can tell them apart",
            CATEGORY,
            nw.col("of_this_name").cast(nw.String),
        ),
    )


def category_without_tax_code(tables: Tables) -> list[Breach]:
    """Find categories without a tax code on an account that has one in the ERP."""
    return _of_category(
        tables,
        "category_without_tax_code",
        ~nw.col("erp_tax").is_null() & nw.col("tax_code_id").is_null(),
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


def category_tax_code_ambiguous(tables: Tables) -> list[Breach]:
    """Find tax codes that stand on accounts with several tax codes in the ERP: not all of them can fit."""
    several = nw.col("first_tax") != nw.col("last_tax")
    return _of_category(
        tables,
        "category_tax_code_ambiguous",
        ~nw.col("erp_tax").is_null() & ~nw.col("tax_code_id").is_null() & several,
        severity=WARNING,
        field="tax_code_id",
        erp_value="erp_tax",
        service_value="tax_code_id",
        message=line(
            "{} is on {}, which has {} in the ERP; its tax code is used for {} and {} there: check which one it is",
            CATEGORY,
            ACCOUNT,
            shown("erp_tax"),
            shown("first_tax"),
            shown("last_tax"),
        ),
    )


def _broken(tables: Tables, check: str, state: str, message: nw.Expr, action: str | nw.Expr = "none") -> list[Breach]:
    return _of_category(
        tables,
        check,
        nw.col("state") == state,
        severity=ERROR,
        action=action,
        field="account_id",
        service_value="account_id",
        message=message,
    )


def _of_category(
    tables: Tables,
    check: str,
    where: nw.Expr,
    *,
    severity: str | nw.Expr,
    message: nw.Expr,
    action: str | nw.Expr = "none",
    field: str | None = None,
    erp_value: str | None = None,
    service_value: str | None = None,
) -> list[Breach]:
    breach = Breach(
        check,
        tables.coverage,
        where,
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
    return [breach]
