"""What a finding is: its columns, how it names an account or a category in one line, and its order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw

from bktools.frames.engine import Lazy, exploded

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
# What a breach says of these is the column of its table to take them from.
TAKEN_FROM_COLUMNS = ("external_id", "account_id", "category_id", "erp_value", "service_value")
# error: an export under it will fail, or money could be misbooked. warning: a person should act. info: good to know.
SEVERITIES = ("error", "warning", "info")


Option = str | nw.Expr | None
Look = Callable[[Lazy, str], tuple[Lazy, set[str] | None]]


@dataclasses.dataclass(frozen=True)
class Tables:
    """What the checks look at, as lazy frames on one engine."""

    chart: Lazy
    accounts: Lazy
    categories: Lazy
    charts: Lazy
    pairs: Lazy
    coverage: Lazy


@dataclasses.dataclass(frozen=True, eq=False)
class Breach:
    """Rows of a table that break a check, and what a finding says of each.

    Parameters
    ----------
    check : str
        Name of the check, which is that of its function.
    table : narwhals.LazyFrame
        The table that is looked at; has `company_id`.
    where : expression, optional
        Whether a row breaks the check; every row of a table that was made for the check.
    severity, action : str or expression
        One of the severities, one of the verbs; text stands for itself.
    message : expression
        One line for an analyst: what is the case, and what to do.
    external_id, account_id, category_id, erp_value, service_value : str or expression, optional
        Column to take it from.
    field : str, optional
        The field that the finding is about.
    """

    check: str
    table: Lazy
    where: nw.Expr | None
    severity: str | nw.Expr
    message: nw.Expr
    action: str | nw.Expr = "none"
    external_id: str | None = None
    account_id: str | None = None
    category_id: str | None = None
    field: str | None = None
    erp_value: str | nw.Expr | None = None
    service_value: str | nw.Expr | None = None

    def tag(self, text: str) -> nw.Expr:
        """Return a text on the rows that break the check."""
        return nw.lit(text) if self.where is None else nw.when(self.where).then(nw.lit(text))


def found(breaches: Sequence[Breach], look: Look) -> list[Lazy]:
    """Return the findings of breaches of one table, if there can be any: one for each row and each breach of it.

    `look` runs a frame and returns it with the values of a column, so that only what occurs is worded; where nothing is
    to be run it says None.
    """
    if breaches[1:]:
        # One pass over the table, however many breaches: engines plan a union of one query per check ten times as long.
        hits = [breach.tag(str(place)) for place, breach in enumerate(breaches)]
        rows = breaches[0].table.with_columns(breach=nw.concat_str(*hits, separator=" ", ignore_nulls=True))
        rows = exploded(rows.filter(nw.col("breach") != "").with_columns(nw.col("breach").str.split(" ")), "breach")
    else:
        table, where = breaches[0].table, breaches[0].where
        rows = (table if where is None else table.filter(where)).with_columns(breach=nw.lit("0"))
    rows, seen = look(rows, "breach")
    occurring = {str(place): breach for place, breach in enumerate(breaches) if seen is None or str(place) in seen}
    if not occurring:
        return []
    chosen = {
        name: choice(
            "breach",
            {place: getattr(breach, name) for place, breach in occurring.items()},
            column if name in TAKEN_FROM_COLUMNS else text,
        )
        for name in FINDING_COLUMNS
        if name != "company_id"
    }
    return [rows.select(**chosen, company_id="company_id").select(FINDING_COLUMNS)]


def choice(by: str, options: Mapping[str, Option], read: Callable[[str | None], nw.Expr]) -> nw.Expr:
    """Return the option that column `by` names; `read` says what a text among the options stands for."""
    # Options that are the same share a condition, so that the query stays short.
    places: dict[Any, tuple[nw.Expr, list[str]]] = {}
    for place, option in options.items():
        known = id(option) if isinstance(option, nw.Expr) else option
        value = option if isinstance(option, nw.Expr) else read(option)
        places.setdefault(known, (value, []))[1].append(place)
    (chosen, _), *others = places.values()
    for value, where in others:
        chosen = nw.when(nw.col(by).is_in(where)).then(value).otherwise(chosen)
    return chosen


def none_found(table: Lazy) -> Lazy:
    """Return no finding, on the engine of a table."""
    return table.head(0).select(**{name: text(None) for name in FINDING_COLUMNS})


def ordered(rows: Lazy) -> Lazy:
    """Return findings most severe first, in an order that depends on nothing but their content."""
    by = ["check", "company_id", "external_id", "category_id", "account_id", "field", "erp_value", "message"]
    one_line = nw.col("message").str.replace_all(r"[\r\n\t]+", " ")
    return rows.with_columns(_rank(), message=one_line).sort("rank", *by).select(FINDING_COLUMNS)


def summarised(rows: Lazy, actions: Lazy) -> Lazy:
    """Return how many findings each check has, and how many accounts each verb."""
    counted = rows.group_by("check", "severity").agg(count=nw.len().cast(nw.Int64))
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


def text(value: str | None) -> nw.Expr:
    """Return a text that stands for itself."""
    return nw.lit(value, nw.String)


def column(name: str | None) -> nw.Expr:
    """Return a column, nothing where there is none."""
    return nw.lit(None, nw.String) if name is None else nw.col(name)
