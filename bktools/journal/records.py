"""The records of a journal: what a SQLite file and a PostgreSQL database have in common.

Every query here and in the modules above is SQL of both. `Database` lists what differs between them.
"""

from __future__ import annotations

import datetime as dt
import getpass
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

from bktools.caller import in_shell
from bktools.journal import entry_data
from bktools.journal.schema import LIVE_STATES
from bktools.settings import SANDBOX

ROWS_AT_ONCE = 10_000

# Seconds to wait for a company's lock: a process that only checks for killed senders holds it for a moment.
LOCK_PATIENCE = 0.5
# Seconds that a write waits for the write of another process.
PATIENCE = 30.0

Row = Mapping[str, Any]
# The facts of an event, as they stand in its JSON.
Facts = Mapping[str, Any]


def command_for(environment: str, words: str) -> str:
    """Return a command ready to be run: it names an environment."""
    return (
        f"bktools {words} "
        f"{'--sandbox' if environment == SANDBOX else f'--environment {in_shell(environment)}'}"
    )


def named(login: str | None, machine: str | None = None, process: int | None = None) -> str:
    """Return the name of a machine, and of a process on it, as people read it."""
    name = f"{login or ''}#{machine}" if machine else login or ""
    return f"{name} process {process}" if process else name


class Connection(Protocol):
    """A connection to a database. Parameters in SQL are written ? or ?1; NULL needs a CAST to be compared."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Iterable[Row]:
        """Run a statement; return its rows."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run a statement for each of several rows."""


class Database(Protocol):
    """An open database: the methods of both kinds."""

    location: str
    # As `Connection` describes it, and what only one kind has.
    connection: Any

    def prepare(self, records: Records, origin: Facts, on_new: Callable[[str], None]) -> None:
        """Create the journal's tables in an empty database, or upgrade those of an older version.

        `origin` has the environment and the address that it is opened for. `on_new` is called with the
        location before a new journal is created, and raises to refuse it.
        """

    def errors(self, what: str) -> AbstractContextManager[None]:
        """Turn the database's errors into `JournalError` and `StorageError` of one line."""

    def transaction(self) -> AbstractContextManager[Any]:
        """Yield the connection inside a transaction, which is on disk when it ends, or is rolled back.

        No other process writes until it ends.
        """

    def pieces(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`, so that memory is the same for any table."""

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
        """Connect again and regain a company's lock, if they were lost; return whether the lock was."""
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

    # The identity of this machine's sent log; None where it has none yet.
    machine: str | None = None

    def __init__(
        self, database: Database, origin: Facts, on_new: Callable[[str], None] = lambda _: None
    ) -> None:
        self._database = database
        self.location = database.location
        try:
            database.prepare(self, origin, on_new)
        except BaseException:
            database.close()
            raise

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
            self.extend_chain()

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """Return the rows of a query, each a mapping from column to value."""
        with self._database.errors("read"):
            return list(self._database.connection.execute(sql, parameters))

    def row(self, sql: str, *parameters: Any) -> Row | None:
        """Return the first row of a query, None where there is none."""
        return next(iter(self.rows(sql, *parameters)), None)

    def pieces(self, sql: str, *parameters: Any, size: int = ROWS_AT_ONCE) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`, so that memory is the same for any table."""
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

    def origin(self) -> dict[str, Any]:
        """Return the environment and the address of this journal, from its newest event about them."""
        known: dict[str, Any] = {}
        for row in self.rows(_ORIGINS):
            known |= {
                name: value
                for name, value in loaded(row["facts"]).items()
                if name in {"environment", "address"}
            }
        return known

    def record(
        self,
        connection: Connection,
        code: str,
        *,
        state: str | None = None,
        company_id: str | None = None,
        period: str | None = None,
        batch_id: str | None = None,
        person: str | None = None,
        facts: Facts | None = None,
    ) -> int:
        """Add an event and return its number. Call it in the transaction of the change that it records."""
        event = (
            now().isoformat(),
            code,
            state,
            company_id,
            period,
            batch_id,
            person,
            *self.writer(),
            dumped(facts or {}),
        )
        (row,) = connection.execute(f"{INSERT_EVENT} RETURNING event_id", event)
        return int(row["event_id"])

    def writer(self) -> tuple[str, str | None, int]:
        """Return login, machine and process of whoever writes."""
        return this_user(), self.machine, os.getpid()

    def companies(self) -> list[str]:
        """Return the companies that have batches."""
        return [
            row["company_id"]
            for row in self.rows("SELECT DISTINCT company_id FROM batches ORDER BY company_id")
        ]

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
        """Return why entries cannot be sent: a batch that has or had one was changed by hand. "" for none."""
        self.wanted(entry_ids)
        for row in self.rows(_CONTRADICTIONS_OF_WANTED):
            verify = command_for(self.origin()["environment"], "journal verify")
            return (
                f"{_contradiction(row)}. The journal {self.location} was changed by hand: "
                f"nothing was sent; undo that change, or restore a backup ({verify} lists every such batch)"
            )
        return ""

    def holding(self, entry_ids: Iterable[str]) -> list[Row]:
        """Return the live batches with any of some entries, their number and the first; PLANNED ones last."""
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
            return [*self._database.faults(), *self.contradictions()]

    def contradictions(self) -> list[str]:
        """Check what the rows say of each other, and every digest; return a line for each fault."""
        return [
            *self._broken_chain(),
            *map(_contradiction, self.rows(_CONTRADICTIONS)),
            *(
                f"batch {row['batch_id']}: its body was changed after it was planned"
                for piece in self.pieces("SELECT batch_id, body, body_sha256 FROM batches", size=100)
                for row in piece
                if hashlib.sha256(row["body"]).hexdigest() != row["body_sha256"]
            ),
            *(
                f"batch {row['batch_id']}: the data of its entries was changed after it was claimed"
                for row in self.rows(entry_data.CLAIMS)
                if self._digest(entry_data.OF_CLAIM, row["batch_id"], row["event_id"]) != row["sha256"]
            ),
            *(
                f"close of {row['period']}: the entries that it held back were changed after it was written"
                for row in self.rows(entry_data.CLOSES)
                if self._digest(entry_data.OF_CLOSE, row["event_id"]) != row["sha256"]
            ),
        ]

    def extend_chain(self) -> None:
        """Write the digests of the events that have none, in the transaction that wrote the events."""
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
        for upgrade in self.rows(
            "SELECT event_id, facts FROM events WHERE code = 'upgraded' ORDER BY event_id"
        ):
            facts = loaded(upgrade["facts"])
            if (
                self.digest_of_events(upgrade["event_id"] - facts["events"], upgrade["event_id"])
                != facts["sha256"]
            ):
                return [f"an event before the upgrade (event {upgrade['event_id']}) was changed after it"]
        return []

    def digest_of_events(self, begin: int, end: int) -> str:
        """Return the digest of events without their numbers, from one number up to the one before another."""
        digest = hashlib.sha256()
        sql = f"SELECT {', '.join(_SAID)} FROM events WHERE event_id >= ? AND event_id < ? ORDER BY event_id"
        for piece in self.pieces(sql, begin, end):
            for event in piece:
                digest.update(json.dumps([*event.values()]).encode())
        return digest.hexdigest()


def _contradiction(row: Row) -> str:
    """Return the line about a batch whose rows do not say what its events say."""
    lines = {
        "entries_missing": "its entries are not all there",
        "state_differs": f"its state is {row['state']}, its last event says {row['last_state'] or 'nothing'}",
        "entries_freed": f"its state is {row['state']}, and entries of it were freed",
    }
    return f"batch {row['batch_id']}: {lines[row['fault']]}"


def _contradictions(batches: str) -> str:
    """Return the query for the batches of a condition whose rows do not say what their events say."""
    return f"""
        SELECT batch_id, 'entries_missing' AS fault, state, NULL AS last_state FROM batches
        WHERE {batches} AND entries <> (
            SELECT count(*) FROM batch_entries WHERE batch_entries.batch_id = batches.batch_id)
        UNION ALL
        SELECT batch_id, 'state_differs', state, last_state FROM (
            SELECT batch_id, state, (
                SELECT state FROM events WHERE events.batch_id = batches.batch_id AND events.state IS NOT NULL
                ORDER BY event_id DESC LIMIT 1) AS last_state
            FROM batches WHERE {batches}) AS last
        WHERE last_state IS NULL OR state <> last_state
        UNION ALL
        SELECT DISTINCT batch_id, 'entries_freed', state, NULL
        FROM batches JOIN batch_entries AS own USING (batch_id)
        WHERE {batches} AND live = 0
            AND state IN ({", ".join(f"'{state}'" for state in LIVE_STATES)}) AND NOT EXISTS (
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

# The columns of an event, beside its number and its time.
_SAID = (
    "code",
    "state",
    "company_id",
    "period",
    "batch_id",
    "person",
    "login",
    "machine",
    "process",
    "facts",
)
_EVENT = ", ".join(("event_id", "at", *_SAID, "database_user"))
INSERT_EVENT = f"INSERT INTO events (at, {', '.join(_SAID)}) VALUES (?{', ?' * len(_SAID)})"
# Events that say whose journal this is.
_ORIGINS = """
    SELECT facts FROM events WHERE code IN ('created', 'upgraded', 'address_accepted', 'environment_renamed')
    ORDER BY event_id
"""
# With the digest of the last event that is in the chain.
_UNCHAINED = f"""
    SELECT {_EVENT}, (SELECT digest FROM chain ORDER BY event_id DESC LIMIT 1) AS digest FROM events
    WHERE event_id > (SELECT coalesce(max(event_id), 0) FROM chain) ORDER BY event_id
"""
_CHAINED = f"SELECT {_EVENT}, digest FROM events LEFT JOIN chain USING (event_id) ORDER BY event_id"

# The fact with version 0's event: subject, its ID, state before and after, message, and who did it.
VERSION_0 = "version_0"


def _link(before: str, event: Row) -> str:
    """Return the digest of an event and the one before it; an event of version 0 keeps its old digest."""
    facts = loaded(event["facts"])
    values = [value for name, value in event.items() if name != "digest"]
    if VERSION_0 in facts:
        values = [event["event_id"], event["at"], *facts[VERSION_0], event["database_user"]]
    return hashlib.sha256(json.dumps([before, *values]).encode()).hexdigest()


def dumped(facts: Facts) -> str:
    """Return facts as JSON text. PostgreSQL's text has no NUL."""
    return json.dumps(facts, ensure_ascii=False).replace("\\u0000", "\ufffd")


def loaded(text: str) -> dict[str, Any]:
    """Return the facts of JSON text; nothing where somebody wrote another kind of value."""
    facts = json.loads(text)
    return facts if isinstance(facts, dict) else {}


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
    return named(this_user(), None, os.getpid())
