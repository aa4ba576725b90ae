"""Runs the four functions over frames of Spark Connect, in a process of its own: one process is classic or connected."""

from __future__ import annotations

import os
import sys
import uuid
from decimal import Decimal

os.environ["PYSPARK_PYTHON"] = sys.executable

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import bktools
from bktools.frames.schema import to_arrow

COMPANIES = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]


def main() -> None:
    """Print the name of each function whose rows agree."""
    builder = SparkSession.builder.remote("local[1]")
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()

    def lifted(frame: pd.DataFrame) -> object:
        return session.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))

    def agree(name: str, found: object, expected: pd.DataFrame) -> None:
        rows = found.toArrow()
        wanted = to_arrow(expected).select(rows.column_names).cast(rows.schema)
        one, other = (sorted(map(str, table.to_pylist())) for table in (rows, wanted))
        if one != other or not one:
            raise SystemExit(f"{name}: {one} is not {other}")
        print(name)

    entries = pd.DataFrame(
        {
            "id": [str(uuid.UUID(int=number, version=4)) for number in range(10, 18)],
            "company_id": COMPANIES * 4,
            "supplier": ["Bahn", "Hotel"] * 4,
            "date": [pd.Timestamp("2026-10-03").date()] * 8,
            "account_code": "5800",
            "amount": pd.array([Decimal(number) for number in range(8)], dtype=pd.ArrowDtype(pa.decimal128(12, 2))),
            "currency": "EUR",
            "line": range(8),
        }
    )
    agree("spend", bktools.spend(lifted(entries), "supplier"), bktools.spend(entries, "supplier"))
    plan = bktools.compose_export_jobs(lifted(entries), max_entries=3)
    agree("compose", plan.entries, bktools.compose_export_jobs(entries, max_entries=3).entries)
    one = entries[entries["company_id"] == COMPANIES[0]]
    match = bktools.match_ledger(lifted(one), lifted(one.drop(columns=["id"])))
    agree("match", match.entries, bktools.match_ledger(one, one.drop(columns=["id"])).entries)
    chart = pd.DataFrame({"external_id": ["1", "2"], "code": ["1", "2"], "name": ["a", "b"], "archived": False})
    chart = chart.assign(company_id=COMPANIES[0])
    accounts = pd.DataFrame({"company_id": COMPANIES, "external_id": ["1", "1"], "state": "CREATED", "name": "b"})
    categories = pd.DataFrame({"id": ["c", "d"], "company_id": COMPANIES, "name": "Fees", "archived": False})
    frames = (chart, accounts, categories)
    found = bktools.reconcile_accounts(*map(lifted, frames)).coverage
    agree("reconcile", found, bktools.reconcile_accounts(*frames).coverage)
    session.stop()


if __name__ == "__main__":
    main()
