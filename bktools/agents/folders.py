"""Folders that a person named at the start: files are read below them, and results are written there."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import bktools
from bktools import disk
from bktools.errors import ArgumentError

# The folder of all results, in the first of the named ones.
RESULTS = "bktools-prepared"


@dataclass(frozen=True)
class Folders:
    """The named folders by their real paths, and the Parquet file of each table that was answered."""

    roots: Sequence[Path]
    tables: dict[str, Path] = field(default_factory=dict)

    def file(self, path: str) -> Path:
        """Return the real path of a file below one of the folders; a relative one is of the first folder."""
        if not path.isprintable():
            raise ArgumentError("path", "must have visible characters only", path)
        try:
            real = (self.roots[0] / path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            real = None
        # One sentence for both: whether a file outside exists is nothing that an assistant may ask.
        if real is None or not any(real.is_relative_to(root) for root in self.roots) or not real.is_file():
            named = ", ".join(map(str, self.roots))
            raise ArgumentError("path", f"must be a file below the folders of --folder ({named})", path)
        return real

    @property
    def results(self) -> Path:
        """The folder of the results, which has no link: one could lead out of the named folders."""
        folder = self.roots[0] / RESULTS
        with disk.storage_errors(folder):
            folder.mkdir(mode=disk.PRIVATE_FOLDER, exist_ok=True)
            link = next((path for path in (folder, *folder.iterdir()) if path.is_symlink()), None)
        if link is not None:
            raise ArgumentError("folder", "must hold no links among the results: remove it", str(link))
        return folder

    def keep(self, name: str, frame: Any) -> dict[str, Any]:
        """Write a table to a Parquet file and return its name for SQL, its file, rows and columns.

        The name ends with a digest of the content: a repeated call writes no second file.
        """
        table = bktools.to_arrow(frame)
        content = io.BytesIO()
        # Without the source in the schema, which has paths of its own.
        pq.write_table(table.replace_schema_metadata(), content, compression="zstd")
        known = f"{name}_{hashlib.sha256(content.getbuffer()).hexdigest()[:8]}"
        path = self.results / f"{known}.parquet"
        with disk.storage_errors(path):
            disk.replace_content(path, content.getvalue())
        self.tables[known] = path
        columns = {column.name: str(column.type) for column in table.schema}
        return {"table": known, "file": path, "rows": len(table), "columns": columns}
