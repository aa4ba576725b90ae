"""The benchmark of reading files runs at tiny size, and each goal gets a figure."""

from __future__ import annotations

import files
import pytest

pytestmark = pytest.mark.long


def test_every_goal_gets_a_figure(tmp_path):
    """Each kind of file is written, read by both ways and compared, and the section can be written."""
    rows = [*files.measure(400, 1, tmp_path)]
    assert [row.work.split()[1] for row in rows] == [
        "entries,",
        "entries,",
        "FEC",
        "DATEV",
        "SIE",
        "XLSX",
        "320",
    ]
    page = tmp_path / "RESULTS.md"
    files.write(rows, page)
    assert page.read_text(encoding="utf-8").count("| read ") == len(rows)
