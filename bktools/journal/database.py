"""A database of the journal as its statements see it: the same for a SQLite file and a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

ROWS_AT_ONCE = 10_000

Row = Mapping[str, Any]


class Connection(Protocol):
    """A connection to a database. Parameters in SQL are written $1, $2; NULL needs a CAST to be compared."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Iterable[Row]:
        """Run a statement; return its rows."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run a statement for each of several rows."""
