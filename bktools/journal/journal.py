"""Opening the journal: files, versions, transactions. What is written into it is in the files beside this one."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import platform
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bktools.errors import JournalError, StorageError
from bktools.journal.schema import MIGRATIONS
from bktools.settings import Settings

FILE = "journal.sqlite"
PATIENCE = 30.0  # seconds that a write waits for another process's


class Journal:
    """The journal of one environment. Open it in a `with` statement, use it from one thread.

    Parameters
    ----------
    settings : Settings
        Whose journal it is.

    Raises
    ------
    StorageError
        When the file cannot be opened or written.
    JournalError
        When it belongs to another environment, or to a newer bktools.
    """

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.state_dir
        self.path = self.folder / FILE
        self._identity = settings.identity

    def __enter__(self) -> Self:
        try:
            self._connection = _open(self.path)
            try:
                self._migrate()
                self._belongs()
            except BaseException:
                self._connection.close()
                raise
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(f"the journal {self.path} cannot be opened: {error}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection inside a transaction: on disk when it ends, or as if nothing had been."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
            self._connection.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            self._roll_back()
            raise JournalError(f"the journal refused a change that would break its promises: {error}") from error
        except sqlite3.OperationalError as error:
            self._roll_back()
            raise StorageError(f"the journal {self.path} cannot be written: {error}") from error
        except BaseException:
            self._roll_back()
            raise

    def rows(self, sql: str, *parameters: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        return self._connection.execute(sql, parameters).fetchall()

    def backup(self, target: Path) -> None:
        """Write a copy of the journal, whole at an instant, to a file that does not exist yet."""
        try:
            _make_private(target, new=True)
            with closing(sqlite3.connect(target)) as copy:
                self._connection.backup(copy)
        except FileExistsError:
            raise StorageError(f"{target} exists already: a backup never replaces a file") from None
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"the backup {target} cannot be written: {error}") from error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _version(self) -> int:
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        return version

    def _migrate(self) -> None:
        if self._version() > len(MIGRATIONS):
            raise JournalError(f"the journal {self.path} was written by a newer bktools: upgrade, nothing was changed")
        if self._version() == len(MIGRATIONS):
            return
        if self._version() > 0:
            self.backup(self.path.with_name(f"journal-before-{now():%Y%m%dT%H%M%S%f}.sqlite"))
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have been first while this one waited.
            for number, script in enumerate(MIGRATIONS[self._version() :], self._version() + 1):
                for statement in _statements(script):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {number:d}")
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _belongs(self) -> None:
        found = self.rows("SELECT value FROM about WHERE name = 'environment'")
        if not found:
            with self.transaction() as connection:
                connection.execute("INSERT OR IGNORE INTO about VALUES ('environment', ?)", (self._identity,))
        elif found[0]["value"] != self._identity:
            raise JournalError(
                f"the journal {self.path} belongs to {found[0]['value']}, not to {self._identity}: was it copied here?"
            )


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _make_private(path)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _make_private(path: Path, *, new: bool = False) -> None:
    # SQLite gives the files it makes beside this one the same rights.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | (os.O_EXCL if new else 0), 0o600))


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would commit the transaction they stand in."""
    held = ""
    for line in script.splitlines(keepends=True):
        held += line
        if sqlite3.complete_statement(held):
            yield held
            held = ""


def now() -> dt.datetime:
    """Return the time, UTC."""
    return dt.datetime.now(dt.UTC)


def this_process() -> str:
    """Return who acts here: user, machine, process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = "unknown user"
    return f"{user}@{platform.node()} process {os.getpid()}"


def record_event(
    connection: sqlite3.Connection,
    subject: str,
    subject_id: str,
    before: str | None,
    after: str,
    message: str | None = None,
    done_by: str | None = None,
) -> None:
    """Add an event, in the transaction of the change it tells of."""
    connection.execute(
        "INSERT INTO events (at, subject, subject_id, before, after, message, done_by) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (now().isoformat(), subject, subject_id, before, after, message, done_by or this_process()),
    )
