"""The verb of each account: what makes the service as the chart is, and why."""

from __future__ import annotations

import narwhals as nw

from bktools.contract.accounts import LONGEST_TEXT
from bktools.frames.engine import Lazy
from bktools.reconcile.findings import choice, line, text
from bktools.reconcile.pairs import KEY, Pairs, is_empty, is_long

ACTION_COLUMNS = [*KEY, "account_id", "action", "why", "name", "code", "archived", "tax_code_external_id"]
THE_SAME = "the same in the chart and in the service"


def judged(pairs: Lazy) -> Lazy:
    """Return the pairs with `action` and `why`: the first rule that holds decides."""
    in_chart, in_service = ~nw.col("chart_rows").is_null(), ~nw.col("service_rows").is_null()
    new, gone = in_chart & ~in_service, in_service & ~in_chart
    erp_archived = nw.col("erp_archived").fill_null(False)
    archived, active = nw.col("archived").fill_null(False), ~nw.col("archived").fill_null(True)
    name, code, tax = nw.col("name_differs"), nw.col("code_differs"), nw.col("tax_code_differs")
    likes, zeros = nw.col("looks_like"), nw.col("zeros_like")
    alike, cut = ~likes.is_null(), ~zeros.is_null()
    rules: list[tuple[nw.Expr, str, str | nw.Expr]] = [
        (~nw.col("charted"), "none", "no chart of accounts was given for this company"),
        ((nw.col("chart_rows") > 1).fill_null(False), "none", "the external ID is on several rows of the chart"),
        ((nw.col("service_rows") > 1).fill_null(False), "none", "the external ID is on several accounts known here"),
        (new & is_long("external_id"), "none", f"the external ID has more than {LONGEST_TEXT} characters"),
        (new & nw.col("erp_name").is_null(), "none", "the name is missing"),
        (new & is_long("erp_name"), "none", f"the name has more than {LONGEST_TEXT} characters"),
        (new & is_long("erp_code"), "none", f"the code has more than {LONGEST_TEXT} characters"),
        # What was created cannot be taken back, and an account that is there under another spelling would be doubled.
        (new & alike, "none", line("looks like {}, which the service has: make the external IDs the same", likes)),
        (new & cut, "none", line("looks like {}, which the service has: read the chart's file as text", zeros)),
        # The chart is mirrored whole: categories of the service may be on accounts that the ERP has archived.
        (new & erp_archived, "create", "in the chart, archived, and not in the service"),
        (new, "create", "in the chart and not in the service"),
        (gone & active & alike, "none", line("looks like {} of the chart: make the external IDs the same", likes)),
        (gone & active & cut, "none", line("looks like {} of the chart: read the chart's file as text", zeros)),
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
    rule = nw.lit(str(len(rules)))
    for place, (holds, _, _) in reversed(list(enumerate(rules))):
        rule = nw.when(holds).then(nw.lit(str(place))).otherwise(rule)
    verbs = {str(place): verb for place, (_, verb, _) in enumerate(rules)} | {str(len(rules)): "none"}
    reasons = {str(place): reason for place, (_, _, reason) in enumerate(rules)} | {str(len(rules)): THE_SAME}
    action, why = choice("rule", verbs, text), choice("rule", reasons, text)
    return pairs.with_columns(rule=rule).with_columns(action=action, why=why)


def actions(pairs: Pairs, remarkable: Lazy, chart: Lazy) -> Lazy:
    """Return the verb of each account, with what creating it takes; as the chart has it where the chart has it."""
    said = remarkable.select(
        *KEY,
        "account_id",
        "action",
        "why",
        name=_of_chart("erp_name", "name"),
        code=_of_chart("erp_code", "code"),
        archived=_of_chart("erp_archived", "archived"),
        tax_code_external_id=_of_chart("erp_tax", "tax"),
    )
    quiet = pairs.quiet().select(
        *KEY,
        "account_id",
        action=nw.lit("none"),
        why=nw.lit(THE_SAME),
        name="erp_name",
        code="erp_code",
        archived="erp_archived",
        tax_code_external_id="erp_tax",
    )
    nameless = chart.filter(is_empty("external_id")).select(
        *KEY,
        nw.lit(None, nw.String).alias("account_id"),
        nw.lit("none").alias("action"),
        nw.lit("the external ID is empty").alias("why"),
        *ACTION_COLUMNS[5:],
    )
    return nw.concat([said, quiet, nameless]).sort(*KEY, "code", "name")


def _of_chart(erp: str, service: str) -> nw.Expr:
    return nw.when(nw.col("chart_rows").is_null()).then(nw.col(service)).otherwise(nw.col(erp))
