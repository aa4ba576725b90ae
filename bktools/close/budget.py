"""A month's budget beside what was spent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.contract import rules
from bktools.errors import InputError
from bktools.frames.tables import in_memory, source_of, to_arrow
from bktools.spending.budgets import in_currency, keys_of_budget, with_ids
from bktools.spending.differences import compared, percent_of
from bktools.spending.rates import ExchangeRates, in_home, in_own_currency, is_converted
from bktools.spending.sums import KEYS, spend
from bktools.wording import Sentence, Words

c = pl.col


def budget_of(budget: Any, currency: str | None) -> pa.Table | None:
    """Return the table of a budget, if there is one; refuse one that cannot be added up.

    Without a column `currency` it is in the company's own.
    """
    if budget is None:
        return None
    table = in_memory(budget, "budget")
    keys = keys_of_budget(table)
    if "currency" not in table.column_names:
        if currency is None:
            raise InputError(Sentence("error.budget_without_currency"), source="budget")
        table = in_currency(table, currency)
    spend(table, by=keys)
    return table


def named_budget(
    budget: pa.Table | None, month: str, tables: Mapping[str, pa.Table], rates: ExchangeRates | None
) -> pa.Table | None:
    """Return the budget with IDs, if there is one, and with rates in the company's own currency, too.

    Refuse unclear names, and amounts without a rate on the month's last day, before the service is written
    to.
    """
    if budget is None:
        return None
    source = Path(source_of(budget).get("source") or "budget").name
    budget = with_ids(budget, keys_of_budget(budget), source=source, **_named(tables))
    if rates is None:
        return budget
    return in_own_currency(budget, rates, rules.last_day(month))


def budget_tables(
    budget: pa.Table | None,
    spent: pa.Table,
    tables: Mapping[str, pa.Table],
    is_large: pl.Expr,
    words: Words,
) -> dict[str, pa.Table]:
    """Return what was spent beside the budget, by the keys that the budget has; nothing without a budget.

    `budget` has the large differences, and the sum of all others, `all_budget` each row, `budget_total` the
    sum.
    """
    if budget is None:
        return {}
    keys = keys_of_budget(budget)
    if is_converted(spent):
        spent, budget = in_home(spent), in_home(budget)
    rows, totals = (
        compared(spent, budget, by, _named(tables), language=words.language, every=True)[0].rename(
            {"this": "spent", "that": "budget"}
        )
        for by in (keys, [])
    )
    # All rows are of one company.
    names = [c(name).replace("", None) for key in keys if key != "company" for name in KEYS[key].names]
    about = pl.concat_str(pl.lit(""), *names, separator=" ", ignore_nulls=True).str.strip_chars()
    rows = rows.select(about.alias("about"), pl.all())
    large, others = rows.filter(is_large), rows.filter(~is_large)
    sums = others.group_by("currency", maintain_order=True).agg(
        c("spent", "budget", "difference").sum(), pl.len()
    )
    named = [words("report.budget_others", count=count) for count in sums["len"]]
    sums = sums.with_columns(pl.Series("about", named, pl.String), percent_of("budget"), drivers=pl.lit(""))
    shown = pl.concat([large, sums.drop("len")], how="diagonal_relaxed")
    named_total = pl.lit(words("report.total")).alias("about")
    totals = totals.select(named_total, pl.exclude("drivers"), drivers=pl.lit(""))
    parts = {"all_budget": rows, "budget": shown, "budget_total": totals}
    return {name: to_arrow(table) for name, table in parts.items()}


def _named(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: tables[name] for name in ("categories", "employees", "accounts")}
