"""The options of a load: which snapshots are fresh enough, and whether a failed check is an error."""

from __future__ import annotations

import calendar
import contextlib
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from bktools.caller import can_set, name_of, setting
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames.schema import Moment
from bktools.snapshots.snapshot import Snapshot

ONE_HOUR = dt.timedelta(hours=1)

Verify = Literal["strict", "warn"]
OnError = Literal["raise", "collect"]


@dataclass(frozen=True)
class Options:
    """The checked options of a load.

    Parameters
    ----------
    until : datetime, optional
        Use the newest snapshot up to this instant, and fetch nothing.
    max_age : timedelta
        A snapshot not older than this is fresh.
    refresh : bool
        Whether to ask the service always.
    strict : bool
        Whether a failed check is an error; otherwise it is a warning.
    cache : bool
        Whether to use and keep snapshots.
    progress : bool, optional
        Whether to show a bar. Default: in a terminal or a notebook.
    way_out : str
        The argument or option that turns a failed check into a warning; empty where the caller cannot set it.
    collect : bool
        Whether the rows of the other companies are returned when some companies fail.
    """

    until: dt.datetime | None
    max_age: dt.timedelta
    refresh: bool
    strict: bool
    cache: bool
    progress: bool | None
    way_out: str
    collect: bool = False

    @classmethod
    def of(
        cls,
        *,
        as_of: Moment | None = None,
        max_age: dt.timedelta | float = ONE_HOUR,
        refresh: bool = False,
        verify: str = "strict",
        cache: bool = True,
        on_error: str = "raise",
        progress: bool | None = None,
    ) -> Self:
        """Check a user's arguments and return them as options."""
        if as_of is not None and refresh:
            raise ArgumentError("refresh", "cannot be combined with as_of, which only reads snapshots")
        if as_of is not None and not cache:
            raise ArgumentError("cache", "must be True with as_of, which only reads snapshots")
        if verify not in ("strict", "warn"):
            raise ArgumentError("verify", 'must be "strict" or "warn"', verify)
        if on_error not in ("raise", "collect"):
            raise ArgumentError(name_of("on_error"), 'must be "raise" or "collect"', on_error)
        return cls(
            until=None if as_of is None else instant("as_of", as_of),
            max_age=_age(max_age),
            refresh=rules.flag("refresh", refresh),
            strict=verify == "strict",
            cache=rules.flag("cache", cache),
            progress=progress,
            way_out=setting("verify", "warn") if can_set("verify") else "",
            collect=on_error == "collect",
        )

    def fresh(self, history: Sequence[Snapshot]) -> Snapshot | None:
        """Return the snapshot that may be used without asking the service.

        The newest snapshot is the last one committed, not the one with the latest time. For `as_of`, it is the last one
        committed whose time is not later.
        """
        if self.until is not None:
            return next((snapshot for snapshot in reversed(history) if snapshot.time <= self.until), None)
        if self.refresh or not history:
            return None
        # A time in the future comes from a wrong clock, so the age is unknown.
        is_young = dt.timedelta(0) <= dt.datetime.now(dt.UTC) - history[-1].time <= self.max_age
        return history[-1] if is_young else None


def instant(argument: str, moment: Moment) -> dt.datetime:
    """Return a moment in UTC; a day or a month means its end."""
    text = moment if isinstance(moment, str) else rules.calendar_text(moment)
    try:
        if rules.MONTH_PATTERN.match(text):
            year, month = map(int, text.split("-"))
            text = f"{text}-{calendar.monthrange(year, month)[1]}"
        if len(text) > len("2026-10-31"):
            return rules.timestamp(text)
        return dt.datetime.combine(dt.date.fromisoformat(text), dt.time.max, tzinfo=dt.UTC)
    except ValueError:
        raise ArgumentError(argument, "must be a day such as 2026-10-31 or an ISO 8601 instant", moment) from None


def age_of(time: dt.datetime) -> str:
    """Return the age of rows as text, such as "2 hours old"."""
    seconds = (dt.datetime.now(dt.UTC) - time).total_seconds()
    if seconds < 0:
        return "from the future by this machine's clock"
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''} old"
    return f"{int(seconds)} seconds old"


def _age(max_age: object) -> dt.timedelta:
    max_age = rules.plain(max_age)
    age = max_age if isinstance(max_age, dt.timedelta) else None
    if isinstance(max_age, int | float) and not isinstance(max_age, bool):
        # Infinity, NaN and millions of years do not fit into a timedelta.
        with contextlib.suppress(OverflowError, ValueError):
            age = dt.timedelta(seconds=max_age)
    if age is None or not age >= dt.timedelta(0):
        raise ArgumentError(
            "max_age", f"must be seconds or a timedelta, from 0 to {dt.timedelta.max.days} days", max_age
        )
    return age
