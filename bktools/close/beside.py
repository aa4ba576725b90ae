"""What stands beside a month: the months before it, its budget, and its amounts in one currency."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.changes import as_entries, large_changes, months_between
from bktools.close.figures import GROUPS, booked_before, spent_rows, spent_table
from bktools.close.record import PeriodRecord, record_in, verified_months
from bktools.close.recurring import recurring
from bktools.close.request import CloseRequest
from bktools.frames.arrow import to_arrow
from bktools.frames.columns import days_of
from bktools.frames.incoming import source_of
from bktools.frames.sums import NO_CURRENCY, NOTHING, money_of
from bktools.journal.journal import Journal
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

# Of what was spent in the month in the company's own currency: a smaller change is in the CSV file alone.
LISTED_SHARE = 0.01

c = pl.col


def months_before(
    request: CloseRequest,
    journal: Journal,
    record: PeriodRecord,
    accounts: pa.Table,
    of_month: pa.Table,
    sent: pa.Table,
) -> tuple[str, dict[str, pa.Table]]:
    """Return the last month before this one that exported anything, and tables of the months before.

    The tables are last (entries of the last month, with their fates), earlier (entries of all months before),
    counted_before (the IDs of entries that they held back or had in their books), expected (what comes every
    month and is missing), verified (the last verification of each month), and where there is a last month,
    changes since then: the large ones, and all_changes. `record` and `of_month` are the record and entries of
    this month; the last month has rates of its own, or those of this one.
    """
    entries = as_entries(sent)
    held = as_entries(held_back(journal, request.company, sent))
    is_before = c.sent_in < request.period
    exported = pl.DataFrame(entries).filter(c.state == "ACCEPTED", is_before)
    earlier = [exported.select(GROUPS), pl.DataFrame(held).filter(is_before).select(GROUPS)]
    counted = [
        pl.DataFrame(held).filter(is_before),
        pl.DataFrame(of_month).filter(booked_before(request.period)),
    ]
    last = str(exported["sent_in"].max() or "")
    rates = request.rates
    if rates and last and (kept := kept_rates(request.service.settings, request.company, last)):
        rates = kept.into(rates.own)
    tables = {
        "earlier": to_arrow(pl.concat(earlier)),
        "counted_before": to_arrow(pl.concat([rows.select("id") for rows in counted])),
        "last": with_home(spent_table(last, entries, held), rates),
        "expected": recurring(
            of_month,
            entries,
            held,
            request.period,
            last,
            request.begun_at.astimezone().date(),
            elsewhere=as_entries(exported_elsewhere(journal, request.company)),
        ),
        "verified": verified_months(journal, request.company),
    }
    if last and len(record.tables["events"]):
        before = record_in(journal, last, request.company, record.environment, sent)
        changes = months_between(before, record, accounts, request.service, request.words)
        spent, _ = spent_rows(of_month, tables["counted_before"]["id"])
        large = large_changes(changes, _is_large(request, spent))
        tables |= {"all_changes": changes, "changes": large}
    return last, tables


def _is_large(request: CloseRequest, spent: pa.Table) -> pl.Expr:
    """Return whether a change is of the size that was asked for, or `LISTED_SHARE` of the month's spend.

    A change in another currency is as large as its rate of the month's end makes it, and small without one.
    """
    if request.is_large_change is not None:
        return request.is_large_change
    own = request.service.settings.currency or next(iter(money_of(spent)), NO_CURRENCY)
    amount = money_of(spent, own).get(own, NOTHING).amount or Decimal(0)
    rates = (request.rates or ExchangeRates(())).into(own)
    codes = [own, *(currency for _, currency, _ in rates.rows)]
    last_day = pc.max(days_of(spent)).as_py()
    worth = {code: float(rate) for code in codes if (rate := rates.at(code, last_day))}
    rate_of_row = c.currency.replace_strict(worth, default=None, return_dtype=pl.Float64)
    size = c.difference.abs().cast(pl.Float64) * rate_of_row
    return (size >= LISTED_SHARE * abs(float(amount))).fill_null(value=False)


def with_kept_rates(request: CloseRequest) -> CloseRequest:
    """Store the rates of the month; return the request in which they have the company's own currency.

    Refuse rates that lack one for a day of the month, before anything is written to the service.
    """
    if request.rates is None:
        return request
    settings = request.service.settings
    month = pl.Series(pl.from_arrow(days_of(request.entries))).dt.strftime("%Y-%m")
    of_month = request.entries.filter((month == request.period).fill_null(value=False).to_arrow())
    rates = request.rates.into(settings.currency, of_month)
    in_own_currency(of_month, rates)
    keep_rates(rates, settings, request.company, request.period)
    return replace(request, rates=rates)


def named_budget(request: CloseRequest, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """Return the budget with IDs, if there is one, and with rates in the company's own currency, too.

    Refuse unclear names, and amounts without a rate on the month's last day, before the service is written
    to.
    """
    budget, rates = request.budget, request.rates
    if budget is None:
        return None
    frames = {name: tables[name] for name in ("categories", "employees", "accounts")}
    source = Path(source_of(budget).get("source") or "budget").name
    budget = with_ids(budget, keys_of_budget(budget), source=source, **frames)
    if rates is None:
        return budget
    return in_own_currency(budget, rates, month_end(dt.date.fromisoformat(f"{request.period}-01")))


def budget_tables(
    request: CloseRequest,
    budget: pa.Table | None,
    entries: pa.Table,
    counted_before: pa.ChunkedArray,
    tables: Mapping[str, pa.Table],
) -> dict[str, pa.Table]:
    """Return what was spent beside the budget, by the keys that the budget has; nothing without a budget."""
    if budget is None:
        return {}
    keys = keys_of_budget(budget)
    spent, _ = spent_rows(entries, counted_before)
    if is_converted(spent):
        spent, budget = in_home(spent), in_home(budget)
    frames = {name: tables[name] for name in ("categories", "employees", "accounts")}
    rows, totals = (
        compared(spent, budget, by, frames, language=request.words.language, every=True)[0].rename(
            {"this": "spent", "that": "budget"}
        )
        for by in (keys, [])
    )
    labels = [_label(row, keys) for row in rows.iter_rows(named=True)]
    rows = rows.select(pl.Series("about", labels, pl.String), pl.all())
    large = rows.filter(_is_large(request, spent))
    tables = {"all_budget": rows, "budget": large, "budget_total": totals}
    return {name: to_arrow(table) for name, table in tables.items()}


def _label(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the names of a row. All rows are of one company."""
    columns = (name for key in keys if key != "company" for name in KEYS[key][0])
    return " ".join(row[name] for name in columns if row.get(name))
