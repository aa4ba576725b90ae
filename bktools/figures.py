"""Where a plot is drawn: on the axes given, or on a figure of its own that leaves pyplot alone where nobody uses it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bktools.progress import in_notebook

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 10.0
FEWEST_PLACES = 3


def height(groups: int, parts: int) -> float:
    """Return how high a figure is, in inches, that has room for groups and for a legend of parts."""
    return 1.3 + max(0.3 * max(groups, FEWEST_PLACES), 0.2 * parts)


def axes_for(ax: Axes | None, groups: int, parts: int) -> Axes:
    """Return the axes given, or those of a new figure as high as the groups need.

    The figure is pyplot's where pyplot is in use, so that it shows itself in a notebook and in a script that calls
    `show`; elsewhere one of its own, without windows and global state: `ax.figure.savefig(path)`.
    """
    if ax is not None:
        return ax
    size = (WIDTH, height(groups, parts))
    if "matplotlib.pyplot" in sys.modules or in_notebook():
        import matplotlib.pyplot as plt

        made: Axes = plt.figure(figsize=size, layout="constrained").add_subplot()
        return made
    return figure_of_its_own(size).add_subplot()  # type: ignore[no-any-return]


def figure_of_its_own(size: tuple[float, float]) -> Any:
    """Return a figure that no window and no global state knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    return figure
