import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "reconcile.py"


def script():
    spec = importlib.util.spec_from_file_location("benchmark_of_reconcile", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_benchmark_runs_and_both_ways_find_the_same():
    """At a tiny size the benchmark measures, and what it compares is the same work."""
    benchmark = script()
    frames = benchmark.world(1000, 20)
    ours, theirs = benchmark.by_bktools(**frames), benchmark.by_pandas(**frames)
    renamed = ours[ours["check"] == "name_differs"]
    assert len(renamed) > 0
    assert sorted(renamed["external_id"]) == sorted(theirs.loc[theirs["field"] == "name", "external_id"])
    assert (ours["check"] == "missing_in_service").sum() == (theirs["field"] == "left_only").sum() > 0
    assert (ours["check"] == "missing_in_erp").sum() == (theirs["field"] == "right_only").sum() > 0
    measured = benchmark.measure(100, 10, 1)
    assert measured["ratio"] == measured["pandas"] / measured["bktools"]
