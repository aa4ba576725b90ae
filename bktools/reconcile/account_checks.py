"""Checks of accounts: the chart of accounts against what the service has. Each returns its findings."""

from __future__ import annotations

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.findings import Tables, account, findings, shown
from bktools.reconcile.pairs import KEY, is_empty, is_long

# What a spreadsheet or a person may add to a text without anybody seeing it. Spelled out, because what engines count
# as white space differs.
BLANKS = "[ \t\n\x0b\x0c\r\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+"

ERP_ACCOUNT = account("erp_code", "erp_name")
SERVICE_ACCOUNT = account("code", "name")


def missing_in_service(tables: Tables) -> Lazy:
    """In the chart and not in the service."""
    return findings(
        tables.pairs.filter(nw.col("action") == "create"),
        severity="warning",
        action="create",
        external_id="external_id",
        message=nw.format("{} is in the chart and not in the service: create it (bktools accounts create)", ERP_ACCOUNT),
    )


def missing_in_erp(tables: Tables) -> Lazy:
    """In the service and not in the chart."""
    gone = tables.pairs.filter(nw.col("chart_rows").is_null() & nw.col("charted"))
    archived = nw.col("archived").fill_null(False)
    line = "{} is in the service and not in the chart: "
    return findings(
        gone,
        severity=nw.when(archived).then(nw.lit("info")).otherwise(nw.lit("warning")),
        action=nw.col("action"),
        external_id="external_id",
        account_id="account_id",
        message=nw.when(archived)
        .then(nw.format(line + "it is archived already, nothing to do", SERVICE_ACCOUNT))
        .otherwise(nw.format(line + "archive it in the service, or bring it back in the ERP", SERVICE_ACCOUNT)),
    )


def name_differs(tables: Tables) -> Lazy:
    """Both have the account, under two names."""
    return _difference(tables, "name", "name_differs", "erp_name", "name", severity="warning")


def code_differs(tables: Tables) -> Lazy:
    """Both have the account, with two codes."""
    return _difference(tables, "code", "code_differs", "erp_code", "code", severity="warning")


def tax_code_differs(tables: Tables) -> Lazy:
    """Both have the account, with two tax codes: an error, because tax would be booked wrongly."""
    return _difference(tables, "tax_code_external_id", "tax_differs", "erp_tax", "tax", severity="error")


def archived_differs(tables: Tables) -> Lazy:
    """Both have the account, and one of them has it archived."""
    in_erp = nw.col("erp_archived")
    return findings(
        tables.pairs.filter(nw.col("archived_differs")),
        severity="warning",
        action=nw.col("action"),
        external_id="external_id",
        account_id="account_id",
        field="archived",
        erp_value=_flag("erp_archived"),
        service_value=_flag("archived"),
        message=nw.when(in_erp)
        .then(nw.format("{} is archived in the chart and active in the service: archive it in the service", ERP_ACCOUNT))
        .otherwise(
            nw.format("{} is active in the chart and archived in the service: unarchive it in the service", ERP_ACCOUNT)
        ),
    )


def external_id_duplicate(tables: Tables) -> Lazy:
    """Several rows of one side have one external ID, so which one is meant is unknown."""
    several = [
        _repeated(tables, "chart_rows", "{} rows of the chart have the external ID {}: leave one of them in the chart"),
        _repeated(tables, "service_rows", "{} accounts known here have the external ID {}: import them anew, each once"),
    ]
    return nw.concat(several)


def external_id_empty(tables: Tables) -> Lazy:
    """An account without an external ID cannot be matched."""
    sides = [
        (tables.chart, "chart", "{} of the chart has no external ID and cannot be matched: give it one in the ERP"),
        (tables.accounts, "accounts", "{}, known here, has no external ID and cannot be matched: import it with one"),
    ]
    named = account("code", "name", nw.lit("an account"))
    return nw.concat(
        [
            findings(
                frame.filter(is_empty("external_id")),
                severity="error",
                external_id="external_id",
                field="external_id",
                message=nw.format(line, named),
            )
            for frame, _, line in sides
        ]
    )


def external_id_too_long(tables: Tables) -> Lazy:
    """The service takes no external ID of this length."""
    return _too_long(tables, "external_id", "external ID", "external_id")


def name_too_long(tables: Tables) -> Lazy:
    """The service takes no name of this length."""
    return _too_long(tables, "erp_name", "name", "name")


def code_too_long(tables: Tables) -> Lazy:
    """The service takes no code of this length."""
    return _too_long(tables, "erp_code", "code", "code")


def name_missing(tables: Tables) -> Lazy:
    """An account without a name cannot be created."""
    nameless = (nw.col("chart_rows") == 1) & nw.col("erp_name").is_null()
    return findings(
        tables.pairs.filter(nameless),
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field="name",
        message=nw.format("{} has no name in the chart: give it one in the ERP", ERP_ACCOUNT),
    )


def external_id_looks_alike(tables: Tables) -> Lazy:
    """Two external IDs differ in case or white space alone: creating one would double the account."""
    bare = nw.col("external_id").str.replace_all(BLANKS, "").str.to_lowercase()
    return _alike(
        tables,
        bare,
        "the chart has the external ID {} and the service {}, which differ in case or white space alone: "
        "make them the same before anything is created",
    )


def leading_zeros_lost(tables: Tables) -> Lazy:
    """A code or external ID is that of the other side without its leading zeros, as a spreadsheet leaves it."""
    ids = _alike(
        tables,
        _without_zeros("external_id"),
        "the chart has the external ID {} and the service {}, which differ in leading zeros alone: "
        "read the chart's file as text before anything is created",
    )
    same = (_without_zeros("erp_code") == _without_zeros("code")).fill_null(False)
    codes = findings(
        tables.pairs.filter(nw.col("code_differs") & same),
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field="code",
        erp_value="erp_code",
        service_value="code",
        message=nw.format(
            "the chart has the code {} and the service {}, which differ in leading zeros alone: "
            "read the chart's file as text",
            shown("erp_code"),
            shown("code"),
        ),
    )
    return nw.concat([ids, codes])


def code_lengths_mixed(tables: Tables) -> Lazy:
    """Numbers of several lengths and none with a leading zero: a spreadsheet may have taken them."""
    numbers = tables.chart.filter(nw.col("code").str.contains("^[0-9]+$"))
    spread = numbers.group_by("company_id").agg(
        shortest=nw.col("code").str.len_chars().min(),
        longest=nw.col("code").str.len_chars().max(),
        zeros=nw.col("code").str.starts_with("0").cast(nw.Int64).max(),
    )
    return findings(
        spread.filter((nw.col("shortest") < nw.col("longest")) & (nw.col("zeros") == 0)),
        severity="info",
        field="code",
        message=nw.format(
            "codes of the chart have {} to {} digits and none starts with 0: if that is not so in the ERP, "
            "leading zeros were lost on the way",
            nw.col("shortest").cast(nw.String),
            nw.col("longest").cast(nw.String),
        ),
    )


def account_id_unknown(tables: Tables) -> Lazy:
    """The service has the account and did not tell its ID."""
    return findings(
        tables.pairs.filter((nw.col("service_rows") == 1) & nw.col("account_id").is_null()),
        severity="warning",
        external_id="external_id",
        field="id",
        message=nw.format(
            "{} exists in the service and its ID is unknown here: import it (bktools accounts import FILE)",
            account(nw.coalesce("code", "erp_code"), nw.coalesce("name", "erp_name")),
        ),
    )


def account_unused(tables: Tables) -> Lazy:
    """No category of the company names the account; says nothing where no categories of the company were given."""
    companies = tables.categories.select("company_id").unique()
    named = tables.categories.select("company_id", "account_id").filter(~nw.col("account_id").is_null())
    active = tables.pairs.filter(~nw.col("account_id").is_null() & ~nw.col("archived").fill_null(False))
    unused = active.join(companies, on="company_id", how="semi").join(named, on=["company_id", "account_id"], how="anti")
    return findings(
        unused,
        severity="info",
        external_id="external_id",
        account_id="account_id",
        message=nw.format("no category uses {}", SERVICE_ACCOUNT),
    )


def company_without_chart(tables: Tables) -> Lazy:
    """Accounts of a company that the chart has no row of were not judged."""
    alone = tables.pairs.filter(~nw.col("charted")).group_by("company_id").agg(count=nw.len())
    return findings(
        alone,
        severity="warning",
        message=nw.format(
            "the chart has no account of company {}, so its {} accounts in the service were not compared: "
            "give its chart, or leave the company out",
            nw.col("company_id"),
            nw.col("count").cast(nw.String),
        ),
    )


def _difference(tables: Tables, field: str, flag: str, erp: str, service: str, *, severity: str) -> Lazy:
    words = {"tax_code_external_id": "tax code"}.get(field, field)
    return findings(
        tables.pairs.filter(nw.col(flag)),
        severity=severity,
        action="update",
        external_id="external_id",
        account_id="account_id",
        field=field,
        erp_value=erp,
        service_value=service,
        message=nw.format(
            f"{{}} has the {words} {{}} in the chart and {{}} in the service: update it in the service",
            ERP_ACCOUNT,
            shown(erp),
            shown(service),
        ),
    )


def _repeated(tables: Tables, rows: str, line: str) -> Lazy:
    return findings(
        tables.pairs.filter(nw.col(rows) > 1),
        severity="error",
        external_id="external_id",
        field="external_id",
        message=nw.format(line, nw.col(rows).cast(nw.String), shown("external_id")),
    )


def _too_long(tables: Tables, column: str, words: str, field: str) -> Lazy:
    length = nw.col(column).str.len_chars().cast(nw.String)
    return findings(
        tables.pairs.filter(~nw.col("chart_rows").is_null() & is_long(column)),
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field=field,
        erp_value=column,
        message=nw.format(
            f"{{}} has {words} of {{}} characters, the service takes {LONGEST_TEXT}: shorten it in the ERP",
            account("erp_code", "erp_name"),
            length,
        ),
    )


def _alike(tables: Tables, bare: nw.Expr, line: str) -> Lazy:
    """Return findings for accounts of the chart alone that are like one of the service alone, once made bare."""
    alone = tables.pairs.with_columns(bare=bare)
    chart = alone.filter(nw.col("service_rows").is_null())
    service = alone.filter(nw.col("chart_rows").is_null() & nw.col("charted"))
    # One line per account of the chart, however many are like it.
    likes = service.group_by("company_id", "bare").agg(like=nw.col("external_id").min())
    return findings(
        chart.select(*KEY, "bare").join(likes, on=["company_id", "bare"]),
        severity="error",
        external_id="external_id",
        field="external_id",
        erp_value="external_id",
        service_value="like",
        message=nw.format(line, shown("external_id"), shown("like")),
    )


def _without_zeros(column: str) -> nw.Expr:
    return nw.col(column).str.replace_all("^0+", "")


def _flag(column: str) -> nw.Expr:
    return nw.when(nw.col(column)).then(nw.lit("true")).otherwise(nw.lit("false"))
