"""The benchmarks run at tiny size, and each way does the same work."""

from __future__ import annotations

import shutil
from pathlib import Path

import ledger
import pytest
from rows import RESULTS, write
from run import BENCHMARKS

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are read where Linux tells them"
    ),
]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_goal_gets_a_figure(name, tmp_path):
    """Each goal has its own row, requests are counted exactly, and a section takes its place on the page."""
    rows = BENCHMARKS[name].measure(tiny=True)
    assert len({(row.work, row.measure) for row in rows}) == len(rows) > 1
    assert all(row.reached >= 0 for row in rows)
    assert all(row.is_met for row in rows if row.measure.startswith("requests beyond"))
    page = tmp_path / "RESULTS.md"
    shutil.copy(RESULTS, page)
    for _ in range(2):
        write(name, rows, BENCHMARKS[name].LIBRARIES, path=page)
    before, after = (path.read_text(encoding="utf-8").split("\n## ") for path in (RESULTS, page))
    assert [part.split("\n")[0] for part in after] == [part.split("\n")[0] for part in before]
    (own,) = (part for part in after if part.startswith(f"{name.capitalize()}\n"))
    assert [line for line in own.splitlines() if line.startswith("| ")][2:] == [row.line() for row in rows]
    assert [part.strip() for part in after if part != own] == [
        part.strip() for part in before if not part.startswith(f"{name.capitalize()}\n")
    ]


def test_what_was_planted_in_a_ledger_is_found_and_nothing_else():
    """Every difference is found, the merge agrees about what is alone, and a wrong answer is noticed."""
    entries, postings, planted = ledger.world(2_000)
    ledger.check(entries, postings, planted)
    assert set(planted) == {"booked", *ledger.PLANTED}
    with pytest.raises(RuntimeError, match="1 of 2000 entries have another status than was planted"):
        ledger.check(entries, postings, planted.mask(planted.index == 1_999, "missing"))
