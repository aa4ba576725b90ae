"""Moves the history of a journal's file to a database, once, and closes the file."""

from __future__ import annotations

from contextlib import ExitStack

from bktools.errors import ConfigurationError, JournalError, StorageError
from bktools.journal.file import File
from bktools.journal.journal import Journal, outer_folder, refuse_moved, refuse_second_copy
from bktools.journal.lock import sending_for
from bktools.journal.marks import Marks
from bktools.journal.others import FILE, folder_of
from bktools.journal.postgres import Postgres
from bktools.journal.records import ROWS_AT_ONCE, Records, Row, record_event
from bktools.settings import Secret, Settings

# In the order of their references.
TABLES = (
    "about", "events", "chain", "batches", "batch_entries", "facts", "held_back", "accounts", "addresses", "other_journals",
)  # fmt: skip

# What a file has and a database does not, or the other way round.
OWN = ("moved_to", "format", "release", "incarnation")


def move(settings: Settings, *, by: str) -> Row:
    """Copy the history of the file to the empty database of the settings, verify it, and close the file.

    The file is closed first: after a kill at any time at most one of the two sends. Run again then, it goes on.

    Parameters
    ----------
    settings : Settings
        With the address of the database.
    by : str
        Name of the person who moves it; kept permanently.

    Returns
    -------
    mapping
        Number and digest of the last event (`event_id`, `digest`), the same in both.

    Raises
    ------
    ConfigurationError
        When the settings have no database.
    JournalError
        When there is no file, it is an old copy, a process is sending, or the database has a history of its own.
    StorageError
        When the file is damaged, or the copy differs from it; the database is as it was.
    """
    if settings.journal is None:
        raise ConfigurationError(
            "no database is configured: set BKTOOLS_JOURNAL to the database to move the journal to"
        )
    folder = folder_of(settings)
    if not (folder / FILE).exists():
        raise JournalError(
            f"there is no journal {folder / FILE}: nothing to move; the database starts as a new journal"
        )
    with File(folder / FILE) as file, ExitStack() as stack:
        damage = file.damage()
        if damage:
            raise StorageError(f"{file.path} is damaged: {damage[0]}; nothing was moved")
        marks = Marks(folder, outer_folder(settings), file.id)
        for row in file.rows("SELECT DISTINCT company_id FROM batches ORDER BY company_id"):
            stack.enter_context(sending_for(folder, row["company_id"]))
        moved = file.about("moved_to")
        if moved is None:
            refuse_moved(marks.last_place(), file.path)
            marks.require_current(file)
            refuse_second_copy(marks.last_place(), file.path, file.id)
        sending = file.rows("SELECT batch_id FROM batches WHERE state = 'SENDING'")
        if sending:
            raise JournalError(
                f"batch {sending[0]['batch_id']} was being sent by a process that ended: nothing was moved; look it up with "
                "bktools export status first"
            )
        database = _Target(settings.journal)
        stack.enter_context(database)
        if moved not in {None, database.place}:
            raise JournalError(f"the history of the journal {file.path} was moved to {moved} already")
        last = file.last_event()
        if moved and database.id == file.id and database.last_event() == last:
            return last
        database.require_empty()
        if moved is None:
            with file.transaction() as connection:
                record_event(connection, "journal", file.id, None, "moved", database.place, by)
                # From here on the file's own rules refuse every change.
                connection.execute("INSERT INTO about VALUES ('moved_to', ?)", (database.place,))
        database.take(file)
    with Journal(settings) as journal:
        # The marks of the file are those of the database from now on.
        journal.marks.confirm(journal.about_me)
        return journal.last_event()


class _Target(Records):
    """The database that receives a history."""

    def __init__(self, address: Secret) -> None:
        super().__init__(Postgres(address, lambda _: None))

    def require_empty(self) -> None:
        """Refuse a database that has a history of its own."""
        if self.rows("SELECT 1 AS found FROM events LIMIT 1") or self.about("environment"):
            raise JournalError(
                f"the journal {self.place} has a history already: nothing was moved; name an empty database"
            )

    def take(self, file: File) -> None:
        """Copy every table of a file in one transaction, and compare the copies before it ends."""
        with self.transaction() as connection:
            # The rules are about what happens, not about what happened. They are back when the transaction ends.
            for table in TABLES:
                connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            connection.execute("DELETE FROM about WHERE name NOT IN ('format', 'release', 'incarnation')")
            for table in TABLES:
                for piece in file.pieces(f"SELECT * FROM {table}", size=ROWS_AT_ONCE):
                    rows = [row for row in piece if row.get("name") not in OWN or table != "about"]
                    names = ", ".join(piece[0])
                    marks = ", ".join("?" * len(piece[0]))
                    connection.executemany(
                        f"INSERT INTO {table} ({names}) VALUES ({marks})", (list(row.values()) for row in rows)
                    )
            for table in TABLES:
                connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
            for table in TABLES[1:]:
                _require_equal(table, file, self)
            damage = self.damage()
            if damage:
                raise StorageError(f"the copy in {self.place} differs from {file.path}: {damage[0]}; it was not kept")


def _require_equal(table: str, file: File, database: Records) -> None:
    """Compare a table of both, row by row."""
    columns = (
        list(file.rows(f"SELECT * FROM {table} LIMIT 1")[0]) if file.rows(f"SELECT 1 FROM {table} LIMIT 1") else ["*"]
    )
    sql = f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1, 2{', 3' if table == 'facts' else ''}"
    there = database.pieces(sql, size=ROWS_AT_ONCE)
    for piece in file.pieces(sql, size=ROWS_AT_ONCE):
        if [*map(dict, piece)] != [*map(dict, next(there, []))]:
            raise StorageError(f"the copy of {table} in {database.place} differs from {file.path}: it was not kept")
    if next(there, []):
        raise StorageError(f"the copy of {table} in {database.place} has more rows than {file.path}: it was not kept")
