"""Tables as CSV, Excel, JSON and Parquet: one function a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import bktools

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 50_000


def to_json(value: Any) -> bytes:
    """Return a value as JSON: decimals as text, so that no reader rounds them, and tables as rows."""
    import msgspec

    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "itertuples"):
        return list(_rows(value))
    if hasattr(value, "item"):
        return value.item()
    return str(value)


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows; times, days and decimals are text, as in a CSV file for programs."""
    import pyarrow as pa

    from bktools.frames.delimited import PROFILES, as_text, in_minor_units
    from bktools.frames.incoming import arrow_of

    def is_plain(kind: pa.DataType) -> bool:
        return any(
            is_kind(kind) for is_kind in (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
        )

    table = arrow_of(frame)
    columns = {
        name: column if is_plain(column.type) else as_text(column, PROFILES["machine"], name)
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    columns |= in_minor_units(table, columns, ".")
    for batch in pa.table(columns).to_batches(ROWS_AT_ONCE):
        yield from batch.to_pylist()


def _json(frame: pd.DataFrame, file: IO[bytes]) -> None:
    file.write(b"[")
    lead = b"\n"
    for row in _rows(frame):
        file.write(lead + to_json(row))
        lead = b",\n"
    file.write(b"\n]\n")


def _parquet(frame: pd.DataFrame, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    from bktools.frames.incoming import arrow_of

    pq.write_table(arrow_of(frame), file, compression="zstd")


# By the suffix of the file. The writers of .csv and .xlsx are public.
WRITERS: dict[str, Callable[[pd.DataFrame, IO[bytes]], object]] = {
    ".json": _json,
    ".parquet": _parquet,
}
SUFFIXES = (".csv", ".xlsx", *WRITERS)


def write_table(frame: pd.DataFrame, target: Path | IO[bytes], suffix: str, profile: str) -> None:
    """Write a frame to a file or a buffer, in the format of a suffix; the profile is that of CSV."""
    from bktools.frames.delimited import written

    if suffix == ".csv":
        bktools.to_csv(frame, target, profile)
    elif suffix == ".xlsx":
        bktools.to_excel(frame, target)
    else:
        written(target, partial(WRITERS[suffix], frame))
