"""From the service's records to Arrow: camelCase and nesting stop here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.categories import Category
from bktools.contract.employees import Employee
from bktools.contract.rules import UUID_REGEX
from bktools.errors import UnreadableAnswerError
from bktools.frames.schema import CATEGORIES, EMPLOYEES

LOWER_UUID_REGEX = UUID_REGEX.replace("A-F", "")

UUID_LENGTH = 36

_DIGITS = ((0, 8), (9, 13), (14, 18), (19, 23), (24, 36))
_LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_NULL = msgspec.Raw(b"null")


def categories_table(records: Sequence[Category]) -> pa.Table:
    """Return categories as rows of `CATEGORIES`, not yet checked; `metadata` is JSON text."""
    columns = _columns(records)
    columns["metadata"] = _json_texts(columns["metadata"])
    return pa.table(columns, schema=CATEGORIES)


def employees_table(records: Sequence[Employee]) -> pa.Table:
    """Return employees as rows of `EMPLOYEES`, not yet checked; the avatar's address is `avatar_url`."""
    columns = _columns(records)
    columns["avatar_url"] = [avatar.url if avatar else None for avatar in columns.pop("avatar")]
    return pa.table({name: columns[name] for name in EMPLOYEES.names}, schema=EMPLOYEES)


def _columns(records: Sequence[Category] | Sequence[Employee]) -> dict[str, Sequence[Any]]:
    # Turned over in one go: half the time of one attribute after the other.
    names = type(records[0]).__struct_fields__
    return dict(zip(names, zip(*map(msgspec.structs.astuple, records), strict=True), strict=True))


def _json_texts(raws: Sequence[msgspec.Raw]) -> list[str | None]:
    try:
        return [None if raw == _NULL else str(raw, "utf-8") for raw in raws]
    except UnicodeDecodeError as error:
        raise UnreadableAnswerError(f"the service sent metadata that is not UTF-8: {error}") from error


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


def _all_match(column: pa.Array | pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern), skip_nulls=True, min_count=0).as_py() is True


def uuid_numbers(ids: pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """Return checked UUIDs as pairs of 64-bit numbers: 16 bytes each, equal where the UUIDs are."""
    parts = [_characters(chunk) for chunk in ids.chunks]
    characters = np.concatenate(parts) if parts else np.empty((0, UUID_LENGTH), np.uint8)
    # Eight hexadecimal digits at once: their low four bits, and nine more for a letter, which has the bit of 64.
    digits = np.concatenate([characters[:, begin:end] for begin, end in _DIGITS], axis=1).view(np.uint64)
    values = (digits & _LOW) + ((digits >> np.uint64(6)) & _ONES) * np.uint64(9)
    return values[:, ::2] << np.uint64(4) | values[:, 1::2]


def _characters(ids: pa.Array) -> npt.NDArray[np.uint8]:
    _, offsets, data = ids.buffers()
    begin = np.frombuffer(offsets, np.int64)[ids.offset] if len(ids) else 0
    size = len(ids) * UUID_LENGTH
    return np.frombuffer(data or b"", np.uint8, count=size, offset=begin).reshape(-1, UUID_LENGTH)
