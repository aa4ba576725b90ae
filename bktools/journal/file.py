"""The journal's SQLite file: page checksums, migrations, transactions, backups."""

from __future__ import annotations

import datetime as dt
import getpass
import hashlib
import json
import os
import platform
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from ctypes import addressof, c_int
from functools import cache
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw
import apsw.sqlite_extra

from bktools import disk
from bktools.addresses import normalised
from bktools.errors import JournalError, StorageError
from bktools.journal import facts
from bktools.journal.schema import MIGRATIONS
from bktools.settings import SANDBOX

PATIENCE = 30.0  # seconds that a write waits for the write of another process
ROWS_AT_ONCE = 10_000
CHECKSUM_BYTES = 8  # at the end of each page
COMPANIONS = ("-journal", "-wal", "-shm")  # suffixes of the files that SQLite keeps beside a database

SAFE = (
    "synchronous = FULL",
    "fullfsync = ON",  # macOS: also flush the drive's own cache
    "foreign_keys = ON",
    "recursive_triggers = ON",  # otherwise REPLACE deletes rows without running the DELETE triggers
    "temp_store = MEMORY",
)

Row = Mapping[str, Any]


class File:
    """An open SQLite file of the journal. Use it from one thread, and close it.

    Parameters
    ----------
    path : Path
        The file. It is created when it does not exist.
    on_new : callable, optional
        Called before a new journal is created; raises to refuse it.

    Raises
    ------
    StorageError
        When the file cannot be opened, is damaged or is not a journal.
    JournalError
        When it was written by a newer bktools.
    """

    def __init__(self, path: Path, *, on_new: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self._on_new = on_new
        with self._errors("opened"):
            self._connection = connect(path)
            try:
                self._migrate()
                self.id: str = self.about("id") or ""
                self._opened = _inode(path)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Yield the connection inside a transaction, which is on disk when it ends, or is rolled back."""
        with self._errors("written"):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._extend_chain()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def rows(self, sql: str, *parameters: Any) -> list[Row]:
        """Return the rows of a query, each a mapping from column to value."""
        return [row for piece in self.pieces(sql, *parameters, size=ROWS_AT_ONCE) for row in piece]

    def pieces(self, sql: str, *parameters: Any, size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`, so that memory does not grow with the table."""
        with self._errors("read"):
            cursor = self._connection.execute(sql, parameters)
            yield from iter(lambda: list(islice(cursor, size)), [])

    def about(self, name: str) -> str | None:
        """Return a property of the journal, None where it is not set."""
        found = self.rows("SELECT value FROM about WHERE name = ?", name)
        return str(found[0]["value"]) if found else None

    def digest_at(self, event_id: int) -> str | None:
        """Return the chain's digest at an event, None where the journal has no such event."""
        found = self.rows("SELECT digest FROM chain WHERE event_id = ?", event_id)
        return str(found[0]["digest"]) if found else None

    def addresses(self) -> list[str]:
        """Return the addresses of the journal's service, oldest first."""
        known = [row["address"] for row in self.rows("SELECT address FROM addresses ORDER BY since, address")]
        first = self.about("environment")
        return known or ([] if first is None else [spelled(first)])

    def last_event(self) -> Row:
        """Return the number and digest of the last event, 0 and "" where there is none."""
        found = self.rows("SELECT event_id, digest FROM chain ORDER BY event_id DESC LIMIT 1")
        return found[0] if found else {"event_id": 0, "digest": ""}

    def wanted(self, ids: Iterable[str]) -> None:
        """Fill the table `temp.wanted` with IDs, for joins; it is in memory and private to this connection."""
        self._connection.execute("DELETE FROM temp.wanted")
        self._connection.executemany("INSERT INTO temp.wanted VALUES (?)", ((id_,) for id_ in ids))

    def require_in_place(self) -> None:
        """Raise when the file was moved or replaced since it was opened."""
        if _inode(self.path) != self._opened:
            raise JournalError(
                f"the journal {self.path} was moved or replaced while it was open: nothing was sent, run again"
            )

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the journal to a new file.

        Raises
        ------
        StorageError
            When the file exists or cannot be written; no partial copy is left.
        """
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}.unfinished")
        try:
            # Reserve the name first, so that only one of two backups to the same file goes on.
            disk.exclusive(target).close()
        except FileExistsError:
            raise StorageError(f"{target} exists already: a backup never replaces a file") from None
        except OSError as error:
            raise StorageError(f"the backup {target} cannot be written: {error.strerror}") from error
        try:
            disk.exclusive(unfinished).close()
            _copy(self._connection, unfinished)
            unfinished.replace(target)
            disk.folder_to_disk(target.parent)
        except BaseException as error:
            target.unlink(missing_ok=True)
            if isinstance(error, OSError | apsw.Error):
                raise StorageError(f"the backup {target} cannot be written: {error}") from error
            raise
        finally:
            remove_with_companions(unfinished)

    def damage(self) -> list[str]:
        """Check every page, constraint and chained digest of the file; return a line for each fault."""
        with self._errors("read"):
            # Copying reads every page, empty ones too, which verifies its checksum.
            _copy(self._connection, ":memory:")
            checks = ("integrity_check", "foreign_key_check")
            answers = [value for check in checks for row in self.rows(f"PRAGMA {check}") for value in row.values()]
            return [
                *(f"SQLite says: {answer}" for answer in answers if answer != "ok"),
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
                    for row in self.rows(facts.CLAIMS)
                    if self._digest(facts.OF_CLAIM, row["subject_id"], row["event_id"]) != row["message"]
                ),
                *(
                    f"close {row['subject_id']}: the entries that it held back were changed after it was written"
                    for row in self.rows(facts.CLOSES)
                    if self._digest(facts.OF_CLOSE, row["event_id"]) != row["digest"]
                ),
            ]

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn SQLite's errors into `JournalError` and `StorageError` of one line."""
        try:
            yield
        except apsw.ConstraintError as error:
            raise JournalError(f"the journal refused a change that breaks one of its rules: {error}") from error
        except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.IOError, UnicodeDecodeError) as error:
            if isinstance(error, apsw.IOError) and getattr(error, "extendedresult", 0) != apsw.SQLITE_IOERR_DATA:
                raise StorageError(f"the journal {self.path} cannot be {what}: {error}") from error
            raise StorageError(
                f"the journal {self.path} is damaged ({error}): nothing was sent; restore a backup with bktools "
                "journal restore FILE"
            ) from error
        except (apsw.Error, OSError) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"the journal {self.path} cannot be {what}: {error}") from error

    def _extend_chain(self) -> None:
        digest = self.last_event()["digest"]
        for event in self.rows(_UNCHAINED):
            digest = _link(digest, event)
            self._connection.execute("INSERT INTO chain VALUES (?, ?)", (event["event_id"], digest))

    def _digest(self, sql: str, *parameters: Any) -> str:
        return facts.digest_of([tuple(row.values()) for row in self.rows(sql, *parameters)])

    def _broken_chain(self) -> list[str]:
        digest = ""
        for piece in self.pieces(_CHAINED, size=ROWS_AT_ONCE):
            for event in piece:
                digest = _link(digest, event)
                if event["digest"] != digest:
                    return [f"event {event['event_id']} of {event['at']} was changed after it was written"]
        return []

    def _version(self) -> int:
        version: int = self._connection.pragma("user_version")
        return version

    def _migrate(self) -> None:
        if self._version() > len(MIGRATIONS):
            raise JournalError(
                f"the journal {self.path} was written by a newer bktools: nothing was changed; upgrade bktools"
            )
        if self._version() == len(MIGRATIONS):
            return
        if self._version() > 0:
            self.backup(self.path.with_name(f"journal-before-{now():%Y%m%dT%H%M%S%f}.sqlite"))
            _add_checksums(self._connection)
        with self.transaction() as connection:
            # Another process may have migrated the file while this one waited for the transaction.
            if self._version() == 0:
                self._on_new()
            for number, script in enumerate(MIGRATIONS[self._version() :], self._version() + 1):
                connection.execute(script)
                connection.pragma("user_version", number)


_CONTRADICTIONS = """
    SELECT batch_id, 'its entries are not all there' AS what FROM batches
    WHERE entries <> (SELECT count(*) FROM batch_entries WHERE batch_entries.batch_id = batches.batch_id)
    UNION ALL
    SELECT batch_id, 'its state is ' || state || ', its last event says ' || coalesce(told, 'nothing') FROM (
        SELECT batch_id, state, (
            SELECT after FROM events WHERE subject = 'batch' AND subject_id = batch_id ORDER BY event_id DESC LIMIT 1
        ) AS told FROM batches)
    WHERE state IS NOT told
"""


@cache
def _checksums() -> None:
    """Make SQLite's checksum extension the default for every file of this process."""
    with closing(apsw.Connection(":memory:")) as connection:
        apsw.sqlite_extra.load(connection, "cksumvfs")


def connect(path: Path) -> apsw.Connection:
    """Open a SQLite file, creating it with page checksums when it is new."""
    _checksums()
    is_new = not path.parent.exists()
    disk.private_folder(path.parent)
    if is_new:
        disk.folder_to_disk(path.parent.parent)
    is_empty = not path.exists() or not path.stat().st_size
    connection = apsw.Connection(str(path))
    try:
        # Change the mode by name: opening the file and closing it again would drop SQLite's locks in this process.
        # SQLite gives its companion files the same mode. The target of a link keeps its own.
        if not path.is_symlink():
            path.chmod(disk.PRIVATE_FILE)
        connection.set_busy_timeout(int(PATIENCE * 1000))
        connection.row_trace = _as_mapping
        if is_empty:
            _reserve(connection)
        _require_wal(connection, path)
        for pragma in SAFE:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE temp.wanted (id TEXT PRIMARY KEY) WITHOUT ROWID")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_wal(connection: apsw.Connection, path: Path) -> None:
    if connection.pragma("journal_mode", "wal") != "wal":
        raise StorageError(f"the journal {path} cannot be kept safely on this file system: choose another data_dir")


def _as_mapping(cursor: apsw.Cursor, values: tuple[Any, ...]) -> Row:
    return dict(zip((column[0] for column in cursor.get_description()), values, strict=True))


def _reserve(connection: apsw.Connection) -> None:
    number = c_int(CHECKSUM_BYTES)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, addressof(number))


def _add_checksums(connection: apsw.Connection) -> None:
    """Add page checksums to a journal of an earlier version."""
    if int(connection.pragma("checksum_verification") or 0):
        return
    connection.pragma("journal_mode", "delete")
    _reserve(connection)
    connection.execute("VACUUM")
    connection.pragma("journal_mode", "wal")


def _copy(source: apsw.Connection, target: Path | str) -> None:
    with closing(apsw.Connection(str(target))) as copy:
        with copy.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(ROWS_AT_ONCE)
        if target != ":memory:":
            # Without the write-ahead log the copy is one file, with no companions to forget.
            copy.pragma("journal_mode", "delete")


def remove_with_companions(path: Path) -> None:
    """Remove a SQLite file and its companions."""
    for suffix in ("", *COMPANIONS):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def spelled(address: str) -> str:
    """Return the normal form of a service's address, or "sandbox"."""
    return address if address == SANDBOX else normalised(address)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


_UNCHAINED = """
    SELECT event_id, at, subject, subject_id, before, after, message, done_by FROM events
    WHERE event_id > (SELECT coalesce(max(event_id), 0) FROM chain) ORDER BY event_id
"""
_CHAINED = """
    SELECT event_id, at, subject, subject_id, before, after, message, done_by, digest
    FROM events LEFT JOIN chain USING (event_id) ORDER BY event_id
"""


def _link(before: str, event: Row) -> str:
    """Return the digest of an event and the digest before it."""
    text = json.dumps([before, *(value for name, value in event.items() if name != "digest")])
    return hashlib.sha256(text.encode()).hexdigest()


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
    connection: apsw.Connection,
    subject: str,
    subject_id: str,
    before: str | None,
    after: str,
    message: str | None = None,
    done_by: str | None = None,
) -> None:
    """Add an event. Call it in the transaction of the change that it records."""
    connection.execute(
        "INSERT INTO events (at, subject, subject_id, before, after, message, done_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (now().isoformat(), subject, subject_id, before, after, message, done_by or this_process()),
    )
