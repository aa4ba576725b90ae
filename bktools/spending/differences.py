"""`versus`: two months, or a month and a budget, by any key: the difference, and the entries that make it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.arrow import to_arrow
from bktools.frames.columns import days_of, with_column
from bktools.frames.incoming import in_memory, source_of
from bktools.frames.schema import DIGITS, TEXT, Month, to_pandas
from bktools.frames.sums import MEANINGLESS, NO_CURRENCY, threshold_of
from bktools.frames.typed import days_and_amounts
from bktools.spending.budgets import comparable, with_ids
from bktools.spending.rates import ExchangeRates, in_home, in_own_currency, month_end, rates_of
from bktools.spending.sums import KEYS, NAMING, Grouped, columns_of, grouped_by, keys_of, of_period
from bktools.wording import Sentence, Words, words

SHOWN_DRIVERS = 3
SIDES = ("this", "that")
c = pl.col


def versus(
    this: Any,
    that: Any,
    by: str | Sequence[str] = "category",
    *,
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
    threshold: str | float | Decimal | None = None,
    period: Month | None = None,
    before: Month | None = None,
    rates: Any = None,
    every: bool = False,
    language: str | None = None,
) -> pd.DataFrame:
    """Return what differs between two months, or a month and a budget, by any key, largest difference first.

    Parameters
    ----------
    this, that : DataFrame
        Each is entries, as `read_entries` returns them; sums, as `spend` returns them; or a budget: the
        columns of the keys, such as `category_name` or `account_code`, `amount` and `currency`. Where `that`
        has no currency and `this` has one, it is the same.
    by : str or sequence of str
        As in `spend`: "category", "account", "employee", "supplier", "month", "cost_centre", "company", or
        any other column that both have. An empty sequence compares the totals.
    categories, accounts, employees : DataFrame, optional
        As `load_categories`, `load_accounts` and `load_employees` return them, for names.
    threshold : str, float or Decimal, optional
        The least difference that has a row: an amount such as 500, or a share of `that` such as "5%".
    period, before : str, Period, date or datetime, optional
        Only the entries of `this`, and of `that`, in a month, quarter, year or several months, as in `spend`.
        With both, one frame may be both sides.
    rates : mapping or path, optional
        As in `spend`: both sides are compared in the company's own currency, in which `that` is where it has
        no currency. An amount without a day, such as that of a budget, has the rate of the last day of the
        month of the last entry.
    every : bool
        True for a row of each group, also of one whose amounts are the same.
    language : str, optional
        Of the texts, such as the drivers: "en" or "de"; by default the configured one.

    Returns
    -------
    pandas.DataFrame
        One row per group and currency whose amounts differ: the keys, `currency`, `this`, `that`,
        `difference` (this less that, exact), `percent` (of that; null where it is nothing), and `drivers`:
        the entries that make most of the difference, without those that both have with the same supplier and
        amount; a supplier of both with other amounts has what it has more or less. By supplier, entries have
        their descriptions. Groups are the same where their IDs are, or their names where a side has no IDs.
        `frame.attrs["bktools"]` has `below_threshold`, the number of smaller differences, and of each side
        what is `questionable`, as in `spend`.

    Raises
    ------
    ArgumentError
        When `by` is no key, something is not a frame, or the threshold or the rates are none.
    InputError
        When a side has no amount, or lacks a key; a budget names a category or an employee that is none, or
        several, of those given; or a rate is missing.

    Notes
    -----
    Currencies are added at given rates only. Uses no interface of the service.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> october = pd.DataFrame({"supplier": ["Bahn", "Hotel"], "amount": [80.0, 120.0], "currency": "EUR"})
    >>> november = pd.DataFrame({"supplier": ["Bahn", "Bahn"], "amount": [80.0, 45.5], "currency": "EUR"})
    >>> october["date"], november["date"] = pd.Timestamp("2026-10-02"), pd.Timestamp("2026-11-09")
    >>> changes = bktools.versus(november, october, by="supplier")
    >>> changes[["supplier", "this", "that", "difference", "percent"]].values.tolist()
    [['Hotel', 0.0, 120.0, -120.0, -100.0], ['Bahn', 125.5, 80.0, 45.5, 56.9]]
    >>> changes["drivers"].iloc[1]
    '2026-11-09 +45.50'
    """
    is_large = threshold_of(threshold)
    frames = {"categories": categories, "accounts": accounts, "employees": employees}
    rows, about = compared(this, that, by, frames, period, before, rates, language, every=every)
    large = rows.filter(is_large)
    about["below_threshold"] = len(rows) - len(large)
    return to_pandas(to_arrow(large.cast({"percent": pl.Float64})), about)


def compared(
    this: Any,
    that: Any,
    by: str | Sequence[str],
    frames: Mapping[str, Any],
    period: Month | None = None,
    before: Month | None = None,
    rates: Any = None,
    language: str | None = None,
    *,
    every: bool = False,
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the rows of `versus`, with exact amounts and percentages of one decimal, and facts of them."""
    by = keys_of(by, this, that)
    columns = columns_of(by) | {"entries"}
    given = {"this": this, "that": that}
    this, that = (in_memory(frame, name, columns) for name, frame in given.items())
    this, that = (of_period(rows, by, months)[0] for rows, months in ((this, period), (that, before)))
    sources = [Path(source_of(frame).get("source") or name).name for name, frame in given.items()]
    into_own = None if rates is None else rates_of(rates).into(None, this, that)
    that = _in_currency_of(this, that, into_own, *sources)
    this, that = (
        with_ids(rows, by, source=source, **frames)
        for source, rows in zip(sources, (this, that), strict=True)
    )
    sides = [
        grouped_by(rows, by, source=source, language=language, **frames)
        for source, rows in zip(sources, (this, that), strict=True)
    ]
    about = source_of(this)
    about["questionable"] = {name: side.questionable for name, side in zip(given, sides, strict=True)}
    if into_own is not None:
        last = _last_day(this, that)
        sides = [replace(side, rows=in_home(in_own_currency(side.rows, into_own, last))) for side in sides]
    # Sums name no entries.
    signs = [sign if "entries" not in rows.column_names else 0 for sign, rows in ((1, this), (-1, that))]
    changes = differences(sides, words(language), signs)
    missing = sides[0].missing
    shown = changes.with_columns(c(name).fill_null(text) for name, text in missing.items())
    figures = ("currency", "this", "that", "difference", "percent", "drivers")
    return shown.filter(every | (c.difference != 0)).select(*missing, *figures, *sides[0].ids), about


def differences(sides: Sequence[Grouped], words: Words, signs: Sequence[int] = (1, -1)) -> pl.DataFrame:
    """Return a row for each group and currency of two sides: that of most entries, the largest change first.

    Groups are the same where their IDs are, or their names where a side has no IDs. The columns are those of
    the keys, currency, entries_this and entries_that (counts), this, that and difference (exact), percent
    (one decimal), and drivers: the entries that make most of the change, in words. A side of sums has the
    sign 0: it names no entries.
    """
    joined = _joined_by(sides)
    on = [*(f"key {place}" for place in range(len(joined))), "currency"]
    sums = [
        _sums(side, joined, on).with_columns(side=pl.lit(name))
        for side, name in zip(sides, SIDES, strict=True)
    ]
    says_something = (c.that > 0) & (c.difference.abs() <= MEANINGLESS * c.that)
    percent = 100 * c.difference.cast(pl.Float64) / c.that.cast(pl.Float64)
    changes = (
        pl.concat(sums, how="diagonal_relaxed")
        .group_by(on, maintain_order=True)
        .agg(
            *(c(name).first() for name in sides[0].keys),
            *(c.entries.filter(side=side).sum().alias(f"entries_{side}") for side in SIDES),
            *(c.amount.filter(side=side).sum().alias(side) for side in SIDES),
        )
        .with_columns(difference=c.this - c.that)
        .with_columns(percent=pl.when(says_something).then(percent.round(1)).cast(pl.Decimal(DIGITS, 1)))
        .with_columns(entries=(c.entries_this + c.entries_that).sum().over("currency"))
        .sort(c.currency == NO_CURRENCY, -c.entries, "currency", -c.difference.abs(), *on[:-1])
    )
    drivers = _drivers(sides, signs, joined, changes.select(*on, "difference"), words)
    named = changes.join(drivers, on=on, how="left", maintain_order="left")
    return named.with_columns(c.drivers.fill_null(""))


def _in_currency_of(
    this: pa.Table, that: pa.Table, rates: ExchangeRates | None, this_source: str, that_source: str
) -> pa.Table:
    """Return `that` with the company's own currency, or the one of `this`, where it has no column for it."""
    if "currency" in that.column_names or "currency" not in this.column_names:
        return that
    if rates is not None:
        return with_column(that, "currency", pa.repeat(pa.scalar(rates.own, TEXT), len(that)))
    currencies = sorted(pc.drop_null(pc.unique(this["currency"])).to_pylist())
    if len(currencies) != 1:
        facts = {
            "source": this_source,
            "currencies": ", ".join(currencies) or words().name("part", "nothing"),
        }
        raise InputError(Sentence("error.currency_of_budget", **facts), source=that_source)
    return with_column(that, "currency", pa.repeat(pa.scalar(currencies[0], TEXT), len(that)))


def _last_day(*sides: pa.Table) -> dt.date | None:
    """Return the last day of the month of the last entry, None where no entry has a day."""
    days = [pc.max(days_of(rows)).as_py() for rows in sides]
    last = max(filter(None, days), default=None)
    return last and month_end(last)


def _joined_by(sides: Sequence[Grouped]) -> list[str]:
    """Return the columns whose values tell equal groups: of each key its IDs, where both sides have them."""
    names = {names[0]: identifier for names, identifier in KEYS.values()}
    firsts = [name for name, text in sides[0].missing.items() if text]
    ids = {name: names.get(name) for name in firsts}
    return [ids[name] if all(ids[name] in side.keys for side in sides) else name for name in firsts]  # type: ignore[misc]


def _sums(side: Grouped, joined: Sequence[str], on: Sequence[str]) -> pl.DataFrame:
    """Return the sums of a side, with the columns that tell the same group of the other side."""
    sums = side.summed().with_columns(c.currency.fill_null(NO_CURRENCY))
    return sums.with_columns(_same(side, name).alias(key) for name, key in zip(joined, on, strict=False))


def _same(side: Grouped, name: str) -> pl.Expr:
    """Return a column of a key as groups are compared by: missing values as `spend` shows them."""
    return comparable(c(name).fill_null(side.missing.get(name, "")))


def _drivers(
    sides: Sequence[Grouped],
    signs: Sequence[int],
    joined: Sequence[str],
    changes: pl.DataFrame,
    words: Words,
) -> pl.DataFrame:
    """Return the entries that add most to the change of a group, by name, with what each of them adds.

    An entry that both sides have with the same supplier and amount adds nothing. A side of sums, whose sign
    is 0, has no entries, nor has a budget, which lacks a date, a supplier and a description.
    """
    on = changes.columns[:-1]
    parts = [
        _entries(side, joined, on, sign)
        for side, sign in zip(sides, signs, strict=True)
        if sign and {"date", *NAMING} - {*side.keys} & {*side.rows.column_names}
    ]
    if not parts:
        return changes.select(on).clear().with_columns(drivers=pl.lit(None, pl.String))
    # An entry and one of the same price on the other side cancel each other, the earliest of both first.
    same = (*on, "supplier", "amount")
    alone = (
        pl.concat(parts, how="vertical_relaxed")
        .filter(c.amount.is_not_null())
        .sort("day", maintain_order=True)
        .with_columns(number=c.sign.cum_count().over(*same, "sign"))
        .filter(c.sign.n_unique().over(*same, "number") == 1)
        .select(*on, "name", "day", c.amount * c.sign)
    )
    # A supplier that both sides have drives by what it has more or less.
    is_on_both = c.name.is_not_null() & ((c.amount > 0).n_unique().over(*on, "name") > 1)
    netted = alone.filter(is_on_both).group_by(*on, "name").agg(c.amount.sum())
    drivers = (
        pl.concat([alone.filter(~is_on_both), netted], how="diagonal_relaxed")
        .join(changes, on=on)
        .filter(c.amount.sign() * c.difference.sign() > 0)
        .sort(-c.amount.abs(), "day", "name", nulls_last=True)
        .group_by(on, maintain_order=True)
        .head(SHOWN_DRIVERS)
    )
    texts = [_driver(row, words) for row in drivers.iter_rows(named=True)]
    named = drivers.with_columns(drivers=pl.Series(texts, dtype=pl.String))
    return named.group_by(on, maintain_order=True).agg(c.drivers.str.join("; "))


def _entries(side: Grouped, joined: Sequence[str], on: Sequence[str], sign: int) -> pl.DataFrame:
    """Return the entries of a side with the columns that tell equal ones."""
    entries = days_and_amounts(side.rows, ("currency", *NAMING))
    keys = [pl.Series(name, side.keys[name]) for name in joined if name not in entries.columns]
    entries = entries.with_columns(keys)
    return entries.select(
        *(_same(side, name).alias(key) for name, key in zip(joined, on, strict=False)),
        c.currency.fill_null(NO_CURRENCY),
        pl.coalesce("supplier", "description").alias("supplier"),
        # The supplier of a group is in each of its rows.
        pl.coalesce(None, *(name for name in NAMING if name not in side.keys)).cast(pl.String).alias("name"),
        "day",
        "amount",
        sign=pl.lit(sign),
    )


def _driver(row: Mapping[str, Any], words: Words) -> str:
    day = words.day(row["day"]) if row["day"] else None
    name = " ".join(filter(None, (day, row["name"]))) or words("change.an_entry")
    sign = "+" if row["amount"] > 0 else ""
    return f"{name} {sign}{words.amount(row['amount'], row['currency'])}"
