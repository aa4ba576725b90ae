"""What a finding is: its columns, how it names an account or a category in one line, and its order."""

from __future__ import annotations

import dataclasses

import narwhals as nw

from bktools.frames.engine import Lazy

FINDING_COLUMNS = [
    "check",
    "severity",
    "action",
    "company_id",
    "external_id",
    "account_id",
    "category_id",
    "field",
    "erp_value",
    "service_value",
    "message",
]
# error: an export under it will fail, or money could be misbooked. warning: a person should act. info: good to know.
SEVERITIES = ("error", "warning", "info")


@dataclasses.dataclass(frozen=True)
class Tables:
    """What the checks look at, as lazy frames on one engine."""

    chart: Lazy
    accounts: Lazy
    categories: Lazy
    pairs: Lazy
    coverage: Lazy


def findings(
    frame: Lazy,
    check: str,
    *,
    severity: str | nw.Expr,
    message: nw.Expr,
    action: str | nw.Expr = "none",
    external_id: str | None = None,
    account_id: str | None = None,
    category_id: str | None = None,
    field: str | None = None,
    erp_value: str | nw.Expr | None = None,
    service_value: str | nw.Expr | None = None,
) -> Lazy:
    """Return one finding per row of the frame.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        The rows that break the check; has `company_id`.
    check : str
        Name of the check, which is that of its function.
    severity, action : str or expression
        One of the severities, one of the verbs; text stands for itself.
    message : expression
        One line for an analyst: what is the case, and what to do.
    external_id, account_id, category_id, erp_value, service_value : str or expression, optional
        Column to take it from.
    field : str, optional
        The field that the finding is about.
    """
    return frame.select(
        check=_text(check),
        severity=_text(severity),
        action=_text(action),
        company_id="company_id",
        external_id=_column(external_id),
        account_id=_column(account_id),
        category_id=_column(category_id),
        field=_text(field),
        erp_value=_column(erp_value),
        service_value=_column(service_value),
        message=message,
    )


def ordered(found: Lazy) -> Lazy:
    """Return findings most severe first, in an order that depends on nothing but their content."""
    by = ["check", "company_id", "external_id", "category_id", "account_id", "field", "erp_value", "message"]
    line = nw.col("message").str.replace_all(r"[\r\n\t]+", " ")
    return found.with_columns(_rank(), message=line).sort("rank", *by).select(FINDING_COLUMNS)


def summarised(found: Lazy, actions: Lazy) -> Lazy:
    """Return how many findings each check has, and how many accounts each verb."""
    counted = found.group_by("check", "severity").agg(count=nw.len().cast(nw.Int64))
    verbs = actions.group_by("action").agg(count=nw.len().cast(nw.Int64))
    verbs = verbs.select(check=nw.concat_str(nw.lit("action: "), "action"), severity=nw.lit(""), count="count")
    return nw.concat([counted, verbs]).with_columns(_rank()).sort("rank", "check").select("check", "severity", "count")


def line(template: str, *parts: nw.Expr) -> nw.Expr:
    """Return a line of text with parts, none of which is null, in the places of `{}`."""
    first, *texts = template.split("{}")
    pieces = [piece for part, text in zip(parts, texts, strict=True) for piece in (part, nw.lit(text))]
    # narwhals' own format guards every part against null, which doubles the query.
    return nw.concat_str(nw.lit(first), *pieces, ignore_nulls=True)


def account(code: str | nw.Expr, name: str | nw.Expr) -> nw.Expr:
    """Return how a line names an account: "1200 Bank"; its external ID where it has no code."""
    return nw.concat_str(nw.coalesce(code, "external_id"), name, separator=" ", ignore_nulls=True)


def category() -> nw.Expr:
    """Return how a line names a category: by its name, its ID where it has none."""
    return nw.concat_str(nw.lit("category "), nw.coalesce("name", "category_id"))


def shown(value: str | nw.Expr) -> nw.Expr:
    """Return how a line shows a value: in quotes, "nothing" where there is none."""
    return nw.coalesce(nw.concat_str(nw.lit('"'), value, nw.lit('"')), nw.lit("nothing"))


def flag(column: str) -> nw.Expr:
    """Return true and false as text."""
    return nw.when(nw.col(column)).then(nw.lit("true")).otherwise(nw.lit("false"))


def _rank() -> nw.Expr:
    rank = nw.lit(len(SEVERITIES))
    for place, severity in enumerate(SEVERITIES):
        rank = nw.when(nw.col("severity") == severity).then(nw.lit(place)).otherwise(rank)
    return rank.alias("rank")


def _text(value: str | nw.Expr | None) -> nw.Expr:
    return value if isinstance(value, nw.Expr) else nw.lit(value, nw.String)


def _column(value: str | nw.Expr | None) -> nw.Expr:
    if value is None:
        return nw.lit(None, nw.String)
    return nw.col(value) if isinstance(value, str) else value
