"""The journal's SQLite file: page checksums, its format, transactions, backups."""

from __future__ import annotations

import os
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from ctypes import addressof, c_int
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import apsw.sqlite_extra

from bktools import disk
from bktools.errors import JournalError, StorageError
from bktools.journal import migrations, version_0
from bktools.journal.lock import sending_for
from bktools.journal.records import LOCK_PATIENCE, PATIENCE, ROWS_AT_ONCE, Database, Facts, Records, Row
from bktools.journal.rendering import SQLITE
from bktools.journal.schema import SCHEMA_VERSION

# How the tables of an older version are named while their rows are copied.
_SET_ASIDE = "version_0_"

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


class Sqlite(Database):
    """An open SQLite file of the journal, which is created when it does not exist.

    `location` is what messages name where the file is a copy of another one. Such a copy is upgraded as it
    is; of a journal in use, a copy is kept beside it.
    """

    connection: apsw.Connection

    def __init__(self, path: Path, location: str = "") -> None:
        self._path = path
        self._is_copy = location not in {"", str(path)}
        self.location = location or str(path)
        with self.errors("opened"):
            self.connection = connect(path, self.location)
        self._opened = _inode(path)

    def prepare(self, records: Records, origin: Facts, on_new: Callable[[str], None]) -> None:
        """Create the tables in a new file, or upgrade those of an older version."""
        with self.errors("opened"):
            if _is_empty(self.connection):
                with self.transaction() as connection:
                    # Another process may have created the tables while this one waited for the transaction.
                    if _is_empty(self.connection):
                        on_new(self.location)
                        migrations.create(records, connection, SQLITE, secrets.token_hex(16), origin)
            elif migrations.version_of(self.connection, self.location) < SCHEMA_VERSION:
                self._upgrade(records, origin)

    def _upgrade(self, records: Records, origin: Facts) -> None:
        """Copy the file, check the copy, and bring the tables to the present version in one transaction."""
        with ExitStack() as stack:
            if not self._is_copy:
                # A process of the older version may be sending.
                for row in list(self.connection.execute("SELECT DISTINCT company_id FROM batches")):
                    stack.enter_context(sending_for(self._path.parent, row["company_id"]))
                self._keep_copy()
            # Rows are copied before the rows that they refer to.
            self.connection.pragma("foreign_keys", 0)
            try:
                with self.transaction() as connection:
                    if migrations.version_of(connection, self.location) == SCHEMA_VERSION:
                        return
                    for kind in ("trigger", "view", "index"):
                        sql = "SELECT name FROM sqlite_schema WHERE type = ? AND sql IS NOT NULL"
                        for row in list(connection.execute(sql, [kind])):
                            connection.execute(f"DROP {kind} {row['name']}")
                    for table in version_0.TABLES:
                        connection.execute(f"ALTER TABLE {table} RENAME TO {_SET_ASIDE}{table}")
                    migrations.upgrade(
                        records, connection, SQLITE, lambda table: f"{_SET_ASIDE}{table}", origin
                    )
                    for table in version_0.TABLES:
                        connection.execute(f"DROP TABLE {_SET_ASIDE}{table}")
            finally:
                self.connection.pragma("foreign_keys", 1)

    def _keep_copy(self) -> None:
        """Keep a copy of a file of version 0 beside it, after every byte of the copy was checked."""
        target = self._path.with_name(f"{self._path.stem}-version-0.sqlite")
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}.unfinished")
        try:
            with disk.storage_errors(target):
                disk.exclusive(unfinished).close()
                _copy(self.connection, unfinished)
                with closing(apsw.Connection(str(unfinished))) as copied:
                    copied.row_trace = _as_mapping
                    faults = [version_0.broken_chain(copied), *_faults(copied)]
                if found := [*filter(None, faults)]:
                    raise StorageError(
                        f"the journal {self.location} is damaged: {found[0]}; it was not upgraded"
                    )
                disk.replace(unfinished, target)
                disk.folder_to_disk(target.parent)
        finally:
            remove_with_companions(unfinished)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Yield the connection inside a transaction. No other process writes until it ends."""
        turn = _turns[self._path.absolute()]
        # Without a turn SQLite decides, and tells that the journal is locked.
        has_turn = turn.acquire(timeout=PATIENCE)
        try:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection
            self.connection.execute("COMMIT")
        finally:
            try:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
            finally:
                if has_turn:
                    turn.release()

    def pieces(self, sql: str, parameters: Sequence[Any], size: int) -> Iterator[list[Row]]:
        """Yield the rows of a query in lists of at most `size`."""
        cursor = self.connection.execute(sql, parameters)
        yield from iter(lambda: list(islice(cursor, size)), [])

    def wanted(self, ids: Iterable[str]) -> None:
        """Fill the table `wanted`, which is in memory and private to this connection."""
        self.connection.execute("DELETE FROM wanted")
        self.connection.executemany("INSERT INTO wanted VALUES (?)", ((id_,) for id_ in ids))

    def lock(self, company_id: str, *, patience: float = LOCK_PATIENCE) -> AbstractContextManager[None]:
        """Hold the lock of a company, a file beside the journal."""
        return sending_for(self._path.parent, company_id, patience=patience)

    def require_in_place(self) -> None:
        """Raise when the file was moved or replaced since it was opened."""
        if _inode(self._path) != self._opened:
            raise JournalError(
                f"the journal {self.location} was moved or replaced while it was open: nothing was sent, "
                "run again"
            )

    def faults(self) -> list[str]:
        """Check every page and constraint of the file."""
        # Copying reads every page, empty ones too, which verifies its checksum.
        _copy(self.connection, ":memory:")
        return _faults(self.connection)

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the journal to a new file; no partial copy is left."""
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}.unfinished")
        with disk.new_file(target, "the backup"):
            try:
                disk.exclusive(unfinished).close()
                _copy(self.connection, unfinished)
                disk.replace(unfinished, target)
                disk.folder_to_disk(target.parent)
            except (OSError, apsw.Error) as error:
                raise StorageError(f"the backup {target} cannot be written: {error}") from error
            finally:
                remove_with_companions(unfinished)

    @contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Turn SQLite's errors into `JournalError` and `StorageError` of one line."""
        try:
            yield
        except apsw.ConstraintError as error:
            raise JournalError(
                f"the journal refused a change that breaks one of its rules: {error}"
            ) from error
        except (apsw.Error, OSError, UnicodeError) as error:
            if isinstance(error, StorageError):
                raise
            reason = f"cannot be {what}: {error}"
            if isinstance(error, _DAMAGE) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_DATA:
                reason = (
                    f"is damaged ({error}): nothing was sent; restore a backup with bktools journal "
                    "restore FILE"
                )
            raise StorageError(f"the journal {self.location} {reason}") from error


class File(Records):
    """The records of a SQLite file, whichever environment it is for."""

    def __init__(self, path: Path, origin: Facts, location: str = "") -> None:
        super().__init__(Sqlite(path, location), origin)
        self.path = path


@cache
def _checksums() -> None:
    """Make SQLite's checksum extension the default for every file of this process."""
    with closing(apsw.Connection(":memory:")) as connection:
        apsw.sqlite_extra.load(connection, "cksumvfs")


def connect(path: Path, location: str = "") -> apsw.Connection:
    """Open a journal's SQLite file. A new one gets page checksums; one of another format stays as it is."""
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
        elif not _is_empty(connection):
            # The log of a process that was killed stays beside a file that is refused.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            migrations.version_of(connection, location or str(path))
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        _require_wal(connection, path)
        for pragma in SAFE:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TEMP TABLE wanted (id TEXT PRIMARY KEY) WITHOUT ROWID")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_wal(connection: apsw.Connection, path: Path) -> None:
    # When processes open a new file at once, SQLite refuses some without waiting.
    mode = disk.repeated(lambda: connection.pragma("journal_mode", "wal"), apsw.BusyError, PATIENCE)
    if mode != "wal":
        raise StorageError(
            f"the journal {path} cannot be kept safely on this file system: choose another data_dir"
        )


def _as_mapping(cursor: apsw.Cursor, values: tuple[Any, ...]) -> Row:
    return dict(zip((column[0] for column in cursor.get_description()), values, strict=True))


def _is_empty(connection: apsw.Connection) -> bool:
    return not list(connection.execute("SELECT 1 AS found FROM sqlite_schema LIMIT 1"))


def _faults(connection: apsw.Connection) -> list[str]:
    checks = ("integrity_check", "foreign_key_check")
    answers = [
        value for check in checks for row in connection.execute(f"PRAGMA {check}") for value in row.values()
    ]
    return [f"SQLite says: {answer}" for answer in answers if answer != "ok"]


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
