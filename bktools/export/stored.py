"""A plan in a folder: its entries stay on disk, and are read a batch at a time while they are submitted.

The folder has `plan.json` and Parquet files of the names in a plan file, and is verified in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bktools import views
from bktools.export.plan import SUMMARY, ExportPlan, summary_of
from bktools.frames.engine import engine, repeated_digests, scannable
from bktools.frames.schema import to_pandas

# Rows of a row group: what is read at once for a batch.
GROUP = 65_536


@dataclass(frozen=True)
class StoredTable:
    """A Parquet file of bktools, of which some rows are read at a time."""

    path: Path

    def __len__(self) -> int:
        return int(self._begins[-1])

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._metadata.schema.to_arrow_schema()

    def slice(self, begin: int, count: int) -> pa.Table:
        """Return some rows."""
        end = min(begin + count, len(self))
        first, last = np.searchsorted(self._begins, [begin, max(end - 1, begin)], side="right") - 1
        groups = [self._group(group) for group in range(first, min(last + 1, len(self._begins) - 1))]
        if not groups:
            return self.schema.empty_table()
        return pa.concat_tables(groups).slice(begin - self._begins[first], end - begin)

    def pieces(self, columns: list[str] | None = None) -> Iterator[pa.Table]:
        """Yield all rows in order, a row group at a time; at least one table."""
        for group in range(len(self._begins) - 1):
            yield self._read(group, columns)
        if not len(self):
            schema = self.schema
            yield (schema if columns is None else pa.schema([schema.field(name) for name in columns])).empty_table()

    def select(self, columns: Iterable[str]) -> pa.Table:
        """Return some columns of all rows."""
        return pa.concat_tables(self.pieces(list(columns)))

    def read(self) -> pa.Table:
        """Return all rows."""
        return pa.concat_tables(self.pieces())

    @cached_property
    def _metadata(self) -> pq.FileMetaData:
        return pq.read_metadata(self.path)

    @cached_property
    def _begins(self) -> Any:
        counts = [self._metadata.row_group(group).num_rows for group in range(self._metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])

    @cached_property
    def _group(self) -> Any:
        # Batches that follow each other are in one row group, and companies may be sent in turn.
        return lru_cache(maxsize=4)(self._read)

    def _read(self, group: int, columns: list[str] | None = None) -> pa.Table:
        # A file object for each call, because several threads may read.
        with pq.ParquetFile(self.path, metadata=self._metadata) as file:
            return file.read_row_group(group, columns=columns)

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path}


class StoredPlan(ExportPlan):
    """A plan whose entries, entries that are not ready, and findings are in the files of a folder.

    `entries`, `not_ready` and `findings` read all rows when they are asked for. Printing the plan, checking it and
    submitting it read a part at a time.
    """

    held: StoredTable
    found: StoredTable

    def __init__(self, *, rows: StoredTable, held: StoredTable, found: StoredTable, **fields: Any) -> None:
        # The base class is frozen, and its field not_ready is read on first use here.
        self.__dict__.update(fields, rows=rows, held=held, found=found, _find=found.read)

    @cached_property
    def not_ready(self) -> pd.DataFrame:
        """One row per entry that is not ready, with reason and message."""
        return to_pandas(self.held.read(), self.provenance)

    @cached_property
    def entries(self) -> pd.DataFrame:
        """One row per ready entry."""
        return to_pandas(self.rows.read(), self.provenance)

    def __getstate__(self) -> dict[str, Any]:
        """Return the plan for pickle and copy; what was read of its files is read again."""
        return {
            name: value for name, value in self.__dict__.items() if name not in {"entries", "not_ready", "findings"}
        }

    @cached_property
    def _summary(self) -> pd.DataFrame:
        columns = [name for name in SUMMARY if name != "entries"]
        parts = [summary_of(part.to_pandas().assign(entries=1)) for part in self.found.pieces(columns)]
        return summary_of(pd.concat(parts))

    def _held_rows(self) -> tuple[pd.DataFrame, int]:
        return to_pandas(self.held.slice(0, views.SHOWN_ROWS), self.provenance), len(self.held)

    def _has_repeats(self) -> bool:
        with engine("submit_export_jobs", entries=scannable(self.rows.path)) as connection:
            connection.register("repeated", repeated_digests(connection, "entries", "id"))
            query = "SELECT id FROM entries SEMI JOIN repeated ON hash(id) = digest GROUP BY id HAVING count(*) > 1"
            return connection.execute(query).fetchone() is not None
