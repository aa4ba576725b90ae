"""The two frames of a match as Arrow tables, checked."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.columns import (
    refuse_gaps,
    require_columns,
    require_kinds,
    split_lines,
    tables_in_one_scale,
    texts_of,
    with_types,
    without_columns,
)
from bktools.frames.incoming import in_memory, source_of
from bktools.ledger.whole_numbers import are_distinct
from bktools.wording import Sentence

EPOCH = dt.date(1970, 1, 1)

# The kinds of the used columns by frame, in the words of `frames.columns.KINDS`.
TEXTS = (
    "entry_id batch_id company_id state account_code currency supplier description document_number "
    "employee_id tax_code cost_centre period"
)
POSTING_TEXTS = "account_code currency text document_number voucher_id foreign_currency cost_centre"
DATE_AND_AMOUNT = {"date": "a date", "amount": "an exact number"}
USED: Mapping[str, Mapping[str, str]] = {
    "exported": dict.fromkeys(TEXTS.split(), "text") | DATE_AND_AMOUNT,
    "ledger": dict.fromkeys(POSTING_TEXTS.split(), "text")
    | DATE_AND_AMOUNT
    | {"foreign_amount": "an exact number"},
}
TYPES = {"text": schema.TEXT, "a date": schema.DATE}
# The columns that each frame must have, without gaps, and the function that returns such a frame.
REQUIRED = {
    "exported": (("entry_id",), "load_export_jobs(entries=True)"),
    "ledger": (("account_code", "date", "amount"), "read_general_ledger"),
}

# The columns that a match adds to entries, besides the posting's; an entry has no others of these names.
ADDED = ("status", "days_late", "differences", "reason", "to_do", "who")
OF_POSTING = "booked_"
# Columns without which less is compared, by frame.
EXPECTED = {
    "exported": ("account_code", "date", "amount", "currency"),
    "ledger": ("currency", "text", "voucher_id"),
}


# Amounts have two decimals at least.
CENTS = pa.table({"amount": pa.array([], pa.decimal128(schema.DIGITS, 2))})


@dataclass(frozen=True)
class Inputs:
    """The frames as they are matched, with all their columns.

    Parameters
    ----------
    entries : pyarrow.Table
        The entries that may be in the ledger; their IDs are in `entry_id`.
    ledger : pyarrow.Table
        The postings; the amounts of both tables have the same decimals.
    lacking : tuple
        The columns that a frame lacks: its name, and the column's.
    not_sent : mapping
        How many entries of batches that were not sent were left out, by state.
    explained : frozenset of int
        Rows of the postings of vouchers, or documents, that a person has looked up: they hold no entry.
    until : int or None
        The last day that the ledger shows, in days since 1970, where its file says when it was exported.
    """

    entries: pa.Table
    ledger: pa.Table
    lacking: tuple[tuple[str, str], ...]
    not_sent: Mapping[str, int]
    explained: frozenset[int]
    until: int | None

    @property
    def scale(self) -> int:
        """The decimals of the amounts."""
        return int(self.ledger.schema.field("amount").type.scale)


def read(exported: Any, ledger: Any, explained: Sequence[str] = (), *, are_sent: bool = True) -> Inputs:
    """Return both frames as Arrow tables; raise when one cannot be matched.

    Of entries that `are_sent` those of batches that were not sent are left out.
    """
    entries, postings = in_memory(exported, "exported"), postings_in(ledger)
    if "entry_id" not in entries.column_names and "id" in entries.column_names:
        names = ["entry_id" if name == "id" else name for name in entries.column_names]
        entries = entries.rename_columns(names)
    of_posting = [name for name in entries.column_names if name.startswith(OF_POSTING)]
    entries = without_columns(entries, [*ADDED, *of_posting])
    entries, postings, _ = tables_in_one_scale(_checked(entries, "exported"), postings, CENTS)
    if postings.schema.field("amount").type.bit_width > schema.MONEY.bit_width:
        raise InputError(Sentence("error.too_many_digits", most=schema.DIGITS), source="exported and ledger")
    not_sent: Mapping[str, int] = {}
    if are_sent and "state" in entries.column_names:
        entries, not_sent = _sent(entries)
    _refuse_companies(entries)
    _refuse_repeated(entries)
    tables = {"exported": entries, "ledger": postings}
    lacking = ((name, column) for name, columns in EXPECTED.items() for column in columns)
    return Inputs(
        entries,
        postings,
        tuple((name, column) for name, column in lacking if not has_values(tables[name], column)),
        not_sent,
        _explained_rows(postings, explained),
        _last_day(ledger, postings),
    )


def postings_in(ledger: Any) -> pa.Table:
    """Return a ledger as an Arrow table; raise when it cannot be matched."""
    return _checked(in_memory(ledger, "ledger"), "ledger")


def options_of(
    ledger: Any,
    style: str | None = None,
    reverse_sign: bool | None = None,  # noqa: FBT001 - as a caller gave it
    currency: str | None = None,
) -> dict[str, Any]:
    """Return what a person says about a ledger, by these arguments, else by those it was read with."""
    source = source_of(ledger)
    style = source.get("style") if style is None else style
    if style is not None and style not in schema.STYLES:
        raise ArgumentError("style", Sentence("rule.one_of", choices=", ".join(schema.STYLES)), style)
    is_reversed = source.get("reverse_sign") if reverse_sign is None else reverse_sign
    return {"style": style, "reverse_sign": is_reversed, "currency": currency}


def _last_day(ledger: Any, postings: pa.Table) -> int | None:
    """Return the last day that a ledger shows; postings of later days are planned, and show nothing."""
    exported_at = source_of(ledger).get("exported_at")
    days = postings.column("date")
    if not exported_at or not len(days):
        return None
    last: dt.date = min(dt.date.fromisoformat(exported_at), pc.max(days).as_py())
    return (last - EPOCH).days


def _explained_rows(ledger: pa.Table, explained: Sequence[str]) -> frozenset[int]:
    """Return the rows of vouchers, or documents, by their names."""
    by_name = defaultdict(set)
    for column in ("voucher_id", "document_number") if explained else ():
        for row, value in enumerate(texts_of(ledger, column)):
            by_name[" ".join((value or "").split())].add(row)
    names = [" ".join(name.split()) for name in explained]
    for name in names:
        if not name or name not in by_name:
            raise ArgumentError("explained", Sentence("rule.voucher"), name)
    return frozenset().union(*(by_name[name] for name in names))


def has_values(table: pa.Table, name: str) -> bool:
    """Whether a table has a column with a value; the journal has all columns, empty ones, too."""
    return name in table.column_names and (not len(table) or table.column(name).null_count < len(table))


def _checked(table: pa.Table, name: str) -> pa.Table:
    """Return a table with one type for all texts and dates that are used; raise when it cannot be matched."""
    needed, source = REQUIRED[name]
    require_columns(name, table.column_names, needed, source)
    require_kinds(name, table.schema, USED[name])
    refuse_gaps(name, {column: table.column(column).null_count for column in needed})
    types = {column: TYPES[kind] for column, kind in USED[name].items() if kind in TYPES}
    return with_types(table, types, name)


def _sent(entries: pa.Table) -> tuple[pa.Table, dict[str, int]]:
    """Return the entries that may have been booked, and the number of the others by state."""
    was_sent = pc.is_in(entries.column("state"), pa.array([*schema.MAYBE_SENT, None], schema.TEXT))
    states = entries.filter(pc.invert(was_sent)).column("state").value_counts().to_pylist()
    return entries.filter(was_sent), {state["values"]: state["counts"] for state in states}


def _refuse_companies(entries: pa.Table) -> None:
    if "company_id" in entries.column_names:
        companies = pc.unique(entries.column("company_id").drop_null())
        count = len(pc.unique(pc.ascii_lower(companies)))
        if count > 1:
            raise ArgumentError("exported", Sentence("rule.one_company", count=count))


def _refuse_repeated(entries: pa.Table) -> None:
    """Refuse entries that are there twice; of a split entry each line is there once."""
    ids = pl.Series(pl.from_arrow(entries.column("entry_id"))).str.to_lowercase()
    if are_distinct(ids):
        return
    keys = pl.DataFrame({"id": ids, "line": pl.Series(split_lines(entries))})
    repeated = sorted({*keys["id"].filter(keys.is_duplicated())})
    if repeated:
        raise InputError(
            Sentence("error.repeated_entries", count=len(repeated), first=repeated[0]), source="exported"
        )
