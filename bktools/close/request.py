"""`CloseRequest`: what a close is asked for, with checked arguments, and the month of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, SupportsIndex, TypeVar

import pandas as pd
import pyarrow as pa

from bktools.connection import company_named, words_for
from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames.incoming import arrow_of, described, in_memory, source_of
from bktools.frames.schema import Month
from bktools.frames.sums import threshold_of
from bktools.journal.records import this_user
from bktools.ledger.inputs import options_of, postings_in
from bktools.service import Service
from bktools.spending.budgets import keys_of_budget
from bktools.spending.rates import ExchangeRates, kept_rates, rates_of
from bktools.spending.sums import spend
from bktools.submit.export_jobs import seconds_of
from bktools.wording import Sentence, Words

Result = TypeVar("Result")


@dataclass(frozen=True)
class CloseRequest:
    """What a close is asked for, as `reports.month_end.close_month` describes it.

    Parameters
    ----------
    company, period : str
        UUID of the company, and the month, as 2026-10.
    begun_at : datetime
        When the close began, in UTC.
    loaded : mapping of str to DataFrame
        The categories and employees that the caller has loaded already.
    is_large_change : callable, optional
        Whether a change since the last close is listed; None for the default.
    rates : ExchangeRates, optional
        Rates of exchange of the month, given now or at an earlier close of it.
    budget : pyarrow.Table, optional
        The month's budget.
    seen : callable, optional
        Called with the name and the result of each step.
    """

    service: Service
    company: str
    period: str
    chart: pa.Table
    entries: pa.Table
    loaded: Mapping[str, pd.DataFrame | None]
    ledger: pa.Table | None
    apply: bool
    max_entries: SupportsIndex
    wait: float | dt.timedelta
    first_export: bool
    begun_at: dt.datetime
    prepared_by: str
    approved_by: str | None
    new_chart: bool
    is_large_change: Callable[[Any], bool] | None
    rates: ExchangeRates | None
    budget: pa.Table | None
    words: Words
    seen: Callable[[str, Any], None] | None

    def step(self, name: str, result: Result) -> Result:
        """Tell the caller the result of a step, and return it."""
        if self.seen is not None:
            self.seen(name, result)
        return result


def close_request(
    service: Service,
    *,
    chart: pd.DataFrame,
    entries: pd.DataFrame,
    month: Month | None,
    company: str | None,
    categories: pd.DataFrame | None,
    employees: pd.DataFrame | None,
    ledger: pd.DataFrame | None,
    apply: bool,
    max_entries: SupportsIndex,
    wait: float | dt.timedelta,
    first_export: bool,
    by: str | None,
    approved_by: str | None,
    new_chart: bool,
    threshold: str | float | Decimal | None,
    rates: Any,
    budget: Any,
    language: str | None,
    seen: Callable[[str, Any], None] | None,
) -> CloseRequest:
    """Return the request of `close_month`'s arguments; one that breaks a rule is an `ArgumentError`."""
    settings = service.settings
    company = company or settings.company
    if company is None:
        raise ArgumentError("company", Sentence("rule.no_company"))
    company = company_named(company, settings)
    if rules.flag("first_export", first_export) and by is None:
        raise ArgumentError("first_export", Sentence("rule.first_export_without_name"))
    tables = {"chart": table_of(chart, "chart"), "entries": table_of(entries, "entries")}
    if "date" in entries and not pd.api.types.is_datetime64_any_dtype(entries["date"]):
        raise InputError(Sentence("error.no_dates"))
    begun_at, words = dt.datetime.now(dt.UTC), words_for(language, settings)
    # The month is taken from the calendar of this machine, not from UTC.
    today = begun_at.astimezone()
    period = month_of(entries, today) if month is None else rules.month("month", month)
    _refuse_early(period, today, is_approved=approved_by is not None)
    if ledger is not None:
        options_of(ledger)
    if budget is not None:
        budget = in_memory(budget, "budget")
        # A budget that cannot be added up is refused before anything is written to the service.
        spend(budget, by=keys_of_budget(budget))
    return CloseRequest(
        service=service,
        company=company,
        period=period,
        loaded={"categories": categories, "employees": employees},
        ledger=None if ledger is None else described(postings_in(ledger), source_of(ledger)),
        apply=rules.flag("apply", apply),
        max_entries=rules.whole_number("max_entries", max_entries, smallest=1),
        wait=seconds_of(wait),
        first_export=first_export,
        begun_at=begun_at,
        prepared_by=this_user() if by is None else rules.a_name("by", by),
        approved_by=None if approved_by is None else rules.a_name("approved_by", approved_by),
        new_chart=new_chart,
        is_large_change=None if threshold is None else threshold_of(threshold),
        rates=kept_rates(settings, company, period) if rates is None else rates_of(rates),
        budget=budget,
        words=words,
        seen=seen,
        **tables,
    )


def table_of(frame: pd.DataFrame, name: str) -> pa.Table:
    """Return a frame as a table that keeps where it comes from."""
    return described(arrow_of(frame, name), source_of(frame))


def _refuse_early(period: str, today: dt.datetime, *, is_approved: bool) -> None:
    current = f"{today:%Y-%m}"
    if period > current:
        raise ArgumentError("month", Sentence("rule.month_not_begun", today=today), period)
    if period == current and is_approved:
        raise ArgumentError("approved_by", Sentence("rule.month_not_ended", month=current))


def month_of(entries: pd.DataFrame, today: dt.datetime) -> str:
    """Return the only month of the entries that has ended, or the current one where none has; else ask."""
    current = f"{today:%Y-%m}"
    days = entries["date"].dropna() if "date" in entries.columns else pd.Series(dtype="datetime64[s]")
    months: list[str] = sorted(days.dt.strftime("%Y-%m").unique())
    likely = [month for month in months if month < current] or [month for month in months if month == current]
    if len(likely) != 1:
        code = "rule.which_month" if months else "rule.month_without_dates"
        raise ArgumentError("month", Sentence(code, months=", ".join(months)))
    return likely[0]
