"""Writes records as rows of a Parquet file, in portions, and checks them on the way."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bktools import disk
from bktools.contract.noun import Noun
from bktools.contract.paging import Page
from bktools.errors import StorageError, UnreadableAnswerError
from bktools.frames.records import checked, count_unmatched, rows_of
from bktools.frames.schema import schema_of

Record = TypeVar("Record", bound=msgspec.Struct)

# Rows converted to columns at once: few enough to stay in the processor's cache.
SLICE = 1000
ROW_GROUP = 50_000

UUID_LENGTH = 36
# Random odd factors, one for every four letters of a UUID.
FACTORS = np.random.default_rng(20261122).integers(2**64, size=UUID_LENGTH // 4, dtype=np.uint64) | np.uint64(1)

# Memory for counting the ids of a long table; the rest goes to disk.
ID_MEMORY = "64MB"


class Checks(Generic[Record]):
    """Checks a table while its pages come: filters, repeated ids, the service's count, pages that join.

    Parameters
    ----------
    noun, filters, strict, advice
        As in `RowWriter`.
    """

    def __init__(
        self, noun: Noun[Record], filters: Mapping[str, Any], *, strict: bool = True, advice: str = ""
    ) -> None:
        self._noun = noun
        self._filters = [
            (item, filters[item.argument]) for item in noun.filters if item.column and item.argument in filters
        ]
        self._strict, self._advice = strict, advice
        self.count = 0
        self._digests: list[np.ndarray[Any, np.dtype[np.uint64]]] = []
        self._totals: list[int] = []
        self._joined: bool | None = True
        self._unfiltered: dict[str, int] = {}

    def page(self, page: Page[Record], *, joined: bool | None) -> None:
        """Count a page; `joined` is whether it is proven to join the page before."""
        self.count += len(page.data)
        if page.pagination.total is not None and page.pagination.total not in self._totals:
            self._totals.append(page.pagination.total)
        if joined is not True and self._joined is not False:
            self._joined = joined

    def rows(self, rows: pa.Table) -> pa.Table:
        """Return rows with their UUIDs in lower case; raise when they do not match the filters."""
        rows = checked(rows.combine_chunks(), self._noun.name)
        for item, value in self._filters:
            if wrong := count_unmatched(rows, item, value):
                if self._strict:
                    raise UnreadableAnswerError(
                        f"the service did not apply the filter {item.argument} (sent as {item.sent_as}): {wrong} of "
                        f"{rows.num_rows} {self._noun.name} do not match it; nothing was kept{self._advice}"
                    )
                self._unfiltered[item.argument] = self._unfiltered.get(item.argument, 0) + wrong
        self._digests += [_digests(chunk) for chunk in rows.column("id").chunks]
        return rows

    def distinct(self) -> int:
        """Return the number of different ids; two ids may be taken for one, with a chance of 1 in 10^19 a pair."""
        digests = np.sort(np.concatenate([np.empty(0, np.uint64), *self._digests]))
        return len(digests) - int((digests[1:] == digests[:-1]).sum())

    def drift(self) -> str:
        """Return a message when counts or pages show that the table changed while it was read, else ""."""
        totals, rows = self._totals, f"{self.count} rows came"
        if self._joined is False:
            return f"{rows} in pages that do not join"
        if totals and not min(totals) <= self.count <= max(totals):
            return f"{rows}, but the service counts {max(totals)}"
        if len(totals) > 1 and not self._joined:
            return f"{rows} while the service's count went from {totals[0]} to {totals[-1]}"
        return ""

    def unfiltered(self) -> list[str]:
        """Return a message for each filter that the service did not apply, with the number of rows."""
        found = self._unfiltered.items()
        return [f"{count} of {self.count} rows do not match the filter {name}" for name, count in found]

    def verified(self) -> tuple[str, ...]:
        """Return the checks that the table passed."""
        is_counted = len(self._totals) == 1
        passed = {
            "filters": not self._unfiltered,
            "total": is_counted and not self.drift(),
            "joins": bool(self._joined),
        }
        return ("ids", *(name for name, has_passed in passed.items() if has_passed))


class RowWriter(Generic[Record]):
    """Takes pages, writes row groups, and detects rows that are missing, repeated or do not match the filters.

    The calling thread makes columns. A second thread checks, compresses and writes them, at most one row group behind.

    Parameters
    ----------
    noun : Noun
        The kind of rows.
    filters : mapping
        The checked filters.
    path : Path
        The file to create.
    kept : list of pyarrow.Table, optional
        Receives the rows too; without it the memory is constant.
    strict : bool
        Whether rows that do not match the filters are an error.
    advice : str
        The end of that error's message.
    """

    def __init__(
        self,
        noun: Noun[Record],
        filters: Mapping[str, Any],
        path: Path,
        kept: list[pa.Table] | None,
        *,
        strict: bool = True,
        advice: str = "",
    ) -> None:
        self.checks = Checks(noun, filters, strict=strict, advice=advice)
        self._schema = schema_of(noun.record)
        self._kept = kept
        self._records: list[Record] = []
        self._slices: list[pa.Table] = []
        self._waiting = 0
        self._file = disk.exclusive(path)
        self._parquet = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            # Foreign keys repeat; other texts rarely do.
            use_dictionary=[field.name for field in self._schema if field.name.endswith("_id")],
            write_page_checksum=True,
        )
        self._path = path
        self._ids: pa.ChunkedArray | None = None
        self._thread = ThreadPoolExecutor(1, "bktools-writer")
        self._pending: Future[None] | None = None

    @property
    def count(self) -> int:
        """Number of rows added."""
        return self.checks.count

    def add(self, page: Page[Record], *, joined: bool | None) -> None:
        """Add a page, and whether it is proven to join the page before."""
        self._records += page.data
        self.checks.page(page, joined=joined)
        if len(self._records) >= SLICE:
            self._to_slice()
        while self._waiting >= ROW_GROUP:
            self._to_writer(ROW_GROUP)

    def finish(self) -> None:
        """Write the remaining rows and close the file."""
        if self._records:
            self._to_slice()
        while self._waiting:
            self._to_writer(min(self._waiting, ROW_GROUP))
        self._wait()
        self._parquet.close()
        self._file.close()

    def repeated(self) -> str:
        """Return a message when rows came twice, else "". Call it after `finish`."""
        if self.count > ROW_GROUP:
            distinct = self.checks.distinct()
            distinct = distinct if distinct == self.count else _distinct_ids(self._path)
        else:  # most tables; importing DuckDB would take longer than loading one
            distinct = 0 if self._ids is None else pc.count_distinct(self._ids).as_py()
        return f"{self.count} rows came, {self.count - distinct} of them a second time" if distinct < self.count else ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        try:
            self._parquet.close()
            self._file.close()
        except (OSError, pa.ArrowException):
            if error is None:
                raise
            # After an earlier error the file is removed, so a failure to close it does not matter.

    def _to_slice(self) -> None:
        self._slices.append(rows_of(self._records, self._schema))
        self._waiting += len(self._records)
        self._records = []

    def _to_writer(self, rows: int) -> None:
        """Hand rows to the writing thread, in groups of a fixed size, so that the file does not depend on page sizes."""
        waiting = pa.concat_tables(self._slices)
        rest = waiting.slice(rows)
        self._slices = [rest] if rest.num_rows else []
        self._waiting = rest.num_rows
        self._wait()
        self._pending = self._thread.submit(self._write, waiting.slice(0, rows))

    def _write(self, rows: pa.Table) -> None:
        rows = self.checks.rows(rows)
        self._ids = rows.column("id")
        self._parquet.write_table(rows, row_group_size=ROW_GROUP)
        if self._kept is not None:
            self._kept.append(rows)

    def _wait(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()


def _digests(ids: pa.Array) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return a number for each UUID, so that different numbers prove different UUIDs; none for IDs that are no UUIDs.

    Comparing numbers takes an eighth of the time of counting texts.
    """
    _, offsets, letters = ids.buffers()
    begin, end = np.frombuffer(offsets, np.int64)[[ids.offset, ids.offset + len(ids)]]
    if end - begin != UUID_LENGTH * len(ids):
        return np.empty(0, np.uint64)
    words = np.frombuffer(letters, np.uint8)[begin:end].reshape(len(ids), UUID_LENGTH).view(np.uint32)
    return words.astype(np.uint64) @ FACTORS


def _distinct_ids(path: Path) -> int:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": ID_MEMORY,
        "threads": 1,
        "temp_directory": str(path.parent / f"{path.name}-ids"),
    }
    try:
        # DuckDB does not get the path, because it reads brackets in a folder's name as a pattern.
        with pq.ParquetFile(path) as file, duckdb.connect(config=config) as connection:
            portions = file.iter_batches(ROW_GROUP, columns=["id"])
            ids = pa.RecordBatchReader.from_batches(pa.schema([file.schema_arrow.field("id")]), portions)
            ((count,),) = connection.from_arrow(ids).aggregate("count(DISTINCT id)").fetchall()
    except duckdb.Error as error:
        raise StorageError(f"the ids in {path} cannot be counted: {' '.join(str(error).split())}") from error
    return int(count)
