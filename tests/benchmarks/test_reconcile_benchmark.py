"""The benchmark of reconciling runs, at tiny size, and both ways find the same."""

from __future__ import annotations

import pytest
import reconcile

pytestmark = pytest.mark.long


def test_both_ways_find_the_same_to_the_row():
    """What is measured is the same work: pandas and bktools name the same fields with the same values."""
    frames = reconcile.world(1000, 20)
    ours = reconcile.in_one_form(reconcile.by_bktools(**frames))
    assert ours == reconcile.in_one_form(reconcile.by_pandas(**frames))
    assert {field for _, field, _, _ in ours} == {"name", "left_only", "right_only"}


def test_every_goal_gets_a_figure(tmp_path):
    """Each goal is measured at tiny size, and the section can be written."""
    rows, versions = reconcile.measure({100: 2.0}, (50, 10), 1, peers=False)
    assert [row.work for row in rows] == [
        "reconcile 100 by 100 accounts",
        "reconcile 50 accounts, 10 categories",
    ]
    assert all(row.reached > 0 for row in rows)
    page = tmp_path / "RESULTS.md"
    reconcile.write(rows, versions, path=page)
    assert page.read_text(encoding="utf-8").count("| reconcile ") == 2
