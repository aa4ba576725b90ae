"""Columns and types of every frame, and the conversion between Arrow and pandas.

Frames have the interface's field names in snake_case. Text is pandas `str`, flags are `bool`, timestamps are
in UTC, calendar dates have no time zone, and money is float64 (`bktools.frames.money`). Missing values stay
null: a column of counts that lacks one is `Int64`.

The types are the same with pandas 2 and 3. Frames that you make yourself differ: pandas 2 makes objects of
text, which are read alike, and its `astype("str")` turns a missing value into the text "None".
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, get_args

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from bktools.contract.categories import Category
from bktools.errors import InputError
from bktools.frames import money as amounts
from bktools.wording import Sentence

# Arguments: a moment such as 2026-10-31 or an ISO 8601 instant, where a month or a day means its end; a month
# such as 2026-10, or a day or a time in it.
Moment = str | dt.date | dt.datetime | pd.Period | np.datetime64
Month = Moment

# Converting large_string to pandas `str` takes a third of the time of string.
TEXT = pa.large_string()
# The types that text may have.
TEXTS = (pa.string(), TEXT, pa.string_view())
FLAG = pa.bool_()
COUNT = pa.int64()
INSTANT = pa.timestamp("us", tz="UTC")
DATE = pa.date32()
# Money of Arrow tables has all digits of a decimal; the scale comes from the file, and is 2 without rows.
DIGITS = amounts.DIGITS
# Digits of one amount: it is a whole number of 64 bits, in its smallest unit, and no sum of such amounts
# reaches the 38 digits at which decimals wrap around.
AMOUNT_DIGITS = 18
MONEY = pa.decimal128(DIGITS, 2)


# Types by their names in the descriptions of columns.
NAMED = {"text": TEXT, "flag": FLAG, "count": COUNT, "date": DATE, "instant": INSTANT, "money": MONEY}


def _columns(described: str) -> dict[str, pa.DataType]:
    """Return the type of each column of a description such as "id text, amount money"."""
    return {name: NAMED[kind] for name, kind in (column.split() for column in described.split(","))}


def _schema(required: str, optional: str) -> pa.Schema:
    fields = [pa.field(name, kind, nullable=False) for name, kind in _columns(required).items()]
    return pa.schema(fields + [pa.field(name, kind) for name, kind in _columns(optional).items()])


# Numbers of the service, such as rates, exact to this many decimals; a record with more of them is refused.
# With more of them, Python would write a zero with an exponent.
DECIMALS = 6
EXACT = pa.decimal128(DIGITS, DECIMALS)

# Types of a record's fields. Free-form JSON stays text.
ARROW_TYPES = {
    str: TEXT,
    bool: FLAG,
    int: COUNT,
    Decimal: EXACT,
    dt.date: DATE,
    dt.datetime: INSTANT,
    msgspec.Raw: TEXT,
}


def field_type(field: msgspec.structs.FieldInfo) -> Any:
    """Return the type of a record's field, without `None`."""
    return next(kind for kind in (*get_args(field.type), field.type) if kind is not type(None))


def schema_of(record: type[msgspec.Struct]) -> pa.Schema:
    """Return the columns of a record: its fields, with those of a nested record prefixed by its name."""
    columns = []
    for item in msgspec.structs.fields(record):
        kind = field_type(item)
        is_required = item.default is msgspec.NODEFAULT
        if issubclass(kind, msgspec.Struct):
            columns += [
                nested.with_name(f"{item.name}_{nested.name}").with_nullable(
                    nested.nullable or not is_required
                )
                for nested in schema_of(kind)
            ]
        else:
            columns.append(pa.field(item.name, ARROW_TYPES[kind], nullable=not is_required))
    return pa.schema(columns)


CATEGORIES = schema_of(Category)

# A chart of accounts as read from the ERP's file. `line` is the line of the file; the heading is line 1.
CHART = _schema(
    "external_id text, code text, name text, archived flag",
    "tax_code_external_id text, company_id text, type text, line count",
)

# The accounts in the journal: created, matched or imported. `id` is null where it is unknown.
ACCOUNTS = _schema(
    "company_id text, external_id text, state text",
    "id text, name text, code text, tax_code_external_id text, archived flag, metadata text, message text, "
    "updated_at instant",
)

# States of an account that exists in the service. An account in another state was refused or may not have
# arrived, so it may be created again.
KNOWN_STATES = ("CREATED", "MATCHED", "EXISTS", "IMPORTED")

# Accounting entries as read from a file. A file without an approval column gives a frame without `status`,
# `approved`. `category_name` and `employee_name` are as the file writes them; the names of the service take
# their place where its categories and employees are given. `split_line` is the number of a line of a split
# entry, from 1, and `split_lines` how many lines the entry has; 0 for an entry of one line. `export_status`
# is what the file says of exports that were made elsewhere: exported, queued, in_progress or not_exported.
EXPORTED_ELSEWHERE = ("exported", "queued", "in_progress")
ENTRIES = _schema(
    "id text, company_id text",
    "date date, amount money, currency text, category_id text, category_name text, employee_id text, "
    "employee_name text, status text, approved flag, export_status text, supplier text, description text, "
    "cost_centre text, tax_code text, split_line count, split_lines count, line count",
)

# How a general ledger books, as a person says it: the units that have one posting (`ledger.booking_units`).
STYLES: Mapping[str, tuple[str, ...]] = {
    "entry": ("entry", "receipt"),
    "supplier_day": ("supplier_day",),
    "account_day": ("day", "work_day", "open_day"),
    "week": ("week", "batch_week"),
    "document": ("document",),
    "batch": ("batch", "batch_supplier", "batch_employee"),
    "month": ("month",),
}

# Postings of a general ledger as read from a file: debit is positive.
LEDGER = _schema(
    "account_code text, date date, amount money",
    "account_name text, currency text, foreign_amount money, foreign_currency text, text text, "
    "document_number text, voucher_id text, tax_code text, cost_centre text, line count",
)

EXPORT_JOBS = _schema(
    "batch_id text, company_id text, state text, entries count",
    "job_id text, job_status text, message text, planned_at instant, sent_at instant, settled_at instant",
)

# PLANNED   submitted and not sent yet
# SENDING   its request is being sent, or was when the process was killed
# ACCEPTED  the service created the job; whether the job completed is unknown
# REJECTED  the service refused it; nothing was booked
# UNKNOWN   the request may have arrived; a person must look
# RELEASED  a person found that nothing was booked, or a later plan replaced it before it was sent
BATCH_STATES = ("PLANNED", "SENDING", "ACCEPTED", "REJECTED", "UNKNOWN", "RELEASED")
# States of a batch that may be booked or not, and of one that was sent, or may have been.
IN_DOUBT = ("SENDING", "UNKNOWN")
MAYBE_SENT = ("ACCEPTED", *IN_DOUBT)

# The data that the journal keeps of each entry when it is sent, null where it was unknown.
_ENTRY_DATA = (
    "date date, amount money, currency text, category_id text, category_name text, account_code text, "
    "account_name text, employee_id text, employee_name text, supplier text, description text, "
    "cost_centre text, tax_code text"
)
ENTRY_DATA = _columns(_ENTRY_DATA)

# The fields of these that are compared when an entry comes again.
COMPARED = ("date", "amount", "currency", "category_id", "cost_centre", "tax_code", "supplier")

EXPORTED_ENTRIES = _schema(
    "entry_id text, batch_id text, company_id text, state text",
    f"job_id text, sent_at instant, split_line count, {_ENTRY_DATA}, period text",
)

# The reason of an entry that the ledger has already: no person has anything to do.
ALREADY_BOOKED = "already_booked"
# All reasons of an entry that is in the books: by the ledger, or by a person's word.
BOOKED = (ALREADY_BOOKED, "exported_elsewhere")

# The months of a company: one row per month and currency. The columns of the last close are null without one.
PERIODS = _schema(
    "company_id text, period text, state text",
    "currency text, exported count, exported_amount money, in_doubt count, in_doubt_amount money, "
    "in_books count, in_books_amount money, "
    "held_back count, held_back_amount money, open count, open_amount money, prepared_by text, "
    "approved_by text, applied_at instant, changed_by text, changed_at instant, reason text, "
    "verified_by text, verified_at instant, verified_against text, verified_result text, unverified count",
)

# Changes of the states of batches. `before` is null for a new batch.
EXPORT_EVENTS = _schema(
    "at instant, batch_id text, company_id text, after text, done_by text", "before text, message text"
)

# The type of text in frames: pandas 3's `str`. pandas 2 knows it by this name only, and would make objects.
STRINGS = pd.StringDtype("pyarrow", na_value=np.nan)


def _pandas_type(kind: pa.DataType) -> Any:
    if kind in TEXTS:
        return STRINGS
    # An object column of Decimal would be slow and lose its scale.
    return pd.ArrowDtype(kind) if pa.types.is_decimal(kind) else None


def to_pandas(
    table: pa.Table, provenance: Mapping[str, Any] | None = None, *, money: str | None = None
) -> pd.DataFrame:
    """Return an Arrow table as a DataFrame with the types above.

    `provenance` is the source of the rows, which `frame.attrs["bktools"]` keeps. `money` is the form of
    amounts: "float", which refuses an amount that a float does not keep, or "decimal". By default a column is
    float where it can be.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and money != "decimal":
            column = amounts.floats(table.column(place))
            if column is None and money == "float":
                long = f"{amounts.longest(table.column(place)):f}"
                facts = {"name": field.name, "value": long, "most": amounts.FLOAT_DIGITS}
                raise InputError(Sentence("error.digits_read_as_float", **facts))
            table = table if column is None else table.set_column(place, field.name, column)
    frame: pd.DataFrame = table.to_pandas(types_mapper=_pandas_type, date_as_object=False)
    # pandas would make floats of whole numbers beside a null: line 62.0.
    counts = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    frame = frame.astype({name: "Int64" for name in counts if table.column(name).null_count})
    if provenance is not None:
        frame.attrs["bktools"] = dict(provenance)
    return frame
