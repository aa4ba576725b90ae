"""From the service to a snapshot: every row of a table once, or an error."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from bktools.contract.paging import Page
from bktools.errors import DriftError
from bktools.progress import Bar
from bktools.service.pages import Search, by_cursor
from bktools.tables.snapshots import Shelf, Snapshot

Record = TypeVar("Record")

READINGS = 2
ROW_GROUP = 50_000


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


def fetch(table: Table[Record], search: Search[Record], shelf: Shelf, bar: Bar) -> Snapshot:
    """Read a table from the service and commit it as the newest snapshot.

    Raises
    ------
    DriftError
        When the table changed while it was read, and again while it was read again.
    ServiceError, StorageError
        Nothing was committed; the last snapshot is as it was.
    """
    begin = dt.datetime.now(dt.UTC)
    reason = ""
    for _ in range(READINGS):
        with shelf.writer(table.schema) as writer:
            check = _Check()
            for rows in _in_groups(_row_pages(table, search, check, bar)):
                writer.write(rows)
            reason = check.complaint()
            if not reason:
                return writer.commit(begin)
    raise DriftError(f"the {table.noun} changed while they were read, {READINGS} times in a row ({reason}): load again")


class _Check:
    """What shows that rows were lost or read twice."""

    def __init__(self) -> None:
        self._ids: list[pa.ChunkedArray] = []
        self._total: int | None = None

    def add(self, rows: pa.Table, page: Page[Any]) -> None:
        self._ids.append(rows.column("id"))
        self._total = page.pagination.total

    def complaint(self) -> str:
        chunks = [chunk for ids in self._ids for chunk in ids.chunks]
        ids = pa.chunked_array(chunks, type=pa.large_string())
        if pc.count_distinct(ids).as_py() != len(ids):
            return f"{len(ids)} rows came, {pc.count_distinct(ids).as_py()} of them different"
        if self._total is not None and self._total != len(ids):
            return f"{len(ids)} rows came, the service counts {self._total}"
        return ""


def _row_pages(table: Table[Record], search: Search[Record], check: _Check, bar: Bar) -> Iterator[pa.Table]:
    for page in by_cursor(search):
        rows = table.rows(page.data)
        check.add(rows, page)
        bar.update(len(page.data))
        yield rows


def _in_groups(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield rows in groups that are worth a row group of their own."""
    held: list[pa.Table] = []
    count = 0
    for rows in pages:
        held.append(rows)
        count += rows.num_rows
        if count >= ROW_GROUP:
            yield pa.concat_tables(held).combine_chunks()
            held, count = [], 0
    if held:
        yield pa.concat_tables(held).combine_chunks()
