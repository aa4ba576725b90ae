"""The months of exported entries, and those that a ledger covers."""

from __future__ import annotations

import pandas as pd


def months_of(exported: pd.DataFrame) -> pd.Series:
    """Return the month of each entry: that of its close, or of its date where the journal has no close."""
    months: pd.Series = exported["period"].fillna(exported["date"].dt.strftime("%Y-%m"))
    return months


def entries_of_months(
    exported: pd.DataFrame, postings: pd.DataFrame, month: str | None = None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the entries of a month, or of the months in the ledger, and a phrase about each month left out."""
    months = months_of(exported)
    if month is not None:
        return exported[(months == month).fillna(value=False)], ()
    days = postings["date"].dt.strftime("%Y-%m")
    is_covered = months.between(days.min(), days.max()) if len(days) else months.isna()
    is_covered = is_covered.fillna(value=False) | months.isna()
    others = months[~is_covered].value_counts().sort_index()
    span = f"which has postings of {days.min()} to {days.max()}" if len(days) else "which has no postings"
    return exported[is_covered], tuple(
        f"{count:,} entries of {other}, a month that is not in the ledger, {span}" for other, count in others.items()
    )
