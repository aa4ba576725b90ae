"""The two frames of a match as Arrow tables, checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import ArgumentError, InputError
from bktools.frames import schema
from bktools.frames.engine import scannable

# States of a batch whose entries may be in the ledger; entries of other batches were not sent, or refused.
SENT = ("ACCEPTED", "UNKNOWN", "SENDING")

# The type of each column that is used, by frame. A column of nulls alone fits every type.
TEXTS = ("entry_id", "batch_id", "company_id", "state", "account_code", "currency", "supplier", "description")
USED: Mapping[str, Mapping[str, str]] = {
    "exported": dict.fromkeys((*TEXTS, "document_number"), "text") | {"date": "a date", "amount": "an exact number"},
    "ledger": dict.fromkeys(("account_code", "currency", "text", "document_number", "voucher_id"), "text")
    | {"date": "a date", "amount": "an exact number"},
}
IS_KIND: Mapping[str, Callable[[pa.DataType], bool]] = {
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
    "a date": lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
    "an exact number": lambda kind: pa.types.is_decimal(kind) or pa.types.is_integer(kind),
}

# The columns with the texts that are compared.
TEXTS_OF = {"exported": ("supplier", "description"), "ledger": ("text",)}

# Texts that repeat: each different one is held, compared and copied once.
REPEATED = ("account_code", "currency")
LONGEST_AMOUNT = 38


@dataclass(frozen=True)
class Inputs:
    """The frames as they are matched.

    Attributes
    ----------
    exported : pyarrow.Table
        The entries that may be in the ledger, with `entry_id` and all their other columns.
    ledger : pyarrow.Table
        The postings, with all their columns.
    unchecked : tuple of str
        What is not compared, and why.
    compared : frozenset of str
        The columns that both frames have.
    """

    exported: pa.Table
    ledger: pa.Table
    unchecked: tuple[str, ...]
    compared: frozenset[str]

    @property
    def money(self) -> pa.DataType:
        """The type of the amounts on both sides."""
        return self.ledger.schema.field("amount").type

    def texts(self, side: str, rows: list[int]) -> list[str]:
        """Return the texts of some rows of one side, "exported" or "ledger"; "" where a row has none."""
        table: pa.Table = getattr(self, side)
        names = [name for name in TEXTS_OF[side] if has_values(table, name)]
        columns = table.select(names).take(pa.array(rows, schema.COUNT)).to_pydict().values()
        return [" ".join(filter(None, texts)) for texts in zip(*columns, strict=True)] if names else [""] * len(rows)


def read(exported: Any, ledger: Any) -> Inputs:
    """Return both frames as Arrow tables; raise when one cannot be matched."""
    entries, postings = _table(exported, "exported"), _table(ledger, "ledger")
    if "entry_id" not in entries.column_names and "id" in entries.column_names:
        names = ["entry_id" if name == "id" else name for name in entries.column_names]
        entries = entries.rename_columns(names)
    for name, table, needed in (
        ("exported", entries, ["entry_id"]),
        ("ledger", postings, ["account_code", "date", "amount"]),
    ):
        missing = [column for column in needed if column not in table.column_names]
        if missing:
            source = "load_export_jobs(entries=True)" if name == "exported" else "read_general_ledger"
            raise InputError(
                f"needs the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: give it as {source} returns it",
                source=name,
            )
    entries, postings = _in_one_scale(_typed(entries, "exported"), _typed(postings, "ledger"))
    for name, table, column in (
        ("exported", entries, "entry_id"),
        *(("ledger", postings, column) for column in ("account_code", "date", "amount")),
    ):
        gaps = table.column(column).null_count
        if gaps:
            raise InputError(f"column {column} is empty in {gaps:,} row{'s' if gaps > 1 else ''}: fill it", source=name)
    entries, left_out = _sent(entries)
    _refuse_companies(entries)
    compared = frozenset(
        name for name in postings.column_names if has_values(entries, name) and has_values(postings, name)
    )
    return Inputs(entries, postings, (*_not_compared(entries, postings), *left_out), compared)


def _table(frame: Any, name: str) -> pa.Table:
    if frame is None:
        raise ArgumentError(name, "must be a frame: give an empty one if there are no rows")
    table: Any = scannable(frame, name)
    table = schema.plain(table if isinstance(table, pa.Table) else table.to_table(), name)
    # Arrow takes no rows of the texts of Polars.
    return table.cast(pa.schema([field.with_type(_plainer(field.type)) for field in table.schema]))


def _plainer(kind: pa.DataType) -> pa.DataType:
    return schema.TEXT if pa.types.is_string_view(kind) else kind


def _typed(table: pa.Table, name: str) -> pa.Table:
    """Return a table with one type for all texts and dates that are used; raise where a type is of no use."""
    for column, wanted in USED[name].items():
        if column not in table.column_names:
            continue
        place = table.column_names.index(column)
        kind = table.schema.field(column).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if not (pa.types.is_null(kind) or IS_KIND[wanted](kind)):
            why = " (a number has lost its leading zeros)" if wanted == "text" and pa.types.is_integer(kind) else ""
            raise InputError(f"column {column} must be {wanted}, is {kind}{why}", source=name)
        if wanted == "a date":
            table = table.set_column(place, column, pc.cast(table.column(place), schema.DATE, safe=False))
        elif wanted == "text":
            texts = pc.cast(table.column(place), schema.TEXT)
            table = table.set_column(place, column, texts.dictionary_encode() if column in REPEATED else texts)
    return table


def _in_one_scale(*tables: pa.Table) -> Iterator[pa.Table]:
    """Yield the tables with the decimals of the finest amount: Arrow compares no others exactly."""
    kinds = [table.schema.field("amount").type for table in tables if "amount" in table.column_names]
    scale = max((getattr(kind, "scale", 0) for kind in kinds), default=0)
    for name, table in zip(USED, tables, strict=True):
        if "amount" not in table.column_names:
            yield table
            continue
        place = table.column_names.index("amount")
        try:
            amounts = pc.cast(table.column(place), pa.decimal128(LONGEST_AMOUNT, scale))
        except pa.ArrowInvalid:
            raise InputError(
                f"column amount has more than {LONGEST_AMOUNT - scale} digits before the decimal mark", source=name
            ) from None
        yield table.set_column(place, "amount", amounts)


def _sent(entries: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the entries that may have been booked, and a phrase about the others."""
    if "state" not in entries.column_names:
        return entries, []
    was_sent = pc.is_in(entries.column("state"), pa.array([*SENT, None], schema.TEXT))
    others = entries.filter(pc.invert(was_sent))
    states = ", ".join(sorted(set(others.column("state").to_pylist())))
    return entries.filter(was_sent), [
        f"{len(others):,} entries of batches that were not sent ({states})"
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


def plain_texts(table: pa.Table) -> pa.Table:
    """Return a table with every text written out, as people get it."""
    kinds = [field.with_type(schema.TEXT) if pa.types.is_dictionary(field.type) else field for field in table.schema]
    return table.cast(pa.schema(kinds))
