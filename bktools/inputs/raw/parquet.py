"""Parquet → a table of text: nulls are empty cells, numbers stand without exponents."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.frames.parquet import parquet_table
from bktools.frames.tables import plain_column
from bktools.inputs.notes import note
from bktools.inputs.table import RawTable

_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def read_parquet(data: bytes, source: str) -> RawTable:
    """Return the cells of a Parquet file as text; a file that is damaged or too large is an `InputError`."""
    table, left_out = parquet_table(data, source=source)
    read = [
        (name, column, _as_text(column))
        for name, column in zip(table.column_names, map(_plain, table.columns), strict=True)
    ]
    left_out += [name for name, _, text in read if text is None]
    # Lines as if the headings stood above the rows, as in every other kind of file.
    columns = [
        pa.chunked_array([[name], *text.chunks], schema.TEXT) for name, _, text in read if text is not None
    ]
    return RawTable(
        columns,
        np.arange(1, table.num_rows + 2, dtype=np.int64),
        numbers=[
            np.full(table.num_rows + 1, _is_number(column.type))
            for _, column, text in read
            if text is not None
        ],
        notes=[note("columns_not_text", names=left_out)] if left_out else [],
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return plain_column(column)
    except pa.ArrowException:
        # A decimal of more digits than engines know has a form as text all the same.
        return column


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return a column as text, None for one that has no form as text."""
    kind = column.type
    if any(is_kind(kind) for is_kind in _BYTES):
        return None
    try:
        text = pc.fill_null(pc.cast(column, schema.TEXT), "")
    except pa.ArrowException:
        return None
    if _is_number(kind) and pc.any(pc.match_substring(text, "e", ignore_case=True)).as_py():
        plain = [f"{Decimal(number):f}" if "e" in number.lower() else number for number in text.to_pylist()]
        text = pa.chunked_array([pa.array(plain, schema.TEXT)])
    return text
