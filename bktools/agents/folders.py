"""Folders that a person named at the start: files are read below them, and tables are kept there."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import bktools
from bktools import disk
from bktools.agents.answers import MOST_ROWS, Facts
from bktools.errors import ArgumentError

# The folder of all results, in the first of the named ones.
RESULTS = "bktools-prepared"
# Columns of codes, which an answer counts.
CODES = (
    "severity",
    "check",
    "outcome",
    "action",
    "state",
    "status",
    "fate",
    "reason",
    "archived",
    "approved",
)


@dataclass(frozen=True)
class Folders:
    """The named folders by their real paths, and the Parquet file of each table that was answered."""

    roots: Sequence[Path]
    tables: dict[str, Path] = field(default_factory=dict)

    def file(self, path: str) -> Path:
        """Return the real path of a file below one of the folders; a relative one is of the first folder."""
        try:
            real = (self.roots[0] / path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            real = self.roots[0]
        # One sentence for all: an assistant may not ask which files exist elsewhere.
        is_below = any(real.is_relative_to(root) for root in self.roots)
        if not is_below or not real.is_file() or not str(real).isprintable():
            raise ArgumentError(
                "path", "must be a file below the folders that were named with --folder", path
            )
        return real

    def table(self, name: str) -> Path:
        """Return the file of a table of an earlier answer."""
        path = self.tables.get(name)
        # A file that was replaced by a link may lead out of the folders.
        if path is None or not path.is_file() or path.resolve() != path:
            raise ArgumentError("table", "must be the name of a table of an earlier answer", name)
        return path

    def results(self) -> Path:
        """Return the folder of the results, without a link in it, which could lead out of the folders."""
        folder = self.roots[0] / RESULTS
        with disk.storage_errors(folder):
            folder.mkdir(mode=disk.PRIVATE_FOLDER, exist_ok=True)
            link = next((path for path in (folder, *folder.iterdir()) if path.is_symlink()), None)
        if link is not None:
            raise ArgumentError("folder", "must hold no links among the results: remove it", str(link))
        return folder

    def keep(self, name: str, frame: Any) -> tuple[Facts, list[Facts]]:
        """Write a table to a Parquet file; return a summary with its name for SQL, and its first rows.

        The name ends with a digest of the content: a repeated call writes no second file.
        """
        # Without the source in the schema, which has paths of its own.
        table = bktools.to_arrow(frame).replace_schema_metadata()
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        known = f"{name}_{hashlib.sha256(content.getbuffer()).hexdigest()[:8]}"
        path = self.results() / f"{known}.parquet"
        with disk.storage_errors(path):
            disk.replace_content(path, content.getvalue())
        self.tables[known] = path
        summary: Facts = {"table": known, "file": path, "rows": len(table), "columns": table.column_names}
        summary |= {f"by_{code}": _counts(table[code]) for code in CODES if code in table.column_names}
        if {"amount", "currency"} <= {*table.column_names}:
            sums = bktools.to_arrow(bktools.spend(table, by=[])).to_pylist()
            summary["amounts"] = {each["currency"]: each["amount"] for each in sums}
        return summary, table.slice(0, MOST_ROWS).to_pylist()


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    counts = sorted(column.value_counts().to_pylist(), key=lambda each: -each["counts"])
    return {str(each["values"]): each["counts"] for each in counts}
