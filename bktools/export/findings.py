"""Runs the checks of entries: the first error of each, which decides what is ready, and all findings."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract import rules
from bktools.currencies import MINOR_UNITS
from bktools.errors import ArgumentError, InputError
from bktools.export import checks
from bktools.export.tables import numbered, without_added
from bktools.frames.columns import amounts_of, days_of, text_of, with_column
from bktools.frames.engine import VERY_FEW_ROWS, are_few, engine, kept
from bktools.frames.names import FIRST, IDENTIFIERS, last_import
from bktools.frames.schema import COMPARED, TEXT, Month, split_lines

# The columns of findings; names, money and identifiers of the entry follow.
COLUMNS = ("check", "severity", "about", "message", "to_do", "who")

NO_CATEGORIES = pa.table({"id": pa.array([], TEXT), "name": pa.array([], TEXT)})

CURRENCIES = pa.table({"code": pa.array(MINOR_UNITS, TEXT), "units": pa.array(MINOR_UNITS.values(), pa.int8())})

# (missing name, names that must be there for this to matter, phrase in the plan)
_UNCHECKED = (
    ("entries.date", (), "dates (the entries have none)"),
    ("entries.amount", (), "amounts (the entries have none)"),
    ("entries.currency", (), "currencies (the entries have none)"),
    ("entries.approved", (), "approval (the entries have no status)"),
    ("categories", (), "categories and their accounts (no categories were given)"),
    ("accounts", ("categories",), "whether accounts are known and active (no accounts were given)"),
    ("employees", (), "employees (none were given)"),
    ("entries.employee_id", ("employees",), "employees (the entries have no employee_id)"),
    ("party", (), "suspected duplicates (the entries have neither supplier nor employee_id)"),
    ("history", (), "earlier exports (no history was given; the journal is checked when the plan is submitted)"),
)


@dataclass(frozen=True)
class Checker:
    """The frames and arguments that entries are checked with."""

    # The given ones of categories, accounts, employees and history by name, as `tables.arrow_of` returns them.
    frames: Mapping[str, pa.Table]
    # As `arguments_of` returns them.
    arguments: Mapping[str, Any]

    def first_errors(self, entries: pa.Table) -> pa.Table:
        """Return row, reason and message of each entry in the order of sending; both are null for a ready one."""
        if "categories" in self.frames and "category_id" not in entries.column_names:
            raise InputError("the entries have no column category_id: add it, or leave out categories")
        return self._run(checks.reasons_query, entries, _read_columns(entries))

    def findings(self, composed: pa.Table) -> pa.Table:
        """Return all findings of composed entries, most severe first; names, money and IDs of the entry come last."""
        entries = without_added(composed)
        is_held = pc.equal(composed.column("reason"), checks.HELD_TOGETHER)
        together = pa.table({"row": pa.array(np.flatnonzero(pc.fill_null(is_held, False)))})
        rows = self._run(
            checks.findings_query, entries, _with_texts(_read_columns(entries), entries), together=together
        )
        names = [name for name in (*FIRST, *IDENTIFIERS) if name in composed.column_names]
        by_check = {
            name: pa.array([getattr(check, name) for check in checks.CHECKS], TEXT).take(rows.column("number"))
            for name in ("name", "severity", "who")
        }
        about = composed.select(names).take(rows.column("row"))
        return pa.table(
            {"check": by_check["name"], "severity": by_check["severity"]}
            | {name: pc.cast(rows.column(name), TEXT) for name in ("about", "message", "to_do")}
            | {"who": by_check["who"]}
            | dict(zip(names, about.columns, strict=True))
        )

    def unchecked(self, entries: pa.Table) -> tuple[str, ...]:
        """Return a phrase for each check of entries that was skipped because its input is missing."""
        inputs = self._inputs(entries)
        return tuple(phrase for name, others, phrase in _UNCHECKED if name not in inputs and inputs.issuperset(others))

    def _inputs(self, entries: pa.Table) -> set[str]:
        """Return the names of the columns, frames and arguments that are there, as in `checks.inputs_of`."""
        columns = entries.column_names
        party = {"party"} if {"supplier", "employee_id"} & {*columns} else set()
        return {*self.frames, *self.arguments, *(f"entries.{name}" for name in columns)} | party

    def _run(
        self, query_of: Callable[[set[str]], str], entries: pa.Table, read: pa.Table, **tables: pa.Table
    ) -> pa.Table:
        query = query_of(self._inputs(entries))
        values = {"last_import": last_import(self.frames.get("accounts")), **self.arguments}
        named = set(re.findall(r"\$(\w+)", query))
        values = {name: value for name, value in values.items() if name in named}
        tables |= {"entries": read, "contents": _contents(entries), "currencies": CURRENCIES}
        tables |= {"categories": NO_CATEGORIES, **self.frames}
        if "history" in tables:
            tables["history"] = _compared(tables["history"], entries.column_names)
        with engine("compose_export_jobs", checks.MACROS, **tables) as connection:
            try:
                if are_few(tables.values(), VERY_FEW_ROWS):
                    return kept(connection, "checked_entries", query, values)
                return connection.sql(query, params=values).to_arrow_table()
            except duckdb.NotImplementedException as error:
                raise InputError(f"a column of the entries has an unknown type: convert or drop it ({error})") from None


def arguments_of(
    *, company: str | None = None, period: Month | None = None, currency: str | None = None
) -> dict[str, Any]:
    """Return the arguments of the checks by name: only those that were given."""
    arguments: dict[str, Any] = {}
    if company is not None:
        arguments["company"] = rules.uuid_text("company", company)
    if period is not None:
        named = rules.month("period", period)
        year, month = map(int, named.split("-"))
        last = dt.date(year, month, calendar.monthrange(year, month)[1])
        arguments |= {"period": named, "first": last.replace(day=1), "last": last}
    if currency is not None:
        if rules.text("currency", currency) not in MINOR_UNITS:
            raise ArgumentError("currency", "must be the code of a currency in ISO 4217, such as EUR", currency)
        arguments["currency"] = currency
    return arguments


def _compared(history: pa.Table, columns: Collection[str]) -> pa.Table:
    """Return a history without the columns that the entries lack: these are not compared."""
    for name in COMPARED:
        if name not in columns:
            history = with_column(history, name, pa.nulls(len(history), history.schema.field(name).type))
    return history


def _read_columns(entries: pa.Table) -> pa.Table:
    """Return the columns of entries that every query reads."""
    needs = set().union(*map(checks.inputs_of, checks.CHECKS)) - {"entries.date", "entries.split_line"}
    names = [name for name in entries.column_names if f"entries.{name}" in needs]
    columns = {name: entries.column(name) for name in ("id", "company_id", *names)}
    columns["amount"] = amounts_of(entries)
    columns["decimals"] = _decimals_of(columns["amount"])
    columns |= {name: text_of(entries, name) for name in COMPARED if name not in {"amount", "date"}}
    columns["day"] = days_of(entries)
    columns |= {name: split_lines(entries, name) for name in ("split_line", "split_lines")}
    table = numbered(pa.table(columns), "row")
    return table.append_column("line", entries.column("line") if "line" in entries.column_names else table["row"])


def _with_texts(read: pa.Table, entries: pa.Table) -> pa.Table:
    """Return the columns that findings read besides: the text of an entry, and its supplier or employee."""
    supplier, description = (_filled(text_of(entries, name)) for name in ("supplier", "description"))
    employee = _filled(text_of(entries, "employee_id"))
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
    content = content.rename_columns([str(number) for number in range(content.num_columns)])
    # Without its type, no rows would be an error before pyarrow 20.
    values = [batch.to_struct_array() for batch in content.to_batches()]
    return numbered(pa.table({"content": pa.chunked_array(values, pa.struct(content.schema))}), "row")


def _decimals_of(amounts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the decimals that amounts need, counted in numbers of decimals that currencies have; null without an amount.

    An amount that needs more than any currency has its own number of digits after the point.
    """
    kind = amounts.type
    scale = max(getattr(kind, "scale", 0), 0)
    if scale and kind.precision == scale:
        # Rounding needs a digit before the point.
        amounts = pc.cast(amounts, pa.decimal256(kind.precision + 1, scale))
    needed = pc.if_else(pc.is_valid(amounts), pa.scalar(scale, pa.int8()), pa.scalar(None, pa.int8()))
    for units in sorted({units for units in MINOR_UNITS.values() if units < scale}, reverse=True):
        is_enough = pc.equal(pc.round(amounts, units, "towards_zero"), amounts)
        needed = pc.if_else(is_enough, pa.scalar(units, pa.int8()), needed)
    return needed
