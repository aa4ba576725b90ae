"""`expected_entries`: what comes every month, and whether it has come in this one."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames.columns import amounts_of, days_of, text_of
from bktools.frames.incoming import in_memory, source_of
from bktools.frames.schema import DATE, TEXT, Month, to_pandas
from bktools.wording import Sentence

# An entry recurs when it came in so many of the four months before: one of them may lack it, too.
MONTHS, LEAST = 4, 3
# What comes once a month comes a few days earlier or later where weekends and holidays are.
USUAL_DAYS = 6
# A bill by use, such as for power or a telephone, is a quarter more or less than the others.
USUAL_SHARE = Decimal("0.25")

# The price of a contract changes by less, however it is billed.
OTHER_PRICE = Decimal("0.5")
# So many habits may chance show among a supplier's entries.
CHANCE = 0.05
DAYS_OF_MONTH = 30

DAY = dt.timedelta(days=1)
# An entry that has not come is listed first.
STATES = ("missing", "late", "due", "came")
KEYS = ("supplier", "category_name", "currency", "company_id", "category_id")
LAST = ("amount_1", "amount_2", "amount_3")

Key = tuple[str | None, ...]


def expected_entries(entries: Any, month: Month, *, as_of: dt.date | str | None = None) -> pd.DataFrame:
    """Return the entries that come every month, and whether they have come in this one.

    An entry is expected when its supplier, with the same category and currency, came in at least three of the
    four months before, within six days of the same day of the month and within a quarter of the same amount.
    It has come when such an entry is there, with another category or without one as well, and late when that
    one is of the month after. It is due until its
    usual day has passed, then missing. One that did not come in the month before either is not named again:
    its contract may have ended. Nothing is estimated: the amount is the median of those that came. Nothing is
    expected of a supplier of which more than half of the entries have other days or amounts, nor what its
    many entries would show by chance.

    Parameters
    ----------
    entries : DataFrame
        All entries of the month and of the four months before it, and of the month after where it has begun:
        date, amount (exact), currency, supplier; optional company_id, category_id and category_name. Entries
        without a supplier, a day or an amount are not expected. Of pandas, pyarrow, Polars or DuckDB, or the
        path of a Parquet file; such as `load_export_jobs(entries=True)` and `read_entries` return it.
    month : str, Period, date or datetime
        The month, such as "2026-10".
    as_of : date, datetime, Timestamp or str such as "2026-10-25", optional
        The day until which entries are known, by default today. Of a month that has not ended, entries are
        known until the last of their days at the latest.

    Returns
    -------
    DataFrame
        One row per expected entry, the largest that has not come first: supplier, category_name, currency,
        state ("missing", "late", "due", "came"), expected_on (the usual day), amount (exact, the median: what
        an accrual would be), amount_1, amount_2, amount_3 (exact, the last three, newest first), came_on (the
        day on which it came), then the other columns of `entries` that tell it: company_id, category_id.

    Raises
    ------
    ArgumentError
        When the month or the day is none, or `entries` is not a frame.
    InputError
        When `entries` has no date, amount, currency or supplier.

    Notes
    -----
    A proposal for an accrual, which is never sent. Two entries of one supplier are told apart by amount or by
    day. Uses no interface of the service.

    Examples
    --------
    >>> import bktools, datetime as dt, pandas as pd
    >>> days = pd.to_datetime(["2026-07-03", "2026-08-03", "2026-09-04", "2026-09-20", "2026-10-20"])
    >>> entries = pd.DataFrame({"date": days, "amount": [40.0, 40.0, 44.0, 9.0, 9.0], "currency": "EUR"})
    >>> entries["supplier"] = ["Telekom", "Telekom", "Telekom", "Taxi", "Taxi"]
    >>> expected = bktools.expected_entries(entries, "2026-10", as_of=dt.date(2026, 11, 3))
    >>> expected[["supplier", "state", "amount", "amount_1"]].values.tolist()
    [['Telekom', 'missing', 40.0, 44.0]]
    """
    month = rules.month("month", month)
    day = dt.datetime.now().astimezone().date() if as_of is None else _day(as_of)
    table = in_memory(entries, "the entries", {"date", "amount", *KEYS})
    return to_pandas(expected_in(table, month, day), source_of(entries))


def _day(as_of: object) -> dt.date:
    written = as_of if isinstance(as_of, str) else rules.calendar_text(as_of)
    try:
        return dt.date.fromisoformat(written[:10])
    except ValueError:
        raise ArgumentError("as_of", Sentence("rule.instant"), as_of) from None


def expected_in(table: pa.Table, month: str, as_of: dt.date) -> pa.Table:
    """Return what `expected_entries` returns of a table, and a month such as "2026-10", as a table."""
    wanted = dt.date.fromisoformat(f"{month}-01")
    for name in ("date", "amount", "currency", "supplier"):
        if name not in table.column_names:
            raise InputError(Sentence("error.no_column_of_habits", name=name))
    if as_of < _months_later(wanted, 1):
        as_of = min(as_of, pc.max(days_of(table)).as_py() or as_of)
    free: dict[Key, Free] = defaultdict(lambda: defaultdict(Counter))
    expected = []
    for key, arrivals in _by_key(table, wanted).items():
        own: Free = defaultdict(Counter)
        for one in arrivals:
            own[one.day][one] += 1
        expected += [(key, habit) for habit in _regular(arrivals, own, wanted, as_of)]
        for day, counts in own.items():
            free[_without_category(key)][day] += counts
    expected = [
        (key, _in_any_category(habit, free[_without_category(key)], wanted)) for key, habit in expected
    ]
    expected.sort(
        key=lambda row: (STATES.index(row[1].state), -abs(row[1].amount), *(text or "" for text in row[0]))
    )
    return _table(expected, table)


def months_known(table: pa.Table, month: str) -> int:
    """Return how many of the months that a habit is learned from have entries; it needs `LEAST`."""
    wanted = dt.date.fromisoformat(f"{month}-01")
    before = {_months_later(wanted, -count) for count in range(1, MONTHS + 1)}
    days = pc.unique(days_of(table).drop_null()).to_pylist()
    return len(before & {day.replace(day=1) for day in days})


class Arrival(NamedTuple):
    """An entry of one supplier, category and currency."""

    day: dt.date
    amount: Decimal


@dataclass(frozen=True)
class Habit:
    """An entry of each month: the last three, newest first, the month's own, and in how many it came.

    The state is "" where it did not come in the month before either.
    """

    state: str
    expected_on: dt.date
    amount: Decimal
    last: tuple[Decimal, ...]
    came_on: dt.date | None
    months: int


# By day, the entries that belong to no habit yet, with their number.
Free = dict[dt.date, Counter[Arrival]]


def _by_key(table: pa.Table, wanted: dt.date) -> dict[Key, list[Arrival]]:
    """Return the entries of four months before the month until the month after it, by their keys."""
    first, end = _months_later(wanted, -MONTHS), _months_later(wanted, 2)
    days, amounts = days_of(table).to_pylist(), amounts_of(table).to_pylist()
    keys = zip(*(text_of(table, name).to_pylist() for name in KEYS), strict=True)
    arrivals: dict[Key, list[Arrival]] = defaultdict(list)
    for key, day, amount in zip(keys, days, amounts, strict=True):
        if key[0] and day and amount and first <= day < end:
            arrivals[key].append(Arrival(day, amount))
    return {key: sorted(own) for key, own in arrivals.items()}


def _without_category(key: Key) -> Key:
    return tuple(text for name, text in zip(KEYS, key, strict=True) if not name.startswith("category"))


def _in_any_category(habit: Habit, free: Free, wanted: dt.date) -> Habit:
    """Return a habit as one that came where its entry has another category, or none yet."""
    end = _months_later(wanted, 1) - DAY
    usual = Arrival(habit.expected_on, habit.amount)
    arrived = None if habit.state == "came" else _nearest(free, usual, wanted, until=end)
    if arrived is None:
        return habit
    free[arrived.day][arrived] -= 1
    return replace(habit, state="came", came_on=arrived.day)


def _regular(arrivals: Sequence[Arrival], free: Free, wanted: dt.date, as_of: dt.date) -> list[Habit]:
    """Return the habits of a key that are to be shown; none where more than half of the entries has none."""
    habits = [*_habits(arrivals, free, wanted, as_of)]
    came, before = sum(habit.months for habit in habits), sum(one.day < wanted for one in arrivals)
    return [habit for habit in habits if habit.state] if 2 * came >= before else []


def _habits(arrivals: Sequence[Arrival], free: Free, wanted: dt.date, as_of: dt.date) -> Iterator[Habit]:
    """Find the entries of each month among those of one key; an entry belongs to one habit at most.

    `free` has all of them, and keeps those that belong to none.
    """
    before = [_months_later(wanted, -count) for count in range(1, MONTHS + 1)]
    end = _months_later(wanted, 1) - DAY
    history = [one for one in arrivals if one.day < wanted]
    for newest in reversed(history):
        by_month = [_nearest(free, newest, month) for month in before] if free[newest.day][newest] else []
        came = [one for one in by_month if one is not None]
        if len(came) < LEAST or _by_chance(came, history) > CHANCE:
            continue
        usual = Arrival(_in_month(newest.day, wanted), statistics.median_low([one.amount for one in came]))
        for one in came:
            free[one.day][one] -= 1
        arrived = _nearest(free, usual, wanted, until=end) or _alone(free, usual, wanted)
        late = None if arrived else _after(free, usual, wanted)
        shown = arrived or late
        if shown:
            free[shown.day][shown] -= 1
        # One that has not come twice was named last month.
        missing = "" if by_month[0] is None else "missing" if usual.day < as_of else "due"
        state = "came" if arrived else "late" if late else missing
        last = tuple(one.amount for one in came[: len(LAST)])
        yield Habit(state, usual.day, usual.amount, last, shown.day if shown else None, len(came))


def _by_chance(came: Sequence[Arrival], history: Sequence[Arrival]) -> float:
    """Return how many habits as regular as this one the other entries of its supplier would show by chance.

    Entries that come at any time are as near in day and amount as those of the habit with a probability that
    follows from their number; each entry of a month is a trial.
    """
    newest, trials = came[0], len(history) / MONTHS
    days = max(abs((one.day - _in_month(newest.day, one.day)).days) for one in came)
    difference = max(abs(one.amount - newest.amount) for one in came)
    # Twice as far, because those of the habit are the nearest ones.
    days = min(2 * days + 1, USUAL_DAYS)
    difference = min(2 * difference, abs(newest.amount) * USUAL_SHARE)
    others = sum(abs(one.amount - newest.amount) <= difference for one in history) - len(came)
    # Half an entry more: that there is none in four months does not mean that none can come.
    in_a_month = min(1, (others + 0.5) / MONTHS * (2 * days + 1) / DAYS_OF_MONTH)
    return trials * math.comb(MONTHS - 1, len(came) - 1) * in_a_month ** (len(came) - 1)


def _between(free: Free, first: dt.date, last: dt.date) -> Iterator[Arrival]:
    """Return the entries of some days that belong to no habit, each as often as it is there."""
    for number in range((last - first).days + 1):
        # A day without an entry is not added to those that have some.
        yield from free.get(first + number * DAY, Counter()).elements()


def _nearest(free: Free, usual: Arrival, month: dt.date, *, until: dt.date = dt.date.max) -> Arrival | None:
    """Return the entry of a month that has the usual day and amount, the nearest of several."""
    due = _in_month(usual.day, month)

    def distance(one: Arrival) -> tuple[Decimal, int]:
        return abs(one.amount - usual.amount), abs((one.day - due).days)

    near = _between(free, due - USUAL_DAYS * DAY, min(due + USUAL_DAYS * DAY, until))
    return min((one for one in near if _is_usual(one, usual)), key=distance, default=None)


def _alone(free: Free, usual: Arrival, month: dt.date) -> Arrival | None:
    """Return the entry of a month that has the usual amount on another day, or is the only one near to it."""
    of_month = {*_between(free, month, _months_later(month, 1) - DAY)}
    own = sorted(one for one in of_month if one.amount * usual.amount > 0)
    same = [one for one in own if _is_usual(one, usual)]
    if same or len(own) != 1:
        return same[0] if same else None
    return own[0] if abs(own[0].amount - usual.amount) <= abs(usual.amount) * OTHER_PRICE else None


def _after(free: Free, usual: Arrival, month: dt.date) -> Arrival | None:
    """Return an entry of the month after that is not that month's own."""
    following = _months_later(month, 1)
    of_month = _between(free, following, _months_later(following, 1) - DAY)
    own = [one for one in of_month if _is_usual(one, usual)]
    of_following = _nearest(free, usual, following)
    return next((one for one in own if one != of_following), own[0] if len(own) > 1 else None)


def _is_usual(one: Arrival, usual: Arrival) -> bool:
    return abs(one.amount - usual.amount) <= abs(usual.amount) * USUAL_SHARE


def _months_later(day: dt.date, count: int) -> dt.date:
    """Return the first day of the month that comes so many months after that of a day."""
    months = day.year * 12 + day.month - 1 + count
    return dt.date(months // 12, months % 12 + 1, 1)


def _in_month(day: dt.date, month: dt.date) -> dt.date:
    """Return the same day of another month, or its last one."""
    return month.replace(day=min(day.day, calendar.monthrange(month.year, month.month)[1]))


def _table(rows: Sequence[tuple[Key, Habit]], entries: pa.Table) -> pa.Table:
    """Return habits as a table; columns of keys that the entries lack are left out."""
    amount = amounts_of(entries).type
    keys = {
        name: pa.array([key[place] for key, _ in rows], TEXT)
        for place, name in enumerate(KEYS)
        if name in entries.column_names
    }
    habits = [habit for _, habit in rows]
    columns: dict[str, pa.Array] = {name: keys.pop(name) for name in KEYS[:3] if name in keys}
    columns["state"] = pa.array([habit.state for habit in habits], TEXT)
    columns["expected_on"] = pa.array([habit.expected_on for habit in habits], DATE)
    columns["amount"] = pa.array([habit.amount for habit in habits], amount)
    for place, name in enumerate(LAST):
        columns[name] = pa.array([habit.last[place] for habit in habits], amount)
    columns["came_on"] = pa.array([habit.came_on for habit in habits], DATE)
    return pa.table(columns | keys)
