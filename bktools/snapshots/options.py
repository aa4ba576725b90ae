"""The options of a load: which snapshots are fresh enough, and whether a failed check is an error."""

from __future__ import annotations

import contextlib
import datetime as dt
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, TypeVar

from bktools.caller import can_set, setting
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.frames.schema import Moment
from bktools.snapshots.snapshot import Snapshot
from bktools.wording import Sentence, Words

ONE_HOUR = dt.timedelta(hours=1)

Load = TypeVar("Load", bound=Callable[..., Any])


class LoadOptions(TypedDict, total=False):
    """The options of a load as keywords, see `Options`."""

    as_of: Moment | None
    max_age: dt.timedelta | float
    refresh: bool
    verify: Literal["strict", "warn"]
    cache: bool
    on_error: Literal["raise", "collect"]
    progress: bool | None


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a load, as `bktools.load_categories` describes them. Creating them checks them."""

    as_of: Moment | None = None
    max_age: dt.timedelta | float = ONE_HOUR
    refresh: bool = False
    verify: str = "strict"
    cache: bool = True
    on_error: str = "raise"
    progress: bool | None = None
    # Use the newest snapshot up to this instant, and fetch nothing.
    until: dt.datetime | None = field(init=False)
    # The argument or option that turns a failed check into a warning; empty where the caller cannot set it.
    way_out: str = field(init=False)

    def __post_init__(self) -> None:
        if self.as_of is not None and self.refresh:
            raise ArgumentError("refresh", Sentence("rule.not_with_as_of"))
        if self.as_of is not None and not self.cache:
            raise ArgumentError("cache", Sentence("rule.cache_with_as_of"))
        rules.one_of("verify", self.verify, ("strict", "warn"))
        rules.one_of("on_error", self.on_error, ("raise", "collect"))
        checked = {
            "until": None if self.as_of is None else instant("as_of", self.as_of),
            "max_age": _age(self.max_age),
            "refresh": rules.flag("refresh", self.refresh),
            "cache": rules.flag("cache", self.cache),
            # Asked here, because the threads of several companies do not know the caller.
            "way_out": setting("verify", "warn") if can_set("verify") else "",
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def fresh(self, history: Sequence[Snapshot]) -> Snapshot | None:
        """Return the snapshot that may be used without asking the service.

        The newest snapshot is the last one committed, not the one with the latest time. For `as_of`, it is
        the last one committed whose time is not later.
        """
        if self.until is not None:
            return next((snapshot for snapshot in reversed(history) if snapshot.time <= self.until), None)
        if self.refresh or not history:
            return None
        # A time in the future comes from a wrong clock, so the age is unknown.
        age = dt.datetime.now(dt.UTC) - history[-1].time
        return history[-1] if dt.timedelta(0) <= age <= _age(self.max_age) else None


def options_of(load: Callable[..., Any], options: LoadOptions) -> Options:
    """Return the options of a load; `load` is the function whose keywords they are."""
    rules.refuse_unknown(options, inspect.signature(load).parameters, load.__name__)
    return Options(**options)


def takes_options(load: Load) -> Load:
    """Show the options, which a function takes as keywords, in its signature, for help and completion."""
    own = inspect.signature(load)
    *others, _ = own.parameters.values()
    options = inspect.signature(Options).parameters.values()
    load.__signature__ = own.replace(parameters=[*others, *options])  # type: ignore[attr-defined]
    return load


def instant(argument: str, moment: Moment) -> dt.datetime:
    """Return a moment in UTC; a day or a month means its end."""
    text = moment if isinstance(moment, str) else rules.calendar_text(moment)
    try:
        if rules.MONTH_PATTERN.match(text):
            text = rules.last_day(text).isoformat()
        if len(text) > len("2026-10-31"):
            return rules.timestamp(text)
        # Python would read a week as its Monday.
        return dt.datetime.combine(
            dt.date.fromisoformat(text.replace("W", "week")), dt.time.max, tzinfo=dt.UTC
        )
    except ValueError:
        raise ArgumentError(argument, Sentence("rule.instant"), moment) from None


def age_of(time: dt.datetime, texts: Words) -> str:
    """Return the age of rows as text, such as "2 hours old"."""
    seconds = (dt.datetime.now(dt.UTC) - time).total_seconds()
    if seconds < 0:
        return texts("command.from_the_future")
    sizes = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
    unit = next((unit for unit, size in sizes.items() if seconds >= size), "seconds")
    return texts(f"command.{unit}_old", count=int(seconds // sizes[unit]))


def _age(max_age: object) -> dt.timedelta:
    max_age = rules.plain(max_age)
    age = max_age if isinstance(max_age, dt.timedelta) else None
    if isinstance(max_age, int | float) and not isinstance(max_age, bool):
        # Infinity, NaN and millions of years do not fit into a timedelta.
        with contextlib.suppress(OverflowError, ValueError):
            age = dt.timedelta(seconds=max_age)
    if age is None or not age >= dt.timedelta(0):
        raise ArgumentError("max_age", Sentence("rule.max_age", most=dt.timedelta.max.days), max_age)
    return age
