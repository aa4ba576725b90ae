"""From the service to a snapshot: every row of a table once, or an error."""

from __future__ import annotations

import datetime as dt
import functools
import logging
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from bktools.contract.paging import Page
from bktools.errors import DriftError
from bktools.progress import Bar
from bktools.service.pages import Opening, Search, ShiftedError, by_cursor, by_offset, opening
from bktools.tables.intake import Intake, Table
from bktools.tables.manifest import Snapshot
from bktools.tables.snapshots import Shelf

log = logging.getLogger("bktools")

Record = TypeVar("Record")
Read = Callable[[Search[Any], Opening[Any]], Generator[Page[Any], None, None]]

THREADS = 16


@dataclass(frozen=True)
class Fetched:
    """A committed snapshot, and its rows where they were to be kept."""

    snapshot: Snapshot
    rows: pa.Table | None


def fetch(
    table: Table[Record],
    search: Search[Record],
    shelf: Shelf,
    bar: Bar,
    *,
    keep: bool = True,
    threads: int = THREADS,
    begin: Search[Record] | None = None,
) -> Fetched:
    """Read a table from the service and commit it as the newest snapshot.

    Parameters
    ----------
    table : Table
        What is read.
    search : callable
        Takes `after`, `offset` and `limit`, returns a page.
    shelf : Shelf
        Where the snapshot goes.
    bar : Bar
        Told of every row.
    keep : bool
        Whether the rows are returned too; without, the memory is the same for any number of rows.
    threads : int
        Requests at once, for a long table of a service that answers slowly.
    begin : callable, optional
        Takes the place of `search` for the first page.

    Raises
    ------
    DriftError
        When the table changed while it was read, and again while it was read again by cursors.
    ServiceError, StorageError
        Nothing was committed; the last snapshot is as it was.
    """
    time = dt.datetime.now(dt.UTC)
    first = opening(begin or search)
    quick: Read = functools.partial(by_offset, threads=threads)
    ways: list[Read] = [quick if first.is_worth_threads and threads > 1 else by_cursor, by_cursor]
    reasons: list[str] = []
    for number, way in enumerate(ways):
        if number:
            log.info("%s are read again, by cursors: %s", table.noun, reasons[-1])
            time, first = dt.datetime.now(dt.UTC), opening(search)
        with shelf.writer(table.schema) as writer, Intake(table, writer, keep=keep) as intake:
            reason = _take(intake, way(search, first), bar)
            if not reason:
                written, rows = intake.finish()
                return Fetched(shelf.commit(written, time), rows)
            reasons.append(reason)
            bar.update(-intake.count)
    raise DriftError(
        f"the {table.noun} changed while they were read, {len(ways)} times in a row ({reasons[-1]}); "
        "the last snapshot is as it was: load again"
    )


def _take(intake: Intake[Record], pages: Generator[Page[Record], None, None], bar: Bar) -> str:
    """Take every page; return what shows that they are not the whole table."""
    with closing(pages) as reading:
        try:
            for page in reading:
                intake.add(page)
                bar.update(len(page.data))
        except ShiftedError as shifted:
            return str(shifted)
    return intake.complaint()
