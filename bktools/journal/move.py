"""Moves the history of a journal's file into a database, beside the histories in it, and closes the file.

First the copy, then its check, then the switch: the file is closed when the copy is whole, and at that moment
the copy is committed. After a kill the environment's journal is the file, or the database, which asks for the
move to be finished where that is missing. The events keep their order: their numbers grow by one offset, and
an event names the file's last event and its digest. An entry that both journals sent stops the move before
anything is changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from bktools.contract import rules
from bktools.errors import ConfigurationError, JournalError, StorageError
from bktools.journal.entry_data import COLUMNS, NOT_KEPT
from bktools.journal.folders import (
    FILE,
    folder_of,
    origin_of,
    outer_folder,
    take_folder_of_version_0,
    take_sent_log_of_version_0,
)
from bktools.journal.journal import THE_OUTCOME, command_of, refuse_elsewhere
from bktools.journal.lock import sending_for
from bktools.journal.postgres import Postgres
from bktools.journal.records import Connection, Records, Row, loaded, now
from bktools.journal.schema import LIVE_STATES
from bktools.journal.sent_log import SentLog
from bktools.journal.sqlite import File
from bktools.journal.writing import WritableJournal, change
from bktools.settings import Settings

# The event of a history that came here. Its message says from where, and its last event and digest there.
IMPORTED = "imported"
MOVED = "moved"

# Where both have a row for an account, the one with an ID counts, then the newer one.
_NEWER = """(company_id, external_id) DO UPDATE SET {values} WHERE
    (excluded.account_id IS NOT NULL, excluded.updated_at)
    > (accounts.account_id IS NOT NULL, accounts.updated_at)"""

# In the order of their references: the column with an event's number, and what a row becomes that both have.
TABLES = {
    "events": ("event_id", ""),
    "batches": ("", "(batch_id) DO UPDATE SET {values}"),
    "batch_entries": ("", "(batch_id, entry_id) DO UPDATE SET {values}"),
    "entry_data": ("claim", ""),
    "held_back": ("close", ""),
    "accounts": ("", _NEWER),
}

_JOBS = "SELECT job_id, batch_id FROM batches WHERE job_id IS NOT NULL"
_LIVE = """
    SELECT entry_id, batch_id, state, job_id FROM batch_entries JOIN batches USING (batch_id) WHERE live = 1
"""
_BATCHES = "SELECT batch_id, company_id, state, entries, body_sha256 FROM batches"
_CLOSED = "SELECT company_id, period FROM periods WHERE state = 'CLOSED'"


def move(settings: Settings, *, by: str, evidence: str | None = None) -> Row:
    """Copy the history of the file to the database of the settings, verify it, and close the file.

    Safe to run again after a kill: then it goes on.

    `evidence` is how entries were corrected that both journals sent and had accepted; without it they are
    refused. Return number and digest of the database's last event (`event_id`, `digest`).

    Raises
    ------
    JournalError
        When there is no file, it is an old copy, a process is sending, or the database is of another service,
        of another owner, or has sent entries that the file has sent; both are as they were.
    StorageError
        When the file is damaged, or the copy differs from it; the database is as it was.
    """
    by = rules.not_blank("by", by)
    if settings.journal is None:
        raise ConfigurationError(
            "no database is configured: set BKTOOLS_JOURNAL to the database to move the journal to"
        )
    evidence = None if evidence is None else rules.not_blank("evidence", evidence)
    take_folder_of_version_0(settings)
    folder, origin = folder_of(settings), origin_of(settings)
    path = folder / FILE
    if not path.exists():
        raise JournalError(
            f"there is no journal {path}: nothing to move; the database starts as a new journal"
        )
    with File(path, origin, "") as file, ExitStack() as stack:
        sent_log = SentLog(folder, outer_folder(settings), file, origin)
        take_sent_log_of_version_0(sent_log, folder, settings, file)
        file.machine = sent_log.machine()
        for company_id in file.companies():
            stack.enter_context(sending_for(folder, company_id))
        _require_whole(file, f"{path} is damaged", "nothing was moved")
        moved = file.about("moved_to")
        if moved is None:
            refuse_elsewhere(sent_log, path, file.id, origin)
            sent_log.require_current()
        for row in file.rows("SELECT batch_id FROM batches WHERE state = 'SENDING'"):
            raise JournalError(
                f"batch {row['batch_id']} was being sent by a process that ended: nothing was moved; "
                f"look it up with {command_of(settings, 'export status')} (without BKTOOLS_JOURNAL) first"
            )
        database = stack.enter_context(_Target(Postgres(settings.journal), origin))
        database.machine = file.machine
        if moved not in {None, database.location}:
            raise JournalError(f"the history of the journal {path} was moved to {moved} already")
        if database.has(file):
            # A move that was killed after it had committed the copy.
            _close(file, database.location, by)
        else:
            database.take(file, settings, by, evidence)
    with WritableJournal(settings) as journal:
        # From now on the sent log leads to the database.
        journal.sent_log.describe()
        return journal.last_event()


def _require_whole(journal: Records, what: str, effect: str) -> None:
    for fault in journal.damage():
        raise StorageError(f"{what}: {fault}; {effect}")


@dataclass
class _Meeting:
    """The entries and batches that a database and a file both have."""

    database: Records
    file: File
    # Entries that both sent, or may have sent, with the batch of the database and that of the file.
    twice: dict[str, tuple[Row, Row]] = field(default_factory=dict)
    # Batches of the database and of the file that were not sent, and the batches with their entries.
    withdrawn_here: dict[str, str] = field(default_factory=dict)
    withdrawn_there: dict[str, str] = field(default_factory=dict)
    # Batches that both have, whose row in the database stays, with their rows in the database and in the
    # file.
    kept_here: dict[str, tuple[Row, Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for own, there in self._of_both(_JOBS, "job_id"):
            if own["batch_id"] != there["batch_id"]:
                raise JournalError(
                    f"job {own['job_id']} belongs to batch {own['batch_id']} in {self.database.location} "
                    f"and to batch {there['batch_id']} in {self.file.location}: nothing was moved. "
                    "One of the two was not booked: keep the file as the journal of its own entries, "
                    "and leave them out of every plan for the database"
                )
        for own, there in self._of_both(_LIVE, "entry_id"):
            if there["state"] == "PLANNED":
                self.withdrawn_there[there["batch_id"]] = own["batch_id"]
            elif own["state"] == "PLANNED":
                self.withdrawn_here[own["batch_id"]] = there["batch_id"]
            else:
                self.twice[own["entry_id"]] = own, there
        for own, there in self._of_both(_BATCHES, "batch_id"):
            if (own["entries"], own["body_sha256"]) != (there["entries"], there["body_sha256"]):
                raise JournalError(
                    f"batch {own['batch_id']} has other entries in {self.database.location} than in "
                    f"{self.file.location}: nothing was moved; restore a backup of the file that has all "
                    "of them"
                )
            if own["state"] in LIVE_STATES and own["batch_id"] not in self.withdrawn_here:
                self.kept_here[own["batch_id"]] = own, there

    def _of_both(self, sql: str, key: str) -> Iterator[tuple[Row, Row]]:
        """Yield the rows of a query that both have by a key: that of the database, and that of the file."""
        common = f"SELECT * FROM ({sql}) AS found WHERE {key} IN (SELECT id FROM wanted)"
        self.database.wanted(row[key] for piece in self.file.pieces(sql) for row in piece)
        here = {row[key]: row for row in self.database.rows(common)}
        self.file.wanted(here)
        for there in self.file.rows(common):
            yield here[there[key]], there

    def require_peace(self, settings: Settings, evidence: str | None) -> None:
        """Refuse entries that both may have sent, unless both were accepted and a person corrected them."""
        ways = set()
        for pair in self.twice.values():
            for row, where in zip(pair, ("", " (without BKTOOLS_JOURNAL)"), strict=True):
                if row["state"] != "ACCEPTED":
                    resolve = command_of(settings, f"export resolve {row['batch_id']}")
                    ways.add(f"{resolve} {THE_OUTCOME}{where}")
        if not self.twice or (evidence is not None and not ways):
            return
        pairs = Counter(
            f"{_named(own)} of the database and {_named(there)} of the file"
            for own, there in self.twice.values()
        )
        shown = "; ".join(f"{count} in {pair}" for pair, count in pairs.items())
        way_out = (
            f"Look these entries up in the accounting system, resolve first: {'; '.join(sorted(ways))}; "
            "then move again"
            if ways
            else "They were exported twice: reverse one booking of each in the accounting system, "
            f'then say so: {command_of(settings, "journal move")} --evidence "..." --by NAME'
        )
        raise JournalError(
            f"{len(self.twice)} entries were sent, or may have been, by both journals, "
            f"{self.database.location} and {self.file.location}: nothing was moved; {shown}. {way_out}"
        )


def _named(row: Row) -> str:
    return f"batch {row['batch_id']} ({row['state']}{', job ' + row['job_id'] if row['job_id'] else ''})"


class _Target(Records):
    """The database that receives a history."""

    def has(self, file: File) -> bool:
        """Whether the history of a file is here; raise where that of another copy of it is."""
        for row in self.rows("SELECT facts FROM events WHERE code = 'imported' ORDER BY event_id"):
            origin = loaded(row["facts"])
            if origin["journal"] != file.id:
                continue
            later = file.rows("SELECT code FROM events WHERE event_id > ?", origin["last_event"])
            if file.digest_at(origin["last_event"]) == origin["digest"] and {
                each["code"] for each in later
            } <= {
                MOVED,
                "upgraded",
            }:
                return True
            raise self._another_copy(file)
        # Version 0 gave an empty database the identity of the file that was moved to it.
        return self.id == file.id

    def _another_copy(self, file: File) -> JournalError:
        return JournalError(
            f"the history of journal {file.id[:8]} is in {self.location} already, "
            f"and {file.path} is another copy of it: nothing was moved; set it aside, "
            "and send with the database"
        )

    def take(self, file: File, settings: Settings, by: str, evidence: str | None) -> None:
        """Copy a file's history in one transaction; close the file when the copy is whole, then commit it."""
        with self.transaction() as connection:
            assert isinstance(self._database, Postgres)
            self._database.require_owner("moved")
            theirs, own = self.origin(), file.origin()
            if theirs != own:
                raise JournalError(
                    f"the journal {self.location} belongs to {theirs['environment']} "
                    f"({theirs['address']}), not to {own['environment']} ({own['address']}): "
                    "nothing was moved; name another database, or give both the same environment and "
                    "address (bktools journal rename, bktools check --accept-address)"
                )
            meeting = _Meeting(self, file)
            meeting.require_peace(settings, evidence)
            self._import(file, connection, meeting, by, evidence)
            self.extend_chain()
            for fault in self.contradictions():
                raise StorageError(
                    f"the copy in {self.location} differs from {file.path}: {fault}; it was not kept"
                )
            _close(file, self.location, by)

    def _import(
        self, file: File, connection: Connection, meeting: _Meeting, by: str, evidence: str | None
    ) -> None:
        """Write a file's history after the one here, and repeat the events here that still hold."""
        for batch_id, other in meeting.withdrawn_here.items():
            self._withdraw(connection, batch_id, other)
        closed = self.rows(_CLOSED)
        claims = {batch_id: self.newest_claim(batch_id) for batch_id in meeting.kept_here}
        offset = int(self.rows("SELECT coalesce(max(event_id), 0) AS last FROM events")[0]["last"])
        self._copy(file, connection, meeting, offset)
        last = file.last_event()
        about = {
            "journal": file.id,
            "location": file.location,
            "last_event": last["event_id"],
            "digest": last["digest"],
        }
        if evidence is not None and meeting.twice:
            about |= {"sent_twice": sorted(meeting.twice), "evidence": evidence}
        self.record(connection, IMPORTED, person=by, facts=about)
        for batch_id in sorted(meeting.withdrawn_there.keys() - meeting.kept_here):
            self._withdraw(connection, batch_id, meeting.withdrawn_there[batch_id])
        for batch_id, (here, there) in meeting.kept_here.items():
            if here["state"] != there["state"]:
                company_id = here["company_id"]
                self.record(
                    connection, "stays", state=here["state"], company_id=company_id, batch_id=batch_id
                )
            if self.newest_claim(batch_id) != claims[batch_id]:
                self._claim_again(connection, here, claims[batch_id])
        still_closed = self.rows(_CLOSED)
        for row in closed:
            if row not in still_closed:
                facts = {"reason": f"closed before journal {file.id[:8]} came here"}
                self.record(connection, "period_closed", state="CLOSED", **row, person=by, facts=facts)

    def _withdraw(self, connection: Connection, batch_id: str, other: str) -> None:
        facts = {"batch_id": other}
        change(
            self, connection, batch_id, "RELEASED", "in_another_journal", facts, settled_at=now().isoformat()
        )

    def _copy(self, file: File, connection: Connection, meeting: _Meeting, offset: int) -> None:
        """Insert a file's rows and read its events again.

        The rules are about the present, so they rest meanwhile.
        """
        with _without_rules(connection, *TABLES):
            for table, (number, both) in TABLES.items():
                for rows in _rows(table, number, file, meeting, offset):
                    values = ", ".join(f"{name} = excluded.{name}" for name in rows[0])
                    conflict = f" ON CONFLICT {both.format(values=values)}" if both else ""
                    names, marks = ", ".join(rows[0]), ", ".join("?" * len(rows[0]))
                    sql = f"INSERT INTO {table} ({names}) VALUES ({marks}){conflict}"
                    connection.executemany(sql, (list(row.values()) for row in rows))
        events = _rows("events", "event_id", file, meeting, offset)
        copied = self.pieces("SELECT * FROM events WHERE event_id > ? ORDER BY event_id", offset)
        if any(rows != copy for rows, copy in zip_longest(events, copied)):
            raise StorageError(
                f"the copy of the events in {self.location} differs from {file.path}: it was not kept"
            )

    def _claim_again(self, connection: Connection, batch: Row, claim: Row) -> None:
        """Repeat the claim of a batch that stays as it is here, after the file's claims of that batch."""
        batch_id = batch["batch_id"]
        claim = claim or {"event_id": 0, "code": NOT_KEPT, "sha256": None}
        facts = {"sha256": claim["sha256"]} if claim["sha256"] else {}
        number = self.record(
            connection, claim["code"], company_id=batch["company_id"], batch_id=batch_id, facts=facts
        )
        values = f"entry_id, split_line, {', '.join(COLUMNS)}"
        with _without_rules(connection, "entry_data"):
            connection.execute(
                f"INSERT INTO entry_data (batch_id, claim, {values}) SELECT batch_id, CAST(? AS BIGINT), "
                f"{values} FROM entry_data WHERE batch_id = ? AND claim = ?",
                (number, batch_id, claim["event_id"]),
            )


def _close(file: File, location: str, by: str) -> None:
    """Close a file, unless it is: from here on its own rules refuse every change."""
    if file.about("moved_to") is not None:
        return
    with file.transaction() as connection:
        file.record(connection, MOVED, person=by, facts={"to": location})
        connection.execute("INSERT INTO about VALUES ('moved_to', ?)", (location,))


@contextmanager
def _without_rules(connection: Connection, *tables: str) -> Iterator[None]:
    """Let the rules of tables rest in a transaction, which is rolled back where the block fails."""
    for table in tables:
        connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
    yield
    for table in tables:
        connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def _rows(
    table: str, number: str, file: File, meeting: _Meeting, offset: int
) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file's table as the database gets them."""
    for piece in file.pieces(f"SELECT * FROM {table} ORDER BY 1"):
        rows = [dict(row) for row in piece]
        if number:
            rows = [row | {number: row[number] + offset} for row in rows]
        elif "batch_id" in rows[0]:
            rows = [row for row in rows if row["batch_id"] not in meeting.kept_here]
        if table == "batch_entries":
            for row in rows:
                if row["batch_id"] in meeting.withdrawn_there or row["entry_id"] in meeting.twice:
                    row["live"] = 0
        if rows:
            yield rows
