"""Parquet → a table of text: nulls are empty cells, numbers stand without exponents."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.frames.incoming import plain_column
from bktools.frames.unpacking import parquet_table
from bktools.inputs.table import Broken, Table

_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)


def read_parquet(data: bytes, source: str) -> Table:
    """Return the cells of a Parquet file as text; a file that is damaged or too large is an `InputError`."""
    table, left_out = parquet_table(data, source=source)
    # Lines as if the headings stood above the rows, as in every other kind of file.
    lines = np.arange(2, table.num_rows + 2, dtype=np.int64)
    headings: list[str] = []
    columns: list[pa.ChunkedArray] = []
    numeric: set[int] = set()
    broken: list[Broken] = []
    for name, column in zip(table.column_names, map(_plain, table.columns), strict=True):
        text = _as_text(column)
        if text is None:
            left_out.append(name)
            continue
        for row, value in _no_numbers(column):
            broken.append(
                Broken(len(columns), int(lines[row]), f"{name!r} holds {value}: write a null or a number")
            )
        if _is_number(column.type):
            numeric.add(len(columns))
        headings.append(name)
        columns.append(text)
    notes = (f"columns that are no text are not read: {', '.join(left_out)}",) if left_out else ()
    return Table(
        source, tuple(headings), columns, lines, 1, numeric=frozenset(numeric), notes=notes, broken=broken
    )


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _no_numbers(column: pa.ChunkedArray) -> list[tuple[int, str]]:
    """Return where NaN and infinity are; a null is neither."""
    if not pa.types.is_floating(column.type):
        return []
    wrong = np.flatnonzero(pc.fill_null(pc.invert(pc.is_finite(column)), False).to_numpy())
    return [(int(row), str(column[row].as_py())) for row in wrong]


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
