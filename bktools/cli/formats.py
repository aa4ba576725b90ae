"""Tables as CSV, Excel, JSON and Parquet: one function a format."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bktools import disk

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

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


def _rows(frame: pd.DataFrame | pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows; times, days and decimals are text, as in a CSV file for programs."""
    import polars as pl
    import pyarrow as pa

    from bktools.frames.delimited import PROFILES, as_texts
    from bktools.frames.tables import in_memory

    table = in_memory(frame)
    is_plain = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating)
    plain = [field.name for field in table.schema if any(is_kind(field.type) for is_kind in is_plain)]
    for rows in (
        as_texts(table, PROFILES["machine"])
        .with_columns(pl.DataFrame(table.select(plain)))
        .iter_slices(ROWS_AT_ONCE)
    ):
        yield from rows.to_dicts()


def _json(frame: pd.DataFrame | pa.Table, file: IO[bytes]) -> None:
    file.write(b"[")
    lead = b"\n"
    for row in _rows(frame):
        file.write(lead + to_json(row))
        lead = b",\n"
    file.write(b"\n]\n")


def _parquet(frame: pd.DataFrame | pa.Table, file: IO[bytes]) -> None:
    import pyarrow.parquet as pq

    from bktools.frames.tables import described, in_memory

    # The path of a file that was read is nothing for whoever gets this one.
    pq.write_table(described(in_memory(frame), {}), file, compression="zstd")


SUFFIXES = (".csv", ".xlsx", ".json", ".parquet")


def write_table(frame: pd.DataFrame | pa.Table, target: Path | IO[bytes], suffix: str, profile: str) -> None:
    """Write a frame to a file or a buffer, in the format of a suffix."""
    from bktools.frames.delimited import csv_of
    from bktools.frames.excel import excel_of

    match suffix:
        case ".csv":
            write = csv_of(frame, profile)
        case ".xlsx":
            write = excel_of({"table": frame})
        case ".json":
            write = partial(_json, frame)
        case _:
            write = partial(_parquet, frame)
    if isinstance(target, Path):
        disk.write_whole(target, write)
    else:
        write(target)
