"""The interface of a store of snapshots, and the result of pruning one."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from bktools.store.history import Facts, History, Query, Snapshot


@dataclass(frozen=True)
class Pruned:
    """The number of snapshots that pruning removed, and the bytes it freed."""

    snapshots: int
    size: int


class Store(Protocol):
    """The snapshots of one credential in one environment. Every method raises `StorageError` when it fails."""

    def append(self, query: Query, write: Callable[[Path], Facts]) -> Snapshot:
        """Commit the newest snapshot of a query.

        Parameters
        ----------
        query : Query
            The query of the rows.
        write : callable
            Receives the path of a file to create, writes the rows to it as Parquet and returns their facts. When it
            raises, nothing is kept and the last snapshot is unchanged.
        """

    def history(self, query: Query) -> History:
        """Return every snapshot of a query, in the order of the commits; warn when the history is damaged."""

    def read(self, query: Query, snapshot: Snapshot) -> Iterator[pa.Table]:
        """Yield a snapshot's rows in portions, each checked by its checksums; raise when rows are missing or damaged."""

    def prune(self, query: Query, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove snapshots of a query older than an age, except the last one of each month (UTC) and the newest."""
