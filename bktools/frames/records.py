"""From the service's records to Arrow: camelCase and nesting stop here."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.noun import Filter
from bktools.contract.rules import UUID_REGEX
from bktools.errors import UnreadableAnswerError
from bktools.frames.schema import COUNT, DATE, FLAG, INSTANT, TEXT

ARROW_TYPES = {str: TEXT, bool: FLAG, int: COUNT, dt.date: DATE, dt.datetime: INSTANT, msgspec.Raw: TEXT}

LOWER_UUID_REGEX = UUID_REGEX.replace("A-F", "")

_NULL = msgspec.Raw(b"null")


def schema_of(record: type[msgspec.Struct]) -> pa.Schema:
    """Return the columns of a record's rows: its fields, those of a nested record with its name before theirs."""
    columns = []
    for item in msgspec.structs.fields(record):
        kind = next(kind for kind in (*get_args(item.type), item.type) if kind is not type(None))
        is_required = item.default is msgspec.NODEFAULT
        if issubclass(kind, msgspec.Struct):
            columns += [nested.with_name(f"{item.name}_{nested.name}") for nested in schema_of(kind)]
        else:
            columns.append(pa.field(item.name, ARROW_TYPES[kind], nullable=not is_required))
    return pa.schema(columns)


def rows_of(records: Sequence[msgspec.Struct], schema: pa.Schema) -> pa.Table:
    """Return records of one type as rows of their schema, not yet checked; free-form fields are JSON text."""
    return pa.table(_columns(records), schema=schema)


def _columns(records: Sequence[msgspec.Struct], prefix: str = "") -> dict[str, Sequence[Any]]:
    columns: dict[str, Sequence[Any]] = {}
    # Turned over in one go: half the time of one attribute after the other.
    turned = zip(*map(msgspec.structs.astuple, records), strict=True)
    for item, values in zip(msgspec.structs.fields(type(records[0])), turned, strict=True):
        name = prefix + item.name
        kind = next(kind for kind in (*get_args(item.type), item.type) if kind is not type(None))
        if kind is msgspec.Raw:
            columns[name] = _json_texts(values, name)
        elif issubclass(kind, msgspec.Struct):
            columns |= _columns([kind() if value is None else value for value in values], f"{name}_")
        else:
            columns[name] = values
    return columns


def _json_texts(raws: Sequence[msgspec.Raw], name: str) -> list[str | None]:
    try:
        return [None if raw == _NULL else str(raw, "utf-8") for raw in raws]
    except UnicodeDecodeError as error:
        raise UnreadableAnswerError(f"the service sent {name} that is not UTF-8: {error}") from error


def checked(table: pa.Table, noun: str) -> pa.Table:
    """Return rows with their UUIDs in lower case, so that they can be joined with what files say.

    Raises
    ------
    UnreadableAnswerError
        When the service sent something else for a UUID.
    """
    for index, name in enumerate(table.column_names):
        if name != "id" and not name.endswith("_id"):
            continue
        column = table.column(index)
        # Other ids repeat, and a pattern need not be tried on the same text again.
        values = column if name == "id" else pc.unique(column)
        if _all_match(values, LOWER_UUID_REGEX):
            continue
        if not _all_match(values, UUID_REGEX):
            raise UnreadableAnswerError(f"the service sent {noun} with a value in {name} that is no UUID")
        table = table.set_column(index, table.schema.field(index), pc.utf8_lower(column))
    return table


def unasked(rows: pa.Table, wanted: Filter, value: Any) -> int:
    """Return how many rows show that the service did not apply a filter."""
    column = rows.column(wanted.column)
    values = value if isinstance(value, list) else [value]
    if wanted.ignores_case:
        column, values = pc.utf8_lower(column), [item.lower() for item in values]
    found = pc.is_in(column, value_set=pa.array(values, column.type))
    if wanted.optional_in_rows:
        found = pc.or_(found, pc.is_null(column))
    return int(rows.num_rows - (pc.sum(found).as_py() or 0))


def _all_match(column: pa.Array | pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern), skip_nulls=True, min_count=0).as_py() is True
