"""`to_arrow`: a frame as an Arrow table with the same types whatever pandas keeps them in."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from bktools.frames.columns import dated
from bktools.frames.incoming import described, in_memory, source_of
from bktools.frames.schema import DATE, TEXT, TEXTS


def to_arrow(frame: Any) -> pa.Table:
    """Return a frame as an Arrow table, for Polars, DuckDB, Spark and Parquet.

    Parameters
    ----------
    frame : DataFrame
        Any frame, also of Polars, DuckDB or PySpark. It is not changed; its index is left out.

    Returns
    -------
    pyarrow.Table
        Text is large_string, an amount decimal128 with the decimals of its currency, a flag bool, a count
        int64, a date date32, and a time timestamp[us], in UTC where it has a zone; a missing value is null.
        Times without a zone are dates when every time of the column is midnight. The schema has no metadata
        but `bktools`, the source of the rows as JSON, where it is known.

    Raises
    ------
    InputError
        When a column holds values of several types, or two columns have one name.

    Notes
    -----
    The tables of a result come at once by its method: `plan.to_arrow()["batches"]`. Source of the columns:
    interface, section 2.

    Examples
    --------
    >>> import bktools
    >>> with bktools.Sandbox() as service:
    ...     table = bktools.to_arrow(bktools.load_categories(service=service))
    >>> table.schema.field("archived").type
    DataType(bool)

    `polars.from_arrow(table)` is a Polars frame, `duckdb.from_arrow(table)` a relation of DuckDB.
    """
    known = source_of(frame)
    table = in_memory(frame, "the frame")
    exact = pa.table([_exact(column) for column in table.columns], table.column_names)
    return described(exact, known) if known else exact


def _exact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = dated(column)
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return _exact(column.cast(kind.value_type))
    if types.is_timestamp(kind):
        return _in_microseconds(column)
    wanted = TEXT if kind in TEXTS else DATE if types.is_date(kind) else kind
    return column.cast(wanted)


def _in_microseconds(times: pa.ChunkedArray) -> pa.ChunkedArray:
    zone = times.type.tz and "UTC"
    try:
        return times.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        # Nanoseconds would be lost.
        return times.cast(pa.timestamp(times.type.unit, zone))
