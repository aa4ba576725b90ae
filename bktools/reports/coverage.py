"""`plot_coverage`: the categories by the state of their account."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bktools.reconcile import Reconciliation
from bktools.reports import bars
from bktools.reports.bars import DONE, WAITING, Look
from bktools.wording.numbers import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# By the code of a part, in `report.picture` of the wording.
COVERED, OPEN = "covered", "open"
LOOKS: dict[str, Look] = {COVERED: (DONE, ""), OPEN: (WAITING, "")}


def plot_coverage(
    reconciliation: Reconciliation,
    *,
    title: str | None = None,
    figure: Figure | None = None,
    language: str | None = None,
) -> Axes:
    """Draw the categories by the state of their account, such as covered or archived.

    Parameters
    ----------
    reconciliation : Reconciliation
        As `reconcile_accounts` returns it; one of lazy frames is collected.
    title : str, optional
        Month and company for the heading, such as "October 2026, Muster GmbH". Default: the company.
    figure : matplotlib.figure.Figure, optional
        Where to draw, such as a figure of your own; its size is set. Default: a new figure.
    language : str, optional
        Of its words: "en" or "de"; by default the configured one.

    Returns
    -------
    matplotlib.axes.Axes
        A bar per state with the number of its categories, the covered ones first.

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
    ...     company = service.settings.company
    ...     chart = bktools.read_chart_of_accounts("data/chart_of_accounts.csv", company=company)
    ...     categories = bktools.load_categories(service=service)
    ...     accounts = bktools.load_accounts(service=service)
    ...     reconciliation = bktools.reconcile_accounts(chart, accounts, categories)
    >>> ax = bktools.plot_coverage(reconciliation, title="October 2026, Muster GmbH")
    >>> ax.get_yticklabels()[0].get_text()
    'unknown account'
    """
    coverage = bars.checked(reconciliation, "reconciliation", Reconciliation, "reconcile_accounts").table(
        "coverage"
    )
    texts = bars.words_of(language)
    looks = {texts(f"report.picture.{part}"): look for part, look in LOOKS.items()}
    names = dict(zip(LOOKS, looks, strict=True))
    states = [texts.name("state", state) for state in coverage["state"].to_pylist()]
    parts = [names[COVERED if state == "covered" else OPEN] for state in coverage["state"].to_pylist()]
    counts = pd.crosstab(pd.Series(states), pd.Series(parts)) if states else pd.DataFrame()
    counts = counts.reindex(columns=[part for part in looks if part in parts])
    if states:
        counts = counts.sort_values(list(counts.columns), ascending=False, kind="stable")
    heading = texts.counted(len(states), "category") if states else texts("report.picture.no_categories")
    drawn = bars.Chart(heading, counts, [number(int(count), texts.language) for count in counts.sum(axis=1)])
    if title is None:
        companies = {*coverage["company_id"].to_pylist()}
        title = texts("report.company", id=companies.pop()[:8]) if len(companies) == 1 else ""
    about = bars.titled(title, texts("report.picture.of_categories"))
    return bars.draw([drawn], title=about, looks=looks, figure=figure)[0]
