"""Parquet → a table of text: nulls are empty cells, numbers stand without exponents."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bktools.errors import InputError
from bktools.frames import schema
from bktools.inputs.table import Table


def read_parquet(data: bytes, source: str) -> Table:
    """Return the cells of a Parquet file as text.

    Raises
    ------
    InputError
        When the file is damaged.
    """
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"is no Parquet file that can be read ({str(error).splitlines()[0]})", source=source) from None
    left_out = [
        field.name for field in table.schema if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
    ]
    table = table.drop_columns(left_out)
    return Table(
        source=source,
        headings=tuple(table.column_names),
        columns=[_as_text(column) for column in table.columns],
        # Lines as if the headings stood above the rows, as in every other kind of file.
        lines=np.arange(2, table.num_rows + 2, dtype=np.int64),
        heading_line=1,
        numeric=frozenset(place for place, column in enumerate(table.columns) if _is_number(column.type)),
        notes=(f"columns that are no text are not read: {', '.join(left_out)}",) if left_out else (),
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = pc.cast(column, schema.TEXT)
    if pa.types.is_floating(column.type):
        text = pc.if_else(pc.is_nan(column), pa.scalar(None, schema.TEXT), text)
    text = pc.fill_null(text, "")
    if _is_number(column.type) and pc.any(pc.match_substring(text, "e", ignore_case=True)).as_py():
        plain = [f"{Decimal(number):f}" if "e" in number.lower() else number for number in text.to_pylist()]
        text = pa.chunked_array([pa.array(plain, schema.TEXT)])
    return text
