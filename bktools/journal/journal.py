"""The journal of one service: a SQLite file of the data folder, or a PostgreSQL database that a team shares."""

from __future__ import annotations

import hashlib
import logging
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from bktools.caller import in_shell
from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.frames.batches import BatchRequest
from bktools.journal import entry_data
from bktools.journal.database_restores import DatabaseRestores
from bktools.journal.lock import LOCKS, sending_for
from bktools.journal.postgres import Postgres, is_database, location_of
from bktools.journal.records import Connection, Records, Row, now, record_event, this_process, this_user
from bktools.journal.related_journals import FILE, RelatedJournals, folder_of
from bktools.journal.sent_log import ABOUT, FOLDER, SentLine, SentLog, packed, read_about
from bktools.journal.sqlite import File, Sqlite
from bktools.journal.undelivered import Answer, UndeliveredAnswers
from bktools.settings import SANDBOX, Settings

log = logging.getLogger("bktools")

# Folder of the sent log of a database, in the folder of the service.
SHARED = "shared"

# Seconds before each attempt to reach a database again, to write an outcome.
PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)

_WANTED = "(CAST(?1 AS TEXT) IS NULL OR company_id = ?1) AND (CAST(?2 AS TEXT) IS NULL OR batch_id = ?2)"
_HISTORY = {
    "batches": f"""
        SELECT *, json_extract(job, '$.status') AS job_status FROM batches WHERE {_WANTED} ORDER BY planned_at, batch_id
    """,
    "entries": f"""
        SELECT entry_id, batch_id, company_id, state, job_id, sent_at, sender, plan_id,
            coalesce(split_line, 0) AS split_line, {", ".join(entry_data.COLUMNS)}
        FROM batches JOIN batch_entries USING (batch_id) LEFT JOIN ({entry_data.NEWEST_CLAIMS}) AS newest USING (batch_id)
        LEFT JOIN facts USING (batch_id, claim, entry_id)
        WHERE {_WANTED} ORDER BY planned_at, batch_id, entry_id, facts.split_line
    """,
    "events": f"""
        SELECT at, batch_id, company_id, before, after, events.message, done_by
        FROM events JOIN batches ON subject = 'batch' AND batch_id = subject_id WHERE {_WANTED} ORDER BY event_id
    """,
}  # fmt: skip


class Journal(Records):
    """The journal of one service. Open it in a `with` statement, use it from one thread.

    Raises
    ------
    StorageError
        When the file cannot be opened or written, or is damaged.
    JournalError
        When it belongs to another service or has the format of another version, or is missing although export jobs were
        sent.
    """

    def __init__(self, settings: Settings) -> None:
        self.folder = folder_of(settings) if settings.journal is None else settings.state_dir
        self._settings = settings
        # When this process wrote that it sends a batch.
        self._sent_at: dict[str, str] = {}
        self.path: Path | None = None
        if settings.journal is None:
            self.path = self.folder / FILE
            super().__init__(Sqlite(self.path, self._refuse_to_forget))
        else:
            super().__init__(Postgres(settings.journal, self._refuse_to_forget))
        try:
            self._belongs()
            # A file journal may be beside the sent log of a database.
            inner = self.folder if self.path else self.folder / SHARED / self.id
            self.sent_log = SentLog(inner, outer_folder(settings), self)
            self.undelivered = UndeliveredAnswers(inner)
            self.related = RelatedJournals(self, self.folder, self.sent_log, self.command)
            # Only a database that a team shares is restored without bktools.
            self.restores = None
            if isinstance(self._database, Postgres):
                self.restores = DatabaseRestores(self, self._database, self.sent_log, self.command)
                self.restores.see()
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """Close the file, and the files of other journals that were opened."""
        self.related.close()
        super().close()

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

    # Before sending

    def require_current(self) -> None:
        """Refuse to send when this is an old copy of the journal, or was never used by this user of this machine."""
        self.require_in_place()
        if self.restores is not None and self.restores.is_needed():
            raise JournalError(self.restores.noticed())
        if self.path is None:
            return
        require_newest(self.sent_log, self.path)
        was_sent = self.rows("SELECT 1 AS found FROM events WHERE subject = 'batch' AND after = 'SENDING' LIMIT 1")
        if was_sent and not self.sent_log.are_known_outside():
            raise JournalError(
                f"the journal {self.location} has sent export jobs, but was never used by this user on this machine: it may be "
                "an old copy of a journal in use elsewhere. Nothing was sent. If it is the newest one, confirm it once: "
                f'{self.command("journal restore")} --evidence "..." --by NAME (where you looked for later exports; '
                f"the sent log is kept in {self.sent_log.outer}; BKTOOLS_SENT_LOG_DIR names another folder)"
            )

    def obstacle(self, batch: BatchRequest) -> str:
        """Return the reason why a batch cannot be sent, "" when it can.

        It cannot when another batch or another journal has sent one of its entries or may have, when one is PLANNED in a
        batch of another company, or when a batch that has or had one was changed by hand. A PLANNED batch of the same
        company is no obstacle: `claim` releases it.
        """
        return self.changed_by_hand(batch.entry_ids) or self._taken(batch)

    def _taken(self, batch: BatchRequest) -> str:
        waiting = [
            row for row in self._claims(batch) if (row["state"], row["company_id"]) != ("PLANNED", batch.company_id)
        ]
        if not waiting:
            return self.related.obstacle(batch.company_id, batch)
        other = waiting[0]
        resolve = self.command(f"export resolve {other['batch_id']}")
        way_out = (
            f"withdraw that batch first ({resolve} --outcome released)"
            if other["state"] == "PLANNED"
            else "compose again with history=load_export_jobs(entries=True)"
        )
        return (
            f"{other['entries']} entries of batch {batch.batch_id} are in batch {other['batch_id']} of company "
            f"{other['company_id']}, which is {other['state']} (the first is {other['first']}): nothing was sent; {way_out}"
        )

    def waiting(self, company_id: str, dates: Iterable[str | None]) -> str:
        """Return why a company's entries of some dates wait for people who confirm a restored database, "" if they do not."""
        return "" if self.restores is None else self.restores.obstacle(company_id, dates)

    @contextmanager
    def sending(self, company_id: str) -> Iterator[None]:
        """Hold the company's lock, in this journal and in the other journals of the same service.

        Raise `JournalBusyError`, which names the process, when another one holds it.
        """
        with ExitStack() as stack:
            stack.enter_context(self._database.lock(company_id))
            for folder in self.related.folders_of_same():
                stack.enter_context(sending_for(folder, company_id))
            yield

    def sender(self) -> str:
        """Return the name of this machine as a sender; in a shared journal with the identity of its sent log."""
        return this_user() if self.restores is None else self.restores.sender()

    # Changes of a batch

    def claim(self, batches: Iterable[BatchRequest], plan_id: str, period: str | None = None) -> None:
        """Write batches of one company as PLANNED; from then on no other batch can take their entries.

        Unsent batches of earlier plans that hold the same entries are released. What is known of each entry is kept with
        it: the data of the newest claim are those that are sent. Hold the company's lock.

        Raises
        ------
        JournalError
            When an entry is in a batch that was sent or may have been sent, or in one that was changed by hand, or its
            period is closed; nothing was written.
        """
        company_id, dates = "", set[str | None]()
        with self.transaction() as connection:
            for batch in batches:
                row = self.state_of(batch.batch_id)
                if row is not None and row["body"] != batch.body:
                    raise JournalError(f"batch {batch.batch_id} is in the journal with different data")
                is_new = row is None or row["state"] in {"REJECTED", "RELEASED"}
                reason = self.changed_by_hand(batch.entry_ids) or (self._taken(batch) if is_new else "")
                if reason:
                    raise JournalError(reason)
                if row is not None and not is_new:
                    if row["state"] == "PLANNED":
                        self._claim_data(connection, batch, period)
                    continue
                company_id = batch.company_id
                dates.update(entry_data.dates_of(batch))
                for other in self._claims(batch):
                    message = f"replaced by batch {batch.batch_id} of a later plan before it was sent"
                    change(connection, other["batch_id"], "RELEASED", message=message, settled_at=now().isoformat())
                if row is None:
                    insert(connection, batch, plan_id)
                else:
                    cleared = dict.fromkeys(("message", "sent_at", "settled_at", "settled_by", "job_id", "job"))
                    anew = {"plan_id": plan_id, "planned_at": now().isoformat(), **cleared}
                    change(connection, batch.batch_id, "PLANNED", **anew)
                self._claim_data(connection, batch, period)
            # Once for all: nobody else writes until this transaction ends, and `begin` looks again.
            reason = self.waiting(company_id, dates) if dates else ""
            if reason:
                raise JournalError(reason)

    def begin(self, batch_id: str) -> bytes:
        """Write that a batch is being sent, and return the request body. Journal and sent log are then on disk.

        Raises
        ------
        JournalError
            When the batch is not PLANNED, another batch of its company is SENDING or UNKNOWN, or another journal has
            sent for the company.
        StorageError
            When the sent log cannot be written; the batch is still PLANNED.
        """
        row = self.state_of(batch_id)
        if row is None:
            raise JournalError(f"batch {batch_id} was not found in the journal")
        self.require_in_place()
        self._sent_at[batch_id] = now().isoformat()
        with self.sent_log.alone(row["company_id"]):
            reason = self.related.obstacle(row["company_id"])
            if reason:
                raise JournalError(reason)
            try:
                with self.transaction() as connection:
                    if self.restores is not None:
                        dates = [entry["date"] for entry in self.rows(entry_data.DATES, batch_id)]
                        self.restores.require(row["company_id"], dates or [None])
                    sender = f"{self.sender()} process {os.getpid()}"
                    intent = {"sender": sender, "sent_at": self._sent_at[batch_id]}
                    change(connection, batch_id, "SENDING", settled_at=None, **intent)
                    body = self._whole_body(batch_id)
                self._log_state(batch_id, body)
                self.require_in_place()
            except (JournalError, StorageError) as error:
                self._take_back(batch_id, str(error))
                raise
        return body

    def _whole_body(self, batch_id: str) -> bytes:
        (held,) = self.rows("SELECT body, body_sha256 FROM batches WHERE batch_id = ?", batch_id)
        body: bytes = held["body"]
        if hashlib.sha256(body).hexdigest() != held["body_sha256"]:
            raise JournalError(f"the body of batch {batch_id} in the journal is damaged: nothing was sent")
        return body

    def settle(self, batch_id: str, answer: Answer) -> None:
        """Write the outcome of a batch, on a new connection if this one was cut.

        A job that belongs to another batch makes this one UNKNOWN, because the answer was replayed.

        Raises
        ------
        StorageError, JournalError
            When the outcome cannot be written, with where it is kept: beside the journal, or in this line alone. The next
            run here writes it, unless another process was faster and wrote UNKNOWN.
        """
        try:
            for attempt, pause in enumerate((*PAUSES, None)):
                try:
                    self._settle(batch_id, answer, is_repeated=attempt > 0)
                except StorageError:
                    if pause is None or not self._is_connected_again(pause):
                        raise
                else:
                    return
        except (JournalError, StorageError) as error:
            raise type(error)(f"{error}; {self._keep(batch_id, answer)}") from error
        except BaseException:
            # Ctrl-C while the connection is cut: the answer in hand is kept all the same.
            self._keep(batch_id, answer)
            raise

    def regain(self, company_id: str) -> bool:
        """Take the lock of a company again, if it was lost with the connection; return whether it was.

        As at the start of a run, what is on its way is recovered, and an old copy of the journal is refused. Everything
        else that was read under the lost lock must be read again.
        """
        if not self._database.regain(company_id):
            return False
        self.recover(company_id)
        self.require_current()
        return True

    def recover(self, company_id: str | None = None) -> None:
        """Turn batches whose sender was killed into UNKNOWN: their requests may have arrived.

        They are those of a company whose lock the caller holds, or by default of every company whose lock is free.
        """
        if company_id is not None:
            sql = "SELECT * FROM batches WHERE company_id = ? AND state = 'SENDING'"
            if not self.rows(sql, company_id):
                return
            with self.transaction() as connection:
                sending = self.rows(sql, company_id)
                for row in sending:
                    ended = Answer("UNKNOWN", f"{row['sender']} ended while it was sending")
                    answer = self._unless_replayed(row["batch_id"], self.undelivered.read(row) or ended)
                    change(connection, row["batch_id"], answer.state, **answer.values())
            for row in sending:
                self._try_to_log(row["batch_id"], is_ours=False)
            return
        for row in self.rows("SELECT DISTINCT company_id FROM batches WHERE state = 'SENDING'"):
            # Where the lock is held, a running process is sending.
            with suppress(JournalBusyError), self._database.lock(row["company_id"], patience=0):
                self.recover(row["company_id"])

    def resolve(self, batch_id: str, state: str, *, evidence: str, by: str, job_id: str | None = None) -> None:
        """Record a person's finding, see `resolve_export_job`: resolve an UNKNOWN batch, or withdraw a PLANNED one."""
        self.recover()
        before = self._resolvable(batch_id, state)
        with self._database.lock(before["company_id"]):
            # Read again under the lock: another process may have sent the batch after the person looked.
            self.require_in_place()
            self.recover(before["company_id"])
            row = self._resolvable(batch_id, state)
            if row["state"] != before["state"]:
                raise JournalError(
                    f"batch {batch_id} changed from {before['state']} to {row['state']}: nothing was recorded; look it up "
                    f"again ({self.command('export status')})"
                )
            other = self.other_with(job_id, batch_id)
            if other is not None:
                raise JournalError(
                    f"job {job_id} belongs to batch {other['batch_id']} of company {other['company_id']}, which is "
                    f"{other['state']}; a job has one batch: correct the job ID, or leave it out"
                )
            self._settle(batch_id, Answer(state, evidence, job_id), by=by)

    def history(self, table: str, company_id: str | None = None, batch_id: str | None = None) -> Iterator[list[Row]]:
        """Yield batches, entries or events, in lists of rows."""
        return self.pieces(_HISTORY[table], company_id, batch_id)

    # Reading batches

    def state_of(self, batch_id: str) -> Row | None:
        """Return the row of a batch, None where there is none."""
        return self.row("SELECT * FROM batches WHERE batch_id = ?", batch_id)

    def unknown(self, company_id: str | None = None, batch_id: str | None = None) -> list[Row]:
        """Return the UNKNOWN batches, all or those of a company, the oldest first; each blocks its company."""
        sql = f"SELECT * FROM batches WHERE {_WANTED} AND state = 'UNKNOWN' ORDER BY sent_at, batch_id"
        return self.rows(sql, company_id, batch_id)

    def newest_accepted(self, company_id: str) -> Row | None:
        """Return the ACCEPTED batch of a company that was sent last."""
        sql = "SELECT * FROM batches WHERE company_id = ? AND state = 'ACCEPTED' ORDER BY sent_at DESC LIMIT 1"
        return self.row(sql, company_id)

    def changed_since(self, batch: BatchRequest) -> list[str]:
        """Return the entries of a batch that were sent with other data than they have now."""
        sent = [row for piece in self.history("entries", None, batch.batch_id) for row in piece]
        return entry_data.changed(sent, batch)

    def no_such_batch(self, batch_id: str) -> JournalError:
        """Return the error for a batch that is not in the journal."""
        return JournalError(
            f"batch {batch_id} was not found in the journal: {self.command('export history')} lists all batches"
        )

    def _resolvable(self, batch_id: str, state: str) -> Row:
        row = self.state_of(batch_id)
        if row is None:
            raise self.no_such_batch(batch_id)
        if row["state"] != "UNKNOWN" and (row["state"], state) != ("PLANNED", "RELEASED"):
            raise JournalError(
                f"batch {batch_id} is {row['state']}: only an UNKNOWN batch can be resolved, and only a PLANNED batch "
                "can be withdrawn"
            )
        return row

    def _settle(self, batch_id: str, answer: Answer, *, by: str | None = None, is_repeated: bool = False) -> None:
        with self.transaction() as connection:
            if by is None:
                answer = self._unless_replayed(batch_id, answer)
            # It may be written already, when the connection was cut before the database said so.
            if not (is_repeated and answer.is_in(self.state_of(batch_id) or {})):
                change(connection, batch_id, answer.state, **answer.values(), settled_by=by)
        self._try_to_log(batch_id, is_ours=by is None)

    def _unless_replayed(self, batch_id: str, answer: Answer) -> Answer:
        """Return an answer, UNKNOWN when its job belongs to another batch. Call it in the transaction that writes it."""
        other = self.other_with(answer.job_id, batch_id)
        if other is None:
            return answer
        message = f"the service answered with job {answer.job_id}, which belongs to another batch ({other['batch_id']})"
        return Answer("UNKNOWN", message, job=answer.job)

    def _is_connected_again(self, pause: float) -> bool:
        """Wait, and connect again; return whether another attempt to write makes sense."""
        time.sleep(pause)
        try:
            return self._database.reconnect()
        except (JournalError, StorageError) as error:
            log.warning("%s", error)
            return True

    def _keep(self, batch_id: str, answer: Answer) -> str:
        """Keep an answer on this machine; return a phrase that says where it is."""
        try:
            self.undelivered.write(batch_id, self._sent_at.get(batch_id, ""), answer)
        except StorageError as error:
            log.warning("%s", error)
            resolve = self.command(f"export resolve {batch_id}")
            return f"keep this line, because the journal will show UNKNOWN: resolve it with {resolve}"
        return "the answer is kept on this machine: the next run here writes it, or shows it if the batch is UNKNOWN by then"

    def _take_back(self, batch_id: str, reason: str) -> None:
        """Write that a batch was not sent, if its intent was written; where that fails, it becomes UNKNOWN."""
        answer = Answer("PLANNED", reason)
        try:
            self._database.reconnect()
            row = self.state_of(batch_id)
            if row is not None and row["state"] == "SENDING" and row["sent_at"] == self._sent_at[batch_id]:
                self.settle(batch_id, answer)
        except (JournalError, StorageError) as error:
            log.warning("%s", error)
            self._keep(batch_id, answer)

    def _try_to_log(self, batch_id: str, *, is_ours: bool) -> None:
        """Log an outcome; with the body where another machine may have sent the batch, and has the line with it."""
        try:
            self._log_state(batch_id, b"" if is_ours or self.path else self._whole_body(batch_id))
        except (JournalError, StorageError) as error:
            # The outcome is in the journal. Without this line a restored backup has one more UNKNOWN batch.
            log.warning("%s", error)

    def _log_state(self, batch_id: str, body: bytes = b"") -> None:
        row = self.state_of(batch_id)
        last = self.last_event()
        assert row is not None
        line = SentLine(
            last["event_id"], last["digest"], batch_id, row["plan_id"], row["company_id"], row["state"],
            row["message"] or "", row["changed_at"], packed(body) if body else "", row["job_id"] or "",
        )  # fmt: skip
        self.sent_log.write(line)

    def _claims(self, batch: BatchRequest) -> list[Row]:
        """Return the other batches that hold entries of a batch, PLANNED ones last."""
        return [row for row in self.holding(batch.entry_ids) if row["batch_id"] != batch.batch_id]

    def require_open(self, company_id: str, periods: Iterable[str | None]) -> None:
        """Refuse to send into a closed period, or an entry of no period while one is closed: it may belong there."""
        asked = set(periods)
        sql = "SELECT * FROM periods WHERE company_id = ? AND state = 'CLOSED' ORDER BY period"
        for row in self.rows(sql, company_id):
            if row["period"] in asked or None in asked:
                undated, way_out = "an entry has no date, and ", "it may belong there, so give it a date, or "
                if row["period"] in asked:
                    undated = way_out = ""
                reopen = self.command(f"periods reopen {row['period']}")
                raise JournalError(
                    f"{undated}the period {row['period']} of company {company_id} was closed by {row['done_by']} on "
                    f"{row['at'][:10]}: nothing was sent; {way_out}send its entries with the close of a later month, "
                    f'or open it again: {reopen} --by NAME --reason "..."'
                )

    @contextmanager
    def recording(self, company_id: str) -> Iterator[Connection]:
        """Yield a transaction that writes about a company, under its lock; a copy from before it is an old copy."""
        with self.sending(company_id):
            self.require_current()
            with self.transaction() as connection:
                yield connection
            lines = self.sent_log.of_all().get(company_id)
            # Nothing was sent without a sent log, so an old copy cannot book anything twice.
            if lines:
                last = self.last_event()
                line = replace(lines[-1], event=last["event_id"], digest=last["digest"], body="")
                try:
                    self.sent_log.write(line)
                except StorageError as error:
                    # It is in the journal. Without this line a backup from before it is not noticed.
                    log.warning("%s", error)

    def _claim_data(self, connection: Connection, batch: BatchRequest, period: str | None) -> None:
        """Write the data of a batch's entries as a new claim, unless they are those of its newest claim."""
        rows = entry_data.rows_of(batch, period)
        self.require_open(batch.company_id, {row[-1] for row in rows})
        digest = entry_data.digest_of(rows)
        if rows and self.newest_claim(batch.batch_id).get("message") != digest:
            claim = record_event(connection, "facts", batch.batch_id, None, entry_data.KEPT, digest)
            connection.executemany(entry_data.INSERT, ((batch.batch_id, claim, *row) for row in rows))

    def _refuse_to_forget(self, location: str) -> None:
        """Refuse to create a journal where export jobs were sent: an empty one would allow sending them again."""
        if self.path:
            was_used = any((self.folder / name).exists() for name in (LOCKS, FOLDER))
            backup = f"a backup with {self.command('journal restore FILE')} --by NAME"
        else:
            logs = outer_folder(self._settings).glob(f"*/{ABOUT}")
            was_used = any(read_about(log.parent)["path"] == location for log in logs)
            backup = "the database from a backup (pg_restore)"
        if was_used:
            raise JournalError(
                f"the journal {location} is missing or empty, but export jobs were sent with it: nothing was sent; "
                f"restore {backup}"
            )

    def _belongs(self) -> None:
        moved = self.path and self.about("moved_to")
        if moved:
            raise JournalError(
                f"the history of the journal {self.location} was moved to {moved}: nothing was read or sent; set BKTOOLS_JOURNAL to "
                "that database"
            )
        address, addresses = self._settings.identity, self.addresses()
        if address not in addresses:
            # An address that a person named is missing in a backup from before that.
            is_named = self._settings.state_dir != self.folder
            with self.transaction() as connection:
                # Another process may have been the first to open a new journal.
                if is_named or not self.addresses():
                    row = (address, now().isoformat(), this_process())
                    connection.execute("INSERT INTO addresses VALUES (?, ?, ?) ON CONFLICT DO NOTHING", row)
            addresses = self.addresses()
        if address not in addresses:
            raise JournalError(
                f"the journal {self.location} belongs to {', '.join(addresses)}, not to {address}: if it was copied "
                "here, remove the copy"
            )


# What a person adds to `export resolve BATCH`; quoted, because a shell would take the bar for a pipe.
THE_OUTCOME = '--outcome "accepted|released" --evidence "..." --by NAME'


def command_of(settings: Settings, words: str) -> str:
    """Return a command ready to be run: it names the environment of the settings."""
    named = "--sandbox" if settings.environment == SANDBOX else f"--environment {in_shell(settings.environment)}"
    return f"bktools {words} {named}"


def identity_of(settings: Settings) -> str:
    """Return one line with the journal's identity and location, without creating a file or connecting to a database."""
    if settings.journal is not None:
        return f"the database {location_of(settings.journal)}"
    path = folder_of(settings) / FILE
    if not path.exists():
        return f"none yet; it will be {path}"
    with File(path) as file:
        return f"{file.id}  ({path})"


def require_newest(sent_log: SentLog, path: Path) -> None:
    """Refuse an old copy of a file, and a second copy."""
    refuse_elsewhere(sent_log, path)
    sent_log.require_current()


def refuse_elsewhere(sent_log: SentLog, path: Path) -> None:
    """Refuse a copy of a file that was moved to a database, or whose original, which sent last, still exists."""
    # Where it was when a batch was last sent with it.
    location = str(read_about(sent_log.folders[1])["path"])
    if is_database(location):
        raise JournalError(
            f"the history of the journal {path} was moved to {location}: nothing was sent; set BKTOOLS_JOURNAL to that "
            "database"
        )
    last = Path(location)
    if last.is_file() and path != last and not (path.exists() and path.samefile(last)):
        with File(last) as file:
            if file.id == sent_log.journal.id:
                raise JournalError(
                    f"{path} is a copy of the journal {last}, which still exists: nothing was sent; use the original (set "
                    f"BKTOOLS_DATA_DIR to {last.parent.parent}), or remove it first"
                )


def outer_folder(settings: Settings) -> Path:
    """Return the folder of the sent log outside of the data folder; the sandbox's is removed with its state."""
    return settings.state_dir / "outer-marks" if settings.is_sandbox else settings.sent_log_dir


def insert(connection: Connection, batch: BatchRequest, plan_id: str) -> None:
    """Write a new batch as PLANNED."""
    stamp = now().isoformat()
    values = {"batch_id": batch.batch_id, "company_id": batch.company_id, "state": "PLANNED"}
    values |= {"plan_id": plan_id, "planned_at": stamp, "changed_at": stamp, "changed_by": this_process()}
    body = {"entries": len(batch.entry_ids), "body": batch.body, "body_sha256": hashlib.sha256(batch.body).hexdigest()}
    names, row = ", ".join(values | body), [*values.values(), *body.values()]
    connection.execute(f"INSERT INTO batches ({names}) VALUES ({', '.join('?' * len(row))})", row)
    rows = ((batch.batch_id, entry) for entry in batch.entry_ids)
    connection.executemany("INSERT INTO batch_entries VALUES (?, ?, 1)", rows)


def change(connection: Connection, batch_id: str, state: str, **values: str | None) -> None:
    """Change a batch. The database's constraints refuse a forbidden change, and its triggers write the event."""
    values |= {"state": state, "changed_at": now().isoformat()}
    values["changed_by"] = values.get("settled_by") or this_process()
    names = ", ".join(f"{name} = ?" for name in values)
    sql = f"UPDATE batches SET {names} WHERE batch_id = ? RETURNING batch_id"
    if not list(connection.execute(sql, [*values.values(), batch_id])):
        raise JournalError(f"batch {batch_id} was not found in the journal")
