"""The pictures of a close, for its folder and its report."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pandas as pd

from bktools.export import ExportPlan
from bktools.frames.names import MONTHS
from bktools.reconcile import Reconciliation
from bktools.reports import bars
from bktools.reports.close import Close, where
from bktools.reports.coverage import plot_coverage
from bktools.reports.money import plot_money

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By the name of their file: what they show.
COVERAGE, MONEY = "coverage.png", "money.png"
PICTURES = {
    MONEY: "Exported and held back, by currency and reason",
    COVERAGE: "Categories and the states of their accounts",
}

DPI = 120


def pictures_of(close: Close) -> dict[str, bytes]:
    """Return PNG pictures by the name of their file; there is none of money where the entries have no amounts."""
    year, month = close.period.split("-")
    title = f"{MONTHS[int(month) - 1]} {year}, company {close.company[:8]}, {where(close)}"
    return drawn(close.plan, close.after, title=title, jobs=close.jobs)


def drawn(
    entries: ExportPlan | pd.DataFrame,
    reconciliation: Reconciliation,
    *,
    title: str,
    jobs: pd.DataFrame | None = None,
    currency: str | None = None,
) -> dict[str, bytes]:
    """Return PNG pictures by the name of their file, of the arguments of `plot_money` and `plot_coverage`."""
    columns = entries.columns if isinstance(entries, pd.DataFrame) else entries.rows.column_names
    figures = {name: bars.figure_of_its_own() for name in PICTURES}
    plot_coverage(reconciliation, title=title, figure=figures[COVERAGE])
    if {"amount", "currency"} <= set(columns):
        plot_money(entries, jobs=jobs, title=title, currency=currency, figure=figures[MONEY])
    return {name: _png(figure) for name, figure in figures.items() if figure.axes}


def _png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    return content.getvalue()
