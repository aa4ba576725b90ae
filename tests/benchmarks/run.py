"""Run benchmarks, and write RESULTS.md: python tests/benchmarks/run.py [NAME ...] [--tiny]."""

from __future__ import annotations

import argparse

import compose
import files
import ledger
import loading
import reconcile
from rows import write

BENCHMARKS = {module.__name__: module for module in (loading, reconcile, compose, ledger, files)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="all by default")
    parser.add_argument("--tiny", action="store_true", help="a few rows: does it still run? writes nothing")
    asked = parser.parse_args()
    for name in asked.names or BENCHMARKS:
        rows = BENCHMARKS[name].measure(tiny=asked.tiny)
        print(*(row.line() for row in rows), sep="\n")
        if not asked.tiny:
            write(name, rows, BENCHMARKS[name].LIBRARIES)
