"""A file says which lines are the parts of one entry."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hand_made import CATEGORY, COMPANY, entry_id

from bktools import compose_export_jobs, read_entries

HEAD = "entry id,date,amount,currency,category id,status"
LINES = ((0, "2026-10-01", "10.00"), (0, "2026-10-01", "5.50"), (1, "2026-10-02", "7.00"))


@pytest.mark.parametrize(
    ("heading", "values", "options"),
    [
        ("Split line", "121", {}),
        ("Line number", "010", {}),
        ("Teil", ["2", "1", ""], {"columns": {"split_line": "Teil"}}),
        ("Note", "abc", {"split_lines": True}),
    ],
)
def test_a_file_says_that_lines_are_the_parts_of_one_entry(tmp_path, heading, values, options):
    """By line numbers, or by the caller's word; otherwise they wait."""
    rows = [f"{entry_id(number)},{date},{amount},EUR,{CATEGORY},approved" for number, date, amount in LINES]

    def read(head, rows, **options):
        (tmp_path / "entries.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
        return read_entries(tmp_path / "entries.csv", company=COMPANY, **options)

    held = compose_export_jobs(read(HEAD, rows)).not_ready
    assert held["reason"].to_list() == ["conflicting", "conflicting_line"]
    assert all(way in held["message"][0] for way in ("split_line", "split_lines=True"))
    more = [f"{row},{value}" for row, value in zip(rows, values, strict=True)]
    entries = read(f"{HEAD},{heading}", more, **options)
    assert sorted(entries.loc[entries["id"] == entry_id(0), "split_line"]) == [1, 2]
    assert entries["split_lines"].to_list() == [2, 2, 0]
    plan = compose_export_jobs(entries)
    assert (plan.not_ready.empty, plan.batches["entries"].to_list()) == (True, [2])
    assert plan.amounts == {"EUR": Decimal("22.50")}
