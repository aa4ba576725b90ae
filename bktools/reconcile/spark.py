"""Reconciles PySpark frames: workers compare companies, and the results are collected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from bktools.frames.columns import require_frame
from bktools.frames.engine import in_memory, is_spark, native, scannable
from bktools.frames.workers import Tables, on_workers
from bktools.reconcile import inputs, tables


def results(frames: Mapping[str, Any], known_since: str) -> dict[str, pa.Table]:
    """Return every table of `tables.RESULTS`; at least one frame is of PySpark.

    Raises
    ------
    ArgumentError, InputError
        As `inputs.read` and `tables.results` do.
    """
    session = next(native(frame) for frame in frames.values() if is_spark(frame)).sparkSession
    frames = {noun: _on_spark(session, frame, noun) for noun, frame in frames.items()}
    frames["chart"] = _with_company(frames)
    collected = on_workers(partial(_compared, known_since), frames, by="company_id")
    return {name: tables.in_order(name, table) for name, table in collected.items()}


def _compared(known_since: str, frames: Tables) -> Tables:
    """Return the tables of some companies. Runs on a worker."""
    return dict(zip(tables.RESULTS, tables.results(frames, *tables.RESULTS, known_since=known_since), strict=True))


def _on_spark(session: Any, frame: Any, noun: str) -> Any:
    """Check the columns of a frame, and return those that are used as a PySpark frame."""
    if is_spark(frame):
        on_spark = native(frame)
        inputs.check_columns(noun, scannable(on_spark.limit(0), noun).schema)
    else:
        require_frame(noun, frame)
        table = in_memory(frame, noun, inputs.USED[noun])
        inputs.check_columns(noun, table.schema)
        on_spark = session.createDataFrame(table)
    return on_spark.select(*(name for name in on_spark.columns if name in inputs.USED[noun]))


def _with_company(frames: Mapping[str, Any]) -> Any:
    """Refuse gaps, and return the chart with the only company in rows without one."""
    from pyspark.sql import functions as sql

    chart = frames["chart"]
    if "company_id" not in chart.columns:
        chart = chart.withColumn("company_id", sql.lit(None).cast("string"))
    filled = {**inputs.FILLED, "chart": (*inputs.FILLED["chart"], "company_id")}
    companies: set[str] = set()
    gaps: dict[tuple[str, str], int] = {}
    for noun, frame in {**frames, "chart": chart}.items():
        counts = [sql.count_if(sql.col(name).isNull()) for name in filled[noun]]
        named, *empty = frame.agg(sql.collect_set(sql.lower("company_id")), *counts).first()
        companies |= {*named}
        gaps |= {(noun, name): count for name, count in zip(filled[noun], empty, strict=True)}
    has_nameless = gaps.pop(("chart", "company_id"))
    inputs.check_gaps(gaps)
    if not has_nameless:
        return chart
    inputs.check_companies(len(companies))
    return chart.fillna(companies.pop(), ["company_id"])
