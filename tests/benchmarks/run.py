"""Run benchmarks, write RESULTS.md: python tests/benchmarks/run.py [NAME ...] [--tiny] [--without-peers]."""

from __future__ import annotations

import argparse

import compose
import files
import ledger
import loading
import reconcile
from rows import write

BENCHMARKS = {module.__name__: module for module in (loading, reconcile, compose, ledger, files)}


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(BENCHMARKS)}; all by default")
    parser.add_argument("--tiny", action="store_true", help="a few rows: does it still run? writes nothing")
    parser.add_argument(
        "--without-peers", action="store_true", help="make no virtual environment for the peers"
    )
    asked = parser.parse_args()
    unknown = set(asked.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in asked.names or BENCHMARKS:
        rows = BENCHMARKS[name].measure(tiny=asked.tiny, peers=not asked.without_peers)
        print(*(row.line() for row in rows), sep="\n")
        if not asked.tiny:
            write(name, rows, BENCHMARKS[name].LIBRARIES)


if __name__ == "__main__":
    main()
