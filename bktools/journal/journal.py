"""The journal in a SQLite file of the data folder: one for each service."""

from __future__ import annotations

import hashlib
import logging
import shlex
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw

from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.journal.file import File, Row, now, spelled, this_process
from bktools.journal.lock import LOCKS, sending_for
from bktools.journal.marks import FOLDER, Mark, Marks, packed
from bktools.journal.others import FILE, Others, folder_of
from bktools.journal.verbs import Batch
from bktools.settings import SANDBOX, Settings

log = logging.getLogger("bktools")

_CLAIMS = """
    SELECT batch_id, state, company_id, count(*) AS entries, min(entry_id) AS first
    FROM temp.wanted CROSS JOIN batch_entries ON entry_id = wanted.id AND live = 1 JOIN batches USING (batch_id)
    WHERE batch_id <> ? GROUP BY batch_id ORDER BY state = 'PLANNED', batch_id
"""
_WANTED = "(?1 IS NULL OR company_id = ?1) AND (?2 IS NULL OR batch_id = ?2)"
_HISTORY = {
    "batches": f"""
        SELECT *, json_extract(job, '$.status') AS job_status FROM batches WHERE {_WANTED} ORDER BY planned_at, batch_id
    """,
    "doubts": f"SELECT * FROM batches WHERE {_WANTED} AND state = 'UNKNOWN' ORDER BY sent_at, batch_id",
    "entries": f"""
        SELECT entry_id, batch_id, company_id, state, job_id, sent_at FROM batches JOIN batch_entries USING (batch_id)
        WHERE {_WANTED} ORDER BY planned_at, batch_id, entry_id
    """,
    "events": f"""
        SELECT at, batch_id, company_id, before, after, events.message, done_by
        FROM events JOIN batches ON subject = 'batch' AND batch_id = subject_id WHERE {_WANTED} ORDER BY event_id
    """,
}  # fmt: skip


class Journal(File):
    """The journal of one service. Open it in a `with` statement, use it from one thread.

    Parameters
    ----------
    settings : Settings
        Whose journal it is.

    Attributes
    ----------
    id : str
        Its identity, made at random when it was new. A copy of it has the same one.
    marks : Marks
        The marks of what was sent, outside of its file.

    Raises
    ------
    StorageError
        When the file cannot be opened or written, or is damaged.
    JournalError
        When it belongs to another service or to a newer bktools, or is gone where something was sent.
    """

    def __init__(self, settings: Settings) -> None:
        self.folder = folder_of(settings)
        self._own_folder = settings.state_dir
        self._environment = settings.environment
        self._is_sandbox = settings.is_sandbox
        self._address = settings.identity
        super().__init__(self.folder / FILE, on_new=self._refuse_to_forget)
        try:
            self._belongs()
            self.marks = Marks(self.folder, outer_folder(settings), self.id)
            self.others = Others(self, self.marks, self.command)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file, and those of other journals that were looked at."""
        if hasattr(self, "others"):
            self.others.close()
        super().close()

    def command(self, words: str) -> str:
        """Return a command as a message gives it, to be run as it stands: it names this journal's environment."""
        named = "--sandbox" if self._environment == SANDBOX else f"--environment {shlex.quote(self._environment)}"
        return f"bktools {words} {named}"

    @property
    def about_me(self) -> dict[str, Any]:
        """What the marks say of the journal."""
        return {"path": str(self.path), "addresses": self.addresses()}

    def problems(self) -> list[str]:
        """Return what is wrong with the journal: its file, its events, its marks. Each is a line."""
        found = self.damage()
        try:
            self.require_current()
        except JournalError as error:
            found.append(str(error))
        return found

    # Before sending

    def require_current(self) -> None:
        """Refuse to send when this is an old copy of the journal.

        Raises
        ------
        JournalError
            When the file was replaced, is behind its marks, or was never used by this user of this machine.
        """
        self.require_in_place()
        self.marks.require_current(self)
        refuse_second_copy(self.marks.last_path(), self.path, self.id)
        since = int(self.about("marks_since") or 0)
        sent = self.rows(
            "SELECT count(*) AS events FROM events WHERE subject = 'batch' AND after = 'SENDING' AND event_id > ?",
            since,
        )
        if sent[0]["events"] and not self.marks.are_known_outside():
            raise JournalError(
                f"the journal {self.path} has sent export jobs, and was never used by this user on this machine: it may be "
                "a copy of one that goes on elsewhere. Nothing was sent. If it is the newest, say so once: "
                f"{self.command('journal restore')} --by NAME (the marks of what was sent are kept in {self.marks.outer}; "
                "BKTOOLS_MARKS_DIR names another folder)"
            )

    def obstacle(self, batch: Batch) -> str:
        """Return why the entries of a batch cannot be sent in it, "" when they can.

        They cannot when another batch or another journal sent them or may have sent them, or when they wait in a batch
        of another company. Batches of the same company that wait give way, see `claim`.
        """
        waiting = [row for row in self._claims(batch) if not _gives_way(row, batch)]
        if not waiting:
            return self.others.obstacle(batch)
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

    @contextmanager
    def sending(self, company_id: str) -> Iterator[None]:
        """Hold the right to send for a company, in this journal and in those of the same service.

        Raises
        ------
        JournalBusyError
            When another process holds it; the message says who.
        """
        with ExitStack() as stack:
            stack.enter_context(sending_for(self.folder, company_id))
            for folder in self.others.folders_of_same():
                stack.enter_context(sending_for(folder, company_id))
            yield

    # The verbs of a batch

    def claim(self, batches: Iterable[Batch], plan_id: str) -> None:
        """Write batches of one company as PLANNED: from here on their entries are theirs.

        Batches of earlier plans of the company that were not sent give their entries up. Hold the company's lock.

        Raises
        ------
        JournalError
            When an entry is in a batch that was sent or may have been; nothing was written.
        """
        with self.transaction() as connection:
            for batch in batches:
                found = self.state_of(batch.batch_id)
                if found is not None and found["body"] != batch.body:
                    raise JournalError(f"batch {batch.batch_id} is in the journal with different data")
                if found is not None and found["state"] not in {"REJECTED", "RELEASED"}:
                    continue
                reason = self.obstacle(batch)
                if reason:
                    raise JournalError(reason)
                for other in self._claims(batch):
                    message = f"batch {batch.batch_id} of a later plan took its place before it was sent"
                    change(connection, other["batch_id"], "RELEASED", message=message, settled_at=now().isoformat())
                if found is None:
                    insert(connection, batch, plan_id)
                else:
                    _plan_again(connection, batch.batch_id, plan_id)

    def begin(self, batch_id: str) -> bytes:
        """Write that a batch is being sent, and return the bytes to send. On disk when this returns, marks included.

        Raises
        ------
        JournalError
            When the batch is not PLANNED, another one of its company is on its way or in doubt, or another journal
            knows of the company.
        StorageError
            When the marks cannot be written; the batch is PLANNED as before.
        """
        found = self.state_of(batch_id)
        if found is None:
            raise JournalError(f"there is no batch {batch_id} in the journal")
        self.require_in_place()
        with self.marks.alone(found["company_id"]):
            self.others.require_none(found["company_id"])
            with self.transaction() as connection:
                change(
                    connection, batch_id, "SENDING", sender=this_process(), sent_at=now().isoformat(), settled_at=None
                )
                sql = "SELECT body, body_sha256 FROM batches WHERE batch_id = ?"
                held = self.rows(sql, batch_id)[0]
                if hashlib.sha256(held["body"]).hexdigest() != held["body_sha256"]:
                    raise JournalError(f"the body of batch {batch_id} in the journal is damaged: nothing was sent")
            body: bytes = held["body"]
            try:
                self._mark(batch_id, body)
            except StorageError as error:
                self.settle(batch_id, "PLANNED", str(error))
                raise
        return body

    def settle(
        self, batch_id: str, state: str, message: str, *, job_id: str | None = None, job: str | None = None
    ) -> None:
        """Write what became of a batch."""
        self._settle(batch_id, state, message, job_id=job_id, job=job)

    def recover(self, company_id: str | None = None) -> None:
        """Turn batches whose sender died into UNKNOWN: their requests may have arrived.

        Parameters
        ----------
        company_id : str, optional
            The company whose lock is held here. By default every company whose lock is free: a batch that says SENDING
            while no living process holds the lock was left by one that was killed.
        """
        if company_id is not None:
            sql = "SELECT batch_id, sender FROM batches WHERE company_id = ? AND state = 'SENDING'"
            for row in self.rows(sql, company_id):
                self.settle(row["batch_id"], "UNKNOWN", f"{row['sender']} ended while it was sending")
            return
        for row in self.rows("SELECT DISTINCT company_id FROM batches WHERE state = 'SENDING'"):
            try:
                with sending_for(self.folder, row["company_id"], patience=0):
                    self.recover(row["company_id"])
            except JournalBusyError:
                # It is on its way.
                continue

    def resolve(self, batch_id: str, state: str, *, evidence: str, by: str, job_id: str | None = None) -> None:
        """Settle a batch in doubt, or withdraw one that was not sent, as a person says.

        Raises
        ------
        JournalError
            When there is no such batch, its outcome is known, or the job is another batch's.
        JournalBusyError
            When another process sends for its company.
        """
        self.recover()
        before = self._resolvable(batch_id, state)
        with sending_for(self.folder, before["company_id"]):
            # Read again under the lock: what waited may have been sent meanwhile, and nobody has looked that up.
            self.recover(before["company_id"])
            found = self._resolvable(batch_id, state)
            if found["state"] != before["state"]:
                raise JournalError(
                    f"batch {batch_id} was {before['state']} and is {found['state']} now: nothing was recorded; look again "
                    f"({self.command('export status')})"
                )
            sql = "SELECT batch_id, company_id, state FROM batches WHERE job_id = ? AND batch_id <> ?"
            for other in self.rows(sql, job_id, batch_id):
                raise JournalError(
                    f"job {job_id} is of batch {other['batch_id']} of company {other['company_id']}, which is "
                    f"{other['state']}; a job is of one batch: look up again which one it is, or give none"
                )
            self._settle(batch_id, state, evidence, job_id=job_id, by=by)

    def history(
        self, table: str, company_id: str | None = None, batch_id: str | None = None, *, size: int = 10_000
    ) -> Iterator[list[Row]]:
        """Return batches, doubts, entries or events, in pieces of at most `size` rows."""
        return self.pieces(_HISTORY[table], company_id, batch_id, size=size)

    # What is known of batches

    def state_of(self, batch_id: str) -> Row | None:
        """Return a batch as it stands."""
        found = self.rows("SELECT * FROM batches WHERE batch_id = ?", batch_id)
        return found[0] if found else None

    def in_doubt(self, company_id: str) -> Row | None:
        """Return the oldest batch in doubt, which blocks the company."""
        found = self.rows(_HISTORY["doubts"], company_id, None)
        return found[0] if found else None

    def newest_accepted(self, company_id: str) -> Row | None:
        """Return the batch of a company that was sent last of those whose job was created."""
        sql = "SELECT * FROM batches WHERE company_id = ? AND state = 'ACCEPTED' ORDER BY sent_at DESC LIMIT 1"
        found = self.rows(sql, company_id)
        return found[0] if found else None

    def is_known_job(self, job_id: str) -> bool:
        """Whether a job answered for another batch before."""
        return bool(self.rows("SELECT 1 FROM batches WHERE job_id = ?", job_id))

    def no_such_batch(self, batch_id: str) -> JournalError:
        """Return the error for a batch that is not in the journal."""
        return JournalError(f"there is no batch {batch_id} in the journal: {self.command('export history')} lists them")

    def _resolvable(self, batch_id: str, state: str) -> Row:
        found = self.state_of(batch_id)
        if found is None:
            raise self.no_such_batch(batch_id)
        if found["state"] != "UNKNOWN" and (found["state"], state) != ("PLANNED", "RELEASED"):
            raise JournalError(
                f"batch {batch_id} is {found['state']}: only one whose outcome is UNKNOWN is settled by hand, and only "
                "one that is PLANNED is withdrawn"
            )
        return found

    def _settle(
        self,
        batch_id: str,
        state: str,
        message: str,
        *,
        job_id: str | None = None,
        job: str | None = None,
        by: str | None = None,
    ) -> None:
        told = {name: value for name, value in (("job_id", job_id), ("job", job)) if value is not None}
        with self.transaction() as connection:
            change(connection, batch_id, state, message=message, settled_at=now().isoformat(), settled_by=by, **told)
        try:
            self._mark(batch_id)
        except StorageError as error:
            # The outcome is in the journal. Without this mark a restored backup has one more batch in doubt.
            log.warning("%s", error)

    def _mark(self, batch_id: str, body: bytes = b"") -> None:
        row = self.state_of(batch_id)
        last = self.last_event()
        assert row is not None
        told = row["message"] or ""
        mark = Mark(
            last["event_id"], last["digest"], batch_id, row["plan_id"], row["company_id"], row["state"], told,
            row["changed_at"], packed(body) if body else "",
        )  # fmt: skip
        self.marks.write(mark, self.about_me)

    def _claims(self, batch: Batch) -> list[Row]:
        """Return the other batches that hold entries of a batch, those that were sent first."""
        self.wanted(batch.entry_ids)
        return self.rows(_CLAIMS, batch.batch_id)

    def _refuse_to_forget(self) -> None:
        """Refuse to begin anew where something was sent: an empty journal would let it be sent again."""
        if any((self.folder / name).exists() for name in (LOCKS, FOLDER)):
            raise JournalError(
                f"the journal {self.path} is gone or empty, but export jobs were sent from here: nothing was sent; put "
                f"back a backup with {self.command('journal restore FILE')} --by NAME"
            )

    def _belongs(self) -> None:
        # Where a person said that this address uses this journal, a copy from before does not know it yet.
        is_own = self._own_folder == self.folder
        new = spelled(self.about("environment") or self._address) if is_own else self._address
        if not self.rows("SELECT 1 FROM addresses WHERE address = ?", new):
            with self.transaction() as connection:
                if is_own:
                    connection.execute("INSERT OR IGNORE INTO about VALUES ('environment', ?)", (self._address,))
                said = (new, now().isoformat(), this_process())
                connection.execute("INSERT OR IGNORE INTO addresses VALUES (?, ?, ?)", said)
        if self._address not in self.addresses():
            raise JournalError(
                f"the journal {self.path} belongs to {', '.join(self.addresses())}, not to {self._address}: was it copied "
                "here?"
            )


def identity_of(settings: Settings) -> str:
    """Return the identity of the journal and its file as a line; none is made where there is none."""
    path = folder_of(settings) / FILE
    if not path.exists():
        return f"none yet; it will be {path}"
    with File(path) as file:
        return f"{file.id}  ({path})"


def refuse_second_copy(last: Path, path: Path, journal_id: str) -> None:
    """Refuse a copy of a journal while the one that sent last is still in another folder."""
    if last.is_file() and path != last and not (path.exists() and path.samefile(last)):
        with File(last) as file:
            if file.id == journal_id:
                raise JournalError(
                    f"{path} is a copy of the journal {last}, which is still there: nothing was sent; use that one (set "
                    f"BKTOOLS_DATA_DIR to {last.parent.parent}), or remove it first"
                )


def outer_folder(settings: Settings) -> Path:
    """Return where marks are kept outside of the data folder; the sandbox's are forgotten with its data."""
    return settings.state_dir / "outer-marks" if settings.is_sandbox else settings.marks_dir


def _gives_way(row: Row, batch: Batch) -> bool:
    return (row["state"], row["company_id"]) == ("PLANNED", batch.company_id)


def insert(connection: apsw.Connection, batch: Batch, plan_id: str) -> None:
    """Write a new batch as PLANNED."""
    stamp = now().isoformat()
    connection.execute(
        "INSERT INTO batches (batch_id, company_id, state, entries, body, body_sha256, plan_id, planned_at, changed_at, "
        "changed_by) VALUES (?, ?, 'PLANNED', ?, ?, ?, ?, ?, ?, ?)",
        (
            batch.batch_id,
            batch.company_id,
            len(batch.entry_ids),
            batch.body,
            hashlib.sha256(batch.body).hexdigest(),
            plan_id,
            stamp,
            stamp,
            this_process(),
        ),
    )
    rows = ((batch.batch_id, entry) for entry in batch.entry_ids)
    connection.executemany("INSERT INTO batch_entries VALUES (?, ?, 1)", rows)


def _plan_again(connection: apsw.Connection, batch_id: str, plan_id: str) -> None:
    cleared = dict.fromkeys(("message", "sent_at", "settled_at", "settled_by", "job_id", "job"))
    change(connection, batch_id, "PLANNED", plan_id=plan_id, planned_at=now().isoformat(), **cleared)


def change(connection: apsw.Connection, batch_id: str, state: str, **values: str | None) -> None:
    """Change a batch; the journal's constraints decide whether it may, and its triggers write the event."""
    values |= {"state": state, "changed_at": now().isoformat()}
    values["changed_by"] = values.get("settled_by") or this_process()
    names = ", ".join(f"{name} = ?" for name in values)
    sql = f"UPDATE batches SET {names} WHERE batch_id = ?"
    connection.execute(sql, [*values.values(), batch_id])
    if connection.changes() != 1:
        raise JournalError(f"there is no batch {batch_id} in the journal")
