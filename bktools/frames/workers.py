"""Runs a function on the workers of PySpark, and collects what it returns.

Rows travel as bytes of Arrow: frames of any columns go together, and results keep the types they had.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bktools.errors import BktoolsError

Tables: TypeAlias = Mapping[str, pa.Table]

# Rows of a group, about: a call takes as long as the work on a few thousand rows.
GROUP_ROWS = 10_000
# Most rows in one value, because Spark limits a value to 2 GB.
PIECE = 50_000
# No column of a person has this name.
GROUP = "group of bktools"
ERROR = "error of bktools"
SENT, RETURNED = "`group` bigint, name string, rows binary", "name string, rows binary"
PACKED = pa.schema([("name", pa.string()), ("rows", pa.binary())])
SMALLER = pa.ipc.IpcWriteOptions(compression="lz4")


def on_workers(
    function: Callable[[Tables], Tables], frames: Mapping[str, Any], by: str
) -> dict[str, pa.Table]:
    """Return the tables that a function returns for groups of rows, joined in any order; they must fit here.

    The function gets Arrow tables by name and returns tables by name. It is called here without rows first,
    to fail early; then on workers, which must have bktools, for one group at a time. Rows with the same text
    in the column `by`, whatever its capitals, are in one group. An error of bktools in the function is raised
    here.
    """
    empty = {name: frame.limit(0).toArrow() for name, frame in frames.items()}
    without_rows = function(empty)

    # Spark needs the annotations.
    def run(packed: pa.Table) -> pa.Table:
        try:
            return _packed(function({**empty, **_unpacked(packed)}))
        except BktoolsError as error:
            return pa.table({"name": [ERROR], "rows": [pickle.dumps(error)]})

    groups = 1 + _union(frame.select() for frame in frames.values()).count() // GROUP_ROWS
    sent = _union(_grouped(frame, name, by, groups) for name, frame in frames.items())
    returned = _unpacked(sent.groupBy("group").applyInArrow(run, RETURNED).toArrow())
    return {name: returned.get(name, table) for name, table in without_rows.items()}


def in_order(frame: Any, name: str) -> Any:
    """Return a PySpark frame with a column of numbers that grow in the order of its collected rows."""
    from pyspark.sql import functions as sql

    return frame.withColumn(name, sql.monotonically_increasing_id())


def _union(frames: Iterator[Any]) -> Any:
    return functools.reduce(lambda one, other: one.union(other), frames)


def _grouped(frame: Any, noun: str, by: str, groups: int) -> Any:
    """Return the rows of a frame as bytes, with the number of their group."""
    from pyspark.sql import functions as sql

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            for number in pc.unique(rows.column(GROUP)):
                packed = _packed(
                    {noun: rows.filter(pc.equal(rows.column(GROUP), number)).drop_columns([GROUP])}
                )
                yield from packed.add_column(
                    0, "group", pa.array([number.as_py()] * len(packed))
                ).to_batches()

    digest = sql.xxhash64(sql.lower(sql.col(by).cast("string")))
    return frame.withColumn(GROUP, sql.pmod(digest, sql.lit(groups))).mapInArrow(pack, SENT)


def _packed(tables: Tables) -> pa.Table:
    """Return tables as rows of a name and bytes."""
    parts = [
        {"name": name, "rows": _bytes(table.slice(begin, PIECE))}
        for name, table in tables.items()
        for begin in range(0, len(table), PIECE)
    ]
    return pa.Table.from_pylist(parts, schema=PACKED)


def _unpacked(packed: pa.Table) -> dict[str, pa.Table]:
    """Return tables by name from the rows of `_packed`; raise an error that is among them."""
    parts: dict[str, list[pa.Table]] = {}
    for name, data in zip(packed.column("name"), packed.column("rows"), strict=True):
        if name.as_py() == ERROR:
            raise pickle.loads(data.as_py())  # noqa: S301 - a worker of the user's own session wrote it
        parts.setdefault(name.as_py(), []).append(pa.ipc.open_stream(data.as_buffer()).read_all())
    return {name: pa.concat_tables(tables, promote_options="default") for name, tables in parts.items()}


def _bytes(table: pa.Table) -> bytes:
    data = pa.BufferOutputStream()
    with pa.ipc.new_stream(data, table.schema, options=SMALLER) as stream:
        stream.write_table(table)
    return bytes(data.getvalue().to_pybytes())
