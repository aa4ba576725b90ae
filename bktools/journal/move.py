"""`move`: takes the history of a journal's file into an empty database, and closes the file.

The copy is one transaction of the database. Its last step before the commit closes the file: after a kill,
the file is the journal, or the database is; or the file is closed, and the same command finishes the move.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from bktools.contract import rules
from bktools.errors import ConfigurationError, StorageError
from bktools.journal.database import ROWS_AT_ONCE, Connection, Row
from bktools.journal.folders import FILE, command_for, environment_of, folder_of
from bktools.journal.postgres import Postgres, location_of
from bktools.journal.records import File, Records, inserting
from bktools.journal.right_journal import require_right
from bktools.journal.sentences import line_of, refusal
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing
from bktools.settings import Settings
from bktools.wording import words

# In the order of their references.
TABLES = ("about", "events", "batches", "batch_entries", "entry_data", "accounts")


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
        raise ConfigurationError(line_of("no_database"))
    path, location = folder_of(settings) / FILE, location_of(settings.journal)
    if not path.exists():
        raise refusal("nothing_to_move", location=path)
    with File(path) as file, ExitStack() as stack:
        _require_whole(file, "file_damaged")
        for company_id in file.companies():
            stack.enter_context(file.lock(company_id))
        moved = file.about("moved_to")
        if moved not in {None, location}:
            raise refusal("moved", location=path, to=moved)
        if moved is None:
            _require_right_file(settings)
        with Records(Postgres(settings.journal), partial(_copy, file=file, by=by)) as target:
            if target.id != file.id:
                name, company = words()("placeholder.file"), words()("placeholder.company")
                export = command_for(environment_of(settings), f"export status --entries --output {name}")
                taking = command_for(environment_of(settings), f"export import {name}", company)
                raise refusal("database_has_one", location=location, export=export, command=taking)
    with open_for_writing(settings) as journal:
        return journal.last_event()


def _require_right_file(settings: Settings) -> None:
    with WritableJournal(replace(settings, journal=None)) as journal:
        require_right(journal)
        if row := journal.row("SELECT batch_id, company_id FROM batches WHERE state = 'SENDING' LIMIT 1"):
            status = journal.command("export status", row["company_id"])
            raise refusal("sender_ended_before_move", **row, command=status)


def _copy(target: Records, connection: Connection, *, file: File, by: str) -> None:
    """Copy every row and check the copy, in the database's transaction; then close the file."""
    with file.transaction() as closing:
        for table in TABLES:
            for piece in file.pieces(f"SELECT * FROM {table}", size=ROWS_AT_ONCE):
                connection.executemany(inserting(table, piece[0]), ([*row.values()] for row in piece))
        _require_whole(target, "copy_not_whole")
        if target.last_event() != file.last_event():
            raise StorageError(line_of("copy_differs", location=target.location, source=file.location))
        if file.about("moved_to") is None:
            closing.execute("INSERT INTO about VALUES ('moved_to', $1)", [target.location])
    facts = {"from": file.location, "database": target.token()}
    target.record(connection, "moved", person=by, facts=facts)


def _require_whole(journal: Records, code: str) -> None:
    if faults := journal.damage():
        raise StorageError(line_of(code, location=journal.location, fault=faults[0]))
