"""`spend`: what was spent, on what, by whom and when, exactly and by currency."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.frames.names import month_and_company, with_names
from bktools.frames.repeats import with_repeats
from bktools.frames.schema import TEXT, Month, to_pandas
from bktools.frames.sums import HOME, summed, sums_of
from bktools.frames.tables import (
    days_of,
    in_memory,
    months_in,
    source_of,
    split_lines,
    text_of,
    to_arrow,
    wall_times,
    with_column,
)
from bktools.spending.rates import ExchangeRates, in_own_currency, rates_of, with_home
from bktools.wording import Sentence, Words, words
from bktools.wording.words import NO_CURRENCY


class Key(NamedTuple):
    """A key of `by`: the columns that show it, the identifier behind them, and the frame that names it."""

    names: tuple[str, ...]
    identifier: str | None = None
    frame: str = ""


KEYS = {
    "category": Key(("category_name",), "category_id", "categories"),
    "account": Key(("account_code", "account_name")),
    "employee": Key(("employee_name",), "employee_id", "employees"),
    **{name: Key((name,)) for name in ("supplier", "cost_centre")},
    "company": Key(("company_id",)),
    "month": Key(("month",)),
}
KEY_COLUMNS = {name for key in KEYS.values() for name in (*key.names, key.identifier)}
# Keys that entries may get from something else than a column of their own.
ADVISED = ("account", "month")
MONEY = ("amount", "currency")
# Columns that name an entry for a person.
NAMING = ("supplier", "description")
# Columns of the result that are no key, in their order.
RESULTS = ("currency", "entries", "amount", "share")

c = pl.col


def spend(
    entries: Any,
    by: str | Sequence[str] = "category",
    *,
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
    period: Month | None = None,
    rates: Any = None,
    shares: bool = False,
    largest_first: bool = False,
) -> pd.DataFrame:
    """Return what was spent by category, account, employee, supplier, month or any column, exact by currency.

    Parameters
    ----------
    entries : DataFrame
        As `read_entries` returns it, with `amount` and `currency`; every frame may be of pandas, Polars,
        Arrow or DuckDB, or the path of a Parquet file. What is counted is up to you: all entries,
        `plan.entries`, `plan.not_ready`, or postings of `read_general_ledger`.
    by : str or sequence of str
        One or several of "category", "account", "employee", "supplier", "month", "cost_centre", "company", or
        any other column, also by its heading in the file. An empty sequence gives the total of each currency.
    categories, accounts, employees : DataFrame, optional
        As `load_categories`, `load_accounts` and `load_employees` return them, for names. Without them
        categories and employees have the names of the file, or are shown by ID; one that the frames do
        not have is an "unknown category" with the beginning of its ID.
    period : str, Period, date or datetime, optional
        Only the entries of a month, a quarter, a year or several months: 2026-10, 2026-Q3, 2026,
        2026-01..2026-10. `frame.attrs["bktools"]["without_date"]` counts the entries without a date, which
        are left out.
    rates : mapping or path, optional
        What one unit of each other currency is worth in the company's own, such as {"USD": 0.8712}, or a
        CSV or Excel file of date, currency and rate, of which the last one until an entry's day holds.
        The own currency is the one without a rate, or with the rate 1. Adds `home_amount` and
        `home_currency`. Default: nothing is converted.
    shares : bool
        Whether to add the column `share`.
    largest_first : bool
        Whether rows come by amount, those of the total's sign first, in place of the order of the keys.

    Returns
    -------
    pandas.DataFrame
        One row per group and currency. First the keys as text: `category_name`, `account_code` and
        `account_name`, `employee_name`, `supplier`, `month` (such as 2026-10), `cost_centre`, `company_id`,
        or the column; a missing value has its own row, such as "no supplier". Then `currency`, `entries`
        (count; a split entry counts in each group that has a line of it), `amount` (exact sum), with rates
        `home_amount` (the sum of the entries' amounts in the own currency, each rounded to its units) and
        `home_currency`, and `share`; last `category_id` and `employee_id`, which tell groups of one name
        apart.

        `share` is a percentage with two decimals within the first key where there are several, such
        as within each month: the amount divided by the sum of all its rows of the currency that have the sign
        of their total. A row of the other sign (such as a credit among expenses) has none, nor has any row
        where the total is zero; such shares add up to 100, apart from rounding. With rates it is the share of
        `home_amount` among the rows of all currencies.

        Of lines with one ID, the first counts, as in a close, unless they are the numbered lines of a split
        entry. `frame.attrs["bktools"]["questionable"]` has number and amounts of those that are left out: a
        `copy` is the same as the first, a `conflicting` line is not. With rates, entries without a currency
        are left out, too, and by day those without a date: they are `no_currency` and `undated` there.
        Entries that are counted and `not_approved` stand there as well.

        The currency with most entries comes first; within it the keys in their order: months, numbers and
        dates by value, texts by the alphabet, and missing values last.

    Raises
    ------
    ArgumentError
        When `by` is not a key, the period or the rates are none, or something is not a frame.
    InputError
        When the entries have no amount or currency, or lack a key (the error lists those that they have), or
        a rate is missing.

    Notes
    -----
    Categories, accounts and employees: interface, sections 2.1, 2.4 and 2.6. Currencies are added at given
    rates only.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> entries = pd.DataFrame({
    ...     "supplier": ["Bahn", "Hotel", "Bahn", None],
    ...     "amount": [10.5, 30.0, 9.5, 500.0],
    ...     "currency": ["EUR", "EUR", "EUR", "JPY"],
    ... })
    >>> bktools.spend(entries, by="supplier", shares=True).drop(columns="entries").values.tolist()
    [['Bahn', 'EUR', 20.0, 40.0], ['Hotel', 'EUR', 30.0, 60.0], ['no supplier', 'JPY', 500.0, 100.0]]
    """
    names = {"categories": categories, "accounts": accounts, "employees": employees}
    lines = lines_of(entries, by, names, period=period)
    figures = ["currency", "entries", "amount"]
    if rates is not None:
        into_own = rates_of(rates).into(None, lines.rows)
        lines = lines.converted(into_own)
        figures += [HOME, "home_currency"]
    sums = _in_order(lines, is_largest_first=rules.flag("largest_first", largest_first))
    sums = sums.with_columns(c(name).fill_null(text) for name, text in lines.shown.items())
    sums = sums.with_columns(c.currency.fill_null(NO_CURRENCY))
    if rates is not None:
        sums = sums.with_columns(pl.lit(into_own.own).alias("home_currency"))
    figures += ["share"] if rules.flag("shares", shares) else []
    title = month_and_company(lines.rows, words().language)
    about = source_of(entries) | {"title": title, "questionable": lines.questionable}
    about |= {} if period is None else {"without_date": lines.without_date}
    return to_pandas(to_arrow(sums.select(*lines.shown, *figures, *lines.ids)), about)


@dataclass(frozen=True)
class Lines:
    """Lines of entries, with the keys that they are added up by.

    `rows` have each column of a key as text under a name of its own, such as "key 0", because a key may be
    any column: `columns` has these by the columns of the result. `shown` has the text for a missing value of
    each column that people read; the others are identifiers. `first` are the columns of the first key.
    `left_out` are rows that are not counted, by the reason: copies, lines that conflict with an earlier one,
    and those without the date that their rate needs. `without_date` is how many no period has.
    """

    rows: pa.Table
    left_out: Mapping[str, pa.Table]
    columns: Mapping[str, str]
    shown: Mapping[str, str]
    first: Sequence[str]
    without_date: int

    def converted(self, rates: ExchangeRates, undated: dt.date | None = None) -> Lines:
        """Return the lines with their amounts in the company's own currency.

        Where only some have a date, the others are left out, unless one rate holds on every day, and so are
        those without a currency; where none has a date, such as in a budget, all have the rate of the day
        `undated`.
        """
        rows, days = self.rows, days_of(self.rows)
        if days.null_count == len(rows):
            return replace(self, rows=in_own_currency(rows, rates, undated))
        homes = with_home(rows, rates)
        is_undated = pc.and_(pc.is_null(days), pc.is_null(homes[HOME]))
        without = {
            "undated": rows.filter(is_undated),
            "no_currency": rows.filter(pc.and_(pc.is_null(rows["currency"]), pc.invert(is_undated))),
        }
        is_kept = pc.and_(pc.is_valid(rows["currency"]), pc.invert(is_undated))
        return replace(
            self, rows=in_own_currency(rows.filter(is_kept), rates), left_out={**self.left_out, **without}
        )

    @property
    def ids(self) -> list[str]:
        """The columns of identifiers."""
        return [name for name in self.columns if name not in self.shown]

    @property
    def questionable(self) -> dict[str, Any]:
        """Number and amounts of what is left out, and of entries that are not approved."""
        rows, parts = self.rows, dict(self.left_out)
        if "approved" in rows.column_names and pa.types.is_boolean(rows["approved"].type):
            parts["not_approved"] = rows.filter(pc.fill_null(pc.invert(rows["approved"]), False))
        sums = {what: sums_of(part) for what, part in parts.items()}
        return {what: groups[0].for_programs for what, groups in sums.items() if groups}


def lines_of(
    entries: Any,
    by: str | Sequence[str],
    frames: Mapping[str, Any] | None = None,
    *,
    period: Month | None = None,
    source: str = "",
    language: str | None = None,
) -> Lines:
    """Return the lines of entries in a period with their keys, by the names of the `frames`, once each.

    A message names the entries by their `source`; the text for a missing value is in the language.
    """
    keys, frames = keys_of(by, entries), {name: it for name, it in (frames or {}).items() if it is not None}
    rows = in_memory(entries, "the entries", columns_of(keys))
    facts = {"columns": ", ".join(_columns_of(entries))}
    for name in MONEY:
        if name not in rows.column_names:
            raise InputError(Sentence(f"error.entries_without_{name}", **facts), source=source)
    parts = {what: _of_period(part, period) for what, part in _once(rows).items()}
    rows, without_date = parts.pop("counted")
    left_out = {what: part for what, (part, _) in parts.items()}
    rows = with_names(with_column(rows, "currency", _text(rows["currency"])), **frames)
    columns: dict[str, pa.ChunkedArray] = {}
    shown: dict[str, str] = {}
    first: list[str] = []
    for key in keys:
        named = KEYS.get(key, Key((key,)))
        of_key = _key(rows, key, words(language) if named.frame in frames else None)
        if not of_key:
            code = f"no_key_{key}" if key in ADVISED else "no_key"
            raise InputError(Sentence(f"error.{code}", key=words().name("key", key), **facts), source=source)
        columns |= of_key
        shown |= dict.fromkeys(named.names, "") | {named.names[0]: missing_text(key, language)}
        first = first or [*of_key]
    places = {name: f"key {number}" for number, name in enumerate(columns)}
    for name, column in columns.items():
        rows = with_column(rows, places[name], column)
    return Lines(rows, left_out, places, shown, first, without_date)


def _of_period(rows: pa.Table, period: Month | None) -> tuple[pa.Table, int]:
    """Return the rows of a period, and how many have no date; all of them where no period is given."""
    if period is None:
        return rows, 0
    first, last = rules.period("period", period)
    if "date" not in rows.column_names:
        raise InputError(Sentence("error.no_date_for_period"))
    months = months_in(rows)
    is_inside = pc.and_(pc.greater_equal(months, first), pc.less_equal(months, last))
    return rows.filter(is_inside), months.null_count


def _once(rows: pa.Table) -> dict[str, pa.Table]:
    """Return the rows that count in a close, copies, and lines that conflict with an earlier one."""
    ids = pc.ascii_lower(text_of(rows, "id"))
    rows = with_column(rows, "id", pc.if_else(pc.equal(ids, ""), None, ids))
    columns = {"id": rows["id"], "split_line": split_lines(rows)}
    columns["split_lines"] = (
        rows["split_lines"] if "split_lines" in rows.column_names else columns["split_line"]
    )
    # An entry has one company, day and currency.
    wholes = {"company_id": None, "date": len("2026-10-01"), "currency": None}
    for name, length in wholes.items():
        if name in rows.column_names:
            columns[name] = pc.utf8_slice_codeunits(_text(rows[name]), 0, length)
    lines = pl.DataFrame(pa.table(columns)).rename({"date": "day"}, strict=False).with_row_index("row")
    lines = lines.with_columns(c.split_lines.cast(pl.Int64).fill_null(0), line=c.row.cast(pl.Int64))
    lines = with_repeats(lines, with_column(rows, "line", pa.nulls(len(rows))))
    reason = pl.when("is_unlike").then(pl.lit("conflicting")).when("is_copy").then(pl.lit("copy"))
    reasons = lines.select(reason.otherwise(pl.lit("counted"))).to_series().to_arrow()
    return {what: rows.filter(pc.equal(reasons, what)) for what in ("counted", "copy", "conflicting")}


def missing_text(key: str, language: str | None = None) -> str:
    """Return the text of a row without a value of the key."""
    texts = words(language)
    return texts(f"missing.{key}") if texts.has(f"missing.{key}") else texts("missing.other", name=key)


def keys_of(by: str | Sequence[str], *entries: Any) -> list[str]:
    """Return the keys of an argument `by`, where a heading of the entries' file is the field read from it.

    Refuse what is no key.
    """
    keys = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
    named = {key.names[0]: name for name, key in KEYS.items()}
    headed = {
        heading: named.get(field, field)
        for frame in entries
        for field, heading in source_of(frame).get("columns", {}).items()
        if heading not in KEYS
    }
    keys = [headed.get(key, key) if isinstance(key, str) else key for key in keys]
    if not all(isinstance(key, str) for key in keys) or len({*keys, *RESULTS}) < len(keys) + len(RESULTS):
        raise ArgumentError("by", Sentence("rule.keys", keys=", ".join(KEYS)), by)
    return keys


def columns_of(keys: Sequence[str]) -> set[str]:
    """Return the columns that entries are added up with, and named with; others may hold anything.

    Of a frame of sums, `entries` is their number.
    """
    wanted = {*MONEY, *NAMING, *keys, *("date", "id", "split_line", "line", "approved", "entries")}
    wanted |= {"category_id", "company_id", "split_lines"}
    for key in keys:
        known = KEYS.get(key, Key(()))
        wanted |= {*known.names, known.identifier or key}
    return wanted


def _key(rows: pa.Table, key: str, texts: Words | None) -> dict[str, pa.ChunkedArray]:
    """Return the columns of a key as text; blank ones are null. Nothing where the rows have no such key.

    `texts` name groups that are not in the frames; without them, a group without a name is shown by its ID.
    """
    names, identifier, _ = KEYS.get(key, Key((key,)))
    if key == "month" and "date" in rows.column_names:
        return {"month": months_in(rows)}
    known = {name: _text(rows[name]) for name in (*names, identifier) if name in rows.column_names}
    if identifier in known:
        ids = pc.ascii_lower(known[identifier])
        named = known.get(names[0], pa.nulls(len(rows), TEXT))
        unknown = pc.unique(ids.filter(pc.is_null(named))).drop_null().to_pylist()
        others = {one: texts(f"unknown.{key}", id=one[:8]) for one in unknown} if texts else {}
        unnamed = pl.Series(pl.from_arrow(ids)).replace(others).to_arrow()
        return {names[0]: pc.coalesce(named, pc.cast(unnamed, TEXT)), str(identifier): ids}
    return {name: known.get(name, pa.nulls(len(rows), TEXT)) for name in names if names[0] in known}


def _columns_of(frame: Any) -> list[str]:
    # Columns that are not used may hold values of several types.
    is_pandas = isinstance(frame, pd.DataFrame)
    return [*map(str, frame.columns)] if is_pandas else in_memory(frame, "the entries").schema.names


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        text = pc.cast(wall_times(column), TEXT)
    except pa.ArrowException:
        raise InputError(Sentence("error.no_text_for_groups", kind=str(column.type))) from None
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, TEXT), text)


def _in_order(lines: Lines, *, is_largest_first: bool) -> pl.DataFrame:
    """Return sums with their shares, the largest currency first, then by keys or by size.

    The largest currency has most entries. With rates a share, and a size, is one of all currencies.
    """
    sums = pl.DataFrame(summed(lines.rows, *lines.columns.values(), "currency"))
    sums = sums.rename({place: name for name, place in lines.columns.items()})
    has_home = HOME in sums.columns
    amount, of_whole = (c(HOME), pl.lit("all")) if has_home else (c.amount, c.currency)
    within = [of_whole, *(lines.first if len(lines.columns) > len(lines.first) else ())]
    is_of_sign = amount.sign() * amount.sum().over(within).sign() > 0
    whole = pl.when(is_of_sign).then(amount).sum().over(within)
    share = (100 * amount.cast(pl.Float64) / whole.cast(pl.Float64)).round(2)
    size = pl.when(amount.sum().over(of_whole) < 0).then(amount).otherwise(-amount)
    sizes = [size.is_null(), size] if is_largest_first else []
    order = [-c.entries.sum().over("currency").cast(pl.Int64), c.currency.is_null(), c.currency]
    order = [*sizes, *order] if has_home else [*order, *sizes]
    for name in lines.columns:
        # Of other columns, numbers are in order, too.
        order += [c(name).is_null()]
        order += [] if name in KEY_COLUMNS else [c(name).cast(pl.Float64, strict=False)]
        order += [c(name).str.to_lowercase(), c(name)]
    return sums.with_columns(share=pl.when(is_of_sign).then(share)).sort(order)
