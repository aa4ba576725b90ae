"""`versus`: two months, or a month and a budget, by any key: the difference, and the entries that make it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import InputError
from bktools.frames.schema import DIGITS, Month, to_pandas
from bktools.frames.sums import MEANINGLESS, numbers_of_entries, threshold_of
from bktools.frames.tables import days_and_amounts, days_of, in_memory, source_of, to_arrow
from bktools.inputs.values.names import key as name_key
from bktools.spending.budgets import in_currency, with_ids
from bktools.spending.rates import ExchangeRates, in_home, rates_of
from bktools.spending.sums import KEYS, NAMING, Lines, columns_of, keys_of, lines_of
from bktools.wording import Sentence, Words, words
from bktools.wording.words import NO_CURRENCY

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
        what makes most of the difference, without entries that both have with the same supplier and amount: a
        supplier of several entries with what it has more or less, one entry with its day. By supplier,
        entries have their descriptions. Groups are the same where their IDs are, or their names where a side
        has no IDs. `frame.attrs["bktools"]` has `below_threshold`, the number of smaller differences, and of
        each side what is `questionable`, as in `spend`.

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
    given = dict(zip(SIDES, (this, that), strict=True))
    tables = [in_memory(frame, name, columns_of(by)) for name, frame in given.items()]
    sources = [Path(source_of(frame).get("source") or name).name for name, frame in given.items()]
    about = source_of(tables[0])
    into_own = None if rates is None else rates_of(rates).into(None, *tables)
    tables[1] = _in_currency_of(tables, sources, into_own)
    named = [with_ids(rows, by, source=name, **frames) for name, rows in zip(sources, tables, strict=True)]
    sides = [
        lines_of(rows, by, frames, period=months, source=source, language=language)
        for source, rows, months in zip(sources, named, (period, before), strict=True)
    ]
    if into_own is not None:
        days = [pc.max(days_of(side.rows)).as_py() for side in sides]
        last = max(filter(None, days), default=None)
        undated = last and rules.last_day(last.isoformat()[:7])
        sides = [side.converted(into_own, undated) for side in sides]
    about["questionable"] = {name: side.questionable for name, side in zip(SIDES, sides, strict=True)}
    if into_own is not None:
        sides = [replace(side, rows=in_home(side.rows)) for side in sides]
    changes = differences(sides, words(language))
    shown = changes.with_columns(c(name).fill_null(text) for name, text in sides[0].shown.items())
    figures = ("currency", *SIDES, "difference", "percent", "drivers")
    rows = shown.filter(every | (c.difference != 0))
    return rows.select(*sides[0].shown, *figures, *sides[0].ids), about


def differences(sides: Sequence[Lines], words: Words | None) -> pl.DataFrame:
    """Return a row for each group and currency of two sides: that of most entries, the largest change first.

    Groups are the same where their IDs are, or their names where a side has no IDs. The columns are those of
    the keys, currency, entries_this and entries_that (counts), this, that and difference (exact), percent
    (one decimal), and, with words, drivers: the entries that make most of the change.
    """
    same = _same_groups(sides)
    on = [*(f"group {number}" for number in range(len(same))), "currency"]
    lines = pl.concat([_side(*side, same) for side in zip(SIDES, sides, strict=True)], how="diagonal_relaxed")
    keys = {place: name for name, place in sides[0].columns.items()}
    changes = (
        lines.group_by(on)
        .agg(
            *(c(place).first() for place in keys),
            *(c.entry.filter(side=side).n_unique().cast(pl.Int64).alias(f"entries_{side}") for side in SIDES),
            *(c.amount.filter(side=side).sum().alias(side) for side in SIDES),
        )
        .with_columns(difference=c.this - c.that)
        .with_columns(percent_of("that"))
        .with_columns(entries=(c.entries_this + c.entries_that).sum().over("currency"))
        .sort(c.currency == NO_CURRENCY, -c.entries, "currency", -c.difference.abs(), *on[:-1])
    )
    if words is not None:
        drivers = _drivers(lines, changes.select(*on, "difference"), words)
        changes = changes.join(drivers, on=on, how="left", maintain_order="left")
    return changes.rename(keys)


def percent_of(base: str) -> pl.Expr:
    """Return a `difference` in percent of a column, with one decimal; null where that says nothing."""
    says_something = (c(base) > 0) & (c.difference.abs() <= MEANINGLESS * c(base))
    percent = 100 * c.difference.cast(pl.Float64) / c(base).cast(pl.Float64)
    return pl.when(says_something).then(percent.round(1)).cast(pl.Decimal(DIGITS, 1)).alias("percent")


def _in_currency_of(
    tables: Sequence[pa.Table], sources: Sequence[str], rates: ExchangeRates | None
) -> pa.Table:
    """Return `that` with the company's own currency, or the one of `this`, where it has no column for it."""
    this, that = tables
    if "currency" in that.column_names or "currency" not in this.column_names:
        return that
    currencies: list[Any] = (
        [rates.own] if rates else sorted(pc.drop_null(pc.unique(this["currency"])).to_pylist())
    )
    if len(currencies) != 1:
        named = ", ".join(currencies) or words().name("part", "nothing")
        facts = {"source": sources[0], "currencies": named}
        raise InputError(Sentence("error.currency_of_budget", **facts), source=sources[1])
    return in_currency(that, currencies[0])


def _same_groups(sides: Sequence[Lines]) -> list[str]:
    """Return the columns whose values tell equal groups: of each key its IDs, where both sides have them."""
    ids = {key.names[0]: key.identifier or "" for key in KEYS.values()}
    firsts = {name: ids.get(name, "") for name, text in sides[0].shown.items() if text}
    return [it if all(it in side.columns for side in sides) else name for name, it in firsts.items()]


def _side(side: str, lines: Lines, same: Sequence[str]) -> pl.DataFrame:
    """Return the lines of a side with the columns that tell equal groups, in which no value is missing.

    `name` is the name of an entry, and `sign` null where there are none: in sums, and in a budget, which has
    neither a date nor a supplier nor a description.
    """
    rows, places = lines.rows, lines.columns
    naming = [name for name in NAMING if name not in places]
    has_entries = "entries" not in rows.column_names and {"date", *NAMING} - {*places} & {*rows.column_names}
    sign = (1 if side == SIDES[0] else -1) if has_entries else None
    texts = days_and_amounts(rows, ("currency", *NAMING, *places.values()))
    groups = (texts[places[name]].fill_null(lines.shown.get(name, "")) for name in same)
    return texts.select(
        *("day", "amount", *places.values()),
        *(_spelling(group).alias(f"group {number}") for number, group in enumerate(groups)),
        numbers_of_entries(rows).alias("entry"),
        c.currency.fill_null(NO_CURRENCY),
        pl.coalesce("supplier", "description").alias("supplier"),
        # The supplier of a group is in each of its rows.
        pl.coalesce(None, *naming).cast(pl.String).alias("name"),
        side=pl.lit(side),
        sign=pl.lit(sign, pl.Int32),
    )


def _spelling(names: pl.Series) -> pl.Series:
    """Return names as they are compared: all spellings of a name are one."""
    known = names.unique()
    return names.replace_strict(known, [name_key(name) for name in known], return_dtype=pl.String)


def _drivers(lines: pl.DataFrame, changes: pl.DataFrame, words: Words) -> pl.DataFrame:
    """Return what adds most to the change of a group: suppliers by name, with the day where it is one entry.

    An entry that both sides have with the same supplier and amount adds nothing.
    """
    on = changes.columns[:-1]
    # An entry and one of the same price on the other side cancel each other, the earliest of both first.
    same = (*on, "supplier", "amount")
    alone = (
        lines.drop_nulls(["sign", "amount"])
        .sort("day", maintain_order=True)
        .with_columns(number=c.sign.cum_count().over(*same, "sign"))
        .filter(c.sign.n_unique().over(*same, "number") == 1)
        .select(*on, "name", "day", c.amount * c.sign)
    )
    # A supplier of several entries drives by their sum.
    is_several = c.name.is_not_null() & (pl.len().over(*on, "name") > 1)
    summed = alone.filter(is_several).group_by(*on, "name").agg(c.amount.sum())
    drivers = (
        pl.concat([alone.filter(~is_several), summed], how="diagonal_relaxed")
        .join(changes, on=on)
        .filter(c.amount.sign() * c.difference.sign() > 0)
        .sort(-c.amount.abs(), "day", "name", nulls_last=True)
        .group_by(on, maintain_order=True)
        .head(SHOWN_DRIVERS)
    )
    texts = [_driver(row, words) for row in drivers.iter_rows(named=True)]
    named = drivers.with_columns(drivers=pl.Series(texts, dtype=pl.String)).group_by(on, maintain_order=True)
    # Where a group has none, the text is empty.
    return changes.select(on).join(named.agg(c.drivers.str.join("; ")), on=on, how="left").fill_null("")


def _driver(row: Mapping[str, Any], words: Words) -> str:
    day = words.day(row["day"]) if row["day"] else None
    name = " ".join(filter(None, (day, row["name"]))) or words("change.an_entry")
    sign = "+" if row["amount"] > 0 else ""
    return f"{name} {sign}{words.amount(row['amount'], row['currency'])}"
