"""Compare two Parquet files with datacompy on Polars, once for each line on the input; run by reconcile.py."""

from __future__ import annotations

import importlib.metadata
import json
import resource
import sys
import time
from pathlib import Path

import polars as pl
from datacompy import PolarsCompare

KEY = ["company_id", "external_id"]
FIELDS = ["name", "code", "tax_code_external_id", "archived"]


def compare(chart: pl.DataFrame, accounts: pl.DataFrame) -> int:
    """Return how many findings there are, each with field, left and right, or the side that an account is on."""
    compared = PolarsCompare(chart, accounts, join_columns=KEY)
    rows = len(compared.df1_unq_rows) + len(compared.df2_unq_rows)
    for field in FIELDS:
        both = compared.intersect_rows
        differing = both.filter(~pl.col(f"{field}_match"))
        rows += len(differing.select(*KEY, f"{field}_df1", f"{field}_df2"))
    return rows


def main() -> None:
    """Say the versions, then compare whenever asked."""
    folder = Path(sys.argv[1])
    chart, accounts = (pl.read_parquet(folder / f"{noun}.parquet") for noun in ("chart", "accounts"))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("datacompy", "polars"))
    print(json.dumps({"versions": versions}), flush=True)
    for _ in sys.stdin:
        begin, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        rows = compare(chart, accounts)
        after = resource.getrusage(resource.RUSAGE_SELF)
        processor = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
        print(
            json.dumps({"rows": rows, "seconds": time.perf_counter() - begin, "processor": processor}),
            flush=True,
        )


if __name__ == "__main__":
    main()
