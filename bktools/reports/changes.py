"""A plot of what changed in the categories between two closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bktools.errors import InputError
from bktools.reports import bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEEDED = ("change", "company_id")


def plot_changes(changes: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw what changed in the categories between two closes.

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
        When something else than a frame is given.
    InputError
        When the frame is not one of changes.

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
    missing = [name for name in NEEDED if name not in changes.columns]
    if missing:
        raise InputError(f"the changes have no column {missing[0]!r}: give what compare_categories returns")
    if len(changes["company_id"].unique()) > 1:
        counts = pd.crosstab(changes["company_id"], changes["change"]).rename_axis(None)
        counts = counts.loc[counts.sum(axis="columns").sort_values(ascending=False, kind="stable").index]
        counts = counts.set_axis([f"company {name[:8]}" for name in counts.index])
    else:
        counts = changes["change"].value_counts().rename_axis(None).to_frame("changes")
    return bars.draw(counts, ax, title="Changes of categories", unit="changes", groups="companies")
