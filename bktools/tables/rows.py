"""Records become rows of a Parquet file, in portions, so that a table may be larger than memory; checked on the way."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bktools import disk
from bktools.contract.noun import Noun
from bktools.contract.paging import Page
from bktools.errors import StorageError, UnreadableAnswerError
from bktools.frames.records import checked, rows_of, unasked
from bktools.frames.schema import schema_of

Record = TypeVar("Record", bound=msgspec.Struct)

# Rows turned into columns at once: few enough to be in the processor's cache still.
SLICE = 1000
ROW_GROUP = 50_000

# What counting the ids of a longer table may hold in memory; the rest goes to the disk.
ID_MEMORY = "64MB"


class RowWriter(Generic[Record]):
    """Takes pages, writes row groups, and counts what shows that rows were lost, repeated or not asked for.

    Columns are made where the pages come; checking, compressing and writing happen in a thread of its own, at most one
    row group behind.

    Parameters
    ----------
    noun : Noun
        What the rows are.
    filters : mapping
        What was asked for, checked.
    path : Path
        The file, made here.
    kept : list of pyarrow.Table, optional
        Takes the rows too, for a DataFrame; without it the memory is the same for any number of rows.
    strict : bool
        Whether rows that were not asked for are an error.
    advice : str
        How that error ends.
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
        self._noun = noun
        self._schema = schema_of(noun.record)
        self._filters = [
            (item, filters[item.argument]) for item in noun.filters if item.column and item.argument in filters
        ]
        self._strict, self._advice = strict, advice
        self._kept = kept
        self._records: list[Record] = []
        self._slices: list[pa.Table] = []
        self._waiting = 0
        self._written = 0
        self._file = disk.exclusive(path)
        self._parquet = pq.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            # Ids of other things repeat; every other text may as well be its own.
            use_dictionary=[field.name for field in self._schema if field.name.endswith("_id")],
            write_page_checksum=True,
        )
        self._path = path
        self._ids: pa.ChunkedArray | None = None
        self._thread = ThreadPoolExecutor(1, "bktools-writer")
        self._under_way: Future[None] | None = None
        self._totals: list[int] = []
        self._joined: bool | None = True
        self._unasked: dict[str, int] = {}

    @property
    def count(self) -> int:
        """Rows taken."""
        return self._written + self._waiting + len(self._records)

    def add(self, page: Page[Record], *, joined: bool | None) -> None:
        """Take a page, and whether it was shown to join the one before."""
        self._records += page.data
        if page.pagination.total is not None and page.pagination.total not in self._totals:
            self._totals.append(page.pagination.total)
        if joined is not True and self._joined is not False:
            self._joined = joined
        if len(self._records) >= SLICE:
            self._to_slice()
        while self._waiting >= ROW_GROUP:
            self._to_writer(ROW_GROUP)

    def finish(self) -> None:
        """Write what is left; the file is whole then."""
        if self._records:
            self._to_slice()
        while self._waiting:
            self._to_writer(min(self._waiting, ROW_GROUP))
        self._wait()
        self._parquet.close()
        self._file.close()

    def repeated(self) -> str:
        """Return what shows that rows came twice, once all are written; empty when nothing does."""
        if self.count > ROW_GROUP:
            distinct = _distinct_ids(self._path)
        else:  # most tables; importing DuckDB would take longer than loading them
            distinct = 0 if self._ids is None else pc.count_distinct(self._ids).as_py()
        return f"{self.count} rows came, {self.count - distinct} of them a second time" if distinct < self.count else ""

    def drift(self) -> str:
        """Return what shows that the table changed while it was read; empty when nothing does."""
        totals, rows = self._totals, f"{self.count} rows came"
        if self._joined is False:
            return f"{rows}, in pages that do not join"
        if totals and not min(totals) <= self.count <= max(totals):
            return f"{rows}, the service counts {max(totals)}"
        if len(totals) > 1 and not self._joined:
            return f"{rows} while the service's count went from {totals[0]} to {totals[-1]}"
        return ""

    def unasked(self) -> list[str]:
        """Return which filters the service did not apply, and to how many rows."""
        return [f"{count} of {self.count} rows do not fit the filter {name}" for name, count in self._unasked.items()]

    def verified(self) -> tuple[str, ...]:
        """Return the checks that speak for the table."""
        is_counted = len(self._totals) == 1
        passed = {"filters": not self._unasked, "total": is_counted and not self.drift(), "joins": bool(self._joined)}
        return ("ids", *(name for name, has_passed in passed.items() if has_passed))

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
            # A full disk refuses the rest of a file that is removed anyway.

    def _to_slice(self) -> None:
        self._slices.append(rows_of(self._records, self._schema))
        self._waiting += len(self._records)
        self._records = []

    def _to_writer(self, rows: int) -> None:
        """Hand over the first rows: always as many, so that the same table makes the same file on any page size."""
        waiting = pa.concat_tables(self._slices)
        rest = waiting.slice(rows)
        self._slices = [rest] if rest.num_rows else []
        self._waiting = rest.num_rows
        self._written += rows
        self._wait()
        self._under_way = self._thread.submit(self._write, waiting.slice(0, rows))

    def _write(self, rows: pa.Table) -> None:
        rows = checked(rows.combine_chunks(), self._noun.name)
        for item, value in self._filters:
            if wrong := unasked(rows, item, value):
                if self._strict:
                    raise UnreadableAnswerError(
                        f"the service did not apply the filter {item.argument} (sent as {item.sent_as}): {wrong} of "
                        f"{rows.num_rows} {self._noun.name} do not fit it; nothing was kept{self._advice}"
                    )
                self._unasked[item.argument] = self._unasked.get(item.argument, 0) + wrong
        self._ids = rows.column("id")
        self._parquet.write_table(rows, row_group_size=ROW_GROUP)
        if self._kept is not None:
            self._kept.append(rows)

    def _wait(self) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()


def _distinct_ids(path: Path) -> int:
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": ID_MEMORY,
        "threads": 1,
        "temp_directory": str(path.parent / f"{path.name}-ids"),
    }
    try:
        # Not by its path: DuckDB takes brackets in a folder's name for a pattern.
        with pq.ParquetFile(path) as file, duckdb.connect(config=config) as connection:
            portions = file.iter_batches(ROW_GROUP, columns=["id"])
            ids = pa.RecordBatchReader.from_batches(pa.schema([file.schema_arrow.field("id")]), portions)
            ((count,),) = connection.from_arrow(ids).aggregate("count(DISTINCT id)").fetchall()
    except duckdb.Error as error:
        raise StorageError(f"the ids in {path} cannot be counted: {' '.join(str(error).split())}") from error
    return int(count)
