"""All that the checks of entries read: one row per entry, with what the other frames say of it.

Each function adds columns. Those that need a frame or a column that is missing add nothing, so that the
checks which read them are skipped.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from bktools.currencies import MINOR_UNITS
from bktools.export.keys import joined, lower
from bktools.export.sent_before import with_history, with_sent_twins
from bktools.export.twins import with_twins
from bktools.export.usual import with_amounts_before, with_usual
from bktools.frames import schema
from bktools.frames.names import import_of
from bktools.frames.repeats import with_repeats
from bktools.ledger.holdings import Held

c = pl.col

CURRENCIES = pl.DataFrame(
    {"currency": [*MINOR_UNITS], "units": pl.Series([*MINOR_UNITS.values()], dtype=pl.Int8)}
)

# Columns of entries that are read as they are.
_TEXTS = (
    "company_id",
    "currency",
    "category_id",
    "category_name",
    "employee_id",
    "employee_name",
    "cost_centre",
    "tax_code",
    "supplier",
    "description",
    "export_status",
)

_OTHERS = ("approved", "amount", "date", "split_line", "split_lines", "line")

# Who was paid: the first of these columns that is filled.
PARTIES = {"supplier": "supplier", "employee_id": "employee"}

BLANK = " \t\r\n"


@dataclass(frozen=True)
class Arguments:
    """The arguments of the checks; None where one was not given.

    Parameters
    ----------
    company : str
        The only company that is exported.
    period : str
        The month, as 2026-10; `first_day` and `last_day` are its days.
    own_currency : str
        The company's own currency.
    """

    company: str | None = None
    period: str | None = None
    first_day: dt.date | None = None
    last_day: dt.date | None = None
    own_currency: str | None = None


# A person's word in the journal for an export by hand in the service, beside the words of a file.
RECORDED = "recorded"


def columns_of(entries: pa.Table, frames: Mapping[str, pl.DataFrame], arguments: Arguments) -> pl.DataFrame:
    """Return a row for each entry, in the order of the entries, with all columns that errors need.

    Parameters
    ----------
    entries : pyarrow.Table
        As `typed` returns it.
    frames : mapping
        Those given of categories, accounts, employees and history, as Polars frames made by `typed`.
    arguments : Arguments
        What the caller said.
    """
    rows = _read(entries)
    rows = rows.with_columns(
        **{name: pl.lit(value) for name, value in vars(arguments).items() if value is not None}
    )
    rows = _with_known(rows, frames)
    if "currency" in rows.columns:
        rows = rows.join(CURRENCIES, on="currency", how="left", maintain_order="left")
    if "categories" in frames and "category_key" in rows.columns:
        rows = _with_categories(rows, frames["categories"])
    if "accounts" in frames and "account_key" in rows.columns:
        rows = _with_accounts(rows, frames["accounts"])
    if "employees" in frames and "employee_id" in rows.columns:
        ids = frames["employees"].select(employee_key=lower("id"), employee_found=pl.lit(value=True)).unique()
        rows = joined(rows.with_columns(employee_key=lower("employee_id")), ids, "employee_key")
    if "history" in frames:
        rows = _with_party(rows)
    rows = with_repeats(rows, entries)
    if "history" in frames:
        rows = with_history(rows, frames["history"], frames.get("categories"))
        rows = with_sent_twins(rows, frames["history"])
        rows = with_amounts_before(rows, frames["history"])
    return rows


def further_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `columns_of` with the columns that only warnings and infos need."""
    return with_usual(with_twins(rows if "party" in rows.columns else _with_party(rows)))


def _read(entries: pa.Table) -> pl.DataFrame:
    """Return the columns of entries that the checks read, with the category as a key."""
    names = [name for name in ("id", *_TEXTS, *_OTHERS) if name in entries.column_names]
    rows = pl.DataFrame(entries.select(names)).with_row_index("row")
    number = c.split_line.fill_null(0) if "split_line" in names else pl.lit(0, pl.Int64)
    # How many lines an entry has says nothing where they have no numbers.
    lines = c.split_lines.fill_null(0) if {"split_line", "split_lines"} <= {*names} else number
    rows = rows.with_columns(split_line=number, split_lines=lines)
    if "date" in names:
        rows = rows.rename({"date": "day"})
    if "category_id" in names:
        rows = rows.with_columns(category_key=lower("category_id"))
    missing = [name for name in ("category_name", "employee_name") if name not in names]
    return rows.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)


def _with_party(rows: pl.DataFrame) -> pl.DataFrame:
    """Add who was paid: the supplier, or else the employee."""
    columns = [name for name in PARTIES if name in rows.columns]
    if not columns:
        return rows
    filled = {name: c(name).str.strip_chars() != "" for name in columns}
    texts = [pl.when(is_filled).then(c(name).str.strip_chars()) for name, is_filled in filled.items()]
    kinds = [pl.when(is_filled).then(pl.lit(PARTIES[name])) for name, is_filled in filled.items()]
    return rows.with_columns(
        party=pl.coalesce(texts).str.to_lowercase(), party_kind=pl.coalesce(*kinds, pl.lit("employee"))
    )


def _with_known(rows: pl.DataFrame, frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Add what is known of an export outside of the journal: by the file of the entry, or by the journal.

    What an earlier ledger held is shown as it was then. What one left open stays so, unless a person has
    cleared it: with fewer entries, another verdict knows less.
    """
    ids = {name: frames[name]["id"].implode() for name in ("elsewhere", "maybe_booked", "not_booked")}
    status = c.export_status if "export_status" in rows.columns else pl.lit(None, pl.String)
    by_file = pl.when(status.is_in(schema.EXPORTED_ELSEWHERE)).then(status)
    recorded = pl.when(c.id.is_in(ids["elsewhere"])).then(pl.lit(RECORDED))
    booked = pl.when(c.voucher.is_not_null()).then(pl.lit(Held.ALREADY_BOOKED.value))
    may_be = pl.when(c.id.is_in(ids["maybe_booked"])).then(pl.lit(Held.MAYBE_BOOKED.value))
    places = dict(frames["maybe_booked"].drop_nulls().iter_rows()) or {"": ""}
    left_open = c.id.replace_strict(places, default=None, return_dtype=pl.String)
    return joined(rows, frames["elsewhere"], "id").with_columns(
        elsewhere=pl.when(c.voucher.is_null()).then(pl.coalesce(by_file, recorded)),
        in_books=pl.coalesce(booked, may_be),
        voucher=pl.coalesce(pl.when(c.voucher != "").then(c.voucher), left_open).replace("", None),
        is_cleared=c.id.is_in(ids["not_booked"]),
    )


def _with_categories(rows: pl.DataFrame, categories: pl.DataFrame) -> pl.DataFrame:
    """Add the category's facts: several rows in combined snapshots, each of which may hold an entry back."""
    account = lower("account_id").str.strip_chars(BLANK)
    account = pl.when(account != "").then(account)
    company = lower("company_id")
    known = categories.group_by(category_key=lower("id")).agg(
        category_company=pl.when(company.min() == company.max()).then(company.min()),
        category_archived=c.archived.any(ignore_nulls=True),
        account_key=pl.when(account.is_not_null().all()).then(account.min()),
        known_name=c.name.min(),
        category_found=pl.lit(value=True),
    )
    rows = joined(rows, known.filter(c.category_key.is_not_null()), "category_key")
    return rows.with_columns(category_name=pl.coalesce("known_name", "category_name"))


def _with_accounts(rows: pl.DataFrame, accounts: pl.DataFrame) -> pl.DataFrame:
    """Add what is known of the category's account, and when a list of accounts was last imported."""
    tax_code = c.tax_code_external_id.str.strip_chars(" ")
    known = accounts.group_by(account_key=lower("id")).agg(
        account_archived=c.archived.any(ignore_nulls=True),
        account_in_chart=c.in_chart.all(ignore_nulls=True),
        wanted_tax_code=pl.when(tax_code != "").then(tax_code).max(),
        account_found=pl.lit(value=True),
    )
    rows = joined(rows, known.filter(c.account_key.is_not_null()), "account_key")
    imported = import_of(accounts.to_arrow())
    return rows.with_columns(
        known_since=pl.lit(imported.day, pl.String), none_imported=pl.lit(imported.none, pl.Boolean)
    )
