"""Opening the journal: files, versions, transactions. What is written into it is in the files beside this one."""

from __future__ import annotations

import datetime as dt
import getpass
import os
import platform
import secrets
import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bktools import disk
from bktools.errors import JournalError, StorageError
from bktools.journal.schema import MIGRATIONS
from bktools.settings import SANDBOX, Settings

FILE = "journal.sqlite"
LOCKS = "locks"  # made when something is first sent, after the journal was written
PATIENCE = 30.0  # seconds that a write waits for another process's
ROWS_AT_ONCE = 10_000

SAFE = (
    "synchronous = FULL",
    "fullfsync = ON",  # macOS: through the drive's cache, not only to it
    "foreign_keys = ON",
    "recursive_triggers = ON",  # a row that REPLACE deletes is seen by the triggers that forbid it
    "temp_store = MEMORY",
)


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
        self._environment = settings.environment

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
        except UnicodeDecodeError as error:
            raise StorageError(f"the journal {self.path} is damaged: put back a backup") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    def command(self, words: str) -> str:
        """Return a command as a message gives it, to be run as it stands: it names this journal's environment."""
        named = "--sandbox" if self._environment == SANDBOX else f"--environment {shlex.quote(self._environment)}"
        return f"bktools {words} {named}"

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection inside a transaction: on disk when it ends, or as if nothing had been."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
            self._connection.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            self._roll_back()
            raise JournalError(f"the journal refused a change that would break its promises: {error}") from error
        except sqlite3.Error as error:
            self._roll_back()
            raise StorageError(f"the journal {self.path} cannot be written: {error}") from error
        except BaseException:
            self._roll_back()
            raise

    def rows(self, sql: str, *parameters: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        return [row for piece in self.pieces(sql, *parameters, size=ROWS_AT_ONCE) for row in piece]

    def pieces(self, sql: str, *parameters: Any, size: int) -> Iterator[list[sqlite3.Row]]:
        """Yield the rows of a query in lists of at most `size`, so that a long table is never held as rows."""
        try:
            cursor = self._connection.execute(sql, parameters)
            while piece := cursor.fetchmany(size):
                yield piece
        except sqlite3.Error as error:
            raise StorageError(f"the journal {self.path} cannot be read: {error}") from error
        except UnicodeDecodeError as error:
            raise StorageError(f"the journal {self.path} is damaged: put back a backup") from error

    def wanted(self, ids: Iterable[str]) -> None:
        """Put IDs into the table `temp.wanted`, in memory and seen by this connection alone, to join them."""
        self._connection.execute("DELETE FROM temp.wanted")
        self._connection.executemany("INSERT INTO temp.wanted VALUES (?)", ((id_,) for id_ in ids))

    def backup(self, target: Path) -> None:
        """Write a copy of the journal, whole at an instant, to a file that does not exist yet.

        Raises
        ------
        StorageError
            When the file exists or cannot be written; there is the whole copy or none.
        """
        unfinished = target.with_name(f"{target.name}.{secrets.token_hex(4)}.unfinished")
        try:
            # Taking the name first: two backups to the same file do not meet.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise StorageError(f"{target} exists already: a backup never replaces a file") from None
        except OSError as error:
            raise StorageError(f"the backup {target} cannot be written: {error.strerror}") from error
        try:
            os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with closing(sqlite3.connect(unfinished)) as copy:
                self._connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
            unfinished.replace(target)
            disk.folder_to_disk(target.parent)
        except BaseException as error:
            target.unlink(missing_ok=True)
            if isinstance(error, OSError | sqlite3.Error):
                raise StorageError(f"the backup {target} cannot be written: {error}") from error
            raise
        finally:
            for suffix in ("", "-journal", "-wal", "-shm"):
                unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)

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
            if self._version() == 0:
                self._refuse_to_forget()
            for number, script in enumerate(MIGRATIONS[self._version() :], self._version() + 1):
                for statement in _statements(script):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {number:d}")
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _refuse_to_forget(self) -> None:
        """Refuse to begin anew where something was sent: an empty journal would let it be sent again."""
        locks = self.folder / LOCKS
        if locks.exists():
            raise JournalError(
                f"the journal {self.path} is gone or empty, but export jobs were sent from here: put it back, from a "
                f"backup or from where it was moved; nothing was sent. Only if none was ever sent, remove {locks}"
            )

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
    is_new = not path.parent.exists()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if is_new:
        disk.folder_to_disk(path.parent.parent)
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    try:
        # By name, never by opening it: closing a second handle would drop the locks of every connection of this
        # process. SQLite gives the files it makes beside this one the same rights.
        path.chmod(0o600)
        connection.row_factory = sqlite3.Row
        _require_wal(connection, path)
        for pragma in SAFE:
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE temp.wanted (id TEXT PRIMARY KEY) WITHOUT ROWID")
    except BaseException:
        connection.close()
        raise
    return connection


def _require_wal(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise StorageError(f"the journal {path} cannot be kept safely on this file system: choose another data_dir")


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script; `executescript` would commit the transaction they stand in."""
    held = ""
    for line in script.splitlines(keepends=True):
        held += line
        if sqlite3.complete_statement(held):
            yield held
            held = ""
    if held.strip():
        # Without its semicolon; SQLite takes it as it is, or says what is wrong.
        yield held


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
