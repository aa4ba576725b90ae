"""The benchmark of the sandbox runs, at tiny size, so that it does not rot."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / "benchmarks" / "sandbox.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("sandbox_benchmark", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_benchmark_runs(benchmark):
    """Every figure of the table is measured."""
    measured = benchmark.measure(categories=300, rounds=2, pages=5)
    assert measured["ends"].keys() == set(benchmark.SORTS)
    assert all(found["ratio"] > 0 for found in measured["ends"].values())
    assert len(measured["rates"]) == 1
    text = benchmark.table(300, measured)
    assert text.startswith(benchmark.HEADING)
    assert text.count("\n| ") == len(benchmark.SORTS) + 2


def test_results_keep_other_sections(benchmark, tmp_path):
    """Writing puts the section in the place of the old one and leaves the others."""
    file = tmp_path / "RESULTS.md"
    benchmark.write("## The sandbox\n\nfirst\n", file)
    file.write_text(file.read_text() + "\n## Another\n\nkept\n")
    benchmark.write("## The sandbox\n\nsecond\n", file)
    assert file.read_text() == "# Results\n\n## The sandbox\n\nsecond\n\n## Another\n\nkept\n"
