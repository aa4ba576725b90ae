"""Names beside identifiers."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from bktools.frames.names import in_reading_order, with_names

CATEGORIES = pd.DataFrame(
    {"id": ["c1", "C2", None], "name": ["Travel", "Meals", "Nobody's"], "account_id": ["a1", None, "a1"]},
    dtype="str",
)
ACCOUNTS = pd.DataFrame(
    [("a1", None, "0400", "Bank"), (None, "9999", "9999", "Unknown")],
    columns=["id", "code", "external_id", "name"],
    dtype="str",
)
EMPLOYEES = pd.DataFrame(
    [("e1", "Ada ", "Lovelace", "a@b.c"), ("e2", None, None, "d@e.f")],
    columns=["id", "first_name", "last_name", "email"],
    dtype="str",
)
ENTRIES = pa.table(
    [["1", "2", "3", "4"], ["c1", "c2", "c9", None], ["E1", "e2", None, "e9"]],
    names=["id", "category_id", "employee_id"],
)


def test_each_entry_has_its_names():
    """Category, account and employee are found by any spelling of their UUIDs, else null."""
    named = with_names(ENTRIES, categories=CATEGORIES, accounts=ACCOUNTS, employees=EMPLOYEES).to_pydict()
    assert named["category_name"] == ["Travel", "Meals", None, None]
    assert named["account_code"] == ["0400", None, None, None]
    assert named["account_name"] == ["Bank", None, None, None]
    assert named["employee_name"] == ["Ada Lovelace", "d@e.f", None, None]
    assert named["id"] == ["1", "2", "3", "4"]


def test_only_given_frames_add_names():
    """Without a frame names stay; with it a file's name stays where the service has none."""
    entries = ENTRIES.append_column("category_name", pa.array(["own"] * 4))
    assert with_names(entries).column_names == entries.column_names
    named = with_names(entries, categories=CATEGORIES)
    assert named.column_names == entries.column_names
    assert named.column("category_name").to_pylist() == ["Travel", "Meals", "own", "own"]
    ids = with_names(ENTRIES.select(["id"]), categories=CATEGORIES, employees=EMPLOYEES)
    assert ids.column_names == ["id"]


def test_no_rows_have_no_names():
    """A table without rows, and frames without rows, give columns without values."""
    named = with_names(ENTRIES, categories=CATEGORIES[:0], accounts=ACCOUNTS[:0], employees=EMPLOYEES[:0])
    assert named.column("account_name").null_count == named.column("employee_name").null_count == 4
    assert len(with_names(ENTRIES[:0], categories=CATEGORIES)) == 0


def test_names_come_first_and_identifiers_last():
    """Date, names and money come first, then other columns and what to do, identifiers last."""
    columns = ["company_id", "id", "reason", "Project", "currency", "amount", "category_name", "line", "date"]
    ordered = "date amount currency category_name Project reason line id company_id"
    assert " ".join(in_reading_order(columns)) == ordered
