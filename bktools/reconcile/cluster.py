"""Reconciles on a cluster: PySpark's workers run the same queries, one company at a time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from bktools.frames import cluster
from bktools.frames.cluster import KEY, Companies, is_spark, native
from bktools.reconcile import inputs, tables
from bktools.reconcile.reconciliation import Reconciliation

__all__ = ["is_spark", "reconcile"]

TASK = "reconcile_accounts"


def reconcile(frames: Mapping[str, Any]) -> Reconciliation:
    """Return a reconciliation whose tables are lazy PySpark frames; at least one given frame is a PySpark frame.

    Only one query runs at once, for gaps and companies.
    """
    from pyspark.sql import functions as sql

    session = next(native(frame) for frame in frames.values() if is_spark(frame)).sparkSession
    given = {noun: _on_cluster(session, frame, noun) for noun, frame in frames.items()}
    if "company_id" not in given["chart"].columns:
        given["chart"] = given["chart"].withColumn("company_id", sql.lit(None).cast("string"))
    found = _counted(_companies(given))
    only = _only_company(found)
    if only:
        given["chart"] = given["chart"].fillna(only, ["company_id"])
    companies = _companies(given).bundled(sum(row[noun] for row in found for noun in given))

    def listed(name: str) -> Any:
        return companies.table(partial(_table, name))

    return Reconciliation(listed("findings"), listed("coverage"), listed)


def _table(name: str, frames: cluster.Tables) -> pa.Table:
    """Return a table of the reconciliation of one company. Runs on a worker, where bktools must be installed."""
    (table,) = tables.results(frames, name)
    return table


def _companies(given: Mapping[str, Any]) -> Companies:
    from pyspark.sql import functions as sql

    parts = [cluster.packed(frame, noun, key=sql.col("company_id")) for noun, frame in given.items()]
    return Companies(cluster.together(parts), {noun: cluster.kinds_of(frame) for noun, frame in given.items()})


def _counted(companies: Companies) -> list[dict[str, Any]]:
    """Refuse gaps, and a company that is too large; return the number of rows by company and frame."""
    from pyspark.sql import functions as sql

    filled = [(noun, name) for noun, names in inputs.FILLED.items() for name in names]
    gaps = {
        f"{noun} {name}": sql.count_if(sql.col(noun).isNotNull() & sql.col(f"{noun}.{name}").isNull())
        for noun, name in filled
    }
    found = companies.counts(TASK, "company", gaps)
    inputs.check_gaps({(noun, name): sum(row[f"{noun} {name}"] for row in found) for noun, name in filled})
    return found


def _only_company(found: list[dict[str, Any]]) -> str | None:
    """Return the company for chart rows without one, None when every row has one."""
    named = [row[KEY] for row in found if row[KEY] is not None]
    if len(named) == len(found):
        return None
    inputs.check_companies(len(named))
    return str(named[0])


def _on_cluster(session: Any, frame: Any, noun: str) -> Any:
    """Check the columns of a frame and return it as a PySpark frame, with its companies in lower case."""
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import to_arrow_schema

    if is_spark(frame):
        found = native(frame)
        inputs.check_columns(noun, to_arrow_schema(found.schema))
    else:
        (table,) = inputs.read({noun: frame}).values()
        found = session.createDataFrame(table if isinstance(table, pa.Table) else table.to_table())
    columns = [name for name in inputs.USED[noun] if name in found.columns]
    typed = [sql.col(name).cast("boolean" if name == "archived" else "string").alias(name) for name in columns]
    rows = found.select(*typed)
    return rows.withColumn("company_id", sql.lower("company_id")) if "company_id" in columns else rows
