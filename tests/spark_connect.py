"""Composes and reconciles frames of Spark Connect in a process of its own, apart from the classic."""

from __future__ import annotations

import sys
import uuid

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession

import bktools

COMPANIES = [str(uuid.UUID(int=number, version=4)) for number in (1, 2)]


def main() -> None:
    """Print the name of each work whose result is that of pandas."""
    session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()

    def lifted(frame: pd.DataFrame) -> object:
        return session.createDataFrame(pa.Table.from_pandas(frame, preserve_index=False))

    ids = [str(uuid.UUID(int=number, version=4)) for number in range(10, 18)]
    entries = pd.DataFrame({"id": ids, "company_id": COMPANIES * 4, "supplier": ["Rail", "Hotel"] * 4})
    plan = bktools.compose_export_jobs(lifted(entries), max_entries=3)
    pd.testing.assert_frame_equal(plan.entries, bktools.compose_export_jobs(entries, max_entries=3).entries)
    print("compose")
    chart = pd.DataFrame(
        {"external_id": ["1", "2"], "code": ["1", "2"], "name": ["a", "b"], "archived": False}
    )
    chart = chart.assign(company_id=COMPANIES[0])
    accounts = pd.DataFrame(
        {"company_id": COMPANIES, "external_id": ["1", "1"], "state": "CREATED", "name": "b"}
    )
    categories = pd.DataFrame({"id": ["c", "d"], "company_id": COMPANIES, "name": "Fees", "archived": False})
    frames = (chart, accounts, categories)
    found = bktools.reconcile_accounts(*map(lifted, frames))
    pd.testing.assert_frame_equal(found.findings, bktools.reconcile_accounts(*frames).findings)
    print("reconcile")
    assert str(bktools.show(lifted(entries))) == str(bktools.show(entries))
    assert bktools.to_arrow(lifted(entries)) == bktools.to_arrow(entries)
    print("collect")
    session.stop()


if __name__ == "__main__":
    main()
