"""A file is read by the steps of its kind; what a step finds open is asked before the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import pyarrow as pa

from bktools.frames import schema
from bktools.inputs.fields import of_kind
from bktools.inputs.options import Options
from bktools.inputs.question import answered
from bktools.inputs.reading import Reading

Step = Callable[[Reading], None]
Finish = Callable[[Reading, pa.Table], pa.Table]


def read_by_steps(
    begin: Callable[[Options], Reading],
    steps: Sequence[Step],
    options: Options,
    columns: pa.Schema,
    *,
    finish: Finish = lambda _, table: table,
    money: str = "float",
) -> pd.DataFrame:
    """Return those columns of a schema that a file has, or raise the one question about it.

    A step puts typed columns into the result of the reading; fields of text are read here.
    """

    def read(options: Options) -> pd.DataFrame:
        reading = begin(options)
        for step in steps:
            step(reading)
            reading.raise_problems()
        result = reading.result
        result |= _texts(reading) | {"line": reading.lines()}
        table = pa.table({name: result[name] for name in columns.names if name in result} | reading.others)
        table = finish(reading, table)
        reading.raise_problems()
        about = reading.provenance()
        reading.warn_of_notes()
        return schema.to_pandas(table, about, money=money)

    return answered(read, options)


def _texts(reading: Reading) -> dict[str, pa.ChunkedArray]:
    """Return the fields of text that no step has read."""
    return {
        field.name: reading.or_null(field.name)
        for field in of_kind(reading.kind).values()
        if field.holds.is_text
        and reading.has(field.name)
        and field.name not in reading.result
        and not (field.seldom and reading.blank(field.name).all())
    }
