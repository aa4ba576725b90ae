"""The WAL of the sandbox's database: begun by whoever opens it, left only by whoever has it alone."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path


def use_wal(connection: sqlite3.Connection) -> None:
    """Begin the WAL, unless it is there."""
    # The change to WAL does not wait for its lock by itself, and processes may start at once.
    deadline = time.monotonic() + 30
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def is_open(file: Path) -> bool:
    """Whether a server, of this process or another one, has a database open."""
    if not file.exists():
        return False
    try:
        with closing(sqlite3.connect(file, timeout=0)) as connection:
            # Who opens it next begins it again.
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError as error:
        # What is no database is nobody's.
        return error.sqlite_errorcode == sqlite3.SQLITE_BUSY
    return False
