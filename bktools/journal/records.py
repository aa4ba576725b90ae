"""The records of a journal: what a SQLite file and a PostgreSQL database have in common.

Every query here and in the modules above is SQL that both understand. `Database` lists what differs between them.
"""

from __future__ import annotations

import datetime as dt
import getpass
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

from bktools.errors import JournalError
from bktools.journal import entry_data
from bktools.journal.schema import LIVE_STATES
from bktools.release import release

ROWS_AT_ONCE = 10_000

# Seconds to wait for the lock of a company: a process that only checks for killed senders holds it for a moment.
LOCK_PATIENCE = 0.5
# Seconds that a write waits for the write of another process.
PATIENCE = 30.0

# The last commit that reads journals whose tables do not say which version made them.
READS_OLDER_FORMATS = "cdb2426"

Row = Mapping[str, Any]


class Connection(Protocol):
    """A connection to a database. Parameters in SQL are written ? or ?1; NULL needs a CAST to be compared."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Iterable[Row]:
        """Run a statement; return its rows."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run a statement for each of several rows."""


class Database(Protocol):
    """An open database: the methods of both kinds. Opening a new one creates the journal's tables."""

    location: str
    # As `Connection` describes it, and what only one kind has.
    connection: Any

    def errors(self, what: str) -> AbstractContextManager[None]:
        """Turn the database's errors into `JournalError` and `StorageError` of one line."""

    def transaction(self) -> AbstractContextManager[Any]:
        """Yield the connection inside a transaction, which is on disk when it ends, or is rolled back.

        No other process writes until it ends.
        """

    def pieces(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`, so that memory does not grow with the table."""

    def wanted(self, ids: Iterable[str]) -> None:
        """Fill the temporary table `wanted` with IDs, for joins; only this connection sees it."""

    def lock(self, company_id: str, *, patience: float = ...) -> AbstractContextManager[None]:
        """Hold the lock of a company, see `bktools.journal.lock`; it is free as soon as the process dies."""

    def require_in_place(self) -> None:
        """Raise when this is no longer the opened database, or a lock was lost with a connection."""

    def reconnect(self) -> bool:
        """Connect again if the connection was cut; return whether it was. A file has none."""
        return False

    def regain(self, company_id: str) -> bool:  # noqa: ARG002 - the lock of a file is not lost
        """Connect again and take the lock of a company again, if they were lost; return whether the lock was."""
        return False

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the journal to a new file."""

    def faults(self) -> list[str]:
        """Check the stored bytes; return a line for each fault. A server checks its own."""
        return []

    def close(self) -> None:
        """Close the connection."""


class Records:
    """The tables of an open journal. Use them from one thread, and close them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.location = database.location

    @cached_property
    def id(self) -> str:
        """The journal's random identity."""
        return self.about("id") or ""

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield the connection inside a transaction, which is on disk when it ends, or is rolled back."""
        with self._database.errors("written"), self._database.transaction() as connection:
            yield connection
            self._extend_chain()

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """Return the rows of a query, each a mapping from column to value."""
        with self._database.errors("read"):
            return list(self._database.connection.execute(sql, parameters))

    def row(self, sql: str, *parameters: Any) -> Row | None:
        """Return the first row of a query, None where there is none."""
        return next(iter(self.rows(sql, *parameters)), None)

    def pieces(self, sql: str, *parameters: Any, size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`, so that memory does not grow with the table."""
        with self._database.errors("read"):
            yield from self._database.pieces(sql, parameters, size)

    def about(self, name: str) -> str | None:
        """Return a property of the journal, None where it is not set."""
        row = self.row("SELECT value FROM about WHERE name = ?", name)
        return None if row is None else str(row["value"])

    def digest_at(self, event_id: int) -> str | None:
        """Return the chain's digest at an event, None where the journal has no such event."""
        row = self.row("SELECT digest FROM chain WHERE event_id = ?", event_id)
        return None if row is None else str(row["digest"])

    def other_with(self, job_id: str | None, batch_id: str) -> Row | None:
        """Return another batch than this one that a job answered for, None where there is none."""
        sql = "SELECT batch_id, company_id, state FROM batches WHERE job_id = ? AND batch_id <> ?"
        return self.row(sql, job_id, batch_id)

    def addresses(self) -> list[str]:
        """Return the addresses of the journal's service, oldest first."""
        return [row["address"] for row in self.rows("SELECT address FROM addresses ORDER BY since, address")]

    def companies(self) -> list[str]:
        """Return the companies that have batches."""
        return [row["company_id"] for row in self.rows("SELECT DISTINCT company_id FROM batches ORDER BY company_id")]

    def last_event(self) -> Row:
        """Return the number and digest of the last event, 0 and "" where there is none."""
        last = self.row("SELECT event_id, digest FROM chain ORDER BY event_id DESC LIMIT 1")
        return last or {"event_id": 0, "digest": ""}

    def newest_claim(self, batch_id: str) -> Row:
        """Return the event of the newest claim of a batch's entries; an empty row where there is none."""
        return self.row(entry_data.NEWEST_CLAIM, batch_id) or {}

    def wanted(self, ids: Iterable[str]) -> None:
        """Fill the temporary table `wanted` with IDs, for joins; only this connection sees it."""
        with self._database.errors("read"):
            self._database.wanted(ids)

    def changed_by_hand(self, entry_ids: Iterable[str]) -> str:
        """Return the reason not to send entries because a batch that has or had one was changed by hand, "" for none."""
        self.wanted(entry_ids)
        for row in self.rows(_CONTRADICTIONS_OF_WANTED):
            return (
                f"batch {row['batch_id']}: {row['what']}. The journal {self.location} was changed by hand: nothing was sent; undo "
                "that change, or restore a backup (bktools journal verify lists every such batch)"
            )
        return ""

    def holding(self, entry_ids: Iterable[str]) -> list[Row]:
        """Return the live batches with any of some entries, how many they hold and the first; PLANNED ones last."""
        self.wanted(entry_ids)
        return self.rows(_HOLDING_WANTED)

    def require_in_place(self) -> None:
        """Raise when the journal was moved, replaced or disconnected since it was opened."""
        self._database.require_in_place()

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the journal to a new file; no partial copy is left."""
        self._database.backup(target)

    def damage(self) -> list[str]:
        """Check every stored byte, constraint and chained digest; return a line for each fault."""
        with self._database.errors("read"):
            return [
                *self._database.faults(),
                *self._broken_chain(),
                *(f"batch {row['batch_id']}: {row['what']}" for row in self.rows(_CONTRADICTIONS)),
                *(
                    f"batch {row['batch_id']}: its body was changed after it was planned"
                    for piece in self.pieces("SELECT batch_id, body, body_sha256 FROM batches", size=100)
                    for row in piece
                    if hashlib.sha256(row["body"]).hexdigest() != row["body_sha256"]
                ),
                *(
                    f"batch {row['subject_id']}: the facts of its entries were changed after it was claimed"
                    for row in self.rows(entry_data.CLAIMS)
                    if self._digest(entry_data.OF_CLAIM, row["subject_id"], row["event_id"]) != row["message"]
                ),
                *(
                    f"close {row['subject_id']}: the entries that it held back were changed after it was written"
                    for row in self.rows(entry_data.CLOSES)
                    # Its message names the digest; one that was changed by hand may be any text.
                    if self._digest(entry_data.OF_CLOSE, row["event_id"]) not in str(row["message"])
                ),
            ]

    def _extend_chain(self) -> None:
        events = self.rows(_UNCHAINED)
        if events:
            digest, links = events[0]["digest"] or "", []
            for event in events:
                digest = _link(digest, event)
                links.append((event["event_id"], digest))
            self._database.connection.executemany("INSERT INTO chain VALUES (?, ?)", links)

    def _digest(self, sql: str, *parameters: Any) -> str:
        return entry_data.digest_of([tuple(row.values()) for row in self.rows(sql, *parameters)])

    def _broken_chain(self) -> list[str]:
        digest = ""
        for piece in self.pieces(_CHAINED):
            for event in piece:
                digest = _link(digest, event)
                if event["digest"] != digest:
                    return [f"event {event['event_id']} of {event['at']} was changed after it was written"]
        return []


def _contradictions(batches: str) -> str:
    """Return the query for the batches of a condition whose rows do not say what their events say."""
    return f"""
        SELECT batch_id, 'its entries are not all there' AS what FROM batches
        WHERE {batches} AND entries <> (
            SELECT count(*) FROM batch_entries WHERE batch_entries.batch_id = batches.batch_id)
        UNION ALL
        SELECT batch_id, 'its state is ' || state || ', its last event says ' || last_state FROM (
            SELECT batch_id, state, coalesce((
                SELECT after FROM events WHERE subject = 'batch' AND subject_id = batch_id ORDER BY event_id DESC LIMIT 1
            ), 'nothing') AS last_state FROM batches WHERE {batches}) AS last
        WHERE state <> last_state
        UNION ALL
        SELECT DISTINCT batch_id, 'its state is ' || state || ', and entries of it were freed'
        FROM batches JOIN batch_entries AS own USING (batch_id)
        WHERE {batches} AND live = 0 AND state IN ({", ".join(f"'{state}'" for state in LIVE_STATES)}) AND NOT EXISTS (
            SELECT 1 FROM batch_entries AS other WHERE other.entry_id = own.entry_id AND other.live = 1)
    """


_CONTRADICTIONS = _contradictions("1 = 1")
_CONTRADICTIONS_OF_WANTED = _contradictions(
    "batch_id IN (SELECT batch_id FROM batch_entries WHERE entry_id IN (SELECT id FROM wanted))"
)

_HOLDING_WANTED = """
    SELECT batch_id, company_id, state, job_id, count(*) AS entries, min(entry_id) AS first
    FROM batch_entries JOIN batches USING (batch_id)
    WHERE entry_id IN (SELECT id FROM wanted) AND live = 1
    GROUP BY batch_id, company_id, state, job_id ORDER BY state = 'PLANNED', batch_id
"""

_EVENT = "event_id, at, subject, subject_id, before, after, message, done_by, database_user"
# With the digest of the last event that is in the chain.
_UNCHAINED = f"""
    SELECT {_EVENT}, (SELECT digest FROM chain ORDER BY event_id DESC LIMIT 1) AS digest FROM events
    WHERE event_id > (SELECT coalesce(max(event_id), 0) FROM chain) ORDER BY event_id
"""
_CHAINED = f"SELECT {_EVENT}, digest FROM events LEFT JOIN chain USING (event_id) ORDER BY event_id"


def _link(before: str, event: Row) -> str:
    """Return the digest of an event and the digest before it."""
    values = [value for name, value in event.items() if name != "digest"]
    return hashlib.sha256(json.dumps([before, *values]).encode()).hexdigest()


def create_tables(connection: Connection, tables: str) -> None:
    """Create the tables of a new journal, and write their format and the version that made them."""
    connection.execute(tables)
    connection.execute("INSERT INTO about VALUES ('format', ?), ('release', ?)", (_format(tables), release()))


def adopt(connection: Connection, journal_id: str) -> None:
    """Give a journal in which nothing happened the identity of another one; opening it writes its address again."""
    connection.execute("UPDATE about SET value = ? WHERE name = 'id'", (journal_id,))
    connection.execute("DELETE FROM addresses")


def require_format(connection: Connection, tables: str, location: str, way_out: str = "") -> None:
    """Refuse a journal whose tables were made from another text, and name the version that can use it."""
    about = {row["name"]: row["value"] for row in connection.execute("SELECT name, value FROM about")}
    if about.get("format") != _format(tables):
        version = about.get("release", f"bktools at commit {READS_OLDER_FORMATS}")
        keep = f"keep it, and install {version} to use it, for example to resolve batches whose outcome is unknown"
        raise JournalError(
            f"the journal {location} has the format of another version of bktools: nothing was sent or changed; "
            f"{way_out or keep}"
        )


def _format(tables: str) -> str:
    return hashlib.sha256(tables.encode()).hexdigest()


def now() -> dt.datetime:
    """Return the current time in UTC."""
    return dt.datetime.now(dt.UTC)


def this_user() -> str:
    """Return the system's user and the machine."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = "unknown user"
    return f"{user}@{platform.node()}"


def this_process() -> str:
    """Return this process as user, machine and process number."""
    return f"{this_user()} process {os.getpid()}"


def record_event(
    connection: Connection,
    subject: str,
    subject_id: str,
    before: str | None,
    after: str,
    message: str | None = None,
    done_by: str | None = None,
) -> int:
    """Add an event and return its number. Call it in the transaction of the change that it records."""
    event = (now().isoformat(), subject, subject_id, before, after, message, done_by or this_process())
    rows = connection.execute(f"{_INSERT_EVENT} RETURNING event_id", event)
    (row,) = rows
    return int(row["event_id"])


def record_events(
    connection: Connection, subject: str, changes: Iterable[tuple[str, str | None, str, str | None]]
) -> None:
    """Add events about many things of one kind: the identity of each, its state before and after, and a message."""
    at, process = now().isoformat(), this_process()
    connection.executemany(_INSERT_EVENT, ((at, subject, *change, process) for change in changes))


_INSERT_EVENT = (
    "INSERT INTO events (at, subject, subject_id, before, after, message, done_by) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
