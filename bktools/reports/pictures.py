"""The pictures of a close, for its folder and its report."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bktools.close.close import Close, where
from bktools.frames.codes import capitalized
from bktools.frames.names import month_name
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


def pictures_of(close: Close) -> dict[str, bytes]:
    """Return PNG pictures by the name of their file."""
    about = ", ".join([close.title_state, *([where(close.environment)] if close.environment == "sandbox" else [])])
    title = f"{month_name(close.period)}, {close.name}\n{capitalized(about)}"
    figures = {name: bars.figure_of_its_own() for name in PICTURES}
    plot_coverage(close.after, title=title, figure=figures[COVERAGE])
    plot_money(close.tables["entries"], title=title, currency=close.currency, figure=figures[MONEY])
    return {name: _png(figure) for name, figure in figures.items()}


def _png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    return content.getvalue()
