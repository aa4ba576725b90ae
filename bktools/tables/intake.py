"""Records as they come become rows on the disk: in portions, so that a table may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, Self, TypeVar

import pyarrow as pa

from bktools.contract.paging import Page
from bktools.frames.records import checked, uuid_numbers
from bktools.tables.ids import Ids
from bktools.tables.writer import ROW_GROUP, Writer, Written

Record = TypeVar("Record")

# Rows turned into columns at once: few enough to be in the processor's cache still.
SLICE = 1000


@dataclass(frozen=True)
class Table(Generic[Record]):
    """How a table of the service is read.

    Parameters
    ----------
    noun : str
        What its rows are, in the plural.
    schema : pyarrow.Schema
        Columns of its rows.
    rows : callable
        Records to rows.
    """

    noun: str
    schema: pa.Schema
    rows: Callable[[Sequence[Record]], pa.Table]


class Intake(Generic[Record]):
    """Takes pages, writes row groups, and counts what shows that rows were lost or read twice.

    Columns are made where the pages come; checking, compressing and writing happen in a thread of its own, at most one
    row group behind.

    Parameters
    ----------
    table : Table
        What is read.
    writer : Writer
        Where the rows go.
    keep : bool
        Whether the rows also stay in memory, for a DataFrame.
    """

    def __init__(self, table: Table[Record], writer: Writer, *, keep: bool) -> None:
        self._table = table
        self._writer = writer
        self._records: list[Record] = []
        self._slices: list[pa.Table] = []
        self._waiting = 0
        self._kept: list[pa.Table] | None = [] if keep else None
        self._ids = Ids(writer.folder)
        self._thread = ThreadPoolExecutor(1, "bktools-writer")
        self._under_way: Future[None] | None = None
        self._totals: set[int] = set()

    @property
    def count(self) -> int:
        """Rows taken."""
        return self._ids.count + self._waiting + len(self._records)

    def add(self, page: Page[Record]) -> None:
        """Take a page."""
        self._records += page.data
        if page.pagination.total is not None:
            self._totals.add(page.pagination.total)
        if len(self._records) >= SLICE:
            self._to_slice()
        while self._waiting >= ROW_GROUP:
            self._to_writer(ROW_GROUP)

    def complaint(self) -> str:
        """Return what shows that the rows are not the whole table, once; empty when nothing does."""
        if self._records:
            self._to_slice()
        while self._waiting:
            self._to_writer(min(self._waiting, ROW_GROUP))
        self._wait()
        repeated = self._ids.repeated()
        if repeated:
            return f"{self.count} rows came, {repeated} of them a second time"
        # Rows that come and go while cursors are followed change the count, and lose no row that was there throughout.
        if self._totals and not min(self._totals) <= self.count <= max(self._totals):
            return f"{self.count} rows came, the service counts {max(self._totals)}"
        return ""

    def finish(self) -> tuple[Written, pa.Table | None]:
        """Return the file with the rows, and the rows where they were kept."""
        kept = self._kept
        rows = None if kept is None else pa.concat_tables([self._table.schema.empty_table(), *kept])
        return self._writer.finish(), rows

    def __enter__(self) -> Self:
        self._ids.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._ids.__exit__(kind, error, traceback)

    def _to_slice(self) -> None:
        self._slices.append(self._table.rows(self._records))
        self._waiting += len(self._records)
        self._records = []

    def _to_writer(self, rows: int) -> None:
        """Hand over the first rows: always as many, so that the same table makes the same file on any page size."""
        waiting = pa.concat_tables(self._slices)
        rest = waiting.slice(rows)
        self._slices = [rest] if rest.num_rows else []
        self._waiting = rest.num_rows
        self._wait()
        self._under_way = self._thread.submit(self._write, waiting.slice(0, rows))

    def _write(self, rows: pa.Table) -> None:
        rows = checked(rows.combine_chunks(), self._table.noun)
        self._ids.add(uuid_numbers(rows.column("id")))
        self._writer.write(rows)
        if self._kept is not None:
            self._kept.append(rows)

    def _wait(self) -> None:
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            under_way.result()
