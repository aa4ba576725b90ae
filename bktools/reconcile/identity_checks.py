"""Checks of what accounts are known by: external IDs, names and codes that are missing, doubled, too long or alike."""

from __future__ import annotations

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.reconcile.findings import Breach, Tables, account, line, shown
from bktools.reconcile.pairs import is_empty, is_long, is_single, without_zeros

READ_AS_TEXT = "which differ in leading zeros alone: read the chart's file as text before anything is created"
MAKE_THEM_SAME = "which differ in case or white space alone: make them the same before anything is created"
SHOWN = 60


def external_id_duplicate(tables: Tables) -> list[Breach]:
    """Find external IDs that are on several rows of one side, so that which one is meant is unknown."""
    sides = {
        "chart_rows": "{} rows of the chart have the external ID {}: leave one of them in the chart",
        "service_rows": "{} accounts known here have the external ID {}: import them anew, each once",
    }
    return [
        Breach(
            "external_id_duplicate",
            tables.pairs,
            nw.col(rows) > 1,
            severity="error",
            external_id="external_id",
            field="external_id",
            message=line(template, nw.col(rows).cast(nw.String), shown("external_id")),
        )
        for rows, template in sides.items()
    ]


def external_id_empty(tables: Tables) -> list[Breach]:
    """Find accounts without an external ID, which cannot be matched."""
    sides = [
        (tables.chart, "{} of the chart has no external ID and cannot be matched: give it one in the ERP"),
        (tables.accounts, "{}, known here, has no external ID and cannot be matched: import it with one"),
    ]
    named = nw.concat_str(nw.coalesce(nw.col("code"), nw.lit("an account")), "name", separator=" ", ignore_nulls=True)
    return [
        Breach(
            "external_id_empty",
            table,
            is_empty("external_id"),
            severity="error",
            external_id="external_id",
            field="external_id",
            message=line(template, named),
        )
        for table, template in sides
    ]


def external_id_too_long(tables: Tables) -> list[Breach]:
    """Find external IDs that are longer than the service takes."""
    return _too_long(tables, "external_id_too_long", "external_id", "the external ID", "external_id")


def name_too_long(tables: Tables) -> list[Breach]:
    """Find names that are longer than the service takes."""
    return _too_long(tables, "name_too_long", "erp_name", "the name", "name")


def code_too_long(tables: Tables) -> list[Breach]:
    """Find codes that are longer than the service takes."""
    return _too_long(tables, "code_too_long", "erp_code", "the code", "code")


def name_missing(tables: Tables) -> list[Breach]:
    """Find accounts without a name, which cannot be created."""
    breach = Breach(
        "name_missing",
        tables.pairs,
        is_single() & ~nw.col("chart_rows").is_null() & nw.col("erp_name").is_null(),
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field="name",
        message=line("{} has no name in the chart: give it one in the ERP", account("erp_code", "erp_name")),
    )
    return [breach]


def external_id_looks_alike(tables: Tables) -> list[Breach]:
    """Find external IDs that differ in case or white space alone: creating one would double the account."""
    return _alike(tables, "external_id_looks_alike", "looks_like", MAKE_THEM_SAME)


def leading_zeros_lost(tables: Tables) -> list[Breach]:
    """Find external IDs and codes that differ in leading zeros alone, as a spreadsheet leaves them."""
    codes = Breach(
        "leading_zeros_lost",
        tables.pairs,
        nw.col("code_differs") & (without_zeros("erp_code") == without_zeros("code")),
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field="code",
        erp_value="erp_code",
        service_value="code",
        message=line(
            f"the chart has the code {{}} and the service {{}}, {READ_AS_TEXT}", shown("erp_code"), shown("code")
        ),
    )
    return [*_alike(tables, "leading_zeros_lost", "zeros_like", READ_AS_TEXT), codes]


def code_lengths_mixed(tables: Tables) -> list[Breach]:
    """Find charts whose numbers have several lengths and no leading zero: a spreadsheet may have taken them."""
    breach = Breach(
        "code_lengths_mixed",
        tables.charts,
        (nw.col("shortest") < nw.col("longest")) & (nw.col("zeros") == 0),
        severity="info",
        field="code",
        message=line(
            "codes of the chart have {} to {} digits and none starts with 0: if the ERP has some that do, "
            "read the chart's file as text",
            nw.col("shortest").cast(nw.String),
            nw.col("longest").cast(nw.String),
        ),
    )
    return [breach]


def _too_long(tables: Tables, check: str, column: str, words: str, field: str) -> list[Breach]:
    cut = nw.concat_str(
        nw.coalesce("erp_code", "external_id").str.slice(0, SHOWN),
        nw.lit(" "),
        nw.coalesce(nw.col("erp_name"), nw.lit("")).str.slice(0, SHOWN),
    )
    breach = Breach(
        check,
        tables.pairs,
        ~nw.col("chart_rows").is_null() & is_long(column),
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field=field,
        erp_value=column,
        message=line(
            f"{words} of {{}}… has {{}} characters and the service takes {LONGEST_TEXT}: shorten it in the ERP",
            cut,
            nw.col(column).str.len_chars().cast(nw.String),
        ),
    )
    return [breach]


def _alike(tables: Tables, check: str, like: str, template: str) -> list[Breach]:
    """Return accounts of the chart alone that are like one of the service alone."""
    breach = Breach(
        check,
        tables.pairs,
        nw.col("service_rows").is_null() & ~nw.col(like).is_null(),
        severity="error",
        external_id="external_id",
        field="external_id",
        erp_value="external_id",
        service_value=like,
        message=line(
            f"the chart has the external ID {{}} and the service {{}}, {template}", shown("external_id"), shown(like)
        ),
    )
    return [breach]
