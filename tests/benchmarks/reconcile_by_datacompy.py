"""Compare two Parquet files with datacompy on Polars twice, and print the figures of the second time."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import polars as pl
from datacompy import PolarsCompare

KEY = ["company_id", "external_id"]
FIELDS = ["name", "code", "tax_code_external_id", "archived"]


def compare(chart: pl.DataFrame, accounts: pl.DataFrame) -> int:
    """Count the findings: each has field, left and right, or the side that an account is on."""
    compared = PolarsCompare(chart, accounts, join_columns=KEY)
    rows = len(compared.df1_unq_rows) + len(compared.df2_unq_rows)
    for field in FIELDS:
        differing = compared.intersect_rows.filter(~pl.col(f"{field}_match"))
        rows += len(differing.select(*KEY, f"{field}_df1", f"{field}_df2"))
    return rows


if __name__ == "__main__":
    chart, accounts = (
        pl.read_parquet(Path(sys.argv[1]) / f"{noun}.parquet") for noun in ("chart", "accounts")
    )
    for _ in range(2):
        begin, used = time.perf_counter(), time.process_time()
        rows = compare(chart, accounts)
        figures = time.perf_counter() - begin, time.process_time() - used
    print(json.dumps({"rows": rows, "figures": figures}))
