"""Checks of accounts: what the chart of accounts and the service say of each. Each returns what breaks it."""

from __future__ import annotations

import narwhals as nw

from bktools.reconcile.findings import Breach, Tables, account, flag, line, shown
from bktools.reconcile.pairs import is_single

ERP_ACCOUNT = account("erp_code", "erp_name")
SERVICE_ACCOUNT = account("code", "name")
VERB = nw.col("action")


def missing_in_service(tables: Tables) -> list[Breach]:
    """Find accounts in the chart and not in the service, where nothing stands against creating them."""
    breach = Breach(
        "missing_in_service",
        tables.pairs,
        nw.col("action") == "create",
        severity="warning",
        action="create",
        external_id="external_id",
        message=line("{} is in the chart and not in the service: create it (bktools accounts create)", ERP_ACCOUNT),
    )
    return [breach]


def missing_in_erp(tables: Tables) -> list[Breach]:
    """Find accounts in the service and not in the chart of their company."""
    archived = nw.col("archived").fill_null(False)
    twin = nw.coalesce("looks_like", "zeros_like")
    template = "{} is in the service and not in the chart"
    breach = Breach(
        "missing_in_erp",
        tables.pairs,
        nw.col("chart_rows").is_null() & nw.col("charted"),
        severity=nw.when(archived).then(nw.lit("info")).otherwise(nw.lit("warning")),
        action=VERB,
        external_id="external_id",
        account_id="account_id",
        message=nw.when(archived)
        .then(line(template + ": it is archived already, nothing to do", SERVICE_ACCOUNT))
        .when(~twin.is_null())
        .then(line(template + ", which has {}: leave it as it is until that is settled", SERVICE_ACCOUNT, shown(twin)))
        .otherwise(line(template + ": archive it in the service, or bring it back in the ERP", SERVICE_ACCOUNT)),
    )
    return [breach]


def name_differs(tables: Tables) -> list[Breach]:
    """Find accounts that both have, under two names."""
    return _difference(tables, "name_differs", "name", "name", "erp_name", "name", severity="warning")


def code_differs(tables: Tables) -> list[Breach]:
    """Find accounts that both have, with two codes."""
    return _difference(tables, "code_differs", "code", "code", "erp_code", "code", severity="warning")


def tax_code_differs(tables: Tables) -> list[Breach]:
    """Find accounts that both have, with two tax codes: an error, because tax would be booked wrongly."""
    field = "tax_code_external_id"
    return _difference(tables, "tax_code_differs", field, "tax code", "erp_tax", "tax", severity="error")


def archived_differs(tables: Tables) -> list[Breach]:
    """Find accounts that both have, and one of them has archived."""
    template = "{} is {} in the chart and {} in the service: {} it in the service"
    to_archive = [ERP_ACCOUNT, nw.lit("archived"), nw.lit("active"), nw.lit("archive")]
    to_unarchive = [ERP_ACCOUNT, nw.lit("active"), nw.lit("archived"), nw.lit("unarchive")]
    breach = Breach(
        "archived_differs",
        tables.pairs,
        nw.col("archived_differs"),
        severity="warning",
        action=VERB,
        external_id="external_id",
        account_id="account_id",
        field="archived",
        erp_value=flag("erp_archived"),
        service_value=flag("archived"),
        message=nw.when(nw.col("erp_archived"))
        .then(line(template, *to_archive))
        .otherwise(line(template, *to_unarchive)),
    )
    return [breach]


def account_id_unknown(tables: Tables) -> list[Breach]:
    """Find accounts that the service has without having told their ID."""
    breach = Breach(
        "account_id_unknown",
        tables.pairs,
        is_single() & ~nw.col("service_rows").is_null() & nw.col("account_id").is_null(),
        severity="warning",
        external_id="external_id",
        field="id",
        message=line(
            "{} exists in the service and its ID is unknown here: import it (bktools accounts import FILE)",
            account(nw.coalesce("code", "erp_code"), nw.coalesce("name", "erp_name")),
        ),
    )
    return [breach]


def account_unused(tables: Tables) -> list[Breach]:
    """Find active accounts that no category is on; says nothing of a company whose categories were not given."""
    active = tables.accounts.filter(~nw.col("id").is_null() & ~nw.col("archived").fill_null(False))
    accounts = active.select("company_id", "external_id", "code", "name", account_id="id")
    unused = accounts.join(tables.categories, on="company_id", how="semi").join(
        tables.categories, on=["company_id", "account_id"], how="anti"
    )
    breach = Breach(
        "account_unused",
        unused,
        None,
        severity="info",
        external_id="external_id",
        account_id="account_id",
        message=line("no category uses {}", SERVICE_ACCOUNT),
    )
    return [breach]


def company_without_chart(tables: Tables) -> list[Breach]:
    """Find companies that the chart has no row of: their accounts were not compared."""
    breach = Breach(
        "company_without_chart",
        tables.pairs.filter(~nw.col("charted")).group_by("company_id").agg(count=nw.len()),
        None,
        severity="warning",
        message=line(
            "the chart has no account of company {}, so what the service has of it ({}) was not compared: "
            "give its chart, or leave the company out",
            nw.col("company_id"),
            nw.col("count").cast(nw.String),
        ),
    )
    return [breach]


def _difference(
    tables: Tables, check: str, field: str, words: str, erp: str, service: str, *, severity: str
) -> list[Breach]:
    """Return what breaks a check whose flag has its name."""
    breach = Breach(
        check,
        tables.pairs,
        nw.col(check),
        severity=severity,
        action="update",
        external_id="external_id",
        account_id="account_id",
        field=field,
        erp_value=erp,
        service_value=service,
        message=line(
            f"{{}} has the {words} {{}} in the chart and {{}} in the service: update it in the service",
            ERP_ACCOUNT,
            shown(erp),
            shown(service),
        ),
    )
    return [breach]
