"""The plots of a close: changed categories, accounts by action, coverage, value and age of entries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools import bars
from bktools.errors import ArgumentError, InputError
from bktools.export import ExportPlan
from bktools.export.tables import days_of
from bktools.frames.currencies import shown
from bktools.frames.engine import in_pandas
from bktools.frames.schema import STRINGS, Moment, to_arrow
from bktools.reconcile import Reconciliation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UNCHANGED = "unchanged"
# Parts of the bars, those that need attention first.
ACTIONS = ("create", "update", "archive", "unarchive", UNCHANGED)
STATES = ("no account", "unknown account", "archived account", "to be archived account", "covered")

# Largest number of days since the date of the entry, and the name of the group.
AGES = ((-1, "dated later"), (7, "0 to 7 days"), (30, "8 to 30 days"), (60, "31 to 60 days"), (90, "61 to 90 days"))
OLDEST = "over 90 days"
UNDATED = "no date"
SHOWN_REASONS = 6
OTHER_REASONS = "other reasons"


def plot_changes(changes: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the changes of categories between two closes.

    Parameters
    ----------
    changes : DataFrame
        As `compare_categories` returns it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    matplotlib.axes.Axes
        For one company a bar per kind of change; for several a bar per company, in parts by kind. The length is the
        number of changes; after 20 companies the rest are one bar.

    Raises
    ------
    ArgumentError
        When the argument is not a frame.
    InputError
        When the frame lacks the columns of changes.

    Notes
    -----
    Bookkeeping categories: interface, section 2.1.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> changes = pd.DataFrame({"change": ["renamed", "mapped", "mapped"], "company_id": ["a", "a", "a"]})
    >>> [label.get_text() for label in bktools.plot_changes(changes).get_yticklabels()]
    ['mapped', 'renamed']
    """
    bars.checked(changes, "changes", pd.DataFrame, "compare_categories")
    missing = [name for name in ("change", "company_id") if name not in changes.columns]
    if missing:
        raise InputError(f"the changes have no column {missing[0]!r}: give what compare_categories returns")
    counts = _by_company(changes, "change")
    return bars.draw(counts, ax, title="Changes of categories", unit="changes", groups="companies", empty="no changes")


def plot_reconciliation(reconciliation: Reconciliation, ax: Axes | None = None) -> Axes:
    """Draw the accounts of each company by action: create, update, archive, unarchive, unchanged.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it; one of lazy frames is collected.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per company, the one with most actions on top, in parts by action; the length is the number of accounts.
        After 20 companies the rest are one bar.

    Raises
    ------
    ArgumentError
        When the argument is not a reconciliation.

    Notes
    -----
    Accounts: interface, section 2.4.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv", company=service.settings.company)
    ...     categories = bktools.load_categories(service=service)
    ...     found = bktools.reconcile_accounts(chart, bktools.load_accounts(service=service), categories)
    >>> bktools.plot_reconciliation(found).get_xlabel()
    'accounts'
    """
    found = bars.checked(reconciliation, "reconciliation", Reconciliation, "reconcile_accounts")
    actions = in_pandas(found.actions).replace({"action": {"none": UNCHANGED}})
    counts = _by_company(actions, "action", UNCHANGED)
    return bars.draw(
        counts[[name for name in ACTIONS if name in counts.columns]],
        ax,
        title="Accounts by action",
        unit="accounts",
        groups="companies",
    )


def plot_coverage(reconciliation: Reconciliation, ax: Axes | None = None) -> Axes:
    """Draw the categories of each company by the state of their account, such as covered or archived.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it; one of lazy frames is collected.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per company, the one with most uncovered categories on top, in parts by state; the length is the number of
        categories. After 20 companies the rest are one bar.

    Raises
    ------
    ArgumentError
        When the argument is not a reconciliation.

    Notes
    -----
    Categories and their accounts: interface, section 2.1.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv", company=service.settings.company)
    ...     categories = bktools.load_categories(service=service)
    ...     found = bktools.reconcile_accounts(chart, bktools.load_accounts(service=service), categories)
    >>> bktools.plot_coverage(found).get_xlabel()
    'categories'
    """
    found = bars.checked(reconciliation, "reconciliation", Reconciliation, "reconcile_accounts")
    coverage = in_pandas(found.coverage)
    counts = _by_company(coverage.assign(state=coverage["state"].str.replace("_", " ")), "state", "covered")
    return bars.draw(
        counts[[name for name in STATES if name in counts.columns]],
        ax,
        title="Categories and their accounts",
        unit="categories",
        groups="companies",
    )


def plot_export_value(
    plan: ExportPlan,
    ax: Axes | None = None,
    *,
    currency: str | None = None,
    categories: pd.DataFrame | None = None,
) -> Axes:
    """Draw the value of the entries that are ready for export, by category, in one currency.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it, from entries with amounts and currencies.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.
    currency : str, optional
        Three letters; by default the one with most entries. Amounts of two currencies are never added: the title gives
        the totals of the others.
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
        When the argument is not a plan, or the plan has no amounts, or no entry in that currency.

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
    others = [f"{name} {shown(amounts[name], name)}" for name in known if name != currency]
    return bars.draw(
        rows.to_frame(bars.MONEY),
        ax,
        title=f"Value of entries ready for export: {currency} {shown(amounts[currency], currency)}",
        note=f"not drawn: {', '.join(others)}" if others else "",
        unit=currency,
        groups="categories",
        shown=partial(shown, currency=currency),
    )


def plot_ageing(plan: ExportPlan, ax: Axes | None = None, *, as_of: Moment | None = None) -> Axes:
    """Draw the entries that are not ready for export, by age and reason.

    Parameters
    ----------
    plan : ExportPlan
        As `compose_export_jobs` returns it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.
    as_of : date, datetime or Period, optional
        The day that ages are counted to; today (UTC) by default.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per group of ages, in parts by reason: the six most frequent, and the rest; the length is the number of
        entries.

    Raises
    ------
    ArgumentError
        When the argument is not a plan, or `as_of` is not a date.

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
    day = day_of(as_of)
    return bars.draw(
        counts_by_age(ages_of(waiting, day), reasons_of(waiting)),
        ax,
        title=f"Entries not ready, by age on {day:%Y-%m-%d}",
        unit="entries",
        groups="ages",
        empty="every entry is ready",
    )


def day_of(moment: Moment | None) -> dt.date:
    """Return the day that ages are counted to: today (UTC) by default."""
    try:
        # A period of pandas means its last day.
        last: Any = getattr(moment, "end_time", moment)
        return pd.Timestamp(dt.datetime.now(dt.UTC) if last is None else last).date()
    except (TypeError, ValueError):
        raise ArgumentError("as_of", "must be a date, such as datetime.date(2026, 10, 31)", moment) from None


def ages_of(waiting: pd.DataFrame, day: dt.date) -> pd.Series:
    """Return the group of ages of each entry on a day."""
    # The same days as in the batches of a plan.
    dated = days_of(to_arrow(waiting.filter(["id", "date"]), "the entries"))
    return pd.Series(
        [_age(days) for days in pc.days_between(dated, pa.scalar(day, dated.type)).to_pylist()], dtype=STRINGS
    )


def reasons_of(waiting: pd.DataFrame) -> pd.Series:
    """Return the reason of each entry; the less frequent ones are one."""
    frequent = set(waiting["reason"].value_counts().index[:SHOWN_REASONS])
    named = [name.replace("_", " ") if name in frequent else OTHER_REASONS for name in waiting["reason"]]
    return pd.Series(named, dtype=STRINGS)


def ages_in_order(there: Iterable[str]) -> list[str]:
    """Return the groups of ages that are there, the youngest first."""
    names = set(there)
    return [name for name in (*(name for _, name in AGES), OLDEST, UNDATED) if name in names]


def reasons_in_order(reasons: pd.Series) -> list[str]:
    """Return the reasons, the most frequent first; what is several of them is last."""
    frequent = [str(name) for name in reasons.value_counts().index]
    return sorted(frequent, key=lambda name: name == OTHER_REASONS)


def counts_by_age(ages: pd.Series, reasons: pd.Series) -> pd.DataFrame:
    """Return the number of entries of each age and reason."""
    counts = pd.crosstab(ages, reasons).rename_axis(None)
    return counts.loc[ages_in_order(ages), reasons_in_order(reasons)]


def _by_company(frame: pd.DataFrame, column: str, done: str = "") -> pd.DataFrame:
    """Return the counts of a column's values by company, the company with most rows that are not `done` first."""
    counts = pd.crosstab(frame["company_id"], frame[column]).rename_axis(None)
    left = counts.drop(columns=done, errors="ignore").sum(axis="columns")
    ordered = counts.loc[left.sort_values(ascending=False, kind="stable").index]
    return ordered.set_axis([f"company {name[:8]}" for name in ordered.index])


def _age(days: int | None) -> str:
    if days is None:
        return UNDATED
    return next((name for limit, name in AGES if days <= limit), OLDEST)
