"""Runs the checks of entries: the first error of each, which decides what is ready, and all findings."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.errors import ArgumentError, InputError
from bktools.export import checks
from bktools.export.tables import amounts_of, days_of, decimals_of, numbered, texts_of
from bktools.frames.currencies import MINOR_UNITS
from bktools.frames.engine import engine
from bktools.frames.names import FIRST, IDENTIFIERS, last_import
from bktools.frames.schema import MONEY, TEXT, Month, split_lines

# Columns that composing adds to the entries.
ADDED = ("batch_id", "reason", "message", "exported_amount", "exported_currency")

# The columns of findings; names, money and identifiers of the entry follow.
COLUMNS = ("check", "severity", "about", "message", "to_do", "who")

# The columns of an entry that are compared with what was exported, beside its date.
COMPARED = {"amount": MONEY, "currency": TEXT, "category_id": TEXT, "tax_code": TEXT, "supplier": TEXT}

NO_CATEGORIES = pa.table({"id": pa.array([], TEXT), "name": pa.array([], TEXT)})

CURRENCIES = pa.table({"code": pa.array(MINOR_UNITS, TEXT), "units": pa.array(MINOR_UNITS.values(), pa.int8())})


def options_of(
    *, company: str | None = None, period: Month | None = None, currency: str | None = None
) -> dict[str, Any]:
    """Return the arguments of the checks by name: only those that were given.

    Raises
    ------
    ArgumentError
        When one breaks a rule.
    """
    options: dict[str, Any] = {}
    if company is not None:
        options["company"] = rules.uuid_text("company", company)
    if period is not None:
        named = rules.month("period", period)
        year, month = map(int, named.split("-"))
        last = dt.date(year, month, calendar.monthrange(year, month)[1])
        options |= {"period": named, "first": last.replace(day=1), "last": last}
    if currency is not None:
        if rules.text("currency", currency) not in MINOR_UNITS:
            raise ArgumentError("currency", "must be the code of a currency in ISO 4217, such as EUR", currency)
        options["currency"] = currency
    return options


def names_of(entries: pa.Table, given: Mapping[str, Any], options: Mapping[str, Any]) -> set[str]:
    """Return the names of the given columns, frames and arguments, as in `Check.needs`."""
    has_party = {"supplier", "employee_id"} & {*entries.column_names}
    return {*given, *options, *(f"entries.{name}" for name in entries.column_names), *(["party"] if has_party else [])}


def first_errors(entries: pa.Table, given: Mapping[str, pa.Table], options: Mapping[str, Any]) -> pa.Table:
    """Return row, reason and message of each entry in the order of sending; both are null for a ready one."""
    return _run(checks.reasons_query, _read_columns(entries), entries, given, options)


def findings(composed: pa.Table, given: Mapping[str, pa.Table], options: Mapping[str, Any]) -> pa.Table:
    """Return all findings of composed entries, most severe first.

    Returns
    -------
    pyarrow.Table
        One row per entry and check: check, severity, about, message, to_do, who, names and money of the entry, its IDs.
    """
    entries = _without_added(composed)
    is_held = pc.equal(composed.column("reason"), checks.HELD_TOGETHER)
    together = pa.table({"row": pa.array(np.flatnonzero(pc.fill_null(is_held, False)))})
    read = _with_texts(_read_columns(entries), entries)
    rows = _run(checks.findings_query, read, entries, {**given, "together": together}, options)
    by_check = pa.table(
        {
            name: pa.array([getattr(check, name) for check in checks.CHECKS], TEXT)
            for name in ("name", "severity", "who")
        }
    ).take(rows.column("place"))
    about = composed.select(_named(composed.column_names)).take(rows.column("row"))
    return pa.table(
        {"check": by_check.column("name"), "severity": by_check.column("severity")}
        | {name: pc.cast(rows.column(name), TEXT) for name in ("about", "message", "to_do")}
        | {"who": by_check.column("who")}
        | {name: about.column(name) for name in about.column_names}
    )


def prepared(entries: pa.Table, given: Mapping[str, Any]) -> pa.Table:
    """Return entries as they are checked: without what composing added, IDs in lower case, as they are sent."""
    entries = _without_added(entries)
    for name in ("id", "company_id"):
        entries = entries.set_column(entries.column_names.index(name), name, pc.ascii_lower(entries.column(name)))
    if "categories" in given and "category_id" not in entries.column_names:
        raise InputError("the entries have no column category_id: add it, or leave out categories")
    return entries


def _without_added(entries: pa.Table) -> pa.Table:
    """Return entries without the columns that composing adds."""
    return entries.drop_columns([name for name in ADDED if name in entries.column_names])


def _named(columns: Iterable[str]) -> list[str]:
    """Return which columns of entries are shown beside a finding: names, money and identifiers."""
    return [name for name in (*FIRST, *IDENTIFIERS) if name in {*columns}]


def _run(
    query_of: Callable[[set[str]], str],
    read: pa.Table,
    entries: pa.Table,
    given: Mapping[str, pa.Table],
    options: Mapping[str, Any],
) -> pa.Table:
    query = query_of(names_of(entries, given, options))
    values = {"list": _list_of(given.get("accounts")), **options}
    values = {name: value for name, value in values.items() if f"${name}" in query}
    tables = {"entries": read, "contents": _contents(entries), "currencies": CURRENCIES}
    tables |= {"categories": NO_CATEGORIES, **given}
    if "history" in given:
        tables["history"] = _compared(given["history"], entries.column_names)
    with engine("compose_export_jobs", checks.MACROS, **tables) as connection:
        try:
            return connection.sql(query, params=values).to_arrow_table()
        except duckdb.NotImplementedException as error:
            raise InputError(f"a column of the entries has an unknown type: convert or drop it ({error})") from None


def _compared(history: pa.Table, columns: Collection[str]) -> pa.Table:
    """Return a history without the columns that the entries lack: these are not compared."""
    for name in ("date", *COMPARED):
        if name not in columns:
            place = history.column_names.index(name)
            history = history.set_column(place, name, pa.nulls(len(history), history.schema.field(place).type))
    return history


def _read_columns(entries: pa.Table) -> pa.Table:
    """Return the columns of entries that every query reads."""
    needs = {need for check in checks.CHECKS for need in check.needs} - {"entries.date"}
    needs -= {"entries.split_line"}
    wanted = ["id", "company_id", *(name for name in entries.column_names if f"entries.{name}" in needs)]
    table = pa.table({name: entries.column(name) for name in wanted})
    if "amount" in wanted:
        amounts = amounts_of(entries)
        table = table.set_column(wanted.index("amount"), "amount", amounts)
        table = table.append_column("decimals", decimals_of(amounts))
    for name, kind in COMPARED.items():
        if name not in wanted:
            missing = pa.nulls(len(table), kind)
            table = table.append_column(name, texts_of(entries, name) if name == "supplier" else missing)
        elif kind == TEXT:
            table = table.set_column(wanted.index(name), name, texts_of(entries, name))
    for name in ("split_line", "split_lines"):
        table = table.append_column(name, split_lines(entries, name))
    table = numbered(table, "row").append_column("day", days_of(entries))
    return table.append_column("line", entries.column("line") if "line" in entries.column_names else table["row"])


def _with_texts(read: pa.Table, entries: pa.Table) -> pa.Table:
    """Return the columns that findings read besides: the text of an entry, and its supplier or employee."""
    supplier, description = (_filled(texts_of(entries, name)) for name in ("supplier", "description"))
    employee = _filled(texts_of(entries, "employee_id"))
    party = pc.utf8_lower(pc.coalesce(supplier, employee))
    noun = pc.if_else(pc.is_valid(supplier), "supplier", "employee")
    read = read.append_column("text", pc.coalesce(supplier, description))
    return read.append_column("party", party).append_column("party_noun", noun)


def _filled(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without white space around them, null where nothing is left."""
    trimmed = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, TEXT), trimmed)


def _contents(entries: pa.Table) -> pa.Table:
    """Return each entry as one value, without its line in the file."""
    content = entries.select([name for name in entries.column_names if name != "line"])
    # DuckDB ignores case in names, so two names could collide.
    content = content.rename_columns([str(place) for place in range(content.num_columns)])
    # Without its type, no rows would be an error before pyarrow 20.
    values = [batch.to_struct_array() for batch in content.to_batches()]
    return numbered(pa.table({"content": pa.chunked_array(values, pa.struct(content.schema))}), "row")


def _list_of(accounts: pa.Table | None) -> str:
    """Return when a list of accounts was last imported, in brackets; empty where the frame does not say."""
    if accounts is None or (len(accounts) and accounts.column("state").null_count == len(accounts)):
        return ""
    imported = accounts.filter(pc.equal(accounts.column("state"), "IMPORTED")).column("updated_at")
    return last_import(pc.max(imported).as_py())
