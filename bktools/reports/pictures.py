"""The pictures of a close, for its folder and its report."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pandas as pd

from bktools.close.close import Close, where
from bktools.reports import bars
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
# Inches between two charts, for a title and an axis.
CHART_MARGIN = 0.95


def pictures_of(close: Close) -> dict[str, bytes]:
    """Return PNG pictures by the name of their file; there is none of money where the entries have no amounts."""
    heading = f"Month-end {close.period} · {where(close.environment)}"
    drawn = {COVERAGE: _of_coverage(close, heading)}
    if {"amount", "currency"} <= set(close.run.plan.rows.column_names):
        drawn = {MONEY: _of_money(close, heading), **drawn}
    return drawn


def _of_coverage(close: Close, heading: str) -> bytes:
    figure = bars.figure_of_its_own((bars.WIDTH, bars.height(0, 0)))
    ax = plot_coverage(close.after, figure.add_subplot(), title=f"{heading}: categories and their accounts")
    figure.set_figheight(bars.height(len(ax.get_yticks()), len(ax.get_legend_handles_labels()[0])))
    return _png(figure)


def _of_money(close: Close, heading: str) -> bytes:
    figure = bars.figure_of_its_own((bars.WIDTH, bars.WIDTH))
    # To search for the least margins would take as long as to draw; those here have room for the names of reasons.
    figure.set_layout_engine(None)
    plot_money(close.run.plan, jobs=pd.DataFrame(close.run.jobs, columns=["batch_id", "outcome"]), title=f"{heading}: exported and held back", figure=figure)
    height, charts = figure.get_figheight(), len(figure.axes)
    between = CHART_MARGIN / (height / charts - CHART_MARGIN)
    figure.subplots_adjust(0.2, 0.6 / height, 0.95, 1 - 0.35 / height, hspace=between)
    return _png(figure)


def _png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    return content.getvalue()
