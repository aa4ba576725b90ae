"""Reconciles PySpark frames: workers compare companies, and the results are collected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl
import pyarrow as pa

from bktools.frames.names import Import
from bktools.frames.tables import checked, in_memory, is_spark
from bktools.frames.workers import on_workers
from bktools.reconcile import inputs
from bktools.reconcile.results import RESULTS, in_order, results


def collected(frames: Mapping[str, Any], imported: Import) -> tuple[dict[str, pa.Table], list[str]]:
    """Return all tables of `results.RESULTS`, and the columns of the chart; some frame is of PySpark."""
    session = next(frame for frame in frames.values() if is_spark(frame)).sparkSession
    frames = {noun: _on_spark(session, frame, noun) for noun, frame in frames.items()}
    compare = partial(results, names=RESULTS, imported=imported)
    parts = on_workers(compare, _with_companies(frames), by="company_id")
    return {name: in_order(name, pl.DataFrame(table)) for name, table in parts.items()}, frames[
        "chart"
    ].columns


def _on_spark(session: Any, frame: Any, noun: str) -> Any:
    """Check the columns of a frame, and return those that are used as a PySpark frame."""
    if is_spark(frame):
        checked(in_memory(frame.limit(0), noun), noun, inputs.SHAPES[noun])
    else:
        (table,) = inputs.read({noun: frame}).values()
        frame = session.createDataFrame(table)
    return frame.select(*(name for name in frame.columns if name in inputs.USED[noun]))


def _with_companies(frames: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse gaps, and return the frames, the chart with the only company in rows without one."""
    from pyspark.sql import functions as sql

    chart = frames["chart"]
    if "company_id" not in chart.columns:
        chart = chart.withColumn("company_id", sql.lit(None).cast("string"))
    frames = {**frames, "chart": chart}
    companies: set[str] = set()
    empty: dict[str, dict[str, int]] = {}
    for noun, frame in frames.items():
        counts = [sql.count_if(sql.col(name).isNull()) for name in inputs.FILLED[noun]]
        named, *numbers = frame.agg(sql.collect_set(sql.lower("company_id")), *counts).first()
        companies |= {*named}
        empty[noun] = dict(zip(inputs.FILLED[noun], numbers, strict=True))
    inputs.check_gaps(empty, len(companies))
    return (
        {**frames, "chart": chart.fillna(min(companies), ["company_id"])} if len(companies) == 1 else frames
    )
