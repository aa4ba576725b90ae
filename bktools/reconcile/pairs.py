"""The join: one row per account of the chart or of the service, with the verb that makes them equal, and why.

Accounts are matched on external ID within a company, to the letter, and on nothing else.
"""

from __future__ import annotations

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.given import Given

KEY = ["company_id", "external_id"]
ACTION_COLUMNS = [*KEY, "account_id", "action", "why", "name", "code", "archived", "tax_code_external_id"]


def is_empty(column: str) -> nw.Expr:
    """Whether a text is missing or has no character."""
    return nw.col(column).is_null() | (nw.col(column) == "").fill_null(False)


def is_long(column: str) -> nw.Expr:
    """Whether a text is longer than the service takes."""
    return (nw.col(column).str.len_chars() > LONGEST_TEXT).fill_null(False)


def pair(given: Given) -> Lazy:
    """Return one row per (company, external ID) of either side; rows without an external ID are left out.

    Columns: the key; `erp_*` as the chart has it; `account_id`, `name`, `code`, `archived`, `tax` as the service has
    it; `chart_rows`, `service_rows` how many rows have the key (null: none); `charted` whether there is a chart for the
    company; `*_differs`; `action`, `why`. What is ambiguous (several rows of a key) is null.
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
    )
    charted = given.chart.select("company_id").unique().with_columns(charted=nw.lit(True))
    service = _one_per_key(
        given.accounts.select(*KEY, "name", "code", "archived", account_id="id", tax="tax_code_external_id"),
        "service_rows",
    ).join(charted, on="company_id", how="left")
    joined = chart.join(service, on=KEY, how="full", suffix="_service")
    keys = [nw.coalesce(column, f"{column}_service").alias(column) for column in KEY]
    both = (nw.col("chart_rows") == 1) & (nw.col("service_rows") == 1)
    told = ~nw.col("account_id").is_null()
    pairs = joined.with_columns(*keys, charted=~nw.col("chart_rows").is_null() | ~nw.col("charted").is_null())
    pairs = pairs.drop([f"{column}_service" for column in KEY]).with_columns(
        both=both.fill_null(False),
        # The service always has a name and a flag, so a missing one is unknown, not different.
        name_differs=_differs("erp_name", "name", known=~nw.col("name").is_null()),
        # These may be missing in the service, but not where the service never told the account.
        code_differs=_differs("erp_code", "code", known=told | ~nw.col("code").is_null()),
        tax_differs=_differs("erp_tax", "tax", known=told | ~nw.col("tax").is_null()),
        archived_differs=_differs("erp_archived", "archived", known=~nw.col("archived").is_null()),
    )
    return _judged(pairs)


def actions(pairs: Lazy, chart: Lazy) -> Lazy:
    """Return the verb of each account, with what creating it takes; as the chart has it where the chart has it."""
    listed = pairs.select(
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


def _one_per_key(frame: Lazy, count: str) -> Lazy:
    """Return one row per key with the number of its rows; where there are several, their values are left out."""
    keyed = frame.filter(~is_empty("external_id"))
    several = keyed.group_by(*KEY).agg(nw.len().cast(nw.Int64).alias(count)).filter(nw.col(count) > 1)
    columns = frame.collect_schema()
    once = keyed.join(several.select(KEY), on=KEY, how="anti").with_columns(nw.lit(1, nw.Int64).alias(count))
    ambiguous = several.select(
        *[nw.col(name) if name in KEY else nw.lit(None, dtype).alias(name) for name, dtype in columns.items()], count
    )
    return nw.concat([once, ambiguous])


def _differs(erp: str, service: str, *, known: nw.Expr) -> nw.Expr:
    """Whether both sides have the account and say something different; two nulls are the same."""
    left, right = nw.col(erp), nw.col(service)
    single = ((nw.col("chart_rows") == 1) & (nw.col("service_rows") == 1)).fill_null(False)
    return single & known & ((left != right).fill_null(False) | (left.is_null() & ~right.is_null()) | (~left.is_null() & right.is_null()))


def _judged(pairs: Lazy) -> Lazy:
    """Return the pairs with `action` and `why`: the first rule that holds decides."""
    in_chart, in_service = ~nw.col("chart_rows").is_null(), ~nw.col("service_rows").is_null()
    new, gone = in_chart & ~in_service, in_service & ~in_chart
    erp_archived = nw.col("erp_archived").fill_null(False)
    archived, active = nw.col("archived").fill_null(False), ~nw.col("archived").fill_null(True)
    rules = [
        (~nw.col("charted"), "none", "no chart of accounts was given for this company"),
        ((nw.col("chart_rows") > 1).fill_null(False), "none", "the external ID is on several accounts of the chart"),
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
    ]
    parts = [("name", "name_differs"), ("code", "code_differs"), ("tax code", "tax_differs")]
    fields = nw.concat_str(
        *[nw.when(nw.col(flag)).then(nw.lit(word)) for word, flag in parts], separator=", ", ignore_nulls=True
    )
    differs = nw.col("name_differs") | nw.col("code_differs") | nw.col("tax_differs")
    action = nw.when(differs).then(nw.lit("update")).otherwise(nw.lit("none"))
    why = nw.when(differs).then(nw.concat_str(fields, nw.lit(" not as in the chart"))).otherwise(nw.lit("the same on both sides"))
    for holds, verb, reason in reversed(rules):
        action = nw.when(holds).then(nw.lit(verb)).otherwise(action)
        why = nw.when(holds).then(nw.lit(reason)).otherwise(why)
    return pairs.with_columns(action=action, why=why)
