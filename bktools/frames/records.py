"""From the service's records to Arrow: camelCase and nesting stop here."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.categories import Category
from bktools.contract.employees import Employee
from bktools.contract.rules import UUID_REGEX
from bktools.errors import UnreadableAnswerError
from bktools.frames.schema import CATEGORIES, EMPLOYEES

LOWER_UUID_REGEX = UUID_REGEX.replace("A-F", "")


def categories_table(records: Sequence[Category]) -> pa.Table:
    """Return categories as rows of `CATEGORIES`; `metadata` is JSON text."""
    columns = {
        "id": [record.id for record in records],
        "company_id": [record.company_id for record in records],
        "category_group_id": [record.category_group_id for record in records],
        "name": [record.name for record in records],
        "archived": [record.archived for record in records],
        "account_id": [record.account_id for record in records],
        "tax_code_id": [record.tax_code_id for record in records],
        "metadata": [_json_text(bytes(record.metadata)) for record in records],
    }
    return _with_checked_ids(pa.table(columns, schema=CATEGORIES), "categories")


def employees_table(records: Sequence[Employee]) -> pa.Table:
    """Return employees as rows of `EMPLOYEES`; the avatar's address is `avatar_url`."""
    columns = {name: [getattr(record, name) for record in records] for name in EMPLOYEES.names if name != "avatar_url"}
    columns["avatar_url"] = [record.avatar.url if record.avatar else None for record in records]
    return _with_checked_ids(pa.table(columns, schema=EMPLOYEES), "employees")


def _json_text(raw: bytes) -> str | None:
    return None if raw == b"null" else raw.decode()


def _with_checked_ids(table: pa.Table, noun: str) -> pa.Table:
    """Return the table with UUIDs in lower case, so that they can be joined with what files say."""
    for index, name in enumerate(table.column_names):
        if name != "id" and not name.endswith("_id"):
            continue
        column = table.column(index)
        if _all_match(column, LOWER_UUID_REGEX):
            continue
        if not _all_match(column, UUID_REGEX):
            raise UnreadableAnswerError(f"the service sent {noun} with a value in {name} that is no UUID")
        table = table.set_column(index, table.schema.field(index), pc.utf8_lower(column))
    return table


def _all_match(column: pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(column, pattern), skip_nulls=True, min_count=0).as_py() is True
