"""The journal of an environment, to read: a SQLite file in the data folder, or a team's PostgreSQL database.

`bktools.journal.writing` opens it, compares it and writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bktools import disk
from bktools.errors import JournalError
from bktools.frames.batches import BatchRequest
from bktools.journal import entry_data
from bktools.journal.database import Connection, Row
from bktools.journal.folders import (
    FILE,
    MOVE,
    RESTORE,
    another_name,
    command_for,
    environment_of,
    folder_of,
    machine_folder,
    origin_of,
)
from bktools.journal.memory import Memory, read_memory
from bktools.journal.postgres import Postgres, location_of
from bktools.journal.records import Records, contradiction, write_identity
from bktools.journal.schema import OPEN_STATES
from bktools.journal.sent_log import SentLine, lines_from
from bktools.journal.sentences import line_of, refusal
from bktools.journal.sqlite import Sqlite
from bktools.settings import Settings

# Entries that a person recorded as exported outside of this journal, that this was wrong, and entries that a
# person found not to be booked.
EXPORTED_ELSEWHERE, EXPORTED_ELSEWHERE_UNDONE = "exported_elsewhere", "exported_elsewhere_undone"
NOT_BOOKED = "not_booked"
# Entries that a plan's ledger may hold, and that it shows not to be booked on the day of its export.
MAYBE_BOOKED, NOT_IN_LEDGER = "maybe_booked", "not_in_ledger"
# A batch that a machine sent and a restored journal lacks.
LOST = "lost"

_WANTED = "(CAST($1 AS TEXT) IS NULL OR company_id = $1) AND (CAST($2 AS TEXT) IS NULL OR batch_id = $2)"
# An outcome that contradicts what its batch was settled with before, until a person ticks it off.
LATE_ANSWER, TICKED_OFF = "late_answer", "ticked_off"
_LATE_ANSWERS = f"""
    SELECT event_id, at, company_id, batch_id, attempt, facts FROM events AS event
    WHERE code = '{LATE_ANSWER}' AND (CAST($1 AS TEXT) IS NULL OR company_id = $1) AND NOT EXISTS (
        SELECT 1 FROM events AS tick WHERE tick.code = '{TICKED_OFF}' AND tick.attempt = event.attempt)
    ORDER BY event_id
"""


class Journal(Records):
    """The journal of one environment, to read. Open it in a `with` statement, use it from one thread.

    Raises
    ------
    StorageError
        When the file cannot be opened, or is damaged.
    JournalError
        When its tables are of another version, it was moved, or it is missing although export jobs were sent.
    """

    def __init__(self, settings: Settings, *, may_forget: bool = False) -> None:
        self.settings = settings
        self.folder = machine_folder(settings)
        self.path = folder_of(settings) / FILE if settings.journal is None else None
        location = str(self.path) if settings.journal is None else location_of(settings.journal)
        own = {"BKTOOLS_SENT_LOG_DIR": self.folder, "BKTOOLS_DATA_DIR": folder_of(settings)}
        for variable, folder in own.items():
            if folder.exists():
                disk.refuse_foreign(folder, variable)

        def begin(records: Records, connection: Connection) -> None:
            if not may_forget:
                _refuse_to_forget(settings, location)
            write_identity(records, connection, origin_of(settings))

        if self.path and not self.path.exists() and not may_forget:
            # Asked before there is a file, and again by whoever creates the tables.
            _refuse_to_forget(settings, location)
        database = Postgres(settings.journal) if settings.journal else Sqlite(folder_of(settings) / FILE)
        super().__init__(database, begin)
        moved = self.path and self.about("moved_to")
        if moved:
            self.close()
            raise refusal("moved", location=location, to=moved)

    def command(self, text: str, company_id: str | None = None) -> str:
        """Return a command ready to be run: it names this environment, and the company where it is given."""
        return command_for(environment_of(self.settings), text, company_id)

    # What this machine knows

    def memory(self) -> Memory:
        """Return what this machine remembers of the environment's journal."""
        return read_memory(self.folder)

    def is_in_place(self) -> bool:
        """Whether this is still the opened file or connection, with all its locks."""
        return self._database.is_in_place()

    def missing_batches(self, *, unrecorded: bool = False) -> list[SentLine]:
        """Return the intents of this machine's sent log that the journal lacks.

        With `unrecorded`, only those of which no event says that they are lost.
        """
        intents = {line.attempt: line for line in lines_from(self.folder)[0] if line.is_intent}
        self.wanted(intents)
        sql = (
            "SELECT DISTINCT attempt FROM events WHERE attempt IN (SELECT id FROM wanted) "
            "AND (code <> $1 OR $2 = 1)"
        )
        in_journal = {row["attempt"] for row in self.rows(sql, LOST, int(unrecorded))}
        return [line for attempt, line in intents.items() if attempt not in in_journal]

    def lost_entries(self, company_id: str) -> dict[str, str]:
        """Return the entries of a company that were sent and that the journal lost, each with that day."""
        lost = [event.facts for event in self.events(LOST, company_id=company_id)]
        return {entry: facts["sent_at"][:10] for facts in lost for entry in facts["entries"]}

    # Reading batches

    def row_of(self, batch_id: str) -> Row | None:
        """Return the row of a batch, None where there is none."""
        return self.row("SELECT * FROM batches WHERE batch_id = $1", batch_id)

    def batch(self, batch_id: str) -> Row:
        """Return the row of a batch; raise `JournalError` where there is none."""
        row = self.row_of(batch_id)
        if row is None:
            raise refusal("no_such_batch", batch=batch_id, command=self.command("export status"))
        return row

    def unknown(self, company_id: str | None = None, batch_id: str | None = None) -> list[Row]:
        """Return the UNKNOWN batches, oldest first, of all companies or of one; each blocks its company."""
        sql = f"SELECT * FROM batches WHERE {_WANTED} AND state = 'UNKNOWN' ORDER BY sent_at, batch_id"
        return self.rows(sql, company_id, batch_id)

    def late_answers(self, company_id: str | None = None) -> list[Row]:
        """Return the late answers that contradict a batch and that no person has ticked off, oldest first."""
        return self.rows(_LATE_ANSWERS, company_id)

    def open_batches(self, company_id: str) -> list[Row]:
        """Return the batches of a company whose request may be on its way; no other one is begun."""
        sql = "SELECT batch_id, state FROM batches WHERE company_id = $1 AND state IN ($2, $3)"
        return self.rows(sql, company_id, *OPEN_STATES)

    def newest_accepted(self, company_id: str) -> Row | None:
        """Return the ACCEPTED batch of a company that was sent last."""
        sql = (
            "SELECT * FROM batches WHERE company_id = $1 AND state = 'ACCEPTED' ORDER BY sent_at DESC LIMIT 1"
        )
        return self.row(sql, company_id)

    def other_with(self, job_id: str | None, batch_id: str) -> Row | None:
        """Return another batch than this one that a job answered for, None where there is none."""
        sql = "SELECT batch_id, company_id, state FROM batches WHERE job_id = $1 AND batch_id <> $2"
        return self.row(sql, job_id, batch_id)

    def dated_entries(self, batch_id: str) -> list[entry_data.Dated]:
        """Return ID and date of the entries of a batch."""
        return [(row["entry_id"], row["date"]) for row in self.rows(entry_data.DATED, batch_id)]

    def periods_of(self, batch_id: str) -> set[str | None]:
        """Return the months that the entries of a batch belong to, None for one that is not known."""
        sql = "SELECT DISTINCT period FROM entry_data WHERE batch_id = $1"
        return {row["period"] for row in self.rows(sql, batch_id)}

    def entries_of(self, code: str, company_id: str | None = None) -> dict[str, str | None]:
        """Return the entries that the events of a code name, each with its posting where that is known."""
        events = self.events(code, company_id=company_id)
        return {
            entry["entry_id"]: entry.get("voucher") for event in events for entry in event.facts["entries"]
        }

    def found_not_booked(self, company_id: str, day: str) -> set[str]:
        """Return the entries that a person, or a ledger, showed not to be booked on a later day."""
        events = self.events(NOT_BOOKED, NOT_IN_LEDGER, company_id=company_id)
        later = [each for each in events if each.facts.get("day", each.at[:10]) > day]
        return {entry["entry_id"] for event in later for entry in event.facts["entries"]}

    # Why entries are not sent

    def obstacle(self, batch: BatchRequest) -> JournalError | None:
        """Return the reason why a batch cannot be sent, None when it can.

        It cannot when another batch has sent one of its entries or may have, when one is PLANNED in a batch
        of another company, when one was exported elsewhere, or when a batch that has or had one was changed
        by hand. A PLANNED batch of the same company is no obstacle: `claim` releases it.
        """
        return self.standing_obstacle(batch.batch_id, batch.entry_ids) or self._claimed_obstacle(batch)

    def standing_obstacle(self, batch_id: str, entry_ids: Sequence[str]) -> JournalError | None:
        """Return why entries are not sent in any batch: a change by hand, or an export elsewhere."""
        changed = self.changed_by_hand(entry_ids)
        if changed is not None:
            fault, command = contradiction(changed), self.command("journal")
            return refusal("changed_by_hand", fault=fault, location=self.location, command=command)
        elsewhere = self.exported_elsewhere()
        entries = [entry_id for entry_id in entry_ids if entry_id in elsewhere]
        if not entries:
            return None
        first, known = entries[0], elsewhere[entries[0]]
        about = {"event_id": known["event_id"], "person": known["person"], "entries": len(entries)}
        return refusal("entries_exported_elsewhere", **about, first=first, batch=batch_id)

    def _claimed_obstacle(self, batch: BatchRequest) -> JournalError | None:
        """Return why entries of a batch are not sent: another batch has them, or another company."""
        for other in self.other_claims(batch):
            if (other["state"], other["company_id"]) == ("PLANNED", batch.company_id):
                continue
            withdraw = self.resolve_command(other["batch_id"], other["company_id"], "released")
            code = "planned_elsewhere" if other["state"] == "PLANNED" else "in_another_batch"
            return refusal(code, **other, batch=batch.batch_id, command=withdraw)
        return None

    def other_claims(self, batch: BatchRequest) -> list[Row]:
        """Return the other batches that hold entries of a batch, PLANNED ones last."""
        return [row for row in self.holding(batch.entry_ids) if row["batch_id"] != batch.batch_id]

    def exported_elsewhere(self, company_id: str | None = None) -> dict[str, Row]:
        """Return by entry its newest record as exported elsewhere, with event and person, unless undone."""
        undone = self.undone_words()
        return {
            entry["entry_id"]: {**entry, "event_id": event.event_id, "person": event.person}
            for event in self.events(EXPORTED_ELSEWHERE, company_id=company_id)
            if event.facts["word"] not in undone
            for entry in event.facts["entries"]
        }

    def undone_words(self) -> set[str]:
        """Return the identities of those records of entries exported elsewhere that were wrong."""
        return {event.facts["word"] for event in self.events(EXPORTED_ELSEWHERE_UNDONE)}

    def require_open(self, company_id: str, periods: Iterable[str | None]) -> None:
        """Refuse to send into a closed period, or an entry without one while a period is closed."""
        asked = set(periods)
        sql = "SELECT * FROM periods WHERE company_id = $1 AND state = 'CLOSED' ORDER BY period"
        for row in self.rows(sql, company_id):
            if row["period"] in asked or None in asked:
                code = "period_closed" if row["period"] in asked else "period_closed_undated"
                reopen = self.command(f"periods reopen {row['period']}", company_id)
                raise refusal(code, **{**row, "day": row["at"][:10]}, command=reopen)

    def resolve_command(self, batch_id: str, company_id: str, outcome: str = "accepted|released") -> str:
        """Return the command with which a person records the outcome of one batch."""
        # Quoted, because a shell would pipe at the bar.
        outcome = f'"{outcome}"' if "|" in outcome else outcome
        resolve = self.command(f"export resolve {batch_id}", company_id)
        return f'{resolve} --outcome {outcome} --evidence "..." --by NAME'


def _refuse_to_forget(settings: Settings, location: str) -> None:
    """Refuse to create a journal where this machine knows one: an empty one would send all again."""
    if facts := another_name(settings):
        raise refusal("another_name", **facts)
    folder, environment = machine_folder(settings), environment_of(settings)
    memory = read_memory(folder)
    if not memory.journal and not lines_from(folder)[0]:
        return
    if memory.location != location and settings.journal is not None and Path(memory.location).is_file():
        command = command_for(environment, MOVE)
        raise refusal("history_left_in_file", location=location, other=memory.location, command=command)
    command = command_for(environment, RESTORE)
    code = "missing" if memory.location in {"", location} else "another_journal"
    raise refusal(code, location=location, other=memory.location, command=command)


def has_none_yet(settings: Settings) -> bool:
    """Whether the journal is a file that does not exist yet."""
    return settings.journal is None and not (folder_of(settings) / FILE).exists()


def identity_of(settings: Settings) -> str:
    """Return one line with a journal's identity and location. No file is created, and no database opened."""
    if settings.journal is not None:
        return line_of("in_database", location=location_of(settings.journal))
    if has_none_yet(settings):
        return line_of("none_yet", path=folder_of(settings) / FILE)
    with Journal(settings) as journal:
        return f"{journal.id}  ({journal.path})"
