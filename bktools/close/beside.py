"""What stands beside a month: the months before it, its budget, and its amounts in one currency."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.changes import as_entries, large_changes, months_between
from bktools.close.figures import GROUPS, booked_before, spent_table
from bktools.close.record import PeriodRecord, record_in, verified_months
from bktools.close.recurring import recurring
from bktools.close.scope import CloseScope
from bktools.currencies import MINOR_UNITS
from bktools.frames.arrow import to_arrow
from bktools.frames.columns import days_of, months_in, text_of
from bktools.frames.incoming import source_of
from bktools.frames.schema import TEXT
from bktools.frames.sums import NO_CURRENCY, NO_MONEY, money_of
from bktools.journal.periods import exported_elsewhere, held_back
from bktools.spending.budgets import keys_of_budget, with_ids
from bktools.spending.differences import compared
from bktools.spending.rates import (
    ExchangeRates,
    in_home,
    in_own_currency,
    is_converted,
    keep_rates,
    kept_rates,
    month_end,
    with_home,
)
from bktools.spending.sums import KEYS
from bktools.wording import Words

# Of what was spent in the month in the company's own currency: a smaller change is in the CSV file alone.
LISTED_SHARE = 0.01

c = pl.col


def months_before(
    scope: CloseScope, of_month: pa.Table, sent: pa.Table, rates: ExchangeRates | None, as_of: dt.date
) -> tuple[str, dict[str, pa.Table]]:
    """Return the last month before this one that exported anything, and tables of the months before.

    The tables are last (entries of the last month, with their fates), earlier (entries of all months before),
    counted_before (the IDs of entries that they held back or had in their books), expected (what comes every
    month and is missing), and verified (the last verification of each month). `of_month` and `sent` are the
    entries of this month, and all that were sent; the last month has rates of its own, or those of this one.
    """
    entries, journal = as_entries(sent), scope.journal
    held = as_entries(held_back(journal, scope.company, sent))
    is_before = c.sent_in < scope.period
    exported = pl.DataFrame(entries).filter(c.state == "ACCEPTED", is_before)
    earlier = [exported.select(GROUPS), pl.DataFrame(held).filter(is_before).select(GROUPS)]
    counted = [
        pl.DataFrame(held).filter(is_before),
        pl.DataFrame(of_month).filter(booked_before(scope.period)),
    ]
    last = str(exported["sent_in"].max() or "")
    if rates and last and (kept := kept_rates(scope.settings, scope.company, last)):
        rates = kept.into(rates.own)
    elsewhere = as_entries(exported_elsewhere(journal, scope.company))
    expected = recurring(of_month, entries, held, scope.period, last, as_of, elsewhere=elsewhere)
    return last, {
        "earlier": to_arrow(pl.concat(earlier)),
        "counted_before": to_arrow(pl.concat([rows.select("id") for rows in counted])),
        "last": with_home(spent_table(last, entries, held), rates),
        "expected": expected,
        "verified": verified_months(journal, scope.company),
    }


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


def large_for_the_month(spent: pa.Table, own: str | None, rates: ExchangeRates | None) -> pl.Expr:
    """Return whether a change is `LISTED_SHARE` of what was spent in the company's currency, or more.

    A change in another currency is as large as its rate of the month's end makes it, and small without one.
    """
    own = own or next(iter(money_of(spent)), NO_CURRENCY)
    amount = money_of(spent, own).get(own, NO_MONEY).amount or Decimal(0)
    rates = (rates or ExchangeRates(())).into(own)
    codes = [own, *(currency for _, currency, _ in rates.rows)]
    last_day = pc.max(days_of(spent)).as_py()
    worth = {code: float(rate) for code in codes if (rate := rates.at(code, last_day))}
    rate_of_row = c.currency.replace_strict(worth, default=None, return_dtype=pl.Float64)
    size = c.difference.abs().cast(pl.Float64) * rate_of_row
    return (size >= LISTED_SHARE * abs(float(amount))).fill_null(value=False)


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
