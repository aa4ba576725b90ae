"""The pictures of a close, for its folder and its report."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from bktools.close.close import Close
from bktools.reports import bars
from bktools.reports.coverage import plot_coverage
from bktools.reports.money import plot_money
from bktools.wording.numbers import capitalized, month

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By the name of their file: the key of what they show, in `report` of the wording.
COVERAGE, MONEY = "coverage.png", "money.png"
PICTURES = {MONEY: "picture_of_money", COVERAGE: "picture_of_coverage"}

DPI = 120


def pictures_of(close: Close) -> dict[str, bytes]:
    """Return PNG pictures by the name of their file."""
    language = close.words.language
    about = ", ".join([close.title_state, *([close.environment_name] if close.is_sandbox else [])])
    title = f"{month(close.period, language)}, {close.name}\n{capitalized(about)}"
    figures = {name: bars.figure_of_its_own() for name in PICTURES}
    plot_coverage(close.after, title=title, figure=figures[COVERAGE], language=language)
    plot_money(
        close.tables["entries"],
        title=title,
        currency=close.currency,
        figure=figures[MONEY],
        language=language,
    )
    return {name: _png(figure) for name, figure in figures.items()}


def _png(figure: Figure) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    return content.getvalue()
