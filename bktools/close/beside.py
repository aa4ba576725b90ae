"""What stands beside a month: the months before it, its budget, and its amounts in one currency."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.changes import large_changes, months_between
from bktools.close.figures import Figures
from bktools.close.record import PeriodRecord, record_in
from bktools.close.scope import CloseScope
from bktools.currencies import MINOR_UNITS
from bktools.frames.arrow import to_arrow
from bktools.frames.columns import days_of, months_in, text_of
from bktools.frames.incoming import source_of
from bktools.frames.schema import TEXT
from bktools.frames.sums import NO_CURRENCY
from bktools.spending.budgets import keys_of_budget, with_ids
from bktools.spending.differences import compared
from bktools.spending.rates import (
    ExchangeRates,
    in_home,
    in_own_currency,
    is_converted,
    keep_rates,
    month_end,
)
from bktools.spending.sums import KEYS
from bktools.wording import Words

# Of what was spent in the month in the company's own currency: a smaller change is in the CSV file alone.
LISTED_SHARE = 0.01

c = pl.col


def changes_since(
    scope: CloseScope,
    last: str,
    record: PeriodRecord,
    accounts: pa.Table,
    sent: pa.Table,
    is_large: pl.Expr,
) -> dict[str, pa.Table]:
    """Return the large changes since the last month, and all_changes; nothing where a side has no close."""
    if not last or not len(record.tables["events"]):
        return {}
    before = record_in(scope.journal, last, scope.company, record.environment, sent)
    changes = months_between(before, record, accounts, scope.service, scope.words)
    return {"all_changes": changes, "changes": large_changes(changes, is_large)}


def large_for_the_month(figures: Figures, rates: ExchangeRates | None) -> pl.Expr:
    """Return whether a change is `LISTED_SHARE` of what was spent in the company's currency, or more.

    A change in another currency is as large as its rate of the month's end makes it, and small without one.
    """
    own = figures.own or NO_CURRENCY
    rates = (rates or ExchangeRates(())).into(own)
    last_day = pc.max(days_of(figures.spent_entries)).as_py()
    codes = [own, *(currency for _, currency, _ in rates.rows)]
    worth = {code: float(rate) for code in codes if (rate := rates.at(code, last_day))}
    rate_of_row = c.currency.replace_strict(worth, default=None, return_dtype=pl.Float64)
    size = c.difference.abs().cast(pl.Float64) * rate_of_row
    return (size >= LISTED_SHARE * abs(float(figures.spent.amounts.get(own, 0)))).fill_null(value=False)


def rates_of_month(scope: CloseScope, entries: pa.Table, rates: ExchangeRates | None) -> ExchangeRates | None:
    """Return the rates of the month with the company's own currency, and keep them for its next close.

    Refuse rates that lack one for a day of the month, before anything is written to the service. An entry
    without a currency that exists is held back, and has no rate.
    """
    if rates is None:
        return None
    is_currency = pc.is_in(text_of(entries, "currency"), pa.array([*MINOR_UNITS], TEXT))
    of_month = entries.filter(pc.and_(pc.equal(months_in(entries), scope.period), is_currency))
    rates = rates.into(scope.settings.currency, of_month)
    in_own_currency(of_month, rates)
    keep_rates(rates, scope.settings, scope.company, scope.period)
    return rates


def named_budget(
    scope: CloseScope,
    budget: pa.Table | None,
    tables: Mapping[str, pa.Table],
    rates: ExchangeRates | None,
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
    return in_own_currency(budget, rates, month_end(dt.date.fromisoformat(f"{scope.period}-01")))


def budget_tables(
    budget: pa.Table | None,
    spent: pa.Table,
    tables: Mapping[str, pa.Table],
    is_large: pl.Expr,
    words: Words,
) -> dict[str, pa.Table]:
    """Return what was spent beside the budget, by the keys that the budget has; nothing without a budget."""
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
    labels = [_label(row, keys) for row in rows.iter_rows(named=True)]
    rows = rows.select(pl.Series("about", labels, pl.String), pl.all())
    parts = {"all_budget": rows, "budget": rows.filter(is_large), "budget_total": totals}
    return {name: to_arrow(table) for name, table in parts.items()}


def _named(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    return {name: tables[name] for name in ("categories", "employees", "accounts")}


def _label(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the names of a row. All rows are of one company."""
    columns = (name for key in keys if key != "company" for name in KEYS[key][0])
    return " ".join(row[name] for name in columns if row.get(name))
