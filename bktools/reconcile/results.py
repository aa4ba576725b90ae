"""The tables that a reconciliation hands over, as facts: codes and values, and no sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import polars as pl
import pyarrow as pa

from bktools.findings.check import SEVERITIES, find
from bktools.frames.names import Import
from bktools.reconcile import inputs
from bktools.reconcile.account_columns import named
from bktools.reconcile.checks import CHECKS, NOTHING, AccountCheck
from bktools.reconcile.spelling import spelled
from bktools.reconcile.tables import IS_EMPTY, KEY, Tables
from bktools.reconcile.verbs import NONE, RULES

c = pl.col
IDS = (*KEY, "account_id", "category_id")
# The name of what a row of a table is about.
ABOUT = dict.fromkeys(("accounts", "look_alikes", "repeated", "unidentified"), c.account) | {
    "coverage": c.category
}
# Accounts that a sentence names.
EXAMPLES = 3
FINDINGS = dict.fromkeys(
    ("check", "severity", "who", "action", *IDS, "field", "erp_value", "service_value", "about", "facts"),
    pl.String,
)


def findings(tables: Tables) -> pl.DataFrame:
    """Return what the checks find."""
    parts = []
    for table in dict.fromkeys(check.table for check in CHECKS):
        rows = getattr(tables, table)
        if len(rows):
            subject = {name: c(name).cast(pl.String) if name in rows.columns else NOTHING for name in IDS}
            subject["about"] = ABOUT.get(table, NOTHING)
            checks = [check for check in CHECKS if check.table == table]
            findings_of_table = find(rows, checks, partial(_beside, subject))
            parts += [findings_of_table.select(FINDINGS.keys())] if len(findings_of_table) else []
    return pl.concat(parts or [pl.DataFrame(schema=FINDINGS)])


def _beside(subject: Mapping[str, pl.Expr], check: AccountCheck) -> dict[str, pl.Expr]:
    erp_value, service_value = check.values
    return {
        **subject,
        "action": check.action,
        "field": check.field,
        "erp_value": erp_value,
        "service_value": service_value,
    }


def coverage(tables: Tables) -> pl.DataFrame:
    """Return each category with its account and its state."""
    return tables.coverage.select(
        "category_id",
        "company_id",
        "name",
        "archived",
        "account_id",
        "external_id",
        "account_name",
        "tax_code_id",
        "state",
    )


def actions(tables: Tables) -> pl.DataFrame:
    """Return the action for each account, and why."""
    values = ("name", "code", "archived", "tax_code_external_id")
    ours, theirs = (c.erp_name, c.erp_code, c.erp_archived, c.erp_tax), (c.name, c.code, c.archived, c.tax)
    chosen = {
        name: pl.when(c.in_chart).then(erp).otherwise(service)
        for name, erp, service in zip(values, ours, theirs, strict=True)
    }
    differs = {"name": c.name_differs, "code": c.code_differs, "tax_code": c.tax_code_differs}
    differing = pl.concat_list(
        [pl.when(flag).then(pl.lit(field)) for field, flag in differs.items()]
    ).list.drop_nulls()
    rows = tables.accounts.with_columns(differing=differing)
    facts = [
        pl.when(c.rule == number).then(pl.struct(rule.facts).struct.json_encode())
        for number, rule in enumerate(RULES)
        if rule.facts
    ]
    decided = rows.select(
        *KEY,
        "account_id",
        "action",
        why=pl.lit(pl.Series([rule.code for rule in RULES])).gather(c.rule),
        **chosen,
        facts=pl.coalesce(*facts, pl.lit("{}")),
    )
    unidentified = tables.frames.chart.filter(IS_EMPTY).select(*KEY, *values, why=pl.lit("external_id_empty"))
    listed = pl.concat([decided, unidentified], how="diagonal")
    return listed.with_columns(c.action.fill_null(NONE), c.facts.fill_null("{}"))


def action_counts(tables: Tables) -> pl.DataFrame:
    """Return the number of accounts by company and action."""
    rows = [
        tables.accounts.select("company_id", "action"),
        tables.frames.chart.filter(IS_EMPTY).select("company_id", action=pl.lit(NONE)),
    ]
    return pl.concat(rows).group_by("company_id", "action").agg(count=pl.len().cast(pl.Int64))


def chart_match(tables: Tables) -> pl.DataFrame:
    """Return per company of the chart how far its accounts are those known here.

    An account with another spelling in the chart has findings of its own; a repeated one counts once.
    """
    used = (
        tables.frames.categories.filter(~c.archived & (c.account_id != ""))
        .select("company_id", "account_id")
        .unique()
    )
    respelled = tables.accounts.filter(c.twin.is_not_null()).select(KEY)
    doubled = tables.doubled.select(*KEY, in_chart=c.chart_rows > 0, in_service=c.service_rows > 0)
    account = named(pl.coalesce(c.code, c.erp_code), c.external_id, c.name)
    active = (
        pl.concat([tables.pairs, doubled], how="diagonal")
        .filter(c.in_service, c.archived.ne_missing(other=True))
        .join(respelled, on=KEY, how="anti")
        .join(used.with_columns(is_used=True), on=["company_id", "account_id"], how="left")
        .with_columns(
            account=account,
            is_used=c.is_used.fill_null(value=False),
            is_matched=c.in_chart & c.name.is_not_null() & c.erp_name.is_not_null(),
        )
        .with_columns(
            is_renamed=c.is_matched & (c.name != c.erp_name) & (spelled(c.name) != spelled(c.erp_name))
        )
    )
    is_missing, names = ~c.in_chart, pl.format("{} ({})", c.account, c.erp_name)
    return (
        tables.charted.to_frame()
        .join(active, on="company_id", how="left")
        .group_by("company_id")
        .agg(
            known=c.in_chart.count(),
            known_missing=is_missing.sum(),
            known_examples=_first(c.account.filter(is_missing)),
            used=c.is_used.sum(),
            used_missing=(c.is_used & is_missing).sum(),
            used_examples=_first(c.account.filter(c.is_used & is_missing)),
            matched=c.is_matched.sum(),
            renamed=c.is_renamed.sum(),
            renamed_examples=_first(names.filter(c.is_renamed)),
        )
    )


def unused_accounts(tables: Tables) -> pl.DataFrame:
    """Return the active accounts that no category uses."""
    return tables.unused_accounts.select(*KEY, c.id.alias("account_id"), "code", "name")


# Each table that is handed over, by its name, and the columns that it is sorted by: every one that two rows
# may differ in, so that tables put together of parts have the order of the whole. Of findings the most severe
# come first.
RESULTS: Mapping[str, tuple[Callable[[Tables], pl.DataFrame], tuple[str | pl.Expr, ...]]] = {
    "findings": (
        findings,
        (
            c.severity.replace_strict(dict(zip(SEVERITIES, range(3), strict=True)), return_dtype=pl.UInt8),
            "check",
            "company_id",
            "external_id",
            "category_id",
            "account_id",
            "field",
            "erp_value",
            "facts",
        ),
    ),
    "coverage": (coverage, ("company_id", "name", "category_id")),
    "actions": (actions, (*KEY, "code", "name", "archived", "tax_code_external_id")),
    "action_counts": (action_counts, ("company_id", "action")),
    "chart_match": (chart_match, ("company_id",)),
    "unused_accounts": (unused_accounts, (*KEY, "account_id", "code", "name")),
}


def results(frames: Mapping[str, pa.Table], names: Iterable[str], imported: Import) -> dict[str, pa.Table]:
    """Return the named tables of RESULTS for frames from `inputs.read`."""
    tables = Tables(inputs.comparable(frames), imported)
    return {name: in_order(name, RESULTS[name][0](tables)) for name in names}


def in_order(name: str, rows: pl.DataFrame) -> pa.Table:
    """Return the rows of a table of RESULTS in its order."""
    return rows.sort(*RESULTS[name][1]).to_arrow()


def _first(texts: pl.Expr) -> pl.Expr:
    return texts.bottom_k(EXAMPLES).sort()
