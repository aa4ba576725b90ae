"""`to_arrow`: a frame as an Arrow table with the same types whatever pandas keeps them in."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from bktools.frames.incoming import described, in_memory, source_of


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
    table = pa.table([_in_microseconds(column) for column in table.columns], table.column_names)
    return described(table, known) if known else table


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times in microseconds, in UTC where they have a zone; other columns unchanged."""
    kind = column.type
    if not pa.types.is_timestamp(kind):
        return column
    zone = kind.tz and "UTC"
    try:
        return column.cast(pa.timestamp("us", zone))
    except pa.ArrowInvalid:
        # Nanoseconds would be lost.
        return column.cast(pa.timestamp(kind.unit, zone))
