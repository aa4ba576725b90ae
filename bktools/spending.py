"""`spend`: what was spent, on what, by whom and when, exactly and by currency."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import is_command, setting
from bktools.contract.rules import flag
from bktools.errors import ArgumentError, InputError
from bktools.frames.columns import days_of, with_column
from bktools.frames.incoming import in_memory, source_of
from bktools.frames.names import month_and_company, with_names
from bktools.frames.schema import COUNT, TEXT, dated, to_pandas, wall_times
from bktools.frames.sums import NO_CURRENCY, shares_of, summed, total

# A key of `by`: the columns that show it, and the identifier that tells two of the same name apart.
KEYS: dict[str, tuple[tuple[str, ...], str | None]] = {
    "category": (("category_name",), "category_id"),
    "account": (("account_code", "account_name"), None),
    "employee": (("employee_name",), "employee_id"),
    "supplier": (("supplier",), None),
    "cost_centre": (("cost_centre",), None),
    "company": (("company_id",), None),
    "month": (("month",), None),
}
# How to get a key that the entries lack.
ADVICE = {
    "account": "give categories and accounts, from which the account of each category is taken, or ",
    "month": "give them a date, or ",
}
MONEY = ("amount", "currency")
# Columns of the result that are no key, in their order.
RESULTS = ("currency", "entries", "amount", "share")

Row = dict[str, Any]


def spend(
    entries: Any,
    by: str | Sequence[str] = "category",
    *,
    categories: Any = None,
    accounts: Any = None,
    employees: Any = None,
    shares: bool = False,
) -> pd.DataFrame:
    """Return what was spent by category, account, employee, supplier, month or any column, exactly and by currency.

    Parameters
    ----------
    entries : DataFrame
        As `read_entries` returns it, with `amount` and `currency`; every frame may be of pandas, Polars, Arrow or
        DuckDB, or the path of a Parquet file. What is counted is up to you: all entries, `plan.entries`,
        `plan.not_ready`, or postings of `read_general_ledger`.
    by : str or sequence of str
        One or several of "category", "account", "employee", "supplier", "month", "cost_centre", "company", or any other
        column. An empty sequence gives the total of each currency.
    categories, accounts, employees : DataFrame, optional
        As `load_categories`, `load_accounts` and `load_employees` return them, for names. Without them categories and
        employees have the names of the file, or are shown by ID.
    shares : bool
        Whether to add the column `share`.

    Returns
    -------
    pandas.DataFrame
        One row a group and currency. First the keys as text: `category_name`, `account_code` and `account_name`,
        `employee_name`, `supplier`, `month` (such as 2026-10), `cost_centre`, `company_id`, or the column; a missing value
        has its own row, such as "no supplier". Then `currency`, `entries` (count), `amount` (exact sum, in the unit of
        the currency), and `share`; last `category_id` and `employee_id`, which tell groups of one name apart.

        `share` is a fraction of 1, rounded to four digits: the amount divided by the sum of all rows of the currency
        that have the sign of its total. A row of the other sign (such as a credit among expenses) has none, nor has any
        row of a currency whose total is zero; the shares of a currency add up to 1, apart from rounding.

        The currency with most entries comes first; within it the largest amount of the total's sign.

    Raises
    ------
    ArgumentError
        When `by` is not a key, or something is not a frame.
    InputError
        When the entries have no amount or currency, lack a key (the error lists those that they have), or have amounts as
        floats, whose sums are not exact.

    Notes
    -----
    Categories, accounts and employees: interface, sections 2.1, 2.4 and 2.6. Amounts of two currencies are never added.

    Examples
    --------
    >>> import bktools, pandas as pd
    >>> from decimal import Decimal
    >>> entries = pd.DataFrame({
    ...     "supplier": ["Bahn", "Hotel", "Bahn", None],
    ...     "amount": [Decimal("10.50"), Decimal("30.00"), Decimal("9.50"), Decimal("500")],
    ...     "currency": ["EUR", "EUR", "EUR", "JPY"],
    ... })
    >>> bktools.spend(entries, by="supplier", shares=True).drop(columns="entries").values.tolist()
    [['Hotel', 'EUR', Decimal('30.00'), 0.6], ['Bahn', 'EUR', Decimal('20.00'), 0.4], ['no supplier', 'JPY', Decimal('500.00'), 1.0]]
    """
    keys = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
    if not all(isinstance(key, str) for key in keys) or len({*keys, *RESULTS}) < len(keys) + len(RESULTS):
        raise ArgumentError("by", f"must be different names of columns or of {', '.join(KEYS)}", by)
    frames = {"categories": categories, "accounts": accounts, "employees": employees}
    rows = with_names(_rows(entries, keys), **{name: frame for name, frame in frames.items() if frame is not None})
    shown: dict[str, pa.ChunkedArray] = {}
    missing: dict[str, str] = {}
    for key in keys:
        names, _ = KEYS.get(key, ((key,), None))
        if not (of_key := _key(rows, key)):
            raise InputError(f"the entries have no {key.replace('_', ' ')}: {ADVICE.get(key, '')}{_keys_of(entries)}")
        shown |= of_key
        missing |= {name: f"no {key.replace('_', ' ')}" if name == names[0] else "" for name in names}
    sums = _summed(shown, rows)
    for name, text in (missing | {"currency": NO_CURRENCY}).items():
        sums = with_column(sums, name, pc.fill_null(sums.column(name), text))
    first = [*missing, *RESULTS[: len(RESULTS) - (not flag("shares", shares))]]
    ids = [name for name in shown if name not in missing]
    return to_pandas(sums.select([*first, *ids]), source_of(entries) | {"title": month_and_company(rows)})


def _rows(entries: Any, keys: Sequence[str]) -> pa.Table:
    """Return the columns of the entries that the keys need."""
    wanted = {*MONEY, *keys, "date", "category_id", "company_id", "id", "split_line"}
    for key in keys:
        names, identifier = KEYS.get(key, ((), None))
        wanted |= {*names, *([identifier] if identifier else [])}
    rows = in_memory(entries, "the entries", wanted)
    for name in MONEY:
        if name not in rows.column_names:
            way = f"read the file with {setting('currency', 'EUR')}"
            way = way if is_command() else 'add it: entries.assign(currency="EUR")'
            advice = "" if name == "amount" else f"; if all are in one, {way}"
            raise InputError(f"the entries have no column {name}, without which nothing can be added up{advice}")
    return rows


def _key(rows: pa.Table, key: str) -> dict[str, pa.ChunkedArray]:
    """Return the columns of a key as text; blank ones are null. Nothing where the rows have no such key."""
    names, identifier = KEYS.get(key, ((key,), None))
    if key == "month" and "date" in rows.column_names:
        return {"month": pc.utf8_slice_codeunits(pc.cast(days_of(rows), TEXT), 0, len("2026-10"))}
    if identifier is not None and identifier in rows.column_names:
        ids = pc.ascii_lower(_text(rows.column(identifier)))
        # A group without a name is shown by its ID.
        named = _text(rows.column(names[0])) if names[0] in rows.column_names else pa.nulls(len(rows), TEXT)
        return {names[0]: pc.coalesce(named, ids), identifier: ids}
    if names[0] not in rows.column_names:
        return {}
    return {
        name: _text(rows.column(name)) if name in rows.column_names else pa.nulls(len(rows), TEXT) for name in names
    }


def _keys_of(entries: Any) -> str:
    """Return the keys that entries can be added up by, as an advice."""
    # Columns that are not used may hold values of several types.
    is_pandas = isinstance(entries, pd.DataFrame)
    columns = [*map(str, entries.columns)] if is_pandas else in_memory(entries, "the entries").schema.names
    keys = [key for key, (names, identifier) in KEYS.items() if {names[0], identifier} & {*columns}]
    keys += ["month"] if "date" in columns else []
    of_keys = {name for names, identifier in KEYS.values() for name in (*names, identifier)}
    own = [name for name in columns if name not in {*of_keys, *MONEY, "id", "date"}]
    return (
        f"add them up by {', '.join(dict.fromkeys([*keys, *own])) or 'nothing (by=[]), for the total of each currency'}"
    )


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        text = pc.cast(wall_times(dated(column)), TEXT)
    except pa.ArrowException:
        raise InputError(
            f"a column of the entries holds {column.type}, by which nothing can be grouped: make it text"
        ) from None
    return pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, TEXT), text)


def _summed(shown: Mapping[str, pa.ChunkedArray], rows: pa.Table) -> pa.Table:
    """Return the sums by the columns shown and by currency, with their shares, the currency with most entries first."""
    # A heading of the file may be a name that the sums have.
    keys = {f"key {place}": column for place, column in enumerate(shown.values())}
    of_entries = {name: rows[name] for name in ("id", "split_line", "amount") if name in rows.column_names}
    sums = summed(pa.table(of_entries | keys | {"currency": _text(rows["currency"])}), *keys, "currency")
    currencies: dict[str | None, list[Row]] = defaultdict(list)
    for place, row in enumerate(sums.to_pylist()):
        currencies[row["currency"]].append(row | {"place": place})
    counts = {currency: sum(row["entries"] for row in group) for currency, group in currencies.items()}
    order = sorted(currencies, key=lambda currency: (-counts[currency], currency is None, currency))
    ordered = [row for currency in order for row in _with_shares(currencies[currency], [*keys])]
    sums = sums.take(pa.array([row["place"] for row in ordered], COUNT)).rename_columns([*shown, *RESULTS[:3]])
    return sums.append_column("share", pa.array([row["share"] for row in ordered], pa.float64()))


def _with_shares(rows: list[Row], keys: Sequence[str]) -> list[Row]:
    """Return the sums of a currency, the largest of the total's sign first, with the shares of those of this sign."""
    amounts = [row["amount"] for row in rows]
    is_credit = total(amounts) < 0
    shares = [None if share is None else round(float(share), 4) for share in shares_of(amounts)]

    def place(row: Row) -> tuple[Any, ...]:
        amount = row["amount"] or Decimal(0)
        names = ((row[key] is None, row[key]) for key in keys)
        return row["amount"] is None, amount if is_credit else amount.copy_negate(), *names, row["entries"]

    return sorted((row | {"share": share} for row, share in zip(rows, shares, strict=True)), key=place)
