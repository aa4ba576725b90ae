"""What changed between two snapshots."""

from __future__ import annotations

import datetime as dt

import bktools


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
