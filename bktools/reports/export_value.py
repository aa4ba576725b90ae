"""Plots of an export plan: the value of what is ready, and the age of what is not."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError
from bktools.export import ExportPlan
from bktools.export.tables import days_of
from bktools.frames.schema import to_arrow
from bktools.reports import bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Days since the date of the entry: up to here, and how the group is called.
AGES = ((-1, "dated later"), (7, "0 to 7 days"), (30, "8 to 30 days"), (60, "31 to 60 days"), (90, "61 to 90 days"))
OLDEST = "over 90 days"
UNDATED = "no date"
SHOWN_REASONS = 6


def plot_export_value(
    plan: ExportPlan,
    ax: Axes | None = None,
    *,
    currency: str | None = None,
    categories: pd.DataFrame | None = None,
) -> Axes:
    """Draw the value of the entries that are ready, by category, in one currency.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it, from entries with amounts and currencies.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.
    currency : str, optional
        Three letters; by default the one of most entries. The title says what the others amount to: amounts of two
        currencies are never added.
    categories : DataFrame, optional
        As `load_categories` returns it, for names instead of IDs.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per category, the largest amount on top, credits to the left of zero, in units of the currency. After 20
        categories the rest are one bar.

    Raises
    ------
    ArgumentError
        When something else than a plan is given, the plan has no amounts, or no entry in that currency.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools
    >>> entries = bktools.read_entries("data/accounting_entries.csv")
    >>> axes = bktools.plot_export_value(bktools.compose_export_jobs(entries), currency="EUR")
    >>> axes.get_xlabel()
    'EUR'
    """
    totals = bars.checked(plan, "plan", ExportPlan, "compose_export_jobs").totals
    if not {"amount", "currency"} <= set(totals.columns):
        raise ArgumentError("plan", "must be made from entries with amounts and currencies")
    amounts = plan.amounts
    frequent = totals.groupby("currency")["entries"].sum().sort_values(ascending=False).index
    known = [str(name) for name in frequent if name in amounts]
    currency = currency or next(iter(known), "")
    if currency not in amounts:
        there = ", ".join(known) or "none, no entry is ready"
        raise ArgumentError("currency", f"must be one of the plan's: {there}", currency)
    column = "category_id" if "category_id" in totals.columns else "company_id"
    rows = totals[totals["currency"] == currency].groupby(column, dropna=False)["amount"].sum().rename_axis(None)
    names = {} if categories is None else dict(zip(categories["id"], categories["name"], strict=True))
    rows.index = pd.Index(["no category" if pd.isna(name) else names.get(name, name) for name in rows.index])
    rows = rows.iloc[sorted(range(len(rows)), key=lambda place: -abs(rows.iloc[place]))]
    others = [f"{name} {_money(amounts[name])}" for name in known if name != currency]
    return bars.draw(
        rows.to_frame("amount"),
        ax,
        title=f"Value of what is ready: {currency} {_money(amounts[currency])}",
        note=f"not drawn: {', '.join(others)}" if others else "",
        unit=currency,
        groups="categories",
        shown=_money,
    )


def plot_ageing(plan: ExportPlan, ax: Axes | None = None, *, as_of: dt.date | None = None) -> Axes:
    """Draw how old the entries are that are not ready for export, and why they are not.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.
    as_of : date, optional
        The day that ages are counted to; today (UTC) by default.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per group of ages in days, in parts by reason, the six most frequent apart; the length is the number of
        entries.

    Raises
    ------
    ArgumentError
        When something else than a plan is given, or `as_of` is no day.

    Notes
    -----
    Export jobs: interface, section 4.2.

    Examples
    --------
    >>> import bktools, datetime
    >>> plan = bktools.compose_export_jobs(bktools.read_entries("data/accounting_entries.csv"))
    >>> bktools.plot_ageing(plan, as_of=datetime.date(2026, 10, 31)).get_xlabel()
    'entries'
    """
    waiting = bars.checked(plan, "plan", ExportPlan, "compose_export_jobs").not_ready
    day = _day(as_of or dt.datetime.now(dt.UTC))
    frequent = list(waiting["reason"].value_counts().index[:SHOWN_REASONS])
    reasons = [name.replace("_", " ") if name in frequent else "other reasons" for name in waiting["reason"]]
    # The days that batches are dated with.
    dated = days_of(to_arrow(waiting.filter(["id", "date"]), "the entries"))
    ages = [_age(days) for days in pc.days_between(dated, pa.scalar(day, dated.type)).to_pylist()]
    counts = pd.crosstab(pd.Series(ages, dtype="str"), pd.Series(reasons, dtype="str")).rename_axis(None)
    rows = [name for name in (*(name for _, name in AGES), OLDEST, UNDATED) if name in counts.index]
    columns = [name.replace("_", " ") for name in frequent] + ["other reasons"]
    counts = counts.loc[rows, [name for name in columns if name in counts.columns]]
    return bars.draw(
        counts,
        ax,
        title=f"Entries not ready, by age on {day:%Y-%m-%d}",
        unit="entries",
        groups="ages",
        quiet="other reasons",
    )


def _day(moment: dt.date) -> dt.date:
    try:
        return pd.Timestamp(moment).date()
    except (TypeError, ValueError):
        raise ArgumentError("as_of", "must be a date, such as datetime.date(2026, 10, 31)", moment) from None


def _age(days: int | None) -> str:
    if days is None:
        return UNDATED
    return next((name for limit, name in AGES if days <= limit), OLDEST)


def _money(amount: Decimal | float) -> str:
    return f"{amount:,.2f}"
