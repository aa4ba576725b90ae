"""What changed between two snapshots."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import bktools
from bktools.errors import SnapshotNotFoundError
from bktools.frames.schema import CATEGORIES
from bktools.tables.compare import CHANGES, differences


def _changes(old, new):
    return differences(old, new, CHANGES).rename_columns({"id": "category_id"})


def test_added_and_removed(sandbox, service):
    """A category that came and one that went are a row each."""
    bktools.load_categories(service=service)
    moment = dt.datetime.now(dt.UTC)
    added = sandbox.server.add_category("Drones")
    removed = sandbox.server.category_ids()[0]
    sandbox.server.remove_category(removed)
    bktools.load_categories(refresh=True, service=service)
    changes = bktools.compare_categories(moment, service=service).set_index("category_id")["change"]
    assert changes.to_dict() == {added: "added", removed: "removed"}


def test_the_same_is_no_change(service):
    bktools.load_categories(service=service)
    changes = bktools.compare_categories(dt.datetime.now(dt.UTC), service=service)
    assert changes.empty
    assert list(changes.columns) == ["change", "category_id", "company_id", "name", "field", "before", "after"]


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


def test_days_of_history_are_compared(service):
    """A day stands for its end, and a day before history is said to be one."""
    bktools.load_categories(service=service)
    today = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    assert bktools.compare_categories(today, today, service=service).empty
    with pytest.raises(SnapshotNotFoundError, match="2020-09-30"):
        bktools.compare_categories("2020-09-30", today, service=service)
