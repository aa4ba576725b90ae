"""The changes between two tables: rows that came or went, and each field that differs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from bktools.frames.names import with_names
from bktools.frames.schema import to_arrow
from bktools.service import Service
from bktools.snapshots.tables import load_categories, load_employees

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
) -> Iterator[dict[str, Any]]:
    """Yield the changes of categories and employees between two moments; their accounts are named by code and name."""
    known = accounts.select(["id", "code", "external_id", "name"]).to_pylist()
    named = {row["id"]: " ".join(filter(None, (row["code"] or row["external_id"], row["name"]))) for row in known}
    old, new = (to_arrow(load_categories(company, as_of=moment, service=service)) for moment in (before, after))
    for row in differences(old, new, CATEGORIES):
        change = {"table": "categories", **row}
        if row["field"] == "account_id":
            change["field"] = "account"
            change |= {side: named.get(row[side], row[side]) for side in ("before", "after")}
        yield change
    old, new = (_people(load_employees(company, as_of=moment, service=service)) for moment in (before, after))
    for row in differences(old, new, EMPLOYEES):
        yield {"table": "employees", **row}


def differences(old: pa.Table, new: pa.Table, words: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the changes between two tables as rows of a comparison, ordered by the IDs of their rows, then by field.

    The rows have an `id` that is there once. `words` are the fields to compare, and the word for a change of each; rows
    that came and went are "added" and "removed".
    """
    columns = list(dict.fromkeys(("id", "company_id", "name", *words)))
    was, now = ({row["id"]: row for row in table.select(columns).to_pylist()} for table in (old, new))
    for one in sorted({*was, *now}):
        row = now.get(one) or was[one]
        about = {"about": row["name"] or one, "company_id": row["company_id"], "id": one}
        if one not in now or one not in was:
            change = "removed" if one in was else "added"
            yield {"change": change, "field": None, "before": None, "after": None, **about}
            continue
        for field, word in words.items():
            before, after = was[one][field], row[field]
            if before != after:
                change = "unarchived" if field == "archived" and after is False else word
                yield {"change": change, "field": field, "before": _text(before), "after": _text(after), **about}


def _text(value: Any) -> str | None:
    return str(value).lower() if isinstance(value, bool) else value


def _people(frame: pd.DataFrame) -> pa.Table:
    """Return employees with their full name."""
    employees = to_arrow(frame)
    named = with_names(pa.table({"employee_id": employees["id"]}), employees=employees)
    return employees.append_column("name", named["employee_name"])
