"""The journal, to write: one function opens it, and compares it first with all that this machine knows."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.frames.batches import BatchRequest
from bktools.journal import entry_data
from bktools.journal.journal import Journal
from bktools.journal.records import Connection, Facts, Records, Row, dumped, named, now
from bktools.journal.sent_log import SentLine, packed
from bktools.journal.undelivered import BatchOutcome
from bktools.settings import Settings

log = logging.getLogger("bktools")

# Seconds before each attempt to reach a database again, to write an outcome.
PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


def open_for_writing(settings: Settings) -> WritableJournal:
    """Open a journal, compare it with what this machine knows as sent, and settle killed senders' batches.

    Nothing is written before the comparison.

    Raises
    ------
    StorageError
        When the file cannot be opened or written, or is damaged.
    JournalError
        When it is an old copy, or another journal than this machine's of the environment; nothing was
        written.
    """
    journal = WritableJournal(settings)
    try:
        journal.require_current()
        journal.machine = journal.sent_log.machine()
        journal.recover()
    except BaseException:
        journal.close()
        raise
    return journal


def open_for_reading(settings: Settings) -> Journal:
    """Open a journal to read it. What killed senders left is settled first, unless it must not be written."""
    journal = Journal(settings)
    try:
        if journal.row("SELECT 1 AS found FROM batches WHERE state = 'SENDING' LIMIT 1"):
            open_for_writing(settings).close()
    except JournalError as error:
        log.warning("%s", error)
    except BaseException:
        journal.close()
        raise
    return journal


class WritableJournal(Journal):
    """A journal that was compared and may be written; `open_for_writing` returns it."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        # When this process wrote that it sends a batch.
        self._sent_at: dict[str, str] = {}

    def another_connection(self) -> WritableJournal:
        """Open this journal, which was compared, once more for another thread."""
        other = WritableJournal(self._settings)
        other.machine = self.machine
        return other

    @contextmanager
    def sending(self, company_id: str) -> Iterator[None]:
        """Hold the company's lock. Raise `JournalBusyError`, with the process, when another one has it."""
        with self._database.lock(company_id):
            yield

    # Changes of a batch

    def claim(self, batches: Iterable[BatchRequest], plan_id: str, period: str | None = None) -> None:
        """Write batches of one company as PLANNED; from then on no other batch can take their entries.

        Unsent batches of earlier plans that hold the same entries are released. What is known of each entry
        is kept with it: the data of the newest claim are those that are sent. Hold the company's lock.

        Raises
        ------
        JournalError
            When an entry is in a batch that was sent or may have been sent, or in one that was changed by
            hand, or its period is closed; nothing was written.
        """
        company_id, entries = "", set[entry_data.Dated]()
        # Before the first request: a journal that has sent is one that this machine knows.
        self.sent_log.describe()
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
                entries.update(entry_data.dated(batch))
                for other in self._claims(batch):
                    facts = {"batch_id": batch.batch_id}
                    change(
                        self,
                        connection,
                        other["batch_id"],
                        "RELEASED",
                        "replaced",
                        facts,
                        settled_at=now().isoformat(),
                    )
                if row is None:
                    insert(self, connection, batch, plan_id)
                else:
                    cleared = dict.fromkeys(("sent_at", "settled_at", "job_id", "job"))
                    anew = {"plan_id": plan_id, "planned_at": now().isoformat(), **cleared}
                    change(self, connection, batch.batch_id, "PLANNED", "planned", {}, **anew)
                self._claim_data(connection, batch, period)
            # Once for all: nobody else writes until this transaction ends, and `begin` looks again.
            reason = self.waiting(company_id, entries) if entries else ""
            if reason:
                raise JournalError(reason)

    def begin(self, batch_id: str) -> bytes:
        """Write that a batch is being sent; return the request body. Journal and sent log are then on disk.

        Raises
        ------
        JournalError
            When the batch is not PLANNED, another batch of its company is SENDING or UNKNOWN, or this machine
            sends for the environment with another journal.
        StorageError
            When the sent log cannot be written; the batch is still PLANNED.
        """
        row = self.state_of(batch_id)
        if row is None:
            raise JournalError(f"batch {batch_id} was not found in the journal")
        self.require_in_place()
        self._sent_at[batch_id] = now().isoformat()
        with self.sent_log.alone(row["company_id"]):
            try:
                with self.transaction() as connection:
                    if self.restores is not None:
                        rows = self.rows(entry_data.DATED, batch_id)
                        entries = [(entry["entry_id"], entry["date"]) for entry in rows]
                        self.restores.require(row["company_id"], entries)
                    intent = {"sent_at": self._sent_at[batch_id], "settled_at": None}
                    change(self, connection, batch_id, "SENDING", "sending", {}, **intent)
                    body = self._whole_body(batch_id)
                    self._require_not_elsewhere(batch_id, body)
                self._log_state(batch_id, body)
                self.require_in_place()
            except (JournalError, StorageError) as error:
                self._take_back(batch_id, str(error))
                raise
        return body

    def _require_not_elsewhere(self, batch_id: str, body: bytes) -> None:
        """Refuse a batch with an entry that was recorded as exported elsewhere after the claim."""
        if reason := self.exported_elsewhere(batch_id, json.loads(body).get("accountingEntryIds", ())):
            raise JournalError(reason)

    def _whole_body(self, batch_id: str) -> bytes:
        (held,) = self.rows("SELECT body, body_sha256 FROM batches WHERE batch_id = ?", batch_id)
        body: bytes = held["body"]
        if hashlib.sha256(body).hexdigest() != held["body_sha256"]:
            raise JournalError(f"the body of batch {batch_id} in the journal is damaged: nothing was sent")
        return body

    def settle(self, batch_id: str, answer: BatchOutcome) -> None:
        """Write the outcome of a batch, on a new connection if this one was cut.

        A job that belongs to another batch makes this one UNKNOWN, because the answer was replayed.

        Raises
        ------
        StorageError, JournalError
            When the outcome cannot be written, with where it is kept: beside the journal, or in this line
            alone. The next run here writes it, unless another process was faster and wrote UNKNOWN.
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

        As at the start of a run, an old copy of the journal is refused, and what is on its way is recovered.
        Everything else that was read under the lost lock must be read again.
        """
        if not self._database.regain(company_id):
            return False
        self.require_current()
        self.recover(company_id)
        return True

    def recover(self, company_id: str | None = None) -> None:
        """Turn batches whose sender was killed into UNKNOWN: their requests may have arrived.

        They belong to a company whose lock the caller holds, or by default to each company whose lock is
        free.
        """
        if company_id is not None:
            sql = "SELECT * FROM batches WHERE company_id = ? AND state = 'SENDING'"
            if not self.rows(sql, company_id):
                return
            with self.transaction() as connection:
                sending = self.rows(sql, company_id)
                for row in sending:
                    sender = named(row["login"], row["machine"], row["process"])
                    ended = BatchOutcome("UNKNOWN", "sender_ended", {"sender": sender})
                    answer = self._unless_replayed(row["batch_id"], self.undelivered.read(row) or ended)
                    self._change_to(connection, row["batch_id"], answer)
            for row in sending:
                self._try_to_log(row["batch_id"], is_ours=False)
            return
        for row in self.rows("SELECT DISTINCT company_id FROM batches WHERE state = 'SENDING'"):
            # Where the lock is held, a running process is sending.
            with suppress(JournalBusyError), self._database.lock(row["company_id"], patience=0):
                self.recover(row["company_id"])

    def resolve(
        self, batch_id: str, state: str, *, evidence: str, by: str, job_id: str | None = None
    ) -> None:
        """Record a person's finding (see `resolve_export_job`): resolve UNKNOWN, or withdraw PLANNED."""
        before = self.require_resolvable(batch_id, state)
        with self._database.lock(before["company_id"]):
            # Read again under the lock: another process may have sent the batch after the person looked.
            self.require_current()
            self.recover(before["company_id"])
            row = self.require_resolvable(batch_id, state)
            if row["state"] != before["state"]:
                raise JournalError(
                    f"batch {batch_id} changed from {before['state']} to {row['state']}: "
                    f"nothing was recorded; look it up again ({self.command('export status')})"
                )
            other = self.other_with(job_id, batch_id)
            if other is not None:
                raise JournalError(
                    f"job {job_id} belongs to batch {other['batch_id']} of company {other['company_id']}, "
                    f"which is {other['state']}; a job has one batch: correct the job ID, or leave it out"
                )
            code = "settled" if row["state"] == "UNKNOWN" else "withdrawn"
            self._settle(batch_id, BatchOutcome(state, code, {"evidence": evidence}, job_id), by=by)

    def require_resolvable(self, batch_id: str, state: str) -> Row:
        """Return the row of a batch that a person may bring to a state; raise for any other batch."""
        row = self.state_of(batch_id)
        if row is None:
            raise self.no_such_batch(batch_id)
        if row["state"] != "UNKNOWN" and (row["state"], state) != ("PLANNED", "RELEASED"):
            raise JournalError(
                f"batch {batch_id} is {row['state']}: only an UNKNOWN batch can be resolved, "
                "and only a PLANNED batch can be withdrawn"
            )
        return row

    def _settle(
        self, batch_id: str, answer: BatchOutcome, *, by: str | None = None, is_repeated: bool = False
    ) -> None:
        with self.transaction() as connection:
            if by is None:
                answer = self._unless_replayed(batch_id, answer)
            # The answer may be written already, if the connection was cut before the database confirmed it.
            if not (is_repeated and answer.is_in(self.state_of(batch_id) or {})):
                self._change_to(connection, batch_id, answer, by=by)
        self._try_to_log(batch_id, is_ours=by is None)

    def _unless_replayed(self, batch_id: str, answer: BatchOutcome) -> BatchOutcome:
        """Return an answer, UNKNOWN when another batch has its job. Call it in the writing transaction."""
        other = self.other_with(answer.job_id, batch_id)
        if other is None:
            return answer
        facts = {"job_id": answer.job_id, "batch_id": other["batch_id"]}
        return BatchOutcome("UNKNOWN", "job_of_another_batch", facts, job=answer.job)

    def _is_connected_again(self, pause: float) -> bool:
        """Wait, and connect again; return whether another attempt to write makes sense."""
        time.sleep(pause)
        try:
            return self._database.reconnect()
        except (JournalError, StorageError) as error:
            log.warning("%s", error)
            return True

    def _keep(self, batch_id: str, answer: BatchOutcome) -> str:
        """Keep an answer on this machine; return a phrase that says where it is."""
        try:
            self.undelivered.write(batch_id, self._sent_at.get(batch_id, ""), answer)
        except StorageError as error:
            log.warning("%s", error)
            resolve = self.command(f"export resolve {batch_id}")
            return f"keep this line, because the journal will show UNKNOWN: resolve it with {resolve}"
        return (
            "the answer is kept on this machine: the next run here writes it, "
            "or shows it if the batch is UNKNOWN by then"
        )

    def _take_back(self, batch_id: str, reason: str) -> None:
        """Write that a batch was not sent, if its intent was written; if that fails, it becomes UNKNOWN."""
        answer = BatchOutcome("PLANNED", "taken_back", {"said": reason})
        try:
            self._database.reconnect()
            row = self.state_of(batch_id)
            if row is not None and row["state"] == "SENDING" and row["sent_at"] == self._sent_at[batch_id]:
                self.settle(batch_id, answer)
        except (JournalError, StorageError) as error:
            log.warning("%s", error)
            self._keep(batch_id, answer)

    def _try_to_log(self, batch_id: str, *, is_ours: bool) -> None:
        """Log an outcome; with the body if another machine may have sent the batch and has its line."""
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
            self.id,
            last["event_id"],
            last["digest"],
            batch_id,
            row["plan_id"],
            row["company_id"],
            row["state"],
            row["code"],
            row["facts"],
            row["changed_at"],
            packed(body) if body else "",
            row["job_id"] or "",
        )
        self.sent_log.write(line)

    @contextmanager
    def recording(self, company_id: str) -> Iterator[Connection]:
        """Yield a transaction about a company, under its lock; copies from before it are old copies."""
        with self.sending(company_id):
            self.require_current()
            with self.transaction() as connection:
                yield connection
            lines = self.sent_log.of_all().get(company_id)
            # Nothing was sent without a sent log, so an old copy cannot book anything twice.
            if lines:
                last = self.last_event()
                line = replace(
                    lines[-1], journal=self.id, event=last["event_id"], digest=last["digest"], body=""
                )
                try:
                    self.sent_log.write(line)
                except StorageError as error:
                    # The outcome is in the journal. Without this line, a backup from before it is not
                    # noticed.
                    log.warning("%s", error)

    def _claim_data(self, connection: Connection, batch: BatchRequest, period: str | None) -> None:
        """Write the data of a batch's entries as a new claim, unless they are those of its newest claim."""
        rows = entry_data.rows_of(batch, period)
        self.require_open(batch.company_id, {row[-1] for row in rows})
        digest = entry_data.digest_of(rows)
        if rows and self.newest_claim(batch.batch_id).get("sha256") != digest:
            about = {"company_id": batch.company_id, "batch_id": batch.batch_id}
            claim = self.record(connection, entry_data.KEPT, **about, facts={"sha256": digest})
            connection.executemany(entry_data.INSERT, ((batch.batch_id, claim, *row) for row in rows))

    def _change_to(
        self, connection: Connection, batch_id: str, answer: BatchOutcome, by: str | None = None
    ) -> None:
        change(self, connection, batch_id, answer.state, settled_by=by, **answer.values())


def insert(journal: Records, connection: Connection, batch: BatchRequest, plan_id: str) -> None:
    """Write a new batch as PLANNED."""
    stamp = now().isoformat()
    values = {
        "batch_id": batch.batch_id,
        "company_id": batch.company_id,
        "state": "PLANNED",
        "code": "planned",
    }
    values |= {"facts": "{}", "plan_id": plan_id, "planned_at": stamp, "changed_at": stamp}
    body = {
        "entries": len(batch.entry_ids),
        "body": batch.body,
        "body_sha256": hashlib.sha256(batch.body).hexdigest(),
    }
    row = values | body | dict(zip(("login", "machine", "process"), journal.writer(), strict=True))
    sql = f"INSERT INTO batches ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    connection.execute(sql, [*row.values()])
    rows = ((batch.batch_id, entry) for entry in batch.entry_ids)
    connection.executemany("INSERT INTO batch_entries VALUES (?, ?, 1)", rows)


def change(
    journal: Records,
    connection: Connection,
    batch_id: str,
    state: str,
    code: str,
    facts: str | Facts,
    **values: str | None,
) -> None:
    """Change a batch. The database's constraints refuse a forbidden change; its triggers write the event."""
    text = facts if isinstance(facts, str) else dumped(facts)
    row: dict[str, Any] = {"settled_by": None} | values
    row |= {"state": state, "code": code, "facts": text, "changed_at": now().isoformat()}
    row |= dict(zip(("login", "machine", "process"), journal.writer(), strict=True))
    names = ", ".join(f"{name} = ?" for name in row)
    sql = f"UPDATE batches SET {names} WHERE batch_id = ? RETURNING batch_id"
    if not list(connection.execute(sql, [*row.values(), batch_id])):
        raise JournalError(f"batch {batch_id} was not found in the journal")
