"""Limits the unpacked size of zip archives, by measuring it, and of Parquet files, by their metadata."""

from __future__ import annotations

import contextlib
import io
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bktools.errors import InputError
from bktools.frames.schema import BYTES, TEXTS

MIB = 1 << 20

# Limits of an archive: bytes of all its members together, and their number.
UNPACKED = 1024 * MIB
MEMBERS = 10_000

# Limits of a Parquet file's table: bytes in any case, and bytes for each byte of the file, as texts compress
# little.
ALWAYS = 256 * MIB
PER_BYTE = 64

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12, "BYTE_ARRAY": 8}

# Errors of reading a damaged archive or file.
_DAMAGE = (
    pa.ArrowException,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


def archive_size(data: bytes, *, kind: str, source: str = "", most: int = UNPACKED) -> int:
    """Return the unpacked size of a zip archive in bytes, up to `most`; members are unpacked in pieces."""
    with _readable(kind, source), zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = sorted(archive.infolist(), key=lambda member: member.header_offset)
        if len(members) > MEMBERS:
            raise InputError(f"holds {len(members):,} files, a {kind} has at most {MEMBERS:,}", source=source)
        if any(
            one.header_offset + one.compress_size > other.header_offset for one, other in pairwise(members)
        ):
            raise zipfile.BadZipFile("its files overlap")
        stated = sum(member.file_size for member in members)
        if stated > most or any(_member_size(archive, member, most) > most for member in members):
            raise InputError(
                f"unpacks to more than {most // MIB:,} MB, too much for a {kind}: split it, "
                "by month or company",
                source=source,
            )
        return stated


def _member_size(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> int:
    """Return the unpacked size of a member in bytes, up to one above `most`; refuse a wrongly stated one."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(f"{member.filename} has an unsupported compression")
    size, stated = 0, member.file_size
    # Otherwise zipfile stops at the stated size, where other readers go on.
    member.file_size = sys.maxsize
    with archive.open(member) as file:
        while size <= most and (piece := file.read(MIB)):
            size += len(piece)
    if size <= most and size != stated:
        raise zipfile.BadZipFile(f"{member.filename} has another size than the archive states")
    return size


def parquet_table(
    data: bytes, *, kind: str = "Parquet file", source: str = "", nested: bool = False
) -> tuple[pa.Table, list[str]]:
    """Return the table of a Parquet file of bounded size, and the names of the columns that were not read.

    Columns of lists, structs and maps are read with `nested` only.
    """
    with _readable(kind, source):
        file = pq.ParquetFile(pa.BufferReader(data))
        left = ALWAYS + PER_BYTE * len(data) - _stated_size(file.metadata)
        whole = file.schema_arrow
        schema = pa.schema([field for field in whole if nested or not pa.types.is_nested(field.type)])
        if left >= 0:
            # Dictionaries keep each text once until the length of all texts is known.
            repeating = [field.name for field in schema if field.type in (*TEXTS, *BYTES)]
            file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=repeating)
            table = file.read(columns=None if len(schema) == len(whole) else schema.names)
            left -= sum(map(_text_size, table.columns))
        if left < 0:
            raise InputError(
                f"unpacks to far more than its {len(data):,} bytes, too much for a {kind}: "
                "export it again from its source",
                source=source,
            )
        # Arrow before 21 reads the format's own UUIDs as bytes, unless Arrow wrote them.
        leaves = (file.schema.column(place) for place in range(len(file.schema)))
        uuids = {leaf.path for leaf in leaves if leaf.logical_type.type == "UUID"}
        kinds = [pa.uuid() if field.name in uuids else field.type for field in schema]
        columns = [_as_declared(column, kind) for column, kind in zip(table.columns, kinds, strict=True)]
        read = pa.table(columns, names=schema.names)
        # Invalid UTF-8 would otherwise fail in a later step.
        read.validate(full=True)
        return read, [field.name for field in whole if field not in list(schema)]


@contextlib.contextmanager
def _readable(kind: str, source: str) -> Iterator[None]:
    """Turn errors of reading a damaged file into one line."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGE as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"is not a readable {kind} ({why})", source=source) from None


def _as_declared(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return a column without the dictionary that it was read with; string views become plain text."""
    if column.type == kind:
        return column
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return plain if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) else plain.cast(kind)


def _stated_size(metadata: pq.FileMetaData) -> int:
    """Return the bytes that the metadata states: of all pages, or of all values in columns, without texts."""
    leaves = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    widths = [_WIDTHS.get(leaf.physical_type, leaf.length) for leaf in leaves]
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    values = sum(
        width * max(group.column(at).num_values, group.num_rows)
        for group in groups
        for at, width in enumerate(widths)
    )
    return int(max(values, sum(group.total_byte_size for group in groups)))


def _text_size(column: pa.ChunkedArray) -> int:
    if not pa.types.is_dictionary(column.type):
        return 0
    return sum(
        pc.sum(pc.take(pc.cast(pc.binary_length(chunk.dictionary), pa.int64()), chunk.indices)).as_py() or 0
        for chunk in column.chunks
    ) + 8 * len(column)
