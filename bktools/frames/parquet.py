"""Reads the table of a Parquet file whose metadata state a bounded size."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from bktools.errors import InputError
from bktools.wording import Sentence

MIB = 1 << 20
# Bytes of all files of an archive together.
UNPACKED = 1024 * MIB
# The size that a Parquet file may state: bytes in any case, and bytes for each byte of the file.
ALWAYS = 256 * MIB
PER_BYTE = 64


def parquet_table(
    data: bytes, *, kind: str = "Parquet file", source: str = "", nested: bool = False
) -> tuple[pa.Table, list[str]]:
    """Return the table of a Parquet file of bounded size, and the names of the columns that were not read.

    Columns of lists, structs and maps are read with `nested` only.
    """
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
        if sum(group.total_byte_size for group in groups) > ALWAYS + PER_BYTE * len(data):
            raise InputError(
                Sentence("error.unpacks_too_large", size=len(data), kind=kind),
                source=source,
            )
        whole = file.schema_arrow
        names = [field.name for field in whole if nested or not pa.types.is_nested(field.type)]
        table = file.read(columns=None if len(names) == len(whole) else names)
        # Arrow before 21 reads the format's own UUIDs as bytes, unless Arrow wrote them.
        leaves = (file.schema.column(place) for place in range(len(file.schema)))
        uuids = {leaf.path for leaf in leaves if leaf.logical_type.type == "UUID"}
        columns = [
            column.cast(pa.uuid()) if name in uuids else column
            for name, column in zip(names, table.columns, strict=True)
        ]
        table = pa.table(columns, names)
        # Invalid UTF-8 would otherwise fail in a later step.
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(Sentence("error.not_readable", kind=kind, why=why), source=source) from None
    return table, [name for name in whole.names if name not in names]
