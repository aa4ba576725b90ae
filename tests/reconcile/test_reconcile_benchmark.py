import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "reconcile.py"


@pytest.fixture
def benchmark():
    """Give the script as a module."""
    spec = importlib.util.spec_from_file_location("benchmark_of_reconcile", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_both_ways_find_the_same_to_the_row(benchmark):
    """What is measured is the same work: pandas and bktools name the same fields with the same values."""
    frames = benchmark.world(1000, 20)
    ours = benchmark.in_one_form(benchmark.by_bktools(**frames))
    assert ours == benchmark.in_one_form(benchmark.by_pandas(**frames))
    assert {field for _, field, _, _ in ours} == {"name", "left_only", "right_only"}


def test_section_is_written_beside_the_others(benchmark, tmp_path):
    """Every goal gets a figure at tiny size, and writing it twice leaves other sections as they were."""
    rows, versions = benchmark.measure(100, (50, 10), 1, peers=False)
    assert [row.work for row in rows] == ["reconcile 100 by 100 accounts", "reconcile 50 accounts, 10 categories"]
    assert all(row.reached > 0 for row in rows)
    page = tmp_path / "RESULTS.md"
    page.write_text("# Results\n\n## Loading\n\na\n\n## Reconcile\n\nold\n\n## Serving\n\nb\n", encoding="utf-8")
    for _ in range(2):
        benchmark.write(rows, versions, path=page)
    text = page.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Results",
        "## Loading",
        "## Reconcile",
        "## Serving",
    ]
    assert "old" not in text
    assert text.count("| reconcile ") == 2
    assert text.endswith("## Serving\n\nb\n")
