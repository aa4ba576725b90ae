"""Run every benchmark and write RESULTS.md: python tests/benchmarks/run.py [--tiny] [--without-peers]."""

from __future__ import annotations

import argparse
from dataclasses import replace

import loading
from rows import RESULTS, write


def main() -> None:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="a few rows: does it still run?")
    parser.add_argument("--without-peers", action="store_true", help="make no virtual environment for the peers")
    asked = parser.parse_args()
    size = loading.TINY if asked.tiny else loading.Size()
    if asked.without_peers:
        size = replace(size, peers=False)
    rows = loading.measure(size)
    for row in rows:
        print(row.line())
    if not asked.tiny:
        write(rows)
        print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
