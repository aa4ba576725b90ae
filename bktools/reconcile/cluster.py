"""Reconciles on a cluster: PySpark's workers run the same queries, one company at a time."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bktools.reconcile import inputs, tables
from bktools.reconcile.reconciliation import Reconciliation

# The types of the tables, each with the Arrow type that Spark accepts and Spark's name for it.
KINDS: Mapping[pa.DataType, tuple[pa.DataType, str]] = {
    pa.large_string(): (pa.string(), "string"),
    pa.bool_(): (pa.bool_(), "boolean"),
    pa.int64(): (pa.int64(), "bigint"),
}


def is_spark(frame: Any) -> bool:
    """Whether a frame is a PySpark frame."""
    return type(_native(frame)).__module__.startswith("pyspark.")


def reconcile(frames: Mapping[str, Any]) -> Reconciliation:
    """Return a reconciliation whose tables are lazy PySpark frames; at least one given frame is a PySpark frame.

    Only one query runs at once, for gaps and companies. The rows of the three frames are combined, so that a worker gets
    all rows of a company.
    """
    from pyspark.sql import functions as sql

    session = next(_native(frame) for frame in frames.values() if is_spark(frame)).sparkSession
    given = {noun: _on_cluster(session, frame, noun) for noun, frame in frames.items()}
    columns = {noun: [name for name in inputs.USED[noun] if name in frame.columns] for noun, frame in given.items()}
    parts = [
        frame.select(
            sql.lit(noun).alias("noun"),
            *[sql.col(name).cast("boolean" if name == "archived" else "string") for name in columns[noun]],
        )
        for noun, frame in given.items()
    ]
    rows = functools.reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)
    rows = rows.withColumn("company_id", sql.lower("company_id"))
    only = _only_company(rows)
    columns["chart"] = [*dict.fromkeys([*columns["chart"], "company_id"])]
    companies = (rows.fillna(only, ["company_id"]) if only else rows).groupBy("company_id")

    def listed(name: str) -> Any:
        empty = {noun: inputs.SCHEMAS[noun].empty_table() for noun in given}
        (table,) = tables.results(empty, name)
        kinds = ", ".join(f"`{field.name}` {KINDS[field.type][1]}" for field in table.schema)

        # Spark needs the annotations.
        def of_company(rows: pa.Table) -> pa.Table:
            return _of_company(rows, name, columns)

        return companies.applyInArrow(of_company, kinds)

    return Reconciliation(listed("findings"), listed("coverage"), listed)


def _of_company(rows: pa.Table, name: str, columns: Mapping[str, list[str]]) -> pa.Table:
    """Return a table of the reconciliation of one company. Runs on a worker, where bktools must be installed."""
    frames = {noun: rows.filter(pc.field("noun") == noun).select(names) for noun, names in columns.items()}
    (table,) = tables.results(frames, name)
    return table.cast(pa.schema([(field.name, KINDS[field.type][0]) for field in table.schema]))


def _only_company(rows: Any) -> str | None:
    """Refuse gaps; return the company for chart rows without one, None when every row has one."""
    from pyspark.sql import functions as sql

    names = sorted({"company_id", *(name for names in inputs.FILLED.values() for name in names)})
    counts = [sql.count_if(sql.col(name).isNull()).alias(name) for name in names]
    seen = {row["noun"]: row for row in rows.groupBy("noun").agg(*counts, sql.collect_set("company_id")).collect()}
    inputs.check_gaps({(noun, name): row[name] for noun, row in seen.items() for name in inputs.FILLED[noun]})
    if "chart" not in seen or not seen["chart"]["company_id"]:
        return None
    companies: set[str] = {company for row in seen.values() for company in row[-1]}
    inputs.check_companies(len(companies))
    return companies.pop()


def _on_cluster(session: Any, frame: Any, noun: str) -> Any:
    """Check the columns of a frame and return it as a PySpark frame."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if is_spark(frame):
        found = _native(frame)
        inputs.check_columns(noun, to_arrow_schema(found.schema))
        return found
    (table,) = inputs.read({noun: frame}).values()
    return session.createDataFrame(table if isinstance(table, pa.Table) else table.to_table())


def _native(frame: Any) -> Any:
    return frame.to_native() if hasattr(frame, "to_native") else frame
