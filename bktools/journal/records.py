"""The records of a journal: what a SQLite file and a PostgreSQL database have in common.

Every statement here and in the modules above is SQL of both; what differs has the same names in `sqlite` and
`postgres`.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from bktools.journal import clock
from bktools.journal.database import ROWS_AT_ONCE, Connection, Row
from bktools.journal.lock import LOCK_PATIENCE
from bktools.journal.postgres import Postgres
from bktools.journal.schema import LIVE_STATES, RULES, TABLES, VERSION, texts
from bktools.journal.sentences import line_of, refusal
from bktools.journal.sqlite import Sqlite
from bktools.wording import words

# The facts of an event, as they stand in its JSON.
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Event:
    """An event as it was written; its facts are JSON values by name."""

    event_id: int
    # ISO 8601, UTC.
    at: str
    code: str
    # The state of the batch, the account or the period afterwards.
    state: str | None
    company_id: str | None
    period: str | None
    batch_id: str | None
    attempt: str | None
    person: str | None
    login: str | None
    machine: str | None
    process: int | None
    facts: Facts


def named(login: str | None, machine: str | None = None, process: int | None = None) -> str:
    """Return the name of a machine, and of a process on it, as people read it."""
    name = f"{login or ''}#{machine}" if machine else login or ""
    return f"{name} process {process}" if process else name


class Records:
    """The tables of an open journal. Use them from one thread, and close them."""

    # The identity of this machine; None where it has none yet.
    machine: str | None = None

    def __init__(self, database: Sqlite | Postgres, fill: Callable[[Records, Connection], None]) -> None:
        """Use an open database; `fill` is called for an empty one, and begins the journal or refuses it."""
        self._database = database
        self.location = database.location
        try:
            with database.errors("opened"):
                if database.is_empty():
                    with database.transaction() as connection:
                        # Another process may have created them while this one waited for the transaction.
                        if database.is_empty():
                            _create(database, connection, lambda: fill(self, connection))
                self._require_known_version()
        except BaseException:
            database.close()
            raise

    def _require_known_version(self) -> None:
        version = self.about("schema_version")
        if version != VERSION:
            raise refusal("other_version", location=self.location, version=version, known=VERSION)

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
        row = self.row("SELECT value FROM about WHERE name = $1", name)
        return None if row is None else str(row["value"])

    def digest_at(self, event_id: int) -> str | None:
        """Return the digest of an event, None where the journal has no such event."""
        row = self.row("SELECT digest FROM events WHERE event_id = $1", event_id)
        return None if row is None else str(row["digest"])

    def origin(self) -> dict[str, Any]:
        """Return the environment and the address of this journal, from its newest event about them."""
        known: dict[str, Any] = {}
        for event in self.events("created", "address_accepted"):
            known |= {name: event.facts[name] for name in ("environment", "address") if name in event.facts}
        return known

    def events(self, *codes: str, **about: str | None) -> list[Event]:
        """Return the events of some codes, oldest first; `about` are columns that must have these values."""
        return self._events(codes, about, "ORDER BY event_id")

    def newest(self, *codes: str, **about: str | None) -> Event | None:
        """Return the newest event of some codes, None where there is none."""
        return next(iter(self._events(codes, about, "ORDER BY event_id DESC LIMIT 1")), None)

    def _events(self, codes: tuple[str, ...], about: Mapping[str, str | None], order: str) -> list[Event]:
        values = {name: value for name, value in about.items() if value is not None}
        conditions = [f"{name} = ${number}" for number, name in enumerate(values, 1)]
        where = " AND ".join([f"code IN ({texts(codes)})", *conditions])
        sql = f"SELECT {', '.join(_EVENT[:-1])} FROM events WHERE {where} {order}"
        return [Event(**{**row, "facts": loaded(row["facts"])}) for row in self.rows(sql, *values.values())]

    def record(
        self, connection: Connection, code: str, *, facts: Facts | str | None = None, **event: str | None
    ) -> int:
        """Add an event, with its columns by name, and return its number.

        Call it in the transaction of the change that it records.
        """
        before = self.row(_LAST) or {"event_id": 0, "digest": ""}
        # Numbered without gaps, because a number that is missing would be an event that was removed.
        number = int(before["event_id"]) + 1
        text = facts if isinstance(facts, str) else dumped(facts or {})
        row = {"at": clock.now().isoformat(), "code": code, **dict.fromkeys(ABOUT), **event}
        written = (number, *row.values(), *self.writer(), text)
        connection.execute(inserting("events", _EVENT), (*written, _link(before["digest"], written)))
        return number

    def writer(self) -> tuple[str, str | None, int]:
        """Return login, machine and process of whoever writes."""
        return this_user(), self.machine, os.getpid()

    def sender_of(self, batch_id: str) -> str:
        """Return the machine and the process that sent a batch last, as people read it; "" for none."""
        event = self.newest("sending", batch_id=batch_id)
        return named(event.login, event.machine, event.process) if event else ""

    def has_exports(self) -> bool:
        """Whether anything was ever sent with this journal."""
        return self.row("SELECT 1 AS one FROM events WHERE code = 'sending' LIMIT 1") is not None

    def companies(self) -> list[str]:
        """Return the companies that have batches."""
        return [row["company_id"] for row in self.rows("SELECT DISTINCT company_id FROM batches ORDER BY 1")]

    def last_event(self) -> Row:
        """Return number, digest and time of the last event."""
        (last,) = self.rows(_LAST)
        return last

    def wanted(self, ids: Iterable[str]) -> None:
        """Fill the temporary table `wanted` with IDs, for joins; only this connection sees it."""
        with self._database.errors("read"):
            connection = self._database.connection
            connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (id TEXT PRIMARY KEY)")
            connection.execute("DELETE FROM wanted")
            connection.executemany("INSERT INTO wanted VALUES ($1)", ((id_,) for id_ in dict.fromkeys(ids)))

    def changed_by_hand(self, entry_ids: Iterable[str]) -> Row | None:
        """Return a batch that has or had one of some entries and was changed by hand, None where none was."""
        self.wanted(entry_ids)
        return self.row(_CONTRADICTIONS_OF_WANTED)

    def holding(self, entry_ids: Iterable[str]) -> list[Row]:
        """Return the live batches with any of some entries, their number and the first; PLANNED ones last."""
        self.wanted(entry_ids)
        return self.rows(_HOLDING_WANTED)

    def token(self) -> str:
        """Return what a copy of this database does not have; "" for a file."""
        return self._database.token()

    def lock(self, company_id: str, *, patience: float = LOCK_PATIENCE) -> AbstractContextManager[None]:
        """Hold the lock of a company; raise `JournalBusyError` where another process has it."""
        return self._database.lock(company_id, patience=patience)

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the journal to a new file; no partial copy is left."""
        self._database.backup(target)

    def damage(self) -> list[str]:
        """Check every stored byte, constraint and chained digest; return a line for each fault."""
        with self._database.errors("read"):
            return [*self._database.faults(), *self._contradictions()]

    def _contradictions(self) -> Iterator[str]:
        """Check what the rows say of each other, and every digest; yield a line for each fault."""
        yield from self._broken_chain()
        yield from map(contradiction, self.rows(_CONTRADICTIONS))
        for piece in self.pieces("SELECT batch_id, body, body_sha256 FROM batches", size=100):
            for row in piece:
                if hashlib.sha256(row["body"]).hexdigest() != row["body_sha256"]:
                    yield line_of("body_changed", batch_id=row["batch_id"])

    def _broken_chain(self) -> Iterator[str]:
        digest = ""
        for piece in self.pieces(f"SELECT {', '.join(_EVENT)} FROM events ORDER BY event_id"):
            for event in piece:
                digest = _link(digest, [event[name] for name in _EVENT[:-1]])
                if event["digest"] != digest:
                    yield line_of("event_changed", event=event["event_id"], at=event["at"])
                    return


def _create(database: Sqlite | Postgres, connection: Connection, fill: Callable[[], None]) -> None:
    """Create the tables in an empty database, fill them, and then create their rules."""
    for sql in (database.BEFORE_TABLES, TABLES):
        connection.execute(sql)
    fill()
    for rule in RULES:
        connection.execute(database.trigger(rule))


class File(Records):
    """The records of a SQLite file that exists, whichever environment it is for."""

    def __init__(self, path: Path, location: str = "") -> None:
        super().__init__(Sqlite(path, location), _refuse_empty)
        self.path = path


def _refuse_empty(records: Records, _: Connection) -> None:
    raise refusal("no_journal", location=records.location)


def inserting(table: str, names: Collection[str]) -> str:
    """Return the statement that inserts a row with these columns into a table."""
    values = ", ".join(f"${number}" for number in range(1, len(names) + 1))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


def write_identity(records: Records, connection: Connection, origin: Facts) -> None:
    """Write the identity of a new journal and whose it is: `origin` has its environment and address."""
    about = {"id": secrets.token_hex(16), "schema_version": VERSION}
    connection.executemany("INSERT INTO about VALUES ($1, $2)", about.items())
    records.record(connection, "created", facts={**origin, "database": records.token()})


def contradiction(row: Row) -> str:
    """Return the line about a batch whose rows do not say what its events say."""
    last = words().name("outcome", row["last_state"]) if row["last_state"] else None
    return line_of(row["fault"], **row, last=last)


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
        FROM batches JOIN batch_entries USING (batch_id)
        WHERE {batches} AND live = 0 AND state IN ({texts(LIVE_STATES)})
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

_EVENT = (*(field.name for field in fields(Event)), "digest")
# The columns of an event that say of what it is, and by whom.
ABOUT = _EVENT[3:9]
_LAST = "SELECT event_id, digest, at FROM events ORDER BY event_id DESC LIMIT 1"


def _link(before: str, event: Sequence[Any]) -> str:
    """Return the digest of an event and the one before it."""
    return hashlib.sha256(json.dumps([before, *event]).encode()).hexdigest()


def dumped(facts: Facts) -> str:
    """Return facts as JSON text. PostgreSQL's text has no NUL."""
    return json.dumps(facts, ensure_ascii=False).replace("\\u0000", "\ufffd")


def loaded(text: str) -> dict[str, Any]:
    """Return the facts of JSON text; nothing where somebody wrote another kind of value."""
    facts = json.loads(text)
    return facts if isinstance(facts, dict) else {}


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
