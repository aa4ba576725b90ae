"""The differences between two tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bktools.frames.schema import CATEGORIES
from bktools.reports.differences import CHANGES, differences


def _changes(old, new):
    return differences(old, new, CHANGES).rename_columns({"id": "category_id"})


def test_added_and_removed():
    """A row that came and one that went are a row each; equal rows are none."""
    old, new = (pa.concat_tables([changed(), changed(id=identity)]) for identity in "bc")
    assert differences(old, new, CHANGES).select(["change", "id", "field"]).to_pylist() == [
        {"change": "removed", "id": "b", "field": None},
        {"change": "added", "id": "c", "field": None},
    ]


def changed(**fields):
    base = {"id": "a", "company_id": "c", "category_group_id": "g", "name": "Travel", "archived": False}
    base |= {"account_id": "1", "tax_code_id": None, "metadata": None}
    return pa.table({name: [value] for name, value in (base | fields).items()}, schema=CATEGORIES)


@pytest.mark.parametrize(
    ("fields", "change", "field", "before", "after"),
    [
        ({"name": "Trips"}, "renamed", "name", "Travel", "Trips"),
        ({"archived": True}, "archived", "archived", "false", "true"),
        ({"account_id": "2"}, "mapped", "account_id", "1", "2"),
        ({"account_id": None}, "mapped", "account_id", "1", None),
        ({"tax_code_id": "t"}, "tax code", "tax_code_id", None, "t"),
        ({"category_group_id": "h"}, "regrouped", "category_group_id", "g", "h"),
        ({"metadata": "{}"}, "metadata", "metadata", None, "{}"),
    ],
)
def test_each_kind_of_change_is_a_row(fields, change, field, before, after):
    """Field, before and after, nulls as nulls; two changes of one category are two rows."""
    row = {"change": change, "category_id": "a", "company_id": "c", "field": field, "before": before, "after": after}
    assert _changes(changed(), changed(**fields)).drop("name").to_pylist() == [row]
    assert _changes(changed(**fields), changed(**fields)).num_rows == 0
    both = _changes(changed(), changed(**fields, **({} if "name" in fields else {"name": "Trips"})))
    assert both["field"].to_pylist() == (["name"] if "name" in fields else ["name", field])


def test_unarchived_has_a_word_of_its_own():
    assert _changes(changed(archived=True), changed())["change"].to_pylist() == ["unarchived"]
