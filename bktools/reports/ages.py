"""How long entries have waited, in groups of ages, and why."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError
from bktools.export.tables import days_of
from bktools.frames.schema import STRINGS, Moment, to_arrow

# Largest number of days since the date of the entry, and the name of the group.
AGES = ((-1, "dated later"), (7, "0 to 7 days"), (30, "8 to 30 days"), (60, "31 to 60 days"), (90, "61 to 90 days"))
OLDEST = "over 90 days"
UNDATED = "no date"
SHOWN_REASONS = 6
OTHER_REASONS = "other reasons"


def day_of(moment: Moment | None) -> dt.date:
    """Return the day that ages are counted to: today (UTC) by default."""
    try:
        # A period of pandas means its last day.
        last: Any = getattr(moment, "end_time", moment)
        return pd.Timestamp(dt.datetime.now(dt.UTC) if last is None else last).date()
    except (TypeError, ValueError):
        raise ArgumentError("as_of", "must be a date, such as datetime.date(2026, 10, 31)", moment) from None


def ages_of(waiting: pd.DataFrame, day: dt.date) -> pd.Series:
    """Return the group of ages of each entry on a day."""
    # The same days as in the batches of a plan.
    dated = days_of(to_arrow(waiting.filter(["id", "date"]), "the entries"))
    return pd.Series(
        [_age(days) for days in pc.days_between(dated, pa.scalar(day, dated.type)).to_pylist()], dtype=STRINGS
    )


def reasons_of(waiting: pd.DataFrame) -> pd.Series:
    """Return the reason of each entry; the less frequent ones are one."""
    frequent = set(waiting["reason"].value_counts().index[:SHOWN_REASONS])
    named = [name.replace("_", " ") if name in frequent else OTHER_REASONS for name in waiting["reason"]]
    return pd.Series(named, dtype=STRINGS)


def counts_by_age(ages: pd.Series, reasons: pd.Series) -> pd.DataFrame:
    """Return the number of entries of each age, the youngest first, and reason, the most frequent first."""
    counts = pd.crosstab(ages, reasons).rename_axis(None)
    in_order = [name for name in (*(name for _, name in AGES), OLDEST, UNDATED) if name in counts.index]
    return counts.loc[in_order, sorted(reasons.value_counts().index, key=lambda name: name == OTHER_REASONS)]


def _age(days: int | None) -> str:
    if days is None:
        return UNDATED
    return next((name for limit, name in AGES if days <= limit), OLDEST)
