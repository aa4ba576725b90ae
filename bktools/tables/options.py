"""How a table is loaded: which snapshot is fresh enough, and what happens when a check speaks against the rows."""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import dataclass
from typing import Literal, Self

from bktools.caller import can_set, setting
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.store import Facts, History, Snapshot

ONE_HOUR = dt.timedelta(hours=1)

Moment = str | dt.date | dt.datetime
Verify = Literal["strict", "warn"]


@dataclass(frozen=True)
class Options:
    """What the user of a loader asked for, checked.

    Parameters
    ----------
    until : datetime, optional
        The newest snapshot by this instant is wanted, from history alone.
    max_age : timedelta
        A snapshot not older than this is fresh.
    refresh : bool
        Whether the service is asked in any case.
    strict : bool
        Whether rows that a check speaks against are an error; else they come with a warning.
    cache : bool
        Whether snapshots are used and kept.
    progress : bool, optional
        Whether to show a bar; by default where somebody can see it.
    way_out : str
        The words that turn an error of a check into a warning, as the caller writes them; empty where it cannot.
    """

    until: dt.datetime | None
    max_age: dt.timedelta
    refresh: bool
    strict: bool
    cache: bool
    progress: bool | None
    way_out: str

    @classmethod
    def of(
        cls,
        as_of: Moment | None = None,
        max_age: dt.timedelta | float = ONE_HOUR,
        *,
        refresh: bool = False,
        verify: str = "strict",
        cache: bool = True,
        progress: bool | None = None,
    ) -> Self:
        """Check a user's arguments and return them as options."""
        if as_of is not None and refresh:
            raise ArgumentError("refresh", "cannot be combined with as_of, which reads history alone")
        if as_of is not None and not cache:
            raise ArgumentError("cache", "must be True with as_of, which reads history alone")
        if verify not in ("strict", "warn"):
            raise ArgumentError("verify", 'must be "strict" or "warn"', verify)
        until = None if as_of is None else instant("as_of", as_of)
        way_out = setting("verify", "warn") if can_set("verify") else ""
        return cls(until, _age(max_age), refresh, verify == "strict", cache, progress, way_out)

    def fresh(self, history: History) -> Snapshot | None:
        """Return the snapshot that may be used without asking the service.

        The last one committed is the newest, whatever the clock said. `as_of` takes the last one committed whose time
        is not after the moment.
        """
        if self.until is not None:
            return next((item for item in reversed(history.snapshots) if item.time <= self.until), None)
        if self.refresh or history.lost or not history.snapshots:
            return None
        newest = history.snapshots[-1]
        # One from the future was taken by a clock that was wrong: its age is not known.
        is_young = dt.timedelta(0) <= dt.datetime.now(dt.UTC) - newest.time <= self.max_age
        return newest if is_young and not (self.strict and newest.complaints) else None


def instant(argument: str, moment: Moment) -> dt.datetime:
    """Return a moment in UTC; a day means its end."""
    value: dt.date | dt.datetime
    if isinstance(moment, str):
        try:
            value = dt.date.fromisoformat(moment) if len(moment) <= len("2026-10-31") else rules.timestamp(moment)
        except ValueError:
            raise ArgumentError(argument, "must be a day such as 2026-10-31 or an ISO 8601 instant", moment) from None
    elif isinstance(moment, dt.date) and moment == moment:  # noqa: PLR0124 - NaT, which is a date, equals nothing
        value = moment
    else:
        raise ArgumentError(argument, "must be a day such as 2026-10-31 or an ISO 8601 instant", moment)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)
    return dt.datetime.combine(value, dt.time.max, tzinfo=dt.UTC)


def age_of(facts: Facts) -> str:
    """Return how old rows are, as people say it."""
    seconds = (dt.datetime.now(dt.UTC) - facts.time).total_seconds()
    if seconds < 0:
        return "from the future by this machine's clock"
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''} old"
    return f"{int(seconds)} seconds old"


def _age(max_age: object) -> dt.timedelta:
    age = max_age if isinstance(max_age, dt.timedelta) else None
    if isinstance(max_age, int | float) and not isinstance(max_age, bool):
        # What no timedelta holds: infinity, no number, millions of years.
        with contextlib.suppress(OverflowError, ValueError):
            age = dt.timedelta(seconds=max_age)
    if age is None or not age >= dt.timedelta(0):
        raise ArgumentError(
            "max_age", f"must be seconds or a timedelta, from 0 to {dt.timedelta.max.days} days", max_age
        )
    return age
