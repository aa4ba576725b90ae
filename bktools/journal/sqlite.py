"""The journal's SQLite file: page checksums, transactions, backups, and what differs from PostgreSQL."""

from __future__ import annotations

import os
import secrets
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from ctypes import addressof, c_int
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import apsw.sqlite_extra

from bktools import disk
from bktools.errors import StorageError
from bktools.journal.database import ROWS_AT_ONCE, Row
from bktools.journal.lock import LOCK_PATIENCE, PATIENCE, no_locks, sending_for
from bktools.journal.schema import Rule
from bktools.journal.sentences import line_of, refusal
from bktools.wording import reason_of

CHECKSUM_BYTES = 8  # at the end of each page
COMPANIONS = ("-journal", "-wal", "-shm")  # suffixes of the files that SQLite keeps beside a database

SAFE = (
    "synchronous = FULL",
    "fullfsync = ON",  # macOS: also flush the drive's own cache
    "foreign_keys = ON",
    "recursive_triggers = ON",  # otherwise REPLACE deletes rows without running the DELETE triggers
    "temp_store = MEMORY",
)

# Errors of SQLite for a damaged file, beside pages with a wrong checksum.
_DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError, UnicodeDecodeError)

# The threads of a process take turns in the order in which they ask. SQLite only tries again and again, and
# among thirty threads one may never meet the moment at which no other writes.
_turns: defaultdict[Path, threading.Lock] = defaultdict(threading.Lock)
if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads that would give their turn back.
    os.register_at_fork(after_in_child=_turns.clear)


class _Connection:
    """A connection with the parameters and rows that `database.Connection` describes."""

    def __init__(self, raw: apsw.Connection) -> None:
        self.raw = raw

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> Iterable[Row]:
        return self.raw.execute(sql, _numbered(parameters))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self.raw.executemany(sql, map(_numbered, rows))


def _numbered(parameters: Sequence[Any]) -> dict[str, Any]:
    return {str(number): value for number, value in enumerate(parameters, 1)}


class Sqlite:
    """An open SQLite file of the journal, which is created when it does not exist."""

    BEFORE_TABLES = ""

    def __init__(self, path: Path, location: str = "") -> None:
        self._path = path
        self.location = location or str(path)
        with self.errors("opened"):
            self.connection = _Connection(connect(path))
        self._opened = _inode(path)

    def is_empty(self) -> bool:
        """Whether the journal's tables are missing."""
        return not list(self.connection.raw.execute("SELECT 1 AS one FROM sqlite_schema LIMIT 1"))

    def trigger(self, rule: Rule) -> str:
        """Return the statement that creates the trigger of a rule."""
        return (
            f"CREATE TRIGGER {rule.name} BEFORE {rule.event} ON {rule.table} WHEN {rule.refused} "
            f"BEGIN SELECT RAISE(ABORT, '{rule.message}'); END"
        )

    def close(self) -> None:
        """Close the file."""
        self.connection.raw.close()

    @contextmanager
    def transaction(self) -> Iterator[_Connection]:
        """Yield the connection inside a transaction. No other process writes until it ends."""
        raw, turn = self.connection.raw, _turns[self._path.absolute()]
        # Without a turn SQLite decides, and tells that the journal is locked.
        has_turn = turn.acquire(timeout=PATIENCE)
        try:
            raw.execute("BEGIN IMMEDIATE")
            yield self.connection
            raw.execute("COMMIT")
        finally:
            try:
                if raw.in_transaction:
                    raw.execute("ROLLBACK")
            finally:
                if has_turn:
                    turn.release()

    def pieces(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`."""
        cursor = iter(self.connection.execute(sql, parameters))
        yield from iter(lambda: list(islice(cursor, size)), [])

    def lock(self, company_id: str, *, patience: float = LOCK_PATIENCE) -> AbstractContextManager[None]:
        """Hold the lock of a company, a file beside the journal."""
        return sending_for(self._path.parent, company_id, patience=patience)

    def token(self) -> str:
        """Return nothing: a copy of a file cannot be told from the file."""
        return ""

    def is_in_place(self) -> bool:
        """Whether the file was neither moved nor replaced since it was opened."""
        return _inode(self._path) == self._opened

    def faults(self) -> list[str]:
        """Check every page and constraint of the file."""
        # Copying reads every page, empty ones too, which verifies its checksum.
        _copy(self.connection.raw, ":memory:")
        checks = ("integrity_check", "foreign_key_check")
        answers = [
            value
            for check in checks
            for row in self.connection.execute(f"PRAGMA {check}")
            for value in row.values()
        ]
        return [f"SQLite says: {answer}" for answer in answers if answer != "ok"]

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the journal to a new file; no partial copy is left."""
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}.unfinished")
        with disk.new_file(target):
            try:
                disk.exclusive(unfinished).close()
                _copy(self.connection.raw, unfinished)
                disk.replace(unfinished, target)
                disk.folder_to_disk(target.parent)
            except (OSError, apsw.Error) as error:
                reason = reason_of(error)
                raise StorageError(line_of("backup_not_written", target=target, reason=reason)) from error
            finally:
                remove_with_companions(unfinished)

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Turn SQLite's errors into `JournalError` and `StorageError` of one line."""
        try:
            yield
        except apsw.ConstraintError as error:
            raise refusal("breaks_a_rule", reason=error) from error
        except (apsw.Error, OSError, UnicodeError) as error:
            if isinstance(error, StorageError):
                raise
            code = getattr(error, "extendedresult", 0)
            if code == apsw.SQLITE_IOERR_LOCK:
                raise no_locks(self._path, str(error)) from error
            if isinstance(error, _DAMAGE) or code == apsw.SQLITE_IOERR_DATA:
                raise StorageError(line_of("damaged", location=self.location, reason=error)) from error
            reason = reason_of(error)
            raise StorageError(line_of(f"not_{what}", location=self.location, reason=reason)) from error


@cache
def _checksums() -> None:
    """Make SQLite's checksum extension the default for every file of this process."""
    with closing(apsw.Connection(":memory:")) as connection:
        apsw.sqlite_extra.load(connection, "cksumvfs")


def connect(path: Path) -> apsw.Connection:
    """Open a journal's SQLite file. A new one gets page checksums; one of another version is not changed."""
    _checksums()
    is_new = not path.parent.exists()
    disk.private_folder(path.parent)
    if is_new:
        disk.folder_to_disk(path.parent.parent)
    is_empty = not path.exists() or not path.stat().st_size
    connection = apsw.Connection(str(path))
    try:
        # Change the mode by name: opening the file and closing it again would drop SQLite's locks in this
        # process. SQLite gives its companion files the same mode. The target of a link keeps its own.
        if not path.is_symlink():
            path.chmod(disk.PRIVATE_FILE)
        connection.set_busy_timeout(int(PATIENCE * 1000))
        connection.row_trace = _as_mapping
        if is_empty:
            checksum = c_int(CHECKSUM_BYTES)
            connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, addressof(checksum))
        _require_wal(connection, path)
        for pragma in SAFE:
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_wal(connection: apsw.Connection, path: Path) -> None:
    # When processes open a new file at once, SQLite refuses some without waiting.
    mode = disk.repeated(lambda: connection.pragma("journal_mode", "wal"), apsw.BusyError, PATIENCE)
    if mode != "wal":
        raise no_locks(path, "SQLite cannot share memory on it")


def _as_mapping(cursor: apsw.Cursor, values: tuple[Any, ...]) -> Row:
    return dict(zip((column[0] for column in cursor.get_description()), values, strict=True))


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


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_dev, about.st_ino
