"""`move`: takes the history of a journal's file into an empty database: a copy, a check, and then the switch.

Until the switch the file is the journal, and from it on the database is. The copy has the file's identity and
events, and no event of its own: as long as none says that the history was moved to this database, the copy is
unfinished, and nothing is written there. After a kill the move is run again.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from bktools.contract import rules
from bktools.errors import ConfigurationError, JournalError, StorageError
from bktools.journal.folders import FILE, command_for, environment_of, folder_of
from bktools.journal.postgres import Postgres
from bktools.journal.records import ROWS_AT_ONCE, Connection, Records, Row
from bktools.journal.right_journal import require_right
from bktools.journal.sentences import refusal
from bktools.journal.sqlite import File
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.settings import Settings

# In the order of their references.
TABLES = ("about", "events", "chain", "batches", "batch_entries", "entry_data", "held_back", "accounts")


def move(settings: Settings, *, by: str) -> Row:
    """Copy the history of the file to the database of the settings, check it, and close the file.

    Return number and digest of the database's last event (`event_id`, `digest`). Safe to run again after a
    kill: then it goes on.

    Raises
    ------
    JournalError
        When there is no file, it is not the right journal, a process is sending, or the database has a
        journal; both are as they were.
    StorageError
        When the file is damaged, or the copy differs from it.
    """
    by = rules.a_name("by", by)
    if settings.journal is None:
        raise ConfigurationError(
            "no database is configured: set BKTOOLS_JOURNAL to the database to move the journal to"
        )
    path = folder_of(settings) / FILE
    if not path.exists():
        raise JournalError(
            f"there is no journal {path}: nothing to move; the database starts as a new journal"
        )
    with File(path) as file, ExitStack() as stack:
        _require_whole(file, f"{path} is damaged", "nothing was moved")
        for company_id in file.companies():
            stack.enter_context(file.lock(company_id))
        database = Postgres(settings.journal)
        moved = file.about("moved_to")
        if moved not in {None, database.location}:
            database.close()
            raise refusal("moved", location=path, to=moved)
        if moved is None:
            _require_right_file(settings)
            _drop_unfinished(database, file)
        with Records(database, lambda records, connection: _copy(file, records, connection)) as target:
            if target.id != file.id:
                environment = environment_of(settings)
                export = command_for(environment, "export status --entries --output FILE")
                taking = command_for(environment, "export import FILE", "COMPANY")
                raise JournalError(
                    f"the database {target.location} has a journal: nothing was moved. Name an empty one, or "
                    f"use that one and record there what the file exported: {export} (without "
                    f"BKTOOLS_JOURNAL), then {taking}"
                )
            _require_whole(target, f"the copy in {target.location} is not whole", "it was not kept")
            with file.transaction() as connection:
                if moved is None:
                    connection.execute("INSERT INTO about VALUES ('moved_to', $1)", [target.location])
            if target.row("SELECT 1 AS one FROM events WHERE code = 'moved' LIMIT 1") is None:
                with target.transaction() as connection:
                    facts = {"from": str(path), "database": target.token()}
                    target.record(connection, "moved", person=by, facts=facts)
    with open_for_writing(settings) as journal:
        return journal.last_event()


def _require_right_file(settings: Settings) -> None:
    with WritableJournal(replace(settings, journal=None)) as journal:
        require_right(journal)
        for row in journal.rows("SELECT batch_id, company_id FROM batches WHERE state = 'SENDING'"):
            status = journal.command("export status", row["company_id"])
            raise JournalError(
                f"batch {row['batch_id']} was being sent by a process that ended: nothing was moved; "
                f"settle it first, without BKTOOLS_JOURNAL: {status}"
            )


def _drop_unfinished(database: Postgres, file: File) -> None:
    """Drop the copy that a killed move of this file left: the file may have gone on since."""
    with database.errors("opened"):
        if database.is_empty():
            return
        about = {row["name"]: row["value"] for row in database.connection.execute("SELECT * FROM about")}
        moved = database.connection.execute("SELECT 1 AS one FROM events WHERE code = 'moved' LIMIT 1")
        if about.get("id") == file.id and not moved:
            database.drop()


def _copy(file: File, target: Records, connection: Connection) -> None:
    for table in TABLES:
        for piece in file.pieces(f"SELECT * FROM {table}", size=ROWS_AT_ONCE):
            names = [*piece[0]]
            values = ", ".join(f"${number}" for number in range(1, len(names) + 1))
            sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"
            connection.executemany(sql, ([*row.values()] for row in piece))
    if target.row("SELECT count(*) AS events FROM events") != file.row(
        "SELECT count(*) AS events FROM events"
    ):
        raise StorageError(f"the copy in {target.location} differs from {file.location}: it was not kept")


def _require_whole(journal: Records, what: str, effect: str) -> None:
    for fault in journal.damage():
        raise StorageError(f"{what}: {fault}; {effect}")
