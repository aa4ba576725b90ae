"""Plots of a reconciliation: what is to be done with accounts, and which categories hang on one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from bktools.frames.engine import in_pandas
from bktools.reconcile import Reconciliation
from bktools.reports import bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACTIONS = ("create", "update", "archive", "unarchive", "none")
STATES = ("no_account", "unknown_account", "archived_account", "to_be_archived_account", "covered")


def plot_reconciliation(reconciliation: Reconciliation, ax: Axes | None = None) -> Axes:
    """Draw what is to be done with the accounts of each company.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it; one of lazy frames is collected.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per company, the one with the most to do on top, in parts by verb; the length is the number of accounts.
        After 20 companies the rest are one bar.

    Raises
    ------
    ArgumentError
        When something else than a reconciliation is given.

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
    counts = _by_company(_checked(reconciliation).actions, "action", ACTIONS, "right as they are")
    return bars.draw(
        counts,
        ax,
        title="What is to be done with accounts",
        unit="accounts",
        groups="companies",
        quiet="right as they are",
    )


def plot_coverage(reconciliation: Reconciliation, ax: Axes | None = None) -> Axes:
    """Draw which categories of each company hang on an account that an export can use.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it; one of lazy frames is collected.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per company, the one with most categories to repair on top, in parts by state; the length is the number of
        categories. After 20 companies the rest are one bar.

    Raises
    ------
    ArgumentError
        When something else than a reconciliation is given.

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
    counts = _by_company(_checked(reconciliation).coverage, "state", STATES, "covered")
    return bars.draw(
        counts, ax, title="Categories and their accounts", unit="categories", groups="companies", quiet="covered"
    )


def _checked(reconciliation: Reconciliation) -> Reconciliation:
    found: Reconciliation = bars.checked(reconciliation, "reconciliation", Reconciliation, "reconcile_accounts")
    return found


def _by_company(rows: Any, column: str, order: tuple[str, ...], quiet: str) -> pd.DataFrame:
    frame = in_pandas(rows)
    counts = pd.crosstab(frame["company_id"], frame[column]).rename_axis(None)
    counts = counts.reindex(columns=[name for name in order if name in counts.columns])
    counts.columns = pd.Index([_named(name) for name in counts.columns])
    open_ones = counts.drop(columns=quiet, errors="ignore").sum(axis="columns")
    ordered = counts.loc[open_ones.sort_values(ascending=False, kind="stable").index]
    return ordered.set_axis([f"company {name[:8]}" for name in ordered.index])


def _named(name: str) -> str:
    return "right as they are" if name == "none" else name.replace("_", " ")
