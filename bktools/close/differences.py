"""The changes between two tables: rows that came or went, and each field that differs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames.names import with_names
from bktools.frames.schema import TEXT, to_arrow
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees

COLUMNS = pa.schema(dict.fromkeys(("change", "id", "company_id", "name", "field", "before", "after"), TEXT))

# The fields of a table that are compared, and the word for a change of each.
CATEGORIES = {
    "name": "renamed",
    "archived": "archived",
    "account_id": "mapped",
    "tax_code_id": "tax code",
    "category_group_id": "regrouped",
    "metadata": "metadata",
}
EMPLOYEES = {
    "name": "renamed",
    "email": "e-mail",
    "code": "code",
    "job_title": "job title",
    "role": "role",
    "phone": "phone",
}


def between_moments(
    before: str | dt.date, after: str | dt.date | None, company: str | None, accounts: pa.Table, service: Service
) -> dict[str, pa.Table]:
    """Return the changes of categories and employees between two moments; their accounts are named by code and name."""
    old, new = (to_arrow(load_categories(company, as_of=moment, service=service)) for moment in (before, after))
    categories = _with_account_names(differences(old, new, CATEGORIES), accounts)
    old, new = (_people(load_employees(company, as_of=moment, service=service)) for moment in (before, after))
    return {"categories": categories, "employees": differences(old, new, EMPLOYEES)}


def differences(old: pa.Table, new: pa.Table, words: Mapping[str, str]) -> pa.Table:
    """Return one row per change between two tables with the columns `COLUMNS`, ordered by row, then by field.

    The rows have an `id` that is there once. `words` are the fields to compare, and the word for a change of each; rows
    that came and went are "added" and "removed".
    """
    places = pc.index_in(old["id"], new["id"])
    known_before = old.filter(pc.is_valid(places))
    known_after = new.take(places.drop_null())
    parts = [
        _rows("removed", old.filter(pc.is_null(places))),
        _rows("added", new.filter(pc.invert(pc.is_in(new["id"], old["id"])))),
    ]
    for field, word in words.items():
        before, after = known_before[field].cast(TEXT), known_after[field].cast(TEXT)
        # A null differs from a text and equals a null.
        differs = pc.fill_null(pc.not_equal(before, after), pc.xor(pc.is_null(before), pc.is_null(after)))
        change = pc.if_else(pc.equal(after, "false"), "unarchived", word) if field == "archived" else word
        parts.append(_rows(change, known_after, field, before, after).filter(differs))
    changes = pa.concat_tables(parts)
    order = pa.array([list(words).index(field) if field else -1 for field in changes["field"].to_pylist()], pa.int8())
    return changes.append_column("order", order).sort_by([("id", "ascending"), ("order", "ascending")]).drop("order")


def _rows(change: Any, about: pa.Table, field: str | None = None, before: Any = None, after: Any = None) -> pa.Table:
    """Return the rows of one kind of change; a single value is repeated for each row."""
    columns = [change, about["id"], about["company_id"], about["name"], field, before, after]
    return pa.table(
        [
            column if isinstance(column, pa.ChunkedArray) else pa.repeat(pa.scalar(column, TEXT), about.num_rows)
            for column in columns
        ],
        schema=COLUMNS,
    )


def _people(frame: pd.DataFrame) -> pa.Table:
    """Return employees with their full name."""
    employees = to_arrow(frame)
    named = with_names(pa.table({"employee_id": employees["id"]}), employees=employees)
    return employees.append_column("name", named["employee_name"])


def _with_account_names(changes: pa.Table, accounts: pa.Table) -> pa.Table:
    """Return changes whose accounts are named by code and name, where they are known."""
    known = accounts.select(["id", "code", "external_id", "name"]).to_pylist()
    named = {row["id"]: " ".join(filter(None, (row["code"] or row["external_id"], row["name"]))) for row in known}
    rows = changes.to_pylist()
    for row in rows:
        if row["field"] == "account_id":
            row |= {side: named.get(row[side], row[side]) for side in ("before", "after")}
            row["field"] = "account"
    return pa.Table.from_pylist(rows, schema=changes.schema)
