"""`versus`: two months, or a month and a budget, by any key: the difference, and the entries that make it."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import InputError
from bktools.frames.columns import amounts_of, days_of, in_one_scale, text_of, with_column
from bktools.frames.incoming import in_memory, source_of
from bktools.frames.schema import COUNT, MONEY, TEXT, Month, to_pandas
from bktools.frames.sums import (
    HOME,
    NO_CURRENCY,
    NOTHING,
    Money,
    change_of,
    currencies_of,
    threshold_of,
    total,
)
from bktools.spending.budgets import comparable, with_ids
from bktools.spending.rates import ExchangeRates, in_own_currency, month_end, rates_of
from bktools.spending.sums import (
    KEYS,
    NAMING,
    Grouped,
    columns_of,
    grouped_by,
    keys_of,
    of_period,
)
from bktools.wording import Sentence, Words, words

SHOWN_DRIVERS = 3
NO_MONEY = pa.chunked_array([[]], MONEY)

Group = tuple[str, ...]
Side = dict[Group, dict[str, Money]]
# An entry of one side alone: what it adds, its day and its supplier or description.
Driver = tuple[Decimal, dt.date | None, str | None]


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
        amount; a supplier of both with other amounts has what it has more or less. Groups are the same where
        their IDs are, or their names where a side has no IDs.
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
    >>> changes = bktools.versus(november, october, by="supplier")
    >>> changes[["supplier", "this", "that", "difference", "percent"]].values.tolist()
    [['Hotel', 0.0, 120.0, -120.0, -100.0], ['Bahn', 125.5, 80.0, 45.5, 56.9]]
    >>> changes["drivers"].iloc[1]
    'Bahn +45.50'
    """
    is_large = threshold_of(threshold)
    by = keys_of(by, this, that)
    columns = columns_of(by) | {"entries"}
    given = {"this": this, "that": that}
    this, that = (in_memory(frame, name, columns) for name, frame in given.items())
    this, that = (of_period(rows, by, months)[0] for rows, months in ((this, period), (that, before)))
    sources = [Path(source_of(frame).get("source") or name).name for name, frame in given.items()]
    into_own = None if rates is None else rates_of(rates).into(None, this, that)
    that = _in_currency_of(this, that, into_own, *sources)
    frames = {"categories": categories, "accounts": accounts, "employees": employees}
    this, that = (
        with_ids(rows, by, source=source, **frames)
        for source, rows in zip(sources, (this, that), strict=True)
    )
    sides = [
        grouped_by(rows, by, source=source, language=language, **frames)
        for source, rows in zip(sources, (this, that), strict=True)
    ]
    if into_own is not None:
        last = _last_day(this, that)
        sides = [replace(side, rows=in_own_currency(side.rows, into_own, last)) for side in sides]
    # Sums name no entries.
    signs = [sign if "entries" not in rows.column_names else 0 for sign, rows in ((1, this), (-1, that))]
    rows = [row for row in differences(sides, words(language), signs, every=every) if row.change or every]
    large = [row for row in rows if is_large({"difference": row.change, "percent": row.percent})]
    about = source_of(this) | {"below_threshold": len(rows) - len(large)}
    about["questionable"] = {name: side.questionable for name, side in zip(given, sides, strict=True)}
    return to_pandas(_table(large, sides[0]), about)


@dataclass(frozen=True)
class GroupChange:
    """A group that differs in one currency.

    Parameters
    ----------
    labels : mapping
        Its columns of names and IDs, None for a missing one.
    currency : str
        The currency, or `NO_CURRENCY`.
    this, that : Money
        The entries of both sides.
    that_amount, this_amount, change : Decimal
        Their amounts, and the exact change from that to this.
    percent : Decimal, optional
        The change in percent of `that_amount`, None where that says nothing.
    drivers : str
        The entries that make most of the change, in words.
    """

    labels: Mapping[str, str | None]
    currency: str
    this: Money
    that: Money
    that_amount: Decimal
    this_amount: Decimal
    change: Decimal
    percent: Decimal | None
    drivers: str


def differences(
    sides: Sequence[Grouped], words: Words, signs: Sequence[int] = (1, -1), *, every: bool = False
) -> list[GroupChange]:
    """Return the groups whose number or amount differs, by currency, then the largest change first.

    The two sides are this and that. The currency with most entries is the first. Groups are the same where
    their IDs are, or their names where a side has no IDs. A side of sums has the sign 0: it names no entries.
    `every` returns equal groups, too.
    """
    joined = _joined_by(sides)
    labels: dict[Group, dict[str, str | None]] = {}
    now, before = (_sums(side, joined, labels) for side in sides)
    drivers = _drivers(sides, signs, joined)
    ranks = {name: place for place, name in enumerate(currencies_of([*now.values(), *before.values()], None))}
    made = []
    for group in {**now, **before}:
        of_this, of_that = now.get(group, {}), before.get(group, {})
        for currency in {**of_this, **of_that}:
            new, old = of_this.get(currency, NOTHING), of_that.get(currency, NOTHING)
            amounts = change_of(old, new)
            if every or amounts[2] or old.entries != new.entries:
                largest = _largest(drivers.get((*group, currency), ()), amounts[2], currency, words)
                one = GroupChange(labels[group], currency, new, old, *amounts, drivers=largest)
                made.append(((ranks[currency], -abs(one.change), group), one))
    return [one for _, one in sorted(made, key=itemgetter(0))]


def _in_currency_of(
    this: pa.Table, that: pa.Table, rates: ExchangeRates | None, this_source: str, that_source: str
) -> pa.Table:
    """Return `that` with the company's own currency, or the one of `this`, where it has no column for it."""
    if "currency" in that.column_names or "currency" not in this.column_names:
        return that
    if rates is not None:
        return with_column(that, "currency", pa.repeat(pa.scalar(rates.own, TEXT), len(that)))
    counts = pc.value_counts(pc.drop_null(this["currency"])).to_pylist()
    currencies = [row["values"] for row in sorted(counts, key=lambda row: (-row["counts"], row["values"]))]
    if len(currencies) != 1:
        facts = {
            "source": this_source,
            "currencies": ", ".join(currencies),
            "most": next(iter(currencies), ""),
        }
        code = "currency_of_budget" if currencies else "no_currency_of_budget"
        raise InputError(Sentence(f"error.{code}", **facts), source=that_source)
    return with_column(that, "currency", pa.repeat(pa.scalar(currencies[0], TEXT), len(that)))


def _last_day(*sides: pa.Table) -> dt.date | None:
    """Return the last day of the month of the last entry, None where no entry has a day."""
    days = [pc.max(days_of(rows)).as_py() for rows in sides]
    last = max(filter(None, days), default=None)
    return last and month_end(last)


def _money_of(side: Grouped) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the amounts that are compared, and their currencies: the company's own where it was given."""
    rows = side.rows
    names = (HOME, "home_currency") if HOME in rows.column_names else ("amount", "currency")
    return amounts_of(pa.table({"amount": rows[names[0]]})), text_of(rows, names[1])


def _joined_by(sides: Sequence[Grouped]) -> list[str]:
    """Return the columns whose values tell equal groups: of each key its IDs, where both sides have them."""
    names = {names[0]: identifier for names, identifier in KEYS.values()}
    firsts = [name for name, text in sides[0].missing.items() if text]
    ids = {name: names.get(name) for name in firsts}
    return [ids[name] if all(ids[name] in side.keys for side in sides) else name for name in firsts]  # type: ignore[misc]


def _sums(side: Grouped, joined: Sequence[str], labels: dict[Group, dict[str, str | None]]) -> Side:
    """Return the money of each group by currency, and note the names of groups that have none yet."""
    amounts: dict[Group, dict[str, list[Decimal]]] = defaultdict(lambda: defaultdict(list))
    counts: dict[tuple[Group, str], int] = defaultdict(int)
    for row in side.summed(*_money_of(side)).to_pylist():
        group, currency = (
            tuple(_same(row[name], side.missing.get(name)) for name in joined),
            row["currency"] or NO_CURRENCY,
        )
        labels.setdefault(group, {name: row[name] for name in side.keys})
        counts[group, currency] += row["entries"]
        amounts[group][currency] += [] if row["amount"] is None else [row["amount"]]
    return {
        group: {name: Money(counts[group, name], total(parts)) for name, parts in money.items()}
        for group, money in amounts.items()
    }


def _same(text: str | None, missing: str | None) -> str:
    """Return a text as groups compare it: missing values as `spend` shows them, no capitals or spaces."""
    return comparable(missing or "" if text is None else text) or ""


def _drivers(
    sides: Sequence[Grouped], signs: Sequence[int], joined: Sequence[str]
) -> Mapping[Group, list[Driver]]:
    """Return the entries that one side has alone, by group and currency.

    An entry that both sides have with the same supplier and amount adds nothing. A side of sums, whose sign
    is 0, has no entries, nor has a budget, which lacks a date, a supplier and a description.
    """
    group = [*(f"key {place}" for place in range(len(joined))), "currency"]
    entry_key = [*group, "supplier", "paid in", "paid"]
    tables = []
    paid = in_one_scale(*(amounts_of(side.rows) for side in sides))
    amounts = in_one_scale(*(_money_of(side)[0] for side in sides))
    for side, exact, own, sign in zip(sides, paid, amounts, signs, strict=True):
        rows = side.rows
        if sign and {"date", *NAMING} & {*rows.column_names}:
            keys = [_sames(side, name) for name in joined]
            supplier = pc.coalesce(text_of(rows, "supplier"), text_of(rows, "description"))
            columns = [*keys, pc.fill_null(_money_of(side)[1], NO_CURRENCY), supplier]
            columns += [text_of(rows, "currency"), exact, own]
            columns += [pa.repeat(pa.scalar(sign, COUNT), len(rows)), days_of(rows)]
            tables.append(pa.table(columns, [*entry_key, "amount", "sign", "day"]))
    drivers: dict[Group, list[Driver]] = defaultdict(list)
    if tables:
        entries = pa.concat_tables(tables)
        entries = entries.append_column("number", pa.array(range(len(entries)), COUNT))
        numbers = [("number", "min"), ("number", "max")]
        left = entries.group_by(entry_key, use_threads=False).aggregate(
            [("sign", "sum"), ("day", "max"), *numbers]
        )
        left = left.filter(pc.and_(pc.not_equal(left["sign_sum"], 0), pc.is_valid(left["paid"])))
        for row in left.to_pylist():
            # One price may have other rates on the other side, whose entries come last.
            is_this = row["sign_sum"] > 0
            amount = entries["amount"][row["number_min" if is_this else "number_max"]].as_py()
            driver = (amount if is_this else amount.copy_negate(), row["day_max"], row["supplier"])
            drivers[tuple(row[key] for key in group)] += [driver] * abs(row["sign_sum"])
    return drivers


def _sames(side: Grouped, name: str) -> pa.Array:
    """Return a column of a key as groups are compared by; each text is worked out once."""
    codes = side.keys[name].combine_chunks().dictionary_encode("encode")
    texts = pa.array([_same(text, side.missing.get(name)) for text in codes.dictionary.to_pylist()], TEXT)
    return texts.take(codes.indices)


def _largest(entries: Sequence[Driver], difference: Decimal, currency: str, words: Words) -> str:
    """Return the entries that add most to a difference, by name, with what each of them adds."""
    of_supplier: dict[str | None, list[Driver]] = defaultdict(list)
    for entry in entries:
        of_supplier[entry[2]].append(entry)
    # A supplier that both sides have drives by what it has more or less.
    netted: list[Driver] = []
    for supplier, own in of_supplier.items():
        is_on_both = supplier is not None and len({amount > 0 for amount, *_ in own}) > 1
        netted += [(total(amount for amount, *_ in own), None, supplier)] if is_on_both else own
    same_way = [entry for entry in netted if entry[0] * difference > 0]
    largest = sorted(same_way, key=lambda entry: (-abs(entry[0]), str(entry[1]), entry[2] or ""))
    names = []
    for amount, day, supplier in largest[:SHOWN_DRIVERS]:
        name = " ".join(filter(None, (words.day(day) if day else None, supplier)))
        sign = "+" if amount > 0 else ""
        names.append(f"{name or words('change.an_entry')} {sign}{words.amount(amount, currency)}")
    return "; ".join(names)


def _table(rows: Sequence[GroupChange], side: Grouped) -> pa.Table:
    """Return the differences as a table: keys as text, exact amounts in one scale, IDs last."""
    labels = {name: [row.labels[name] or text for row in rows] for name, text in side.missing.items()}
    columns = {name: pa.array(texts, TEXT) for name, texts in labels.items()}
    columns["currency"] = pa.array([row.currency for row in rows], TEXT)
    amounts = [[row.this_amount, row.that_amount, row.change] for row in rows]
    money = [pa.chunked_array([pa.array(values)]) for values in zip(*amounts, strict=True)] or [NO_MONEY] * 3
    columns |= dict(zip(("this", "that", "difference"), in_one_scale(*money), strict=True))
    percents = [None if row.percent is None else float(row.percent) for row in rows]
    columns["percent"] = pa.array(percents, pa.float64())
    columns["drivers"] = pa.array([row.drivers for row in rows], TEXT)
    ids = [name for name in side.keys if name not in side.missing]
    return pa.table(columns | {name: pa.array([row.labels.get(name) for row in rows], TEXT) for name in ids})
