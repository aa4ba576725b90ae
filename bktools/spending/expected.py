"""`expected_entries`: what comes every month, and whether it has come in this one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames.schema import Month, to_pandas
from bktools.frames.tables import days_and_amounts, days_of, in_memory, source_of, to_arrow
from bktools.wording import Sentence

# An entry recurs when it came in the month before, and in so many of the four months before.
MONTHS, LEAST = 4, 3
# What comes once a month comes a few days earlier or later where weekends and holidays are.
USUAL_DAYS = 6
# A bill by use, such as for power or a telephone, is a quarter more or less than the others.
USUAL_SHARE = 0.25
# The price of a contract changes by less, however it is billed.
OTHER_PRICE = 0.5
# Where fewer of the entries of a supplier come every month, or it has more entries in four months, days and
# amounts agree by chance, unless the amounts are equal.
REGULAR, MANY = 0.9, 100
DAYS_OF_MONTH = 30.44

# An entry that has not come is listed first.
STATES = ("missing", "late", "due", "came")
OWNER = ("supplier", "currency", "company_id")
KEYS = ("supplier", "category_name", "currency", "company_id", "category_id")
OF_HABIT = (*OWNER, "category")
LAST = ("amount_1", "amount_2", "amount_3")

# What an entry is to that of the month before: one of the three months before it (-3 to -1), the one of the
# month, that of the month after, or the one of the month that came a month late.
CAME, NEXT, LATE = 0, 1, 2

c = pl.col


def expected_entries(entries: Any, month: Month, *, as_of: dt.date | str | None = None) -> pd.DataFrame:
    """Return the entries that come every month, and whether they have come in this one.

    An entry is expected when its supplier, with the same category and currency, came in the month before and
    in two of the three months before that, within six days of the same day of the month and within a quarter
    of the same amount. It has come when an entry of the month has at least half and at most one and a half
    times the amount, on any day and in any category, or any amount on its usual day where its supplier comes
    once a month; it is late when one of the month after is not that month's own. It is due until its usual
    day has passed, then missing. Nothing is estimated: the amount is the median of those that came. Of a
    supplier of which more than a tenth of the entries with the category have other days or amounts, only what
    came with equal amounts is expected, and nothing of one with more than a hundred of them in four months,
    because they would agree by chance.

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
    return to_pandas(to_arrow(expected_in(table, month, day)), source_of(entries))


def _day(as_of: object) -> dt.date:
    written = as_of if isinstance(as_of, str) else rules.calendar_text(as_of)
    try:
        return dt.date.fromisoformat(written[:10])
    except ValueError:
        raise ArgumentError("as_of", Sentence("rule.instant"), as_of) from None


def expected_in(table: pa.Table, month: str, as_of: dt.date) -> pl.DataFrame:
    """Return what `expected_entries` returns of a table, and a month such as "2026-10", as a Polars frame."""
    for name in ("date", "amount", "currency", "supplier"):
        if name not in table.column_names:
            raise InputError(Sentence("error.no_column_of_habits", name=name))
    entries = _entries(table, month)
    last_day = entries["day"].max()
    if f"{as_of:%Y-%m}" <= month and isinstance(last_day, dt.date):
        as_of = min(as_of, last_day)
    matches = _matches(entries)
    amounts = matches.filter(c.role < CAME).group_by("number", maintain_order=True).agg(before="other_amount")
    states = c.role.replace_strict({CAME: "came", LATE: "late"}, return_dtype=pl.String)
    arrived = matches.filter(c.role.is_in([CAME, LATE])).select("number", arrival=states, came_on="other_day")
    count = c.amounts.list.len()
    is_regular = count.sum().over(OF_HABIT) >= REGULAR * c.known
    is_equal = c.amounts.list.n_unique() == 1
    not_come = pl.when(c.expected_on < as_of).then(pl.lit("missing")).otherwise(pl.lit("due"))
    shown = (
        entries.join(amounts, on="number")
        .with_columns(amounts=pl.concat_list("amount", "before"), expected_on=c.day.dt.offset_by("1mo"))
        .filter(count >= LEAST, is_regular | is_equal)
        .join(arrived, on="number", how="left")
        .with_columns(
            c.amounts.list.sort().list.get((count - 1) // 2).alias("amount"),
            *(c.amounts.list.get(place).alias(name) for place, name in enumerate(LAST)),
            state=pl.coalesce("arrival", not_come).cast(pl.Enum(STATES)),
        )
        .sort("state", -c.amount.abs(), *KEYS)
        .cast({"state": pl.String})
    )
    keys = [name for name in KEYS if name in table.column_names]
    return shown.select(*keys[:3], "state", "expected_on", "amount", *LAST, "came_on", *keys[3:])


def months_known(table: pa.Table, month: str) -> int:
    """Return how many of the months that a habit is learned from have entries; it needs `LEAST`."""
    ago = _months_before(month, pl.Series("day", pl.from_arrow(days_of(table))).drop_nulls())
    return ago.filter(ago.is_between(1, MONTHS)).n_unique()


def _entries(table: pa.Table, month: str) -> pl.DataFrame:
    """Return the entries of four months before a month until the month after it, with a number each.

    `ago` is how many months before the month they came, `known` how many of the supplier and category did.
    """
    # A category keeps its ID when it gets another name.
    category = pl.coalesce("category_id", "category_name")
    entries = days_and_amounts(table, KEYS).with_columns(category=category)
    entries = entries.filter(c.supplier != "", c.amount != 0, c.day.is_not_null())
    ago = _months_before(month, entries["day"])
    entries = entries.with_columns(ago=ago).filter(c.ago.is_between(-1, MONTHS)).with_row_index("number")
    return entries.with_columns(known=(c.ago > 0).sum().over(OF_HABIT))


def _months_before(month: str, days: pl.Series) -> pl.Series:
    first = dt.date.fromisoformat(f"{month}-01")
    return (first.year - days.dt.year()) * 12 + first.month - days.dt.month()


def _matches(entries: pl.DataFrame) -> pl.DataFrame:
    """Return the entries that are the same as one of the month before, each with its role; none has two.

    One row per match: the `number` of the entry of the month before, role, other_day, other_amount.
    """
    others = entries.filter(c.ago != 1)
    others = others.rename({name: f"other_{name}" for name in entries.columns if name not in OWNER})
    months = ((c.other_day - c.day).dt.total_days() / DAYS_OF_MONTH).round().cast(pl.Int64)
    usual_day = c.day.dt.offset_by(pl.format("{}mo", months))
    change = (c.other_amount.cast(pl.Float64) / c.amount.cast(pl.Float64) - 1).abs().round(6)
    pairs = (
        entries.filter(c.ago == 1, c.known <= MANY)
        .join(others, on=OWNER, nulls_equal=True)
        .with_columns(months=months, change=change, days=(c.other_day - usual_day).dt.total_days().abs())
        .with_columns(
            is_usual=(c.change <= USUAL_SHARE) & (c.days <= USUAL_DAYS),
            is_moved=c.category.ne_missing(c.other_category),
        )
    )
    # What comes once a month, and on its day, has come at whatever price.
    is_on_its_day = ~c.is_moved & (c.days <= USUAL_DAYS)
    has_any_price = (c.known <= MONTHS) & is_on_its_day & (c.amount.sign() == c.other_amount.sign())
    roles = pl.concat_list(
        pl.when("is_usual", ~c.is_moved, c.months.is_between(1 - MONTHS, -1)).then("months"),
        pl.when((c.change <= OTHER_PRICE) | has_any_price, c.other_ago == 0).then(CAME),
        pl.when("is_usual", c.months == 2, c.other_ago == -1).then(NEXT),
        pl.when(c.change <= USUAL_SHARE, c.other_ago == -1).then(LATE),
    )
    pairs = pairs.with_columns(role=roles).explode("role").drop_nulls("role")
    pairs = pairs.sort("role", "is_moved", ~c.is_usual, "change", "days")
    used: set[int] = set()
    filled: set[tuple[int, int]] = set()
    chosen = []
    for place, (number, other, role) in enumerate(pairs.select("number", "other_number", "role").iter_rows()):
        has_come = role == LATE and (number, CAME) in filled
        if other not in used and (number, role) not in filled and not has_come:
            chosen.append(place)
            used.add(other)
            filled.add((number, role))
    return pairs[chosen].sort("role", descending=True)
