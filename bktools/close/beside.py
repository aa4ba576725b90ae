"""What stands beside a month: the months before it, its budget, and its amounts in one currency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.close.changes import as_entries, large_changes, months_between
from bktools.close.figures import GROUPS, spent_rows, spent_table
from bktools.close.record import PeriodRecord, record_in, verified_months
from bktools.close.recurring import recurring
from bktools.close.request import CloseRequest
from bktools.frames.columns import days_of
from bktools.frames.incoming import arrow_of
from bktools.frames.schema import TEXT
from bktools.frames.sums import HOME, NOTHING, money_of
from bktools.journal.journal import Journal
from bktools.journal.periods import held_back
from bktools.spending.budgets import keys_of_budget, with_ids
from bktools.spending.differences import versus
from bktools.spending.rates import ExchangeRates, converted, in_own_currency, keep_rates, kept_rates
from bktools.spending.sums import KEYS

# Of what was spent in the month in the company's own currency: a smaller change is in the CSV file alone.
LISTED_SHARE = Decimal("0.01")


def months_before(
    request: CloseRequest,
    journal: Journal,
    record: PeriodRecord,
    accounts: pa.Table,
    of_month: pa.Table,
    sent: pa.Table,
    home: str | None,
) -> tuple[str, dict[str, pa.Table]]:
    """Return the last month before this one that exported anything, and tables of the months before.

    The tables are last (entries of the last month, with their fates), earlier (entries of all months before),
    counted_before (the IDs of entries that they held back), expected (what comes every month and is missing),
    verified (the last verification of each month), and where there is a last month, changes since then: the
    large ones, and all_changes. `record` and `of_month` are the record and the entries of this month. `home`
    is the company's own currency where rates were given: the last month has rates of its own, or these.
    """
    entries = as_entries(sent)
    held = as_entries(held_back(journal, request.company, sent))
    exported = _before(entries.filter(pc.equal(entries["state"], "ACCEPTED")), request.period)
    earlier = pa.concat_tables([part.select(GROUPS) for part in (exported, _before(held, request.period))])
    is_counted = pc.less(held["first_held_in"], request.period)
    last = str(pc.max(exported["sent_in"]).as_py() or "")
    kept = kept_rates(request.service.settings, request.company, last) if last else None
    rates = kept or request.rates
    tables = {
        "earlier": earlier,
        "counted_before": held.filter(is_counted).select(["id"]),
        "last": with_home_amounts(spent_table(last, entries, held), rates, home),
        "expected": recurring(of_month, entries, held, request.period, last),
        "verified": verified_months(journal, request.company),
    }
    if last and len(record.tables["events"]):
        before = record_in(journal, last, request.company, record.environment, sent)
        changes = months_between(before, record, accounts, request.service, request.words)
        spent, _ = spent_rows(of_month, tables["counted_before"]["id"])
        is_large = request.is_large_change or _large_share(request, spent)
        tables |= {"all_changes": changes, "changes": large_changes(changes, is_large)}
    return last, tables


def _large_share(request: CloseRequest, spent: pa.Table) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether a change is `LISTED_SHARE` of what was spent in the company's currency, or more.

    A change in another currency is as large as its rate of the month's end makes it, and small without one.
    """
    own = request.service.settings.currency or next(iter(money_of(spent)), None)
    money = money_of(spent, own).get(own or "", NOTHING)
    least = LISTED_SHARE * abs(money.amount or Decimal(0))
    end = days_of(spent).drop_null()
    last_day = pc.max(end).as_py() if len(end) else None

    def is_large(row: Mapping[str, Any]) -> bool:
        rate = request.rates.at(row["currency"], last_day) if request.rates else None
        rate = Decimal(1) if row["currency"] == own else rate
        return rate is not None and bool(abs(row["difference"]) * rate >= least)

    return is_large


def keep_rates_of_month(request: CloseRequest) -> str | None:
    """Store the rates of the month; return the currency into which they convert, None without rates.

    Refuse rates that lack one for a day of the month, before anything is written to the service.
    """
    if request.rates is None:
        return None
    settings = request.service.settings
    month = pc.utf8_slice_codeunits(pc.cast(days_of(request.entries), pa.string()), 0, len("2026-10"))
    of_month = request.entries.filter(pc.fill_null(pc.equal(month, request.period), False))
    _, own = in_own_currency(of_month, request.rates, settings.currency)
    keep_rates(request.rates, settings, request.company, request.period)
    return own


def with_home_amounts(entries: pa.Table, rates: ExchangeRates | None, home: str | None) -> pa.Table:
    """Return entries with their amount in the company's own currency, where rates were given."""
    if rates is None or home is None:
        return entries
    amounts = converted(entries, rates, home)
    currencies = pa.repeat(pa.scalar(home, TEXT), len(entries))
    return entries.append_column(HOME, amounts).append_column("home_currency", currencies)


def named_budget(request: CloseRequest, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """Return the budget with IDs, if there is one; refuse unclear names before the service is written to."""
    if request.budget is None:
        return None
    frames = {name: tables[name] for name in ("categories", "employees")}
    return with_ids(request.budget, keys_of_budget(request.budget), source="budget", **frames)


def budget_tables(
    request: CloseRequest, budget: pa.Table | None, entries: pa.Table, counted_before: pa.ChunkedArray
) -> dict[str, pa.Table]:
    """Return what was spent beside the budget, by the keys that the budget has; nothing without a budget."""
    if budget is None:
        return {}
    keys = keys_of_budget(budget)
    spent, _ = spent_rows(entries, counted_before)
    rows = arrow_of(versus(spent, budget, by=keys, every=True, language=request.words.language), "budget")
    place = rows.column_names.index("percent")
    share = pc.cast(pc.round(rows["percent"], 1), pa.decimal128(38, 1))
    rows = rows.set_column(place, "percent", share)
    # All are of one company. An ID stands in for a name that is not known.
    parts = [KEYS[key] for key in keys if key != "company"]
    labels = []
    for row in rows.to_pylist():
        known = [row[name] for names, _ in parts for name in names if row.get(name)]
        labels.append(" ".join(known or [row[one] for _, one in parts if one and row.get(one)]))
    rows = rows.add_column(0, "about", pa.array(labels, TEXT))
    sides = {"this": "spent", "that": "budget"}
    rows = rows.rename_columns([sides.get(name, name) for name in rows.column_names])
    is_large = request.is_large_change or _large_share(request, spent)
    large = pa.array([is_large(row) for row in rows.to_pylist()], pa.bool_())
    return {"all_budget": rows, "budget": rows.filter(large)}


def _before(rows: pa.Table, month: str) -> pa.Table:
    """Return the entries of the journal that are of the months before this one."""
    return rows.filter(pc.fill_null(pc.less(rows["sent_in"], month), False))
