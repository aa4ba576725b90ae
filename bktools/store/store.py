"""The four verbs of a store of snapshots. A local folder is the first implementation."""

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
    """How many snapshots pruning removed, and the bytes that freed."""

    snapshots: int
    size: int


class Store(Protocol):
    """The snapshots that one credential took in one environment; failures are `StorageError`."""

    def append(self, query: Query, write: Callable[[Path], Facts]) -> Snapshot:
        """Commit the newest snapshot of a query.

        Parameters
        ----------
        query : Query
            What the rows answer.
        write : callable
            Is given the path of a file to create, writes the rows to it as Parquet and returns what is known of them.
            When it raises, nothing is kept and the last snapshot is unchanged.
        """

    def history(self, query: Query) -> History:
        """Return every snapshot of a query, in the order of their commits; warns when the history is damaged."""

    def read(self, query: Query, snapshot: Snapshot) -> Iterator[pa.Table]:
        """Yield a snapshot's rows in portions, each checked to the byte; an error ends what is not the whole table."""

    def prune(self, query: Query, older_than: dt.timedelta, *, now: dt.datetime | None = None) -> Pruned:
        """Remove the snapshots of a query older than an age, but never a month's last (UTC) nor the newest."""
