"""Writing a snapshot: rows into a Parquet file of its own, which takes its place when it is whole."""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bktools import disk
from bktools.errors import StorageError

ROW_GROUP = 50_000


@dataclass(frozen=True)
class Written:
    """A Parquet file that is on the disk and waits for its name."""

    path: Path
    name: str
    rows: int
    size: int
    footer: str


class Writer:
    """Rows on their way into a snapshot.

    Parameters
    ----------
    folder : Path
        Where the snapshot will be.
    schema : pyarrow.Schema
        Columns of the rows.
    """

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self.folder = folder
        self._path = disk.temporary(folder)
        self._file = disk.exclusive(self._path)
        self._parquet = pq.ParquetWriter(
            self._file,
            schema,
            compression="zstd",
            # Ids of other things repeat; every other text may as well be its own.
            use_dictionary=[field.name for field in schema if field.name.endswith("_id")],
            write_page_checksum=True,
        )
        self.rows = 0

    def write(self, table: pa.Table) -> None:
        """Add rows; the same rows in the same portions are the same bytes."""
        self._parquet.write_table(table, row_group_size=ROW_GROUP)
        self.rows += table.num_rows

    def finish(self) -> Written:
        """Return the file, on the disk and checked."""
        self._parquet.close()
        disk.to_disk(self._file)
        self._file.close()
        with self._path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
            footer = footer_digest(file)
            file.seek(0)
            readable = pq.ParquetFile(file).metadata.num_rows
        if readable != self.rows:
            raise StorageError(f"{self.rows} rows were written to {self.folder}, {readable} can be read back")
        return Written(self._path, f"{content}.parquet", self.rows, self._path.stat().st_size, footer)

    def discard(self) -> None:
        """Leave nothing behind that did not take its place."""
        try:
            self._parquet.close()
            self._file.close()
        except (OSError, pa.ArrowException):
            pass  # a full disk refuses the rest of a file that is removed in the next line
        finally:
            self._path.unlink(missing_ok=True)


def footer_digest(file: io.BufferedReader | pa.NativeFile) -> str:
    """Return the digest of the part of a Parquet file that its page checksums do not cover."""
    file.seek(-8, os.SEEK_END)
    length = int.from_bytes(file.read(8)[:4], "little") + 8
    file.seek(-length, os.SEEK_END)
    return hashlib.sha256(file.read(length)).hexdigest()
