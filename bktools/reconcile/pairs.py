"""The join: one row per account of the chart or of the service, with the verb that makes them equal, and why.

Accounts are matched on external ID within a company, to the letter, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.given import Given

Keep = Callable[[Lazy], Lazy]

KEY = ["company_id", "external_id"]
ACTION_COLUMNS = [*KEY, "account_id", "action", "why", "name", "code", "archived", "tax_code_external_id"]


def is_empty(column: str) -> nw.Expr:
    """Whether a text is missing or has no character."""
    return nw.col(column).is_null() | (nw.col(column) == "").fill_null(False)


def is_long(column: str) -> nw.Expr:
    """Whether a text is longer than the service takes."""
    return (nw.col(column).str.len_chars() > LONGEST_TEXT).fill_null(False)


def pair(given: Given, keep: Keep = lambda frame: frame) -> Lazy:
    """Return one row per (company, external ID) of either side; rows without an external ID are left out.

    Columns: the key; `erp_*` as the chart has it; `account_id`, `name`, `code`, `archived`, `tax` as the service has
    it; `chart_rows`, `service_rows` how many rows have the key (null: none); `charted` whether there is a chart for the
    company; `*_differs`, named as their checks. What is ambiguous (several rows of a key) is null.
    """
    chart = _one_per_key(
        given.chart.select(
            *KEY,
            erp_name="name",
            erp_code="code",
            erp_archived="archived",
            erp_tax="tax_code_external_id",
        ),
        "chart_rows",
        keep,
    )
    charted = given.chart.select("company_id").unique().with_columns(charted=nw.lit(True))
    service = _one_per_key(
        given.accounts.select(*KEY, "name", "code", "archived", account_id="id", tax="tax_code_external_id"),
        "service_rows",
        keep,
    ).join(charted, on="company_id", how="left")
    joined = chart.join(service, on=KEY, how="full", suffix="_service")
    told = ~nw.col("account_id").is_null()
    # (flag, column of the chart, column of the service, name of both, where the service's side is known)
    compared = [
        # The service always has a name and a flag, so a missing one is unknown, not different.
        ("name_differs", "erp_name", "name", "name", ~nw.col("name").is_null()),
        ("archived_differs", "erp_archived", "archived", "archived", ~nw.col("archived").is_null()),
        # These may be missing in the service, but are unknown where the service never told the account.
        ("code_differs", "erp_code", "code", "code", told | ~nw.col("code").is_null()),
        ("tax_code_differs", "erp_tax", "tax", "tax_code_external_id", told | ~nw.col("tax").is_null()),
    ]
    differences = {
        flag: _differs(erp, service_, known) if column in given.compared else nw.lit(False)
        for flag, erp, service_, column, known in compared
    }
    return joined.select(
        *[nw.coalesce(column, f"{column}_service").alias(column) for column in KEY],
        *["erp_name", "erp_code", "erp_archived", "erp_tax", "chart_rows"],
        *["account_id", "name", "code", "archived", "tax", "service_rows"],
        charted=~nw.col("chart_rows").is_null() | ~nw.col("charted").is_null(),
        **differences,
    )


def remarkable(pairs: Lazy) -> Lazy:
    """Return the pairs that anything is to be said about: among a million accounts, a few."""
    said = [
        *[nw.col(flag) for flag in ("name_differs", "code_differs", "tax_code_differs", "archived_differs")],
        *[nw.col(rows).is_null() | (nw.col(rows) > 1) for rows in ("chart_rows", "service_rows")],
        *[nw.col(column).is_null() for column in ("erp_name", "account_id")],
        *[is_long(column) for column in ("external_id", "erp_name", "erp_code")],
    ]
    return pairs.filter(nw.any_horizontal(*said, ignore_nulls=True))


def judged(pairs: Lazy) -> Lazy:
    """Return the pairs with `action` and `why`: the first rule that holds decides."""
    return pairs.with_columns(**_judgement())


def actions(pairs: Lazy, chart: Lazy) -> Lazy:
    """Return the verb of each account, with what creating it takes; as the chart has it where the chart has it."""
    listed = judged(pairs).select(
        *KEY,
        "account_id",
        "action",
        "why",
        nw.when(nw.col("chart_rows").is_null()).then(nw.col("name")).otherwise(nw.col("erp_name")).alias("name"),
        nw.when(nw.col("chart_rows").is_null()).then(nw.col("code")).otherwise(nw.col("erp_code")).alias("code"),
        nw.coalesce("erp_archived", "archived").alias("archived"),
        nw.when(nw.col("chart_rows").is_null())
        .then(nw.col("tax"))
        .otherwise(nw.col("erp_tax"))
        .alias("tax_code_external_id"),
    )
    nameless = chart.filter(is_empty("external_id")).select(
        *KEY,
        nw.lit(None, nw.String).alias("account_id"),
        nw.lit("none").alias("action"),
        nw.lit("the external ID is empty").alias("why"),
        "name",
        "code",
        "archived",
        "tax_code_external_id",
    )
    return nw.concat([listed, nameless]).sort(*KEY, "code", "name")


def _one_per_key(frame: Lazy, count: str, keep: Keep) -> Lazy:
    """Return one row per key with the number of its rows; where there are several, their values are left out."""
    keyed = frame.filter(~is_empty("external_id"))
    several = keep(keyed.group_by(*KEY).agg(nw.len().cast(nw.Int64).alias(count)).filter(nw.col(count) > 1))
    columns = frame.collect_schema()
    once = keyed.join(several.select(KEY), on=KEY, how="anti").with_columns(nw.lit(1, nw.Int64).alias(count))
    ambiguous = several.select(
        *[nw.col(name) if name in KEY else nw.lit(None, dtype).alias(name) for name, dtype in columns.items()], count
    )
    return nw.concat([once, ambiguous])


def _differs(erp: str, service: str, known: nw.Expr) -> nw.Expr:
    """Whether both sides have the account, once each, and say something different; two nulls are the same."""
    left, right = nw.col(erp), nw.col(service)
    both = ((nw.col("chart_rows") == 1) & (nw.col("service_rows") == 1)).fill_null(False)
    return both & known & ((left != right).fill_null(False) | (left.is_null() != right.is_null()))


def _judgement() -> dict[str, nw.Expr]:
    in_chart, in_service = ~nw.col("chart_rows").is_null(), ~nw.col("service_rows").is_null()
    new, gone = in_chart & ~in_service, in_service & ~in_chart
    erp_archived = nw.col("erp_archived").fill_null(False)
    archived, active = nw.col("archived").fill_null(False), ~nw.col("archived").fill_null(True)
    name, code, tax = nw.col("name_differs"), nw.col("code_differs"), nw.col("tax_code_differs")
    rules = [
        (~nw.col("charted"), "none", "no chart of accounts was given for this company"),
        ((nw.col("chart_rows") > 1).fill_null(False), "none", "the external ID is on several rows of the chart"),
        ((nw.col("service_rows") > 1).fill_null(False), "none", "the external ID is on several accounts known here"),
        (new & erp_archived, "none", "archived in the ERP and unknown to the service"),
        (new & is_long("external_id"), "none", f"the external ID has more than {LONGEST_TEXT} characters"),
        (new & nw.col("erp_name").is_null(), "none", "the name is missing"),
        (new & is_long("erp_name"), "none", f"the name has more than {LONGEST_TEXT} characters"),
        (new & is_long("erp_code"), "none", f"the code has more than {LONGEST_TEXT} characters"),
        (new, "create", "in the chart and not in the service"),
        (gone & active, "archive", "in the service and not in the chart"),
        (gone & archived, "none", "not in the chart and archived in the service"),
        (gone, "none", "not in the chart; whether it is archived in the service is unknown"),
        (nw.col("archived_differs") & erp_archived, "archive", "archived in the chart and active in the service"),
        (nw.col("archived_differs"), "unarchive", "active in the chart and archived in the service"),
        (name & code & tax, "update", "name, code and tax code differ"),
        (name & code, "update", "name and code differ"),
        (name & tax, "update", "name and tax code differ"),
        (code & tax, "update", "code and tax code differ"),
        (name, "update", "the name differs"),
        (code, "update", "the code differs"),
        (tax, "update", "the tax code differs"),
    ]
    action, why = nw.lit("none"), nw.lit("the same in the chart and in the service")
    for holds, verb, reason in reversed(rules):
        action = nw.when(holds).then(nw.lit(verb)).otherwise(action)
        why = nw.when(holds).then(nw.lit(reason)).otherwise(why)
    return {"action": action, "why": why}
