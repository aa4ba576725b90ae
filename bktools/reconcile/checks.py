"""The checks of a reconciliation. To add one, add an item to CHECKS, its words to `wording`, and its test."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import polars as pl

from bktools.findings.check import ERP, ERROR, INFO, PREPARER, SERVICE, WARNING, Check
from bktools.reconcile.verbs import NONE

c = pl.col
NO_ACTION = pl.lit(NONE)
NOTHING = pl.lit(None, pl.String)


@dataclasses.dataclass(frozen=True, eq=False)
class AccountCheck(Check):
    """A check of accounts or categories.

    Parameters
    ----------
    table : str
        The table of `Tables` that it checks.
    action : polars.Expr
        The action that makes the service agree with the chart: create, update, archive, unarchive or none.
    field : polars.Expr
        The field that differs.
    values : tuple of two polars.Expr
        Its value in the chart and in the service.
    """

    table: str = "accounts"
    action: pl.Expr = dataclasses.field(default_factory=lambda: NO_ACTION)
    field: pl.Expr = dataclasses.field(default_factory=lambda: NOTHING)
    values: tuple[pl.Expr, pl.Expr] = (NOTHING, NOTHING)


def _differs(code: str, field: str, erp: str, service: str, severity: str = WARNING) -> AccountCheck:
    """Return the check for different values of a field in chart and service."""
    facts, values = ("account", erp, service), (c(erp), c(service))
    return AccountCheck(
        code, c(code), severity, SERVICE, facts, action=pl.lit("update"), field=pl.lit(field), values=values
    )


def _too_long(field: str, column: str, fails: pl.Expr) -> AccountCheck:
    """Return the check for a text that is too long for the service."""
    facts = ("account", f"{field}_length", "most")
    return AccountCheck(
        f"{field}_too_long", fails, ERROR, ERP, facts, field=pl.lit(field), values=(c(column), NOTHING)
    )


def _of_sides(code: str, table: str, facts: tuple[str, ...]) -> Iterator[AccountCheck]:
    """Yield a check of external IDs for the chart, and for the accounts known here."""
    for side, who in (("chart", ERP), ("service", PREPARER)):
        yield AccountCheck(code, c.side == side, ERROR, who, facts, table=table, field=pl.lit("external_id"))


def _of_categories(
    code: str,
    fails: pl.Expr,
    severity: str,
    who: str = SERVICE,
    facts: tuple[str, ...] = (),
    *,
    action: pl.Expr = NO_ACTION,
    field: str = "account_id",
    values: tuple[pl.Expr, pl.Expr] = (NOTHING, c.account_id),
) -> Iterator[AccountCheck]:
    """Yield a check of categories; of an archived category it is an info, because no new entry uses it."""
    for is_archived, own_severity in ((c.archived, INFO), (~c.archived, severity)):
        yield AccountCheck(
            code,
            fails & is_archived,
            own_severity,
            who,
            ("category", *facts),
            table="coverage",
            action=action,
            field=pl.lit(field),
            values=values,
        )


HAS_TAX = c.erp_tax.is_not_null()

CHECKS: tuple[AccountCheck, ...] = (
    AccountCheck(
        "missing_in_service",
        c.action == "create",
        WARNING,
        PREPARER,
        ("account", "known_since", "none_imported"),
        action=pl.lit("create"),
    ),
    AccountCheck(
        "missing_in_erp_archived", c.is_gone & c.archived, INFO, PREPARER, ("account",), action=c.action
    ),
    AccountCheck(
        "missing_in_erp",
        c.is_gone & c.archived.ne_missing(other=True) & c.twin.is_null(),
        WARNING,
        SERVICE,
        ("account",),
        action=c.action,
    ),
    AccountCheck(
        "missing_in_erp_respelled",
        c.is_gone & c.archived.ne_missing(other=True) & c.twin.is_not_null(),
        WARNING,
        PREPARER,
        ("account", "twin"),
        action=c.action,
    ),
    _differs("name_differs", "name", "erp_name", "name"),
    _differs("code_differs", "code", "erp_code", "code"),
    # An error, because tax would be booked wrongly.
    _differs("tax_code_differs", "tax_code_external_id", "erp_tax", "tax", ERROR),
    AccountCheck(
        "archived_differs",
        c.archived_differs,
        WARNING,
        SERVICE,
        ("account", "action"),
        action=c.action,
        field=pl.lit("archived"),
        values=(c.erp_archived.cast(pl.String), c.archived.cast(pl.String)),
    ),
    *_of_sides("external_id_duplicate", "repeated", ("external_id", "rows", "side")),
    *_of_sides("external_id_empty", "unidentified", ("account", "side")),
    _too_long("external_id", "external_id", c.is_long_id),
    AccountCheck(
        "external_id_looks_alike",
        c.is_new & c.looks_like.is_not_null(),
        ERROR,
        ERP,
        ("external_id", "looks_like", "differing"),
        table="look_alikes",
        field=pl.lit("external_id"),
        values=(c.external_id, c.looks_like),
    ),
    AccountCheck(
        "name_missing",
        c.is_single & c.in_chart & c.erp_name.is_null(),
        ERROR,
        ERP,
        ("account", "line"),
        field=pl.lit("name"),
    ),
    AccountCheck(
        "total_in_chart",
        c.is_single & c.is_total,
        ERROR,
        PREPARER,
        ("account", "line"),
        field=pl.lit("name"),
    ),
    _too_long("name", "erp_name", c.is_long_name),
    _too_long("code", "erp_code", c.is_long_code),
    AccountCheck(
        "leading_zeros_lost",
        c.zeros_in.is_not_null(),
        ERROR,
        PREPARER,
        ("zeros_in", "erp_zeros", "service_zeros"),
        field=c.zeros_in,
        values=(c.erp_zeros, c.service_zeros),
    ),
    AccountCheck(
        "code_lengths_mixed",
        (c.shortest < c.longest) & ~c.has_zeros,
        INFO,
        PREPARER,
        ("company_id", "shortest", "longest"),
        table="charts",
        field=pl.lit("code"),
    ),
    AccountCheck(
        "account_id_unknown",
        c.is_single & c.in_service & c.account_id.is_null(),
        WARNING,
        PREPARER,
        ("account",),
        field=pl.lit("id"),
    ),
    AccountCheck(
        "account_unused", c.accounts > 0, INFO, PREPARER, ("company_id", "accounts"), table="unused"
    ),
    AccountCheck(
        "company_without_chart",
        c.accounts > 0,
        WARNING,
        PREPARER,
        ("company_id", "accounts"),
        table="uncharted",
    ),
    *_of_categories("category_without_account", c.state == "no_account", ERROR),
    *_of_categories(
        "category_on_unknown_account", c.state == "unknown_account", ERROR, PREPARER, ("account_id",)
    ),
    *_of_categories("category_on_archived_account", c.state == "archived_account", ERROR, facts=("account",)),
    *_of_categories(
        "category_on_account_to_be_archived",
        c.state == "to_be_archived_account",
        ERROR,
        facts=("account",),
        action=c.action,
    ),
    AccountCheck(
        "archived_category_on_active_account",
        c.archived & (c.state == "covered"),
        INFO,
        PREPARER,
        ("category", "account"),
        table="coverage",
    ),
    *_of_categories(
        "category_name_duplicate",
        c.name.is_not_null() & (c.of_this_name > 1),
        WARNING,
        facts=("of_this_name",),
        field="name",
        values=(NOTHING, c.name),
    ),
    # Many categories need no tax code.
    AccountCheck(
        "category_without_tax_code",
        HAS_TAX & c.tax_code_id.is_null(),
        INFO,
        SERVICE,
        ("category", "account", "erp_tax"),
        table="coverage",
        field=pl.lit("tax_code_id"),
        values=(c.erp_tax, NOTHING),
    ),
    *_of_categories(
        "category_tax_code_ambiguous",
        HAS_TAX & c.tax_code_id.is_not_null() & (c.first_tax != c.last_tax),
        WARNING,
        facts=("account", "erp_tax", "first_tax", "last_tax"),
        field="tax_code_id",
        values=(c.erp_tax, c.tax_code_id),
    ),
)
