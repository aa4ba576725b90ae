"""`plot_coverage`: the categories of each company by the state of their account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bktools.frames.engine import in_pandas
from bktools.reconcile import Reconciliation
from bktools.reports import bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Parts of the bars, those that need attention first.
STATES = ("no account", "unknown account", "archived account", "to be archived account", "covered")


def plot_coverage(reconciliation: Reconciliation, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw the categories of each company by the state of their account, such as covered or archived.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it; one of lazy frames is collected.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure without it.
    title : str, optional
        Heading in place of "Categories and their accounts".

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
    counts = pd.crosstab(coverage["company_id"], coverage["state"].str.replace("_", " ")).rename_axis(None)
    uncovered = counts.drop(columns="covered", errors="ignore").sum(axis="columns")
    counts = counts.loc[uncovered.sort_values(ascending=False, kind="stable").index]
    return bars.draw(
        counts[[name for name in STATES if name in counts.columns]].rename(index=lambda name: f"company {name[:8]}"),
        ax,
        title=title or "Categories and their accounts",
        unit="categories",
        groups="companies",
    )
