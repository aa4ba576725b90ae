"""The benchmark of the ledger runs, at tiny size, and finds what was planted."""

from __future__ import annotations

import ledger
import pytest

pytestmark = pytest.mark.long


def test_what_was_planted_is_found_and_nothing_else():
    """Every difference of the world is found, the merge agrees about what is alone, and a wrong answer is noticed."""
    entries, postings, planted = ledger.world(2_000)
    ledger.check(entries, postings, planted)
    assert set(planted) == {"booked", *ledger.PLANTED}
    with pytest.raises(RuntimeError, match="1 of 2000 entries have another status than was planted"):
        ledger.check(entries, postings, planted.mask(planted.index == 1_999, "missing"))


def test_each_goal_gets_a_figure(tmp_path):
    """The goals are measured at tiny size, and the section can be written."""
    rows = ledger.measure(2_000, 1, small=100)
    assert [row.work for row in rows][::2] == ["match 2,000 entries by 1,990 postings", "match 100 entries"]
    assert all(row.reached > 0 for row in rows)
    page = tmp_path / "RESULTS.md"
    ledger.write(rows, path=page)
    assert page.read_text(encoding="utf-8").count("| match ") == 3
