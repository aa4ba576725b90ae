"""The two frames of a match as Arrow tables, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of
from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.columns import (
    refuse_gaps,
    require_columns,
    require_kinds,
    tables_in_one_scale,
    with_column,
)
from bktools.frames.incoming import in_memory, source_of
from bktools.ledger.steps import Grain

# The kinds of the used columns by frame, in the words of `frames.columns.KINDS`.
TEXTS = ("entry_id", "batch_id", "company_id", "state", "account_code", "currency", "supplier", "description")
POSTING_TEXTS = (
    "account_code",
    "currency",
    "text",
    "document_number",
    "voucher_id",
    "foreign_currency",
    "cost_centre",
)
DATE_AND_AMOUNT = {"date": "a date", "amount": "an exact number"}
USED: Mapping[str, Mapping[str, str]] = {
    "exported": dict.fromkeys((*TEXTS, "document_number", "tax_code", "cost_centre"), "text")
    | DATE_AND_AMOUNT,
    "ledger": dict.fromkeys(POSTING_TEXTS, "text") | DATE_AND_AMOUNT | {"foreign_amount": "an exact number"},
}
# The columns that each frame must have, without gaps, and the function that returns such a frame.
REQUIRED = {
    "exported": (("entry_id",), "load_export_jobs(entries=True)"),
    "ledger": (("account_code", "date", "amount"), "read_general_ledger"),
}

# The columns that a match adds to entries, besides the posting's; an entry has no others of these names.
ADDED = (
    "matched_by",
    "status",
    "bookings",
    "differences",
    "check",
    "reason",
    "severity",
    "about",
    "message",
    "to_do",
    "who",
    "facts",
)
OF_POSTING = "booked_"


@dataclass(frozen=True)
class Inputs:
    """The frames as they are matched, with all their columns."""

    # The entries that may be in the ledger; their IDs are in `entry_id`.
    exported: pa.Table
    ledger: pa.Table
    # Columns that are not compared, with the reason.
    unchecked: tuple[str, ...]
    # The columns that both frames have.
    compared: frozenset[str]

    @property
    def money(self) -> pa.DataType:
        """The type of the amounts on both sides."""
        return self.ledger.schema.field("amount").type


def read(exported: Any, ledger: Any, *, are_sent: bool = True) -> Inputs:
    """Return both frames as Arrow tables; raise when one cannot be matched.

    Of entries that `are_sent` those of batches that were not sent are left out.
    """
    entries, postings = _table(exported, "exported"), _table(ledger, "ledger")
    if "entry_id" not in entries.column_names and "id" in entries.column_names:
        names = ["entry_id" if name == "id" else name for name in entries.column_names]
        entries = entries.rename_columns(names)
    entries = entries.drop_columns(
        [name for name in entries.column_names if name in ADDED or name.startswith(OF_POSTING)]
    )
    # Arrow compares no other amounts exactly.
    entries, postings = tables_in_one_scale(_checked(entries, "exported"), _checked(postings, "ledger"))
    if postings.schema.field("amount").type.bit_width > schema.MONEY.bit_width:
        raise InputError(f"the amounts need more than {schema.DIGITS} digits", source="exported and ledger")
    entries, left_out = _sent(entries) if are_sent else (entries, [])
    _refuse_companies(entries)
    compared = frozenset(
        name for name in postings.column_names if has_values(entries, name) and has_values(postings, name)
    )
    return Inputs(entries, postings, (*_not_compared(entries, postings), *left_out), compared)


class Said(NamedTuple):
    """How a ledger books, as a person says."""

    grain: Grain | None
    # -1 where credits are costs.
    sign: int | None


def said_of(ledger: Any, style: str | None = None, reverse_sign: bool | None = None) -> Said:  # noqa: FBT001 - as a caller gave it
    """Return how a person says that a ledger books, by these arguments, else by those it was read with."""
    about = source_of(ledger)
    style = about.get("style") if style is None else style
    is_reversed = about.get("reverse_sign") if reverse_sign is None else reverse_sign
    if style is not None and style not in schema.STYLES:
        raise ArgumentError(name_of("style"), f"must be one of {', '.join(schema.STYLES)}", style)
    grain = None if style is None else Grain(schema.STYLES.index(style))
    return Said(grain, None if is_reversed is None else (-1 if is_reversed else 1))


def _table(frame: Any, name: str) -> pa.Table:
    table = in_memory(frame, name)
    # Arrow takes no rows of the texts of Polars.
    is_view = pa.types.is_string_view
    return table.cast(
        pa.schema([field.with_type(schema.TEXT) if is_view(field.type) else field for field in table.schema])
    )


def _checked(table: pa.Table, name: str) -> pa.Table:
    """Return a table with one type for all texts and dates that are used; raise when it cannot be matched."""
    needed, source = REQUIRED[name]
    require_columns(name, table.column_names, needed, source)
    require_kinds(name, table.schema, USED[name])
    refuse_gaps(name, {column: table.column(column).null_count for column in needed})
    for column in table.column_names:
        wanted = USED[name].get(column)
        if wanted == "a date":
            table = with_column(table, column, pc.cast(table.column(column), schema.DATE, safe=False))
        elif wanted == "text":
            table = with_column(table, column, pc.cast(table.column(column), schema.TEXT))
    return table


def _sent(entries: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the entries that may have been booked, and a phrase about the others."""
    if "state" not in entries.column_names:
        return entries, []
    was_sent = pc.is_in(entries.column("state"), pa.array([*schema.MAYBE_SENT, None], schema.TEXT))
    not_sent = entries.filter(pc.invert(was_sent))
    states = ", ".join(sorted(set(not_sent.column("state").to_pylist())))
    return entries.filter(was_sent), [
        f"{len(not_sent):,} entries of batches that were not sent ({states})"
    ] if states else []


def _refuse_companies(entries: pa.Table) -> None:
    if "company_id" in entries.column_names:
        companies = pc.unique(entries.column("company_id").drop_null())
        count = len(pc.unique(pc.ascii_lower(companies)))
        if count > 1:
            raise ArgumentError(
                "exported", f"holds {count} companies and a ledger is of one: give the entries of one company"
            )


def _not_compared(entries: pa.Table, postings: pa.Table) -> list[str]:
    needed = {"account_code": "accounts", "date": "dates", "amount": "amounts", "currency": "currencies"}
    phrases = [
        f"{noun}: {name} {column}"
        for column, noun in needed.items()
        for name, table in (("the exported entries have no", entries), ("the ledger has no", postings))
        if not has_values(table, column)
    ]
    if not (has_values(entries, "description") or has_values(entries, "supplier")):
        phrases.append("texts: the exported entries have no description and no supplier")
    if not has_values(postings, "text"):
        phrases.append("texts: the ledger has no text")
    if not has_values(postings, "voucher_id"):
        phrases.append("net and tax in several postings: the ledger has no voucher_id")
    return phrases


def has_values(table: pa.Table, name: str) -> bool:
    """Whether a table has a column with a value; the journal has all columns, empty ones, too."""
    return name in table.column_names and (not len(table) or table.column(name).null_count < len(table))


def explained_rows(inputs: Inputs, explained: Sequence[str]) -> list[int]:
    """Return the rows of the postings of vouchers, or documents, that a person has looked up."""
    wanted = {" ".join(name.split()): name for name in explained}
    rows: set[int] = set()
    for number, name in wanted.items():
        own = {
            row
            for column in ("voucher_id", "document_number")
            if has_values(inputs.ledger, column)
            for row, value in enumerate(inputs.ledger.column(column).to_pylist())
            if value and " ".join(value.split()) == number
        }
        if not own:
            raise ArgumentError(name_of("explained"), "must name a voucher or a document of the ledger", name)
        rows |= own
    return sorted(rows)
