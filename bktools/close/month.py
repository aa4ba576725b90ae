"""Which month a close is of, and whether it may be closed or approved yet."""

from __future__ import annotations

import datetime as dt

import pandas as pd

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError, InputError

# A month with less than this share of the busiest month's entries is not closed by default: its dates may be mistyped.
LEAST_SHARE = 0.05
SHOWN_MONTHS = 3


def require_month(period: str, today: dt.datetime, *, is_approved: bool, is_early: bool) -> None:
    """Refuse a month that has not begun, and the approval of one that has not ended unless the caller says so."""
    current = f"{today:%Y-%m}"
    if period > current:
        raise ArgumentError(name_of("month"), f"must have begun: today is {today:%Y-%m-%d}", period)
    if period == current and is_approved and not is_early:
        raise ArgumentError(
            name_of("approved_by"),
            f"closes {period}, which has not ended: approve it when it has, or say that it is meant with "
            f"{setting('before_month_end', value=True)}",
        )


def month_of(entries: pd.DataFrame, today: dt.datetime) -> str:
    """Return the month to close: never decided by a few entries, and never in the future."""
    counts = _counts(entries)
    if counts.empty:
        raise ArgumentError(name_of("month"), "must be given: the entries have no dates")
    current = f"{today:%Y-%m}"
    past = counts[counts.index <= current]
    if past.empty:
        first = counts.index.min()
        raise ArgumentError(
            name_of("month"), f"must be given: no entry is dated in {current} or before, the first month is {first}"
        )
    ended = past[past.index < current]
    likely = past if ended.empty else ended
    return str(likely.index[likely >= likely.max() * LEAST_SHARE].max())


def why_this_month(entries: pd.DataFrame, period: str) -> str:
    """Return a sentence with the chosen month and the number of entries in other months."""
    counts = _counts(entries)
    others = [f"{count:,} of {month}" for month, count in counts[counts.index != period].items()]
    more = f" and {len(others) - SHOWN_MONTHS} more months" if len(others) > SHOWN_MONTHS else ""
    # The latest months first: their entries wait for the next close, or their dates are mistyped.
    outside = f"; other entries: {', '.join(others[: -SHOWN_MONTHS - 1 : -1])}{more}" if others else ""
    return f"{period}, by the dates of the entries{outside} (another: {setting('month', 'YYYY-MM')})"


def require_dates(entries: pd.DataFrame) -> None:
    """Refuse entries whose column `date` holds something else than dates."""
    if "date" in entries.columns and not pd.api.types.is_datetime64_any_dtype(entries["date"]):
        raise InputError("the column date of the entries holds no dates: read them with read_entries")


def _counts(entries: pd.DataFrame) -> pd.Series:
    """Return the number of entries of each month, the earliest first."""
    if "date" not in entries.columns:
        return pd.Series(dtype="int64")
    months: pd.Series = entries["date"].dropna().dt.strftime("%Y-%m").value_counts().sort_index()
    return months
