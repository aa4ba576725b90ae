"""Converts the service's records to Arrow tables with flat columns in snake_case, and checks them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.rules import UUID_REGEX
from bktools.errors import UnreadableAnswerError
from bktools.frames.schema import field_type
from bktools.wording import Sentence

LOWER_UUID_REGEX = UUID_REGEX.replace("A-F", "")

_NULL = msgspec.Raw(b"null")


def rows_of(records: Sequence[msgspec.Struct], schema: pa.Schema) -> pa.Table:
    """Return records of one type as rows of their schema, not yet checked; free-form fields are JSON text."""
    try:
        return pa.table(_columns(type(records[0]), map(msgspec.structs.astuple, records)), schema=schema)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise UnreadableAnswerError(Sentence("error.sent_inexact_value", why=str(error))) from error


def _columns(
    record: type[msgspec.Struct], values: Iterable[tuple[Any, ...]], prefix: str = ""
) -> dict[str, Sequence[Any]]:
    columns: dict[str, Sequence[Any]] = {}
    # Transposing whole tuples takes half the time of reading one attribute after the other.
    for (field, kind), column in zip(_fields(record), zip(*values, strict=True), strict=True):
        name = prefix + field
        if kind is msgspec.Raw:
            columns[name] = _json_texts(column, name)
        elif issubclass(kind, msgspec.Struct):
            none = (None,) * len(_fields(kind))
            nested = (none if value is None else msgspec.structs.astuple(value) for value in column)
            columns |= _columns(kind, nested, f"{name}_")
        else:
            columns[name] = column
    return columns


@functools.cache
def _fields(record: type[msgspec.Struct]) -> list[tuple[str, Any]]:
    """Return name and type of each field. The cache helps: reading annotations costs more than a page."""
    return [(item.name, field_type(item)) for item in msgspec.structs.fields(record)]


def _json_texts(raws: Sequence[msgspec.Raw | None], name: str) -> list[str | None]:
    try:
        return [None if raw is None or raw == _NULL else str(raw, "utf-8") for raw in raws]
    except UnicodeDecodeError as error:
        raise UnreadableAnswerError(Sentence("error.sent_no_utf8", name=name, why=str(error))) from error


def checked(table: pa.Table, noun: str) -> pa.Table:
    """Return rows with their UUIDs checked and in lower case, so that they join with rows of files."""
    for index, name in enumerate(table.column_names):
        # The identifiers of other systems are any text.
        if name.endswith("external_id") or not (name == "id" or name.endswith("_id")):
            continue
        column = table.column(index)
        # Foreign keys repeat, so only their distinct values are matched.
        values = column if name == "id" else pc.unique(column)
        if _all_match(values, LOWER_UUID_REGEX):
            continue
        if not _all_match(values, UUID_REGEX):
            raise UnreadableAnswerError(Sentence("error.sent_no_uuid", table=noun, name=name))
        table = table.set_column(index, table.schema.field(index), pc.utf8_lower(column))
    return table


def _all_match(column: pa.Array | pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern), skip_nulls=True, min_count=0).as_py() is True
