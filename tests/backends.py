"""Both places of a journal, for tests that hold for each: a SQLite file and a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import apsw
import psycopg
import pytest

from bktools.journal.sqlite import connect

# A test is of both where it runs statements or rules that no other test runs in a database.
BOTH = pytest.mark.parametrize("backend", ["file", "postgres"], indirect=True)
DATABASE = pytest.mark.parametrize("backend", ["postgres"], indirect=True)

# What the rules of a database raise for SQL that is typed by hand.
REFUSED = (apsw.ConstraintError, psycopg.IntegrityError)


@contextmanager
def typed_by_hand(journal, backend: str | None) -> Iterator[Any]:
    """Open a journal's tables as its owner does in a database's own program."""
    opened = (
        connect(journal.path)
        if backend is None
        else psycopg.connect(backend, autocommit=True, options="-c search_path=bktools,pg_temp")
    )
    with closing(opened) as connection:
        yield connection


def refused(by_hand: Any, sql: str) -> None:
    """Run a statement that a rule must refuse."""
    try:
        by_hand.execute(sql)
    except REFUSED:
        return
    pytest.fail(f"not refused: {sql}")


def without_triggers(connection, backend: str | None) -> None:
    """Take the rules away, as only an owner can."""
    if backend is None:
        for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {row['name']}")
        return
    for table in ("batches", "batch_entries", "events", "entry_data"):
        connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
