"""Moves the history of a journal's file to a database, beside the histories that are there, and closes the file.

The events keep their order and their proof: their numbers grow by one offset, and an event names the file's last event
and its digest. An entry that both journals sent stops the move before anything is changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from bktools.contract import rules
from bktools.errors import ConfigurationError, JournalError, StorageError
from bktools.journal.entry_data import COLUMNS, KEPT, NOT_KEPT
from bktools.journal.journal import THE_OUTCOME, Journal, change, command_of, outer_folder, require_newest
from bktools.journal.lock import sending_for
from bktools.journal.postgres import Postgres
from bktools.journal.records import IMPORTED, Connection, Records, Row, now, record_event
from bktools.journal.related_journals import FILE, SAME, folder_of
from bktools.journal.schema import LIVE_STATES
from bktools.journal.sent_log import SentLine, SentLog
from bktools.journal.sqlite import File
from bktools.journal.undelivered import UndeliveredAnswers
from bktools.settings import Settings

# In the order of their references, with the columns that hold the number of an event.
TABLES = {
    "events": "event_id", "batches": "", "batch_entries": "", "facts": "claim", "held_back": "close", "accounts": "",
    "addresses": "", "other_journals": "",
}  # fmt: skip

# Tables whose rows say what happened. Those of the others describe the present, and the newer row counts.
HISTORY = ("events", "batches", "batch_entries", "facts", "held_back")

# What becomes of a row that both journals have.
_BOTH = {
    "batches": "(batch_id) DO UPDATE SET {values}",
    "batch_entries": "(batch_id, entry_id) DO UPDATE SET {values}",
    "accounts": "(company_id, external_id) DO UPDATE SET {values} WHERE "
    "(excluded.account_id IS NOT NULL, excluded.updated_at) > (accounts.account_id IS NOT NULL, accounts.updated_at)",
    "addresses": "DO NOTHING",
    "other_journals": "DO NOTHING",
}

# Pairs of batches that a message names; the others are counted.
SHOWN_PAIRS = 3

_LIVE = """
    SELECT entry_id, batch_id, state, job_id FROM batch_entries JOIN batches USING (batch_id)
    WHERE live = 1 AND entry_id IN (SELECT id FROM wanted)
"""
_ORDER = dict.fromkeys(TABLES, "ORDER BY 1, 2") | {"facts": "ORDER BY 1, 2, 3, 4"}


def move(settings: Settings, *, by: str, evidence: str | None = None) -> Row:
    """Copy the history of the file to the database of the settings, verify it, and close the file.

    The file is closed first: after a kill at any time at most one of the two sends. Run again then, it goes on.

    Parameters
    ----------
    settings : Settings
        With the address of the database.
    by : str
        Name of the person who moves it; kept permanently.
    evidence : str, optional
        How entries were corrected that both journals sent and had accepted, which is refused without it; kept permanently.

    Returns
    -------
    mapping
        Number and digest of the database's last event (`event_id`, `digest`).

    Raises
    ------
    ConfigurationError
        When the settings have no database.
    JournalError
        When there is no file, it is an old copy, a process is sending, or the database is of another service, of another
        owner, or has sent entries that the file has sent; both are as they were.
    StorageError
        When the file is damaged, or the copy differs from it; the database is as it was.
    """
    if settings.journal is None:
        raise ConfigurationError(
            "no database is configured: set BKTOOLS_JOURNAL to the database to move the journal to"
        )
    if evidence is not None:
        evidence = rules.text("evidence", rules.text("evidence", evidence).strip(), shortest=1)
    folder = folder_of(settings)
    if not (folder / FILE).exists():
        raise JournalError(
            f"there is no journal {folder / FILE}: nothing to move; the database starts as a new journal"
        )
    with File(folder / FILE) as file, ExitStack() as stack:
        sent_log = SentLog(folder, outer_folder(settings), file.id)
        for company_id in file.companies():
            stack.enter_context(sending_for(folder, company_id))
        _require_whole_and_newest(file, sent_log, folder / FILE)
        database = _Target(Postgres(settings.journal, lambda _: None))
        stack.enter_context(database)
        moved = file.about("moved_to")
        if moved not in {None, database.location}:
            raise JournalError(f"the history of the journal {file.path} was moved to {moved} already")
        offset = database.offset_of(file)
        if offset is None:
            database.require_owner()
            _Meeting(database, file).require_peace(settings, evidence)
            if moved is None:
                with file.transaction() as connection:
                    record_event(connection, "journal", file.id, None, "moved", database.location, by)
                    # From here on the file's own rules refuse every change.
                    connection.execute("INSERT INTO about VALUES ('moved_to', ?)", (database.location,))
            offset = database.take(file, settings, by, evidence)
        of_file = {
            company: [*_numbered_anew(lines, offset, file, database)] for company, lines in sent_log.of_all().items()
        }
        # From now on the sent log of the file leads to the database.
        sent_log.confirm({"path": database.location, "addresses": file.addresses()})
    with Journal(settings) as journal, ExitStack() as stack:
        for company_id in sorted(of_file):
            stack.enter_context(journal.sending(company_id))
        journal.sent_log.confirm(journal.about_me, of_file)
        journal.undelivered.take(UndeliveredAnswers(folder))
        return journal.last_event()


def _require_whole_and_newest(file: File, sent_log: SentLog, path: Path) -> None:
    """Refuse a file that is damaged, an old copy, or not at rest."""
    damage = file.damage()
    if damage:
        raise StorageError(f"{path} is damaged: {damage[0]}; nothing was moved")
    if file.about("moved_to") is None:
        require_newest(file, sent_log, path)
    sending = file.rows("SELECT batch_id FROM batches WHERE state = 'SENDING'")
    if sending:
        raise JournalError(
            f"batch {sending[0]['batch_id']} was being sent by a process that ended: nothing was moved; look it up with "
            "bktools export status first"
        )


def _numbered_anew(lines: Sequence[SentLine], offset: int, file: File, database: Records) -> Iterator[SentLine]:
    """Yield the lines of a file's sent log for a database, in which its events have other numbers and digests."""
    for line in lines:
        is_known = file.digest_at(line.event) == line.digest
        digest = (database.digest_at(line.event + offset) if is_known else None) or line.digest
        yield replace(line, event=line.event + offset, digest=digest)


@dataclass
class _Meeting:
    """The entries and batches that a database and a file both have.

    Attributes
    ----------
    twice : mapping
        Entries that both sent, or may have sent, with the batch of the database and that of the file.
    withdrawn_here, withdrawn_there : mapping
        Batches of the database and of the file that were not sent, and the batches with their entries.
    kept_here : mapping
        Batches that both have, of which the database's row stays, with the state in the file.
    """

    database: _Target
    file: File
    twice: dict[str, tuple[Row, Row]] = field(default_factory=dict)
    withdrawn_here: dict[str, str] = field(default_factory=dict)
    withdrawn_there: dict[str, str] = field(default_factory=dict)
    kept_here: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._compare_jobs()
        self._compare_entries()
        self._compare_batches()

    def _compare_jobs(self) -> None:
        jobs = "SELECT batch_id, job_id FROM batches WHERE job_id IS NOT NULL"
        there = {row["job_id"]: row["batch_id"] for row in self.file.rows(jobs)}
        self.database.wanted(there)
        for row in self.database.rows(f"{jobs} AND job_id IN (SELECT id FROM wanted)"):
            if row["batch_id"] != there[row["job_id"]]:
                raise JournalError(
                    f"job {row['job_id']} belongs to batch {row['batch_id']} in {self.database.location} and to batch "
                    f"{there[row['job_id']]} in {self.file.location}: nothing was moved. One of the two was not booked: keep the "
                    "file as the journal of its own entries, and leave them out of every plan for the database"
                )

    def _compare_entries(self) -> None:
        entries = "SELECT entry_id FROM batch_entries WHERE live = 1"
        self.database.wanted(row["entry_id"] for piece in self.file.pieces(entries) for row in piece)
        here = {row["entry_id"]: row for row in self.database.rows(_LIVE)}
        self.file.wanted(here)
        for there in self.file.rows(_LIVE):
            own = here[there["entry_id"]]
            if there["state"] == "PLANNED":
                self.withdrawn_there[there["batch_id"]] = own["batch_id"]
            elif own["state"] == "PLANNED":
                self.withdrawn_here[own["batch_id"]] = there["batch_id"]
            else:
                self.twice[there["entry_id"]] = own, there

    def _compare_batches(self) -> None:
        of_wanted = (
            "SELECT batch_id, state, entries, body_sha256 FROM batches WHERE batch_id IN (SELECT id FROM wanted)"
        )
        self.database.wanted(row["batch_id"] for row in self.file.rows("SELECT batch_id FROM batches"))
        here = {row["batch_id"]: row for row in self.database.rows(of_wanted)}
        self.file.wanted(here)
        for there in self.file.rows(of_wanted):
            own = here[there["batch_id"]]
            if (own["entries"], own["body_sha256"]) != (there["entries"], there["body_sha256"]):
                raise JournalError(
                    f"batch {own['batch_id']} has other entries in {self.database.location} than in {self.file.location}: nothing "
                    "was moved; restore a backup of the file that has all of them"
                )
            if own["state"] in LIVE_STATES and own["batch_id"] not in self.withdrawn_here:
                self.kept_here[own["batch_id"]] = there["state"]

    def require_peace(self, settings: Settings, evidence: str | None) -> None:
        """Refuse entries that both may have sent, unless both were accepted and a person corrected them."""
        theirs, own = self.database.addresses(), self.file.addresses()
        if not {*theirs} & {*own} and not self.database.has_nothing():
            raise JournalError(
                f"the journal {self.database.location} belongs to {', '.join(theirs)}, not to {', '.join(own)}: nothing was moved; "
                "name another database"
            )
        if not self.twice:
            return
        open_here = sorted({own["batch_id"] for own, _ in self.twice.values() if own["state"] != "ACCEPTED"})
        open_there = sorted({there["batch_id"] for _, there in self.twice.values() if there["state"] != "ACCEPTED"})
        if evidence is not None and not open_here and not open_there:
            return
        pairs = Counter(
            f"{_named(own)} of the database and {_named(there)} of the file" for own, there in self.twice.values()
        )
        shown = "; ".join(f"{count} in {pair}" for pair, count in pairs.most_common(SHOWN_PAIRS))
        more = f" and {len(pairs) - SHOWN_PAIRS} more pairs" if len(pairs) > SHOWN_PAIRS else ""
        resolve = f"{command_of(settings, 'export resolve {}')} {THE_OUTCOME}"
        ways = [
            *(resolve.format(batch_id) for batch_id in open_here),
            *(f"{resolve.format(batch_id)} (without BKTOOLS_JOURNAL)" for batch_id in open_there),
        ]
        way_out = (
            f"Look these entries up in the accounting system, resolve first: {'; '.join(ways)}; then move again"
            if ways
            else "They were exported twice: reverse one booking of each in the accounting system, then say so: "
            f'{command_of(settings, "journal move")} --evidence "..." --by NAME'
        )
        raise JournalError(
            f"{len(self.twice)} entries were sent, or may have been, by both journals, {self.database.location} and "
            f"{self.file.location}: nothing was moved; {shown}{more}. {way_out}"
        )


def _named(row: Row) -> str:
    return f"batch {row['batch_id']} ({row['state']}{', job ' + row['job_id'] if row['job_id'] else ''})"


class _Target(Records):
    """The database that receives a history."""

    def offset_of(self, file: File) -> int | None:
        """Return how much the numbers of a file's events grew when they came here; None when they are not here.

        Raises
        ------
        JournalError
            When the history of another copy of the file is here.
        """
        last = file.last_event()
        rows = self.rows(
            "SELECT event_id, message FROM events WHERE subject = 'journal' AND subject_id = ? AND after = ?",
            file.id,
            IMPORTED,
        )
        for row in rows:
            about = json.loads(row["message"])
            if (about["last_event"], about["digest"]) == (last["event_id"], last["digest"]):
                return int(row["event_id"]) - 1 - int(last["event_id"])
        if self.id == file.id and last["event_id"] and self.digest_at(last["event_id"]) == last["digest"]:
            return 0
        if rows or (self.id == file.id and not self.has_nothing()):
            raise JournalError(
                f"the history of journal {file.id[:8]} is in {self.location} already, and {file.path} is another copy of it: "
                "nothing was moved; set it aside, and send with the database"
            )
        return None

    def require_owner(self) -> None:
        """Refuse a database whose rules this user cannot suspend while rows of the past are copied."""
        (row,) = self.rows(
            "SELECT pg_get_userbyid(relowner) AS name, pg_has_role(relowner, 'USAGE') AS is_own FROM pg_class "
            "WHERE oid = to_regclass('events')"
        )
        if not row["is_own"]:
            raise JournalError(
                f"the tables of the journal {self.location} belong to the database user {row['name']}: nothing was moved; move "
                f"the file with that user in BKTOOLS_JOURNAL, then use your own again"
            )

    def take(self, file: File, settings: Settings, by: str, evidence: str | None) -> int:
        """Copy the history of a file in one transaction, and compare the copies before it ends; return the offset."""
        with self.transaction() as connection:
            # Again, because another process may have written since.
            meeting = _Meeting(self, file)
            meeting.require_peace(settings, evidence)
            if self.has_nothing():
                self._begin_as(file, connection)
                self._copy(file, connection, meeting, 0)
                self._require_whole(file)
                return 0
            for batch_id, other in meeting.withdrawn_here.items():
                change(connection, batch_id, "RELEASED", message=_sent_elsewhere(other), settled_at=now().isoformat())
            closed = self.rows("SELECT company_id, period FROM periods WHERE state = 'CLOSED'")
            newest = {batch_id: self._newest_claim(batch_id) for batch_id in meeting.kept_here}
            offset = int(self.rows("SELECT coalesce(max(event_id), 0) AS last FROM events")[0]["last"])
            self._copy(file, connection, meeting, offset)
            last = file.last_event()
            origin = {"place": file.location, "last_event": last["event_id"], "digest": last["digest"]}
            if evidence is not None and meeting.twice:
                origin |= {"sent_twice": sorted(meeting.twice), "evidence": evidence}
            # The offset follows from the number of this event: it is the first one after those of the file.
            record_event(connection, "journal", file.id, None, IMPORTED, json.dumps(origin), by)
            for batch_id, other in meeting.withdrawn_there.items():
                if batch_id not in meeting.kept_here:
                    change(
                        connection, batch_id, "RELEASED", message=_sent_elsewhere(other), settled_at=now().isoformat()
                    )
            for batch_id, before in meeting.kept_here.items():
                self._say_again(connection, batch_id, before, newest[batch_id])
            for row in closed:
                is_open = "SELECT 1 FROM periods WHERE company_id = ? AND period = ? AND state = 'OPEN'"
                if self.rows(is_open, row["company_id"], row["period"]):
                    subject, reason = (
                        f"{row['company_id']} {row['period']}",
                        f"closed before journal {file.id[:8]} came here",
                    )
                    record_event(connection, "period", subject, "OPEN", "CLOSED", reason, by)
            connection.execute(
                "INSERT INTO other_journals VALUES (?, ?, NULL, ?, ?) ON CONFLICT (journal_id) DO UPDATE "
                "SET relation = excluded.relation, folder = NULL, said_by = excluded.said_by, said_at = excluded.said_at",
                (file.id, SAME, by, now().isoformat()),
            )
            self._require_whole(file)
            return offset

    def has_nothing(self) -> bool:
        """Whether nothing has happened here. Opening a database writes its environment and address, and no event."""
        return not any(self.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in TABLES if table != "addresses")

    def _begin_as(self, file: File, connection: Connection) -> None:
        """Give an empty database the identity of a file."""
        connection.execute("UPDATE about SET value = ? WHERE name = 'id'", (file.id,))
        connection.execute("DELETE FROM about WHERE name = 'environment'")
        connection.execute("DELETE FROM addresses")
        for row in file.rows("SELECT value FROM about WHERE name = 'environment'"):
            connection.execute("INSERT INTO about VALUES ('environment', ?)", (row["value"],))

    def _copy(self, file: File, connection: Connection, meeting: _Meeting, offset: int) -> None:
        """Insert the rows of a file, and read them again. The rules are about the present, and rest meanwhile."""
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for table in TABLES:
            for rows in _rows(table, file, meeting, offset):
                names = ", ".join(rows[0])
                both = _BOTH.get(table, "")
                values = ", ".join(f"{name} = excluded.{name}" for name in rows[0])
                connection.executemany(
                    f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(rows[0]))})"
                    + (f" ON CONFLICT {both.format(values=values)}" if both else ""),
                    (list(row.values()) for row in rows),
                )
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        for table in HISTORY:
            self._require_equal(table, file, meeting, offset)

    def _require_equal(self, table: str, file: File, meeting: _Meeting, offset: int) -> None:
        """Compare the copied rows with those of the file."""
        number = TABLES[table]
        if number:
            where = f"{number} > {offset} AND {number} <= {offset + file.last_event()['event_id']}"
        else:
            where = "batch_id IN (SELECT id FROM wanted)"
            own = file.rows("SELECT batch_id FROM batches")
            self.wanted(row["batch_id"] for row in own if row["batch_id"] not in meeting.kept_here)
        expected = chain.from_iterable(_rows(table, file, meeting, offset))
        copied = chain.from_iterable(self.pieces(f"SELECT * FROM {table} WHERE {where} {_ORDER[table]}"))
        if not all(row == copy for row, copy in zip_longest(expected, copied)):
            raise StorageError(f"the copy of {table} in {self.location} differs from {file.path}: it was not kept")

    def _require_whole(self, file: File) -> None:
        self._extend_chain()
        damage = self.damage()
        if damage:
            raise StorageError(f"the copy in {self.location} differs from {file.path}: {damage[0]}; it was not kept")

    def _newest_claim(self, batch_id: str) -> Row:
        sql = "SELECT event_id, after, message FROM events WHERE subject = 'facts' AND subject_id = ? ORDER BY 1 DESC LIMIT 1"
        return self.row(sql, batch_id) or {"event_id": 0, "after": NOT_KEPT, "message": "not kept here"}

    def _say_again(self, connection: Connection, batch_id: str, before: str, claim: Row) -> None:
        """Repeat state and facts of a batch that stays as it is here, after the events of the same batch in the file."""
        (row,) = self.rows("SELECT state FROM batches WHERE batch_id = ?", batch_id)
        if row["state"] != before:
            record_event(connection, "batch", batch_id, before, row["state"], "stays as it was in this journal")
        if self._newest_claim(batch_id)["event_id"] == claim["event_id"]:
            return
        number = record_event(connection, "facts", batch_id, None, claim["after"], claim["message"])
        if claim["after"] == KEPT:
            values = f"entry_id, split_line, {', '.join(COLUMNS)}"
            connection.execute("ALTER TABLE facts DISABLE TRIGGER USER")
            connection.execute(
                f"INSERT INTO facts (batch_id, claim, {values}) SELECT batch_id, CAST(? AS BIGINT), {values} FROM facts "
                "WHERE batch_id = ? AND claim = ?",
                (number, batch_id, claim["event_id"]),
            )
            connection.execute("ALTER TABLE facts ENABLE TRIGGER USER")


def _rows(table: str, file: File, meeting: _Meeting, offset: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file's table as the database gets them."""
    number = TABLES[table]
    for piece in file.pieces(f"SELECT * FROM {table} {_ORDER[table]}"):
        rows = [dict(row) for row in piece]
        if number:
            rows = [row | {number: row[number] + offset} for row in rows]
        elif table in HISTORY:
            rows = [row for row in rows if row["batch_id"] not in meeting.kept_here]
        elif table == "other_journals":
            rows = [row for row in rows if row["journal_id"] != meeting.database.id]
        if table == "batch_entries":
            for row in rows:
                if row["batch_id"] in meeting.withdrawn_there or row["entry_id"] in meeting.twice:
                    row["live"] = 0
        if rows:
            yield rows


def _sent_elsewhere(batch_id: str) -> str:
    return f"its entries are in batch {batch_id} of the other journal, and it was not sent"
