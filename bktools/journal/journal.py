"""The journal of an environment: a SQLite file in the data folder, or a PostgreSQL database of a team.

`Journal` reads. `bktools.journal.writing` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from bktools.caller import in_shell
from bktools.errors import JournalError
from bktools.frames.batches import BatchRequest
from bktools.journal import entry_data
from bktools.journal.database_restores import DatabaseRestores
from bktools.journal.folders import (
    FILE,
    environment_of,
    folder_of,
    is_own,
    journals_of_address,
    origin_of,
    other_names,
    outer_folder,
    require_one_environment,
    take_folder_of_version_0,
    take_sent_log_of_version_0,
)
from bktools.journal.lock import LOCKS
from bktools.journal.postgres import Postgres, is_database, location_of
from bktools.journal.records import Facts, Records, Row, command_for, loaded
from bktools.journal.sent_log import FOLDER, SentLog, another_journal, imports, read_about
from bktools.journal.sqlite import File, Sqlite
from bktools.journal.undelivered import UndeliveredAnswers
from bktools.settings import Settings

# Entries that a person recorded as exported outside of this journal, and that this was wrong.
EXPORTED_ELSEWHERE, EXPORTED_ELSEWHERE_UNDONE = "exported_elsewhere", "exported_elsewhere_undone"

_WANTED = "(CAST(?1 AS TEXT) IS NULL OR company_id = ?1) AND (CAST(?2 AS TEXT) IS NULL OR batch_id = ?2)"
# The sender of each batch's newest request, by its event.
_SENDERS = """
    SELECT batch_id, login, machine, process FROM events WHERE event_id IN (
        SELECT max(event_id) FROM events WHERE code = 'sending' GROUP BY batch_id)
"""
_HISTORY = {
    "batches": f"""
        SELECT *, json_extract(job, '$.status') AS job_status
        FROM batches WHERE {_WANTED} ORDER BY planned_at, batch_id
    """,
    "entries": f"""
        SELECT entry_id, batch_id, batches.company_id, batches.state, job_id, sent_at, plan_id,
            senders.login, senders.machine, senders.process,
            coalesce(split_line, 0) AS split_line, {", ".join(f"data.{name}" for name in entry_data.COLUMNS)}
        FROM batches JOIN batch_entries USING (batch_id)
        LEFT JOIN ({entry_data.NEWEST_CLAIMS}) AS newest USING (batch_id)
        LEFT JOIN ({_SENDERS}) AS senders USING (batch_id)
        LEFT JOIN entry_data AS data USING (batch_id, claim, entry_id)
        WHERE {_WANTED.replace("company_id", "batches.company_id")}
        ORDER BY planned_at, batch_id, entry_id, split_line
    """,
    "events": f"""
        SELECT at, batch_id, company_id, state AS after, code, facts, person, login, machine, process,
            lag(state) OVER (PARTITION BY batch_id ORDER BY event_id) AS before
        FROM events WHERE state IS NOT NULL AND batch_id IS NOT NULL AND {_WANTED} ORDER BY event_id
    """,
}


class Journal(Records):
    """The journal of one environment, to read. Open it in a `with` statement, use it from one thread.

    Raises
    ------
    StorageError
        When the file cannot be opened, or is damaged.
    JournalError
        When its tables are of a newer version, it was moved, or it is missing although export jobs were sent.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # The newest event about entries exported elsewhere, and what these events say.
        self._elsewhere: tuple[int | None, dict[str, Row]] = (None, {})
        take_folder_of_version_0(settings)
        self.folder = folder_of(settings)
        self.path: Path | None = None
        if settings.journal is None:
            self.path = self.folder / FILE
            if not self.path.exists():
                # Asked before there is a file, and again by whoever creates the tables.
                self._refuse_to_forget(str(self.path))
            super().__init__(Sqlite(self.path), origin_of(settings), self._refuse_to_forget)
        else:
            super().__init__(Postgres(settings.journal), origin_of(settings), self._refuse_to_forget)
        try:
            self.require_here()
            self.sent_log = SentLog(self.folder, outer_folder(settings), self, origin_of(settings))
            self.undelivered = UndeliveredAnswers(self.folder)
            if take_sent_log_of_version_0(self.sent_log, self.folder, settings, self):
                self.undelivered.take(self.folder / "shared" / self.id)
            # Only a database that a team shares is restored without bktools.
            self.restores = None
            if isinstance(self._database, Postgres):
                self.restores = DatabaseRestores(self, self._database, self.sent_log, self.command)
                # A journal of another environment, or of a second name, is not remembered.
                if is_own(settings, self.origin()) and not other_names(settings):
                    self.restores.see()
        except BaseException:
            self.close()
            raise

    def command(self, words: str) -> str:
        """Return a command ready to be run: it names this journal's environment."""
        return command_of(self._settings, words)

    def problems(self) -> list[str]:
        """Check the journal's file, events and sent log; return a line for each fault."""
        faults = self.damage()
        try:
            self.require_current()
        except JournalError as error:
            faults.append(str(error))
        else:
            missing = [] if self.restores is None else self.restores.missing()
            if missing:
                faults.append(f"a restore is not confirmed by {', '.join(missing)}")
        return faults

    # Rules that must hold before anything is written

    def require_current(self, *, any_origin: bool = False) -> None:
        """Compare the journal with all that this machine knows as sent; raise where it lacks something.

        An old copy, a second journal of the environment, and one that this user of this machine never used
        are refused, and one of another environment or address unless `any_origin`.
        """
        self.require_in_place()
        require_one_environment(self._settings)
        if not any_origin:
            self._require_origin()
        if self.restores is not None:
            self._require_moved()
        self.sent_log.require_own()
        if self.restores is not None:
            if self.restores.is_needed():
                raise JournalError(self.restores.noticed())
            return
        assert self.path is not None
        refuse_elsewhere(self.sent_log, self.path, self.id, origin_of(self._settings))
        self.sent_log.require_current()
        was_sent = self.rows("SELECT 1 AS found FROM events WHERE code = 'sending' LIMIT 1")
        if was_sent and not self.sent_log.are_known_outside():
            raise JournalError(
                f"the journal {self.location} has sent export jobs, but was never used by this user on this "
                "machine: it may be an old copy of a journal in use elsewhere. Nothing was sent. "
                "If it is the newest one, confirm it once: "
                f'{self.command("journal restore")} --evidence "..." --by NAME '
                "(where you looked for later exports; "
                f"the sent log is kept in {self.sent_log.outer}; BKTOOLS_SENT_LOG_DIR names another folder)"
            )

    def _require_origin(self) -> None:
        """Refuse a journal of another environment, and an address that nobody has accepted."""
        origin, asked = self.origin(), origin_of(self._settings)
        if is_own(self._settings, origin):
            return
        if origin["environment"] != asked["environment"]:
            renames = (
                f"journal rename {in_shell(origin['environment'])} {in_shell(asked['environment'])} --by NAME"
            )
            raise JournalError(
                f"the journal {self.location} belongs to the environment {origin['environment']!r}, not to "
                f"{asked['environment']!r}: nothing was sent or changed; use that name, "
                f"or give the journal the new one: bktools {renames}"
            )
        if origin["address"] != asked["address"] and not self._settings.is_sandbox:
            raise JournalError(
                f"the address of {asked['environment']} was {origin['address']} and is {asked['address']} "
                "now: nothing was sent or changed; if that is the same service, say so once: "
                f"{self.command('check --accept-address')}"
            )

    def _require_moved(self) -> None:
        """Refuse a database without the history of the environment's file, if this machine sent with it."""
        file = self.folder / FILE
        if not file.exists():
            return
        with File(file, origin_of(self._settings), str(file)) as own:
            is_used = own.row("SELECT 1 AS found FROM events WHERE code IN ('sending', 'moved') LIMIT 1")
            if is_used and own.id not in {self.id, *imports(self)}:
                raise JournalError(
                    f"the journal of {environment_of(self._settings)} is the file {file}, "
                    f"and its history is not in {self.location}: nothing was sent; move it there: "
                    f"{self.command('journal move')} --by NAME"
                )

    def obstacle(self, batch: BatchRequest) -> str:
        """Return the reason why a batch cannot be sent, "" when it can.

        It cannot when another batch has sent one of its entries or may have, when one is PLANNED in a batch
        of another company, or when a batch that has or had one was changed by hand. A PLANNED batch of the
        same company is no obstacle: `claim` releases it.
        """
        return self.changed_by_hand(batch.entry_ids) or self._taken(batch)

    def _taken(self, batch: BatchRequest) -> str:
        if elsewhere := self.exported_elsewhere(batch.batch_id, batch.entry_ids):
            return elsewhere
        waiting = [
            row
            for row in self._claims(batch)
            if (row["state"], row["company_id"]) != ("PLANNED", batch.company_id)
        ]
        if not waiting:
            return ""
        other = waiting[0]
        resolve = self.command(f"export resolve {other['batch_id']}")
        way_out = (
            f"withdraw that batch first ({resolve} {WITHDRAWN})"
            if other["state"] == "PLANNED"
            else "compose again with history=load_export_jobs(entries=True)"
        )
        return (
            f"{other['entries']} entries of batch {batch.batch_id} are in batch {other['batch_id']} of "
            f"company {other['company_id']}, which is {other['state']} (the first is {other['first']}): "
            f"nothing was sent; {way_out}"
        )

    def exported_elsewhere(self, batch_id: str, entry_ids: Iterable[str]) -> str:
        """Return why a batch is not sent: a person recorded entries as exported elsewhere. "" for none."""
        events = self._events_elsewhere()
        entries = [entry_id for entry_id in entry_ids if entry_id in events] if events else []
        if not entries:
            return ""
        event = events[entries[0]]
        return (
            f"{len(entries)} entries of batch {batch_id} were exported elsewhere, "
            f"as {event['person']} recorded (event {event['event_id']}, the first is {entries[0]}): "
            "nothing was sent; compose again without them"
        )

    def _events_elsewhere(self) -> dict[str, Row]:
        """Return by entry the event that records it as exported elsewhere; re-read after new events."""
        codes = (EXPORTED_ELSEWHERE, EXPORTED_ELSEWHERE_UNDONE)
        newest = self.row("SELECT max(event_id) AS number FROM events WHERE code IN (?, ?)", *codes) or {}
        if newest.get("number") != self._elsewhere[0]:
            sql = "SELECT event_id, code, person, facts FROM events WHERE code IN (?, ?) ORDER BY event_id"
            words = [(row, loaded(row["facts"])) for row in self.rows(sql, *codes)]
            undone = {facts["word"] for row, facts in words if row["code"] == EXPORTED_ELSEWHERE_UNDONE}
            standing = [(row, facts) for row, facts in words if facts["word"] not in undone]
            events = {entry["entry_id"]: row for row, facts in standing for entry in facts.get("entries", ())}
            self._elsewhere = (newest["number"], events)
        return self._elsewhere[1]

    def waiting(self, company_id: str, entries: Iterable[entry_data.Dated]) -> str:
        """Return why some entries wait until a restored database is confirmed, "" if they do not."""
        return "" if self.restores is None else self.restores.obstacle(company_id, entries)

    def sender_of(self, batch_id: str) -> Row:
        """Return login, machine and process of a batch's newest request; an empty row where it is unknown."""
        sql = (
            "SELECT login, machine, process FROM events WHERE batch_id = ? AND code = 'sending' "
            "ORDER BY event_id DESC LIMIT 1"
        )
        return self.row(sql, batch_id) or {}

    def history(
        self, table: str, company_id: str | None = None, batch_id: str | None = None
    ) -> Iterator[list[Row]]:
        """Yield batches, entries or events, in lists of rows."""
        return self.pieces(_HISTORY[table], company_id, batch_id)

    # Reading batches

    def state_of(self, batch_id: str) -> Row | None:
        """Return the row of a batch, None where there is none."""
        return self.row("SELECT * FROM batches WHERE batch_id = ?", batch_id)

    def unknown(self, company_id: str | None = None, batch_id: str | None = None) -> list[Row]:
        """Return the UNKNOWN batches, oldest first, of all companies or of one; each blocks its company."""
        sql = f"SELECT * FROM batches WHERE {_WANTED} AND state = 'UNKNOWN' ORDER BY sent_at, batch_id"
        return self.rows(sql, company_id, batch_id)

    def newest_accepted(self, company_id: str) -> Row | None:
        """Return the ACCEPTED batch of a company that was sent last."""
        sql = (
            "SELECT * FROM batches WHERE company_id = ? AND state = 'ACCEPTED' ORDER BY sent_at DESC LIMIT 1"
        )
        return self.row(sql, company_id)

    def changed_since(self, batch: BatchRequest) -> list[str]:
        """Return the entries of a batch that were sent with other data than they have now."""
        sent = [row for piece in self.history("entries", None, batch.batch_id) for row in piece]
        return entry_data.changed(sent, batch)

    def no_such_batch(self, batch_id: str) -> JournalError:
        """Return the error for a batch that is not in the journal."""
        return JournalError(
            f"batch {batch_id} was not found in the journal: {self.command('export history')} lists all "
            "batches"
        )

    def _claims(self, batch: BatchRequest) -> list[Row]:
        """Return the other batches that hold entries of a batch, PLANNED ones last."""
        return [row for row in self.holding(batch.entry_ids) if row["batch_id"] != batch.batch_id]

    def require_open(self, company_id: str, periods: Iterable[str | None]) -> None:
        """Refuse to send into a closed period, or an entry without one while a period is closed."""
        asked = set(periods)
        sql = "SELECT * FROM periods WHERE company_id = ? AND state = 'CLOSED' ORDER BY period"
        for row in self.rows(sql, company_id):
            if row["period"] in asked or None in asked:
                undated, way_out = "an entry has no date, and ", "it may belong there, so give it a date, or "
                if row["period"] in asked:
                    undated = way_out = ""
                reopen = self.command(f"periods reopen {row['period']}")
                raise JournalError(
                    f"{undated}the period {row['period']} of company {company_id} was closed by "
                    f"{row['person']} on {row['at'][:10]}: nothing was sent; "
                    f"{way_out}send its entries with the close of a later month, "
                    f'or open it again: {reopen} --by NAME --reason "..."'
                )

    def require_here(self) -> None:
        """Refuse a file whose history was moved to a database."""
        moved = self.path and self.about("moved_to")
        if moved:
            raise JournalError(
                f"the history of the journal {self.location} was moved to {moved}: "
                "nothing was read or sent; set BKTOOLS_JOURNAL to that database"
            )

    def _refuse_to_forget(self, location: str) -> None:
        """Refuse to create a journal where export jobs were sent: an empty one would allow them again."""
        require_one_environment(self._settings)
        known = read_about(outer_folder(self._settings)) or next(
            iter(journals_of_address(self._settings)), {}
        )
        if known and known["location"] != location:
            # A file that exists is moved to a new database, and is not forgotten.
            is_to_move = is_database(location) and Path(known["location"]).is_file()
            if not is_to_move and (is_database(known["location"]) or Path(known["location"]).is_file()):
                raise another_journal(known, location)
        if self.path:
            was_used = known or any((self.folder / name).exists() for name in (LOCKS, FOLDER))
            restore = self.command("journal restore")
            backup = (
                f"a backup ({restore} FILE --by NAME), or go on without one ({restore} --by NAME): "
                "a batch is UNKNOWN then if its line in the sent log has no job"
            )
        else:
            was_used = known.get("location") == location
            backup = "the database from a backup (pg_restore)"
        if was_used:
            raise JournalError(
                f"the journal {location} is missing or empty, but export jobs were sent with it: "
                f"nothing was sent; restore {backup}"
            )


# Options that a person adds to `export resolve BATCH`; quoted, because a shell would pipe at the bar.
WITHDRAWN = '--outcome released --evidence "..." --by NAME'
THE_OUTCOME = '--outcome "accepted|released" --evidence "..." --by NAME'


def command_of(settings: Settings, words: str) -> str:
    """Return a command ready to be run: it names the environment of the settings."""
    return command_for(settings.environment, words)


def has_none_yet(settings: Settings) -> bool:
    """Whether the journal is a file that does not exist yet."""
    take_folder_of_version_0(settings)
    return settings.journal is None and not (folder_of(settings) / FILE).exists()


def identity_of(settings: Settings) -> str:
    """Return one line with a journal's identity and location. No file is created, and no database opened."""
    if settings.journal is not None:
        return f"the database {location_of(settings.journal)}"
    path = folder_of(settings) / FILE
    if has_none_yet(settings):
        return f"none yet; it will be {path}"
    with File(path, origin_of(settings), str(path)) as file:
        return f"{file.id}  ({path})"


def refuse_elsewhere(sent_log: SentLog, path: Path, journal_id: str, origin: Facts) -> None:
    """Refuse a copy of a file whose original still exists and sent last. `path` is the copy's place."""
    known = sent_log.journal_in_use()
    last = Path(known["location"]) if known else path
    if last.is_file() and last != path and not (path.exists() and path.samefile(last)):
        with File(last, origin, str(last)) as file:
            if file.id == journal_id:
                raise JournalError(
                    f"{path} is a copy of the journal {last}, which still exists: nothing was sent; "
                    f"use the original (set BKTOOLS_DATA_DIR to {last.parent.parent}), or remove it first"
                )
