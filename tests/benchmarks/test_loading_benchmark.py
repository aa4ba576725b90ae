"""The benchmarks of fetching and loading still run, at tiny size and without the peers' environments."""

from __future__ import annotations

import loading
import pytest
from rows import write


@pytest.mark.long
def test_every_row_is_measured(tmp_path):
    """Each goal gets a figure from whole tables, and the table can be written."""
    rows = loading.measure(loading.TINY)
    assert len(rows) == 7
    assert all(row.value >= 0 for row in rows)
    requests = [row for row in rows if row.measure.startswith("requests beyond")]
    assert [row.is_met for row in requests] == [True, True]
    write(rows, path=tmp_path / "RESULTS.md")
    assert (tmp_path / "RESULTS.md").read_text(encoding="utf-8").count("\n| ") == 9
