"""Checks of what accounts are known by: external IDs, names and codes that are missing, doubled, too long or alike."""

from __future__ import annotations

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.findings import Tables, account, findings, line, shown
from bktools.reconcile.pairs import KEY, is_empty, is_long, is_single

# What a spreadsheet or a person may add to a text without anybody seeing it. Spelled out, because engines do not agree
# on what white space is.
BLANKS = "[ \t\n\x0b\x0c\r\u0085\u00a0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff]+"

READ_AS_TEXT = "which differ in leading zeros alone: read the chart's file as text before anything is created"
MAKE_THEM_SAME = "which differ in case or white space alone: make them the same before anything is created"
SHOWN = 60


def external_id_duplicate(tables: Tables) -> Lazy:
    """Find external IDs that are on several rows of one side, so that which one is meant is unknown."""
    sides = {
        "chart_rows": "{} rows of the chart have the external ID {}: leave one of them in the chart",
        "service_rows": "{} accounts known here have the external ID {}: import them anew, each once",
    }
    several = [
        findings(
            tables.pairs.filter(nw.col(rows) > 1),
            "external_id_duplicate",
            severity="error",
            external_id="external_id",
            field="external_id",
            message=line(template, nw.col(rows).cast(nw.String), shown("external_id")),
        )
        for rows, template in sides.items()
    ]
    return nw.concat(several)


def external_id_empty(tables: Tables) -> Lazy:
    """Find accounts without an external ID, which cannot be matched."""
    sides = [
        (tables.chart, "{} of the chart has no external ID and cannot be matched: give it one in the ERP"),
        (tables.accounts, "{}, known here, has no external ID and cannot be matched: import it with one"),
    ]
    named = nw.concat_str(nw.coalesce(nw.col("code"), nw.lit("an account")), "name", separator=" ", ignore_nulls=True)
    nameless = [
        findings(
            frame.filter(is_empty("external_id")),
            "external_id_empty",
            severity="error",
            external_id="external_id",
            field="external_id",
            message=line(template, named),
        )
        for frame, template in sides
    ]
    return nw.concat(nameless)


def external_id_too_long(tables: Tables) -> Lazy:
    """Find external IDs that are longer than the service takes."""
    return _too_long(tables, "external_id_too_long", "external_id", "the external ID", "external_id")


def name_too_long(tables: Tables) -> Lazy:
    """Find names that are longer than the service takes."""
    return _too_long(tables, "name_too_long", "erp_name", "the name", "name")


def code_too_long(tables: Tables) -> Lazy:
    """Find codes that are longer than the service takes."""
    return _too_long(tables, "code_too_long", "erp_code", "the code", "code")


def name_missing(tables: Tables) -> Lazy:
    """Find accounts without a name, which cannot be created."""
    return findings(
        tables.pairs.filter(is_single() & ~nw.col("chart_rows").is_null() & nw.col("erp_name").is_null()),
        "name_missing",
        severity="error",
        external_id="external_id",
        account_id="account_id",
        field="name",
        message=line("{} has no name in the chart: give it one in the ERP", account("erp_code", "erp_name")),
    )


def external_id_looks_alike(tables: Tables) -> Lazy:
    """Find external IDs that differ in case or white space alone: creating one would double the account."""
    bare = nw.col("external_id").str.replace_all(BLANKS, "").str.to_lowercase()
    return _alike(tables, "external_id_looks_alike", bare, MAKE_THEM_SAME)


def leading_zeros_lost(tables: Tables) -> Lazy:
    """Find external IDs and codes that differ in leading zeros alone, as a spreadsheet leaves them."""
    ids = _alike(tables, "leading_zeros_lost", _without_zeros("external_id"), READ_AS_TEXT)
    codes = findings(
        tables.pairs.filter(nw.col("code_differs") & (_without_zeros("erp_code") == _without_zeros("code"))),
        "leading_zeros_lost",
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
    return nw.concat([ids, codes])


def code_lengths_mixed(tables: Tables) -> Lazy:
    """Find charts whose numbers have several lengths and no leading zero: a spreadsheet may have taken them."""
    numbers = tables.chart.filter(nw.col("code").str.contains("^[0-9]+$")).select(
        "company_id", digits=nw.col("code").str.len_chars(), zeros=nw.col("code").str.starts_with("0").cast(nw.Int64)
    )
    spread = numbers.group_by("company_id").agg(
        shortest=nw.col("digits").min(), longest=nw.col("digits").max(), zeros=nw.col("zeros").max()
    )
    return findings(
        spread.filter((nw.col("shortest") < nw.col("longest")) & (nw.col("zeros") == 0)),
        "code_lengths_mixed",
        severity="info",
        field="code",
        message=line(
            "codes of the chart have {} to {} digits and none starts with 0: if the ERP has some that do, "
            "read the chart's file as text",
            nw.col("shortest").cast(nw.String),
            nw.col("longest").cast(nw.String),
        ),
    )


def _too_long(tables: Tables, check: str, column: str, words: str, field: str) -> Lazy:
    cut = nw.concat_str(
        nw.coalesce("erp_code", "external_id").str.slice(0, SHOWN),
        nw.lit(" "),
        nw.coalesce(nw.col("erp_name"), nw.lit("")).str.slice(0, SHOWN),
    )
    return findings(
        tables.pairs.filter(~nw.col("chart_rows").is_null() & is_long(column)),
        check,
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


def _alike(tables: Tables, check: str, bare: nw.Expr, template: str) -> Lazy:
    """Return findings for accounts of the chart alone that are like one of the service alone, once made bare."""
    # Narrow before the join: DuckDB plans a wide one ten times as long.
    chart = tables.pairs.filter(nw.col("service_rows").is_null()).select(*KEY, bare=bare)
    service = tables.pairs.filter(nw.col("chart_rows").is_null() & nw.col("charted")).select(*KEY, bare=bare)
    # One line per account of the chart, however many are like it.
    likes = service.group_by("company_id", "bare").agg(like=nw.col("external_id").min())
    return findings(
        chart.join(likes, on=["company_id", "bare"]),
        check,
        severity="error",
        external_id="external_id",
        field="external_id",
        erp_value="external_id",
        service_value="like",
        message=line(
            f"the chart has the external ID {{}} and the service {{}}, {template}", shown("external_id"), shown("like")
        ),
    )


def _without_zeros(column: str) -> nw.Expr:
    return nw.col(column).str.replace_all("^0+", "")
