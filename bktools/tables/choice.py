"""Which snapshot would do: how old it may be, or of which moment it must be."""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import dataclass
from typing import Self

from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.tables.manifest import Snapshot

ONE_HOUR = dt.timedelta(hours=1)

Moment = str | dt.date | dt.datetime


@dataclass(frozen=True)
class Choice:
    """What somebody who loads a table wants of it.

    Parameters
    ----------
    until : datetime, optional
        The newest snapshot by this instant is wanted, from history alone.
    max_age : timedelta
        Up to which age a snapshot takes the service's place.
    refresh : bool
        Whether the service is asked in any case.
    progress : bool, optional
        Whether to show a bar; by default where somebody can see it.
    """

    until: dt.datetime | None
    max_age: dt.timedelta
    refresh: bool
    progress: bool | None

    @classmethod
    def of(
        cls, as_of: Moment | None, max_age: dt.timedelta | float, *, refresh: bool, progress: bool | None = None
    ) -> Self:
        """Return the choice that a user's arguments stand for, checked."""
        if as_of is not None and refresh:
            raise ArgumentError("refresh", "cannot be combined with as_of, which reads history alone")
        return cls(None if as_of is None else instant("as_of", as_of), _age(max_age), refresh, progress)

    def does(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is what is wanted."""
        if self.refresh:
            return False
        return self.until is not None or dt.datetime.now(dt.UTC) - snapshot.time <= self.max_age


def instant(argument: str, moment: Moment) -> dt.datetime:
    """Return a moment in UTC; a day stands for its end."""
    value: dt.date | dt.datetime
    if isinstance(moment, str):
        try:
            value = dt.date.fromisoformat(moment) if len(moment) <= len("2026-10-31") else rules.timestamp(moment)
        except ValueError:
            raise ArgumentError(argument, "must be a day such as 2026-10-31 or an ISO 8601 instant", moment) from None
    elif isinstance(moment, dt.date):
        value = moment
    else:
        raise ArgumentError(argument, "must be a day such as 2026-10-31 or an ISO 8601 instant", moment)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    return dt.datetime.combine(value, dt.time.max, tzinfo=dt.UTC)


def told(age: dt.timedelta) -> str:
    """Return an age as people say it."""
    seconds = max(age.total_seconds(), 0.0)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{int(seconds)} seconds"


def _age(max_age: object) -> dt.timedelta:
    age = max_age if isinstance(max_age, dt.timedelta) else None
    if isinstance(max_age, int | float) and not isinstance(max_age, bool):
        # What no timedelta holds: infinity, no number, millions of years.
        with contextlib.suppress(OverflowError, ValueError):
            age = dt.timedelta(seconds=max_age)
    if age is None or age < dt.timedelta(0):
        raise ArgumentError(
            "max_age", f"must be seconds or a timedelta, from 0 to {dt.timedelta.max.days} days", max_age
        )
    return age
