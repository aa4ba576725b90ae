"""The journal, to write: a change is in a transaction that first asks for the right journal.

The outcome of a request is written in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from bktools.errors import JournalError
from bktools.journal import clock
from bktools.journal.database import Connection
from bktools.journal.journal import LOST, Journal
from bktools.journal.memory import Memory, remember, see
from bktools.journal.records import Facts, dumped
from bktools.journal.right_journal import STOPS, require_right, stopped
from bktools.journal.schema import LIVE_STATES, texts
from bktools.journal.sent_log import SentLine
from bktools.settings import Settings


class WritableJournal(Journal):
    """A journal that may be written; `bktools.journal.writing.open_for_writing` returns it."""

    def __init__(self, settings: Settings, *, may_forget: bool = False) -> None:
        super().__init__(settings, may_forget=may_forget)
        self.machine = self.memory().machine or None

    def another_connection(self) -> WritableJournal:
        """Open this journal once more for another thread."""
        return WritableJournal(self.settings)

    @contextmanager
    def right_transaction(self, *, but: Iterable[str] = ()) -> Iterator[Connection]:
        """Yield a transaction of the right journal; raise `JournalError` where this is another one.

        A journal that lacks what this machine has seen is stopped for everybody who opens it. The codes in
        `but` are not asked.
        """
        try:
            with self.transaction() as connection:
                require_right(self, but=but)
                yield connection
        except JournalError as error:
            if error.code in STOPS:
                self._stop(error.code)
            raise

    def _stop(self, code: str) -> None:
        with self.transaction() as connection:
            if stopped(self) is not None:
                return
            self.machine = self.machine or remember(self.folder).machine
            missing = [line.batch_id for line in self.record_lost(connection)]
            self.record(connection, "stopped", facts={"condition": code, "missing": missing})

    def record_lost(self, connection: Connection) -> list[SentLine]:
        """Write what this machine sent and the journal lacks, once; return all of it.

        So these entries wait for a look whatever their date is, and for everybody who uses the journal.
        """
        for line in self.missing_batches(unrecorded=True):
            facts = {"sent_at": line.at, "entries": line.entry_ids}
            about = {"company_id": line.company_id, "batch_id": line.batch_id, "attempt": line.attempt}
            self.record(connection, LOST, facts=facts, **about)
        return self.missing_batches()

    @contextmanager
    def recording(self, company_id: str) -> Iterator[Connection]:
        """Yield a transaction about a company, under its lock."""
        with self.lock(company_id):
            with self.right_transaction() as connection:
                yield connection
            self.remember()

    def remember(self, *, sent_for: str | None = None) -> Memory:
        """Write the newest event to this machine's memory, and a company for which it sends."""
        last, restored = self.last_event(), self.newest("restored")
        memory = see(
            self.folder,
            journal=self.id,
            location=self.location,
            event=last["event_id"],
            digest=last["digest"],
            at=last["at"],
            restore=restored.facts["restore"] if restored else "",
            sent_for=sent_for,
            **self.origin(),
        )
        self.machine = memory.machine
        return memory


def change_batch(
    journal: Journal,
    connection: Connection,
    batch_id: str,
    before: tuple[str, ...],
    state: str,
    code: str,
    facts: Facts,
    *,
    of_attempt: str | None = None,
    by: str | None = None,
    **values: str | None,
) -> bool:
    """Compare and set the state of a batch, write its event, and free or take its entries.

    Nothing is changed, and False returned, where the batch is in none of the states `before`, or `of_attempt`
    is not its newest attempt. Call it in the transaction that decided.
    """
    row: dict[str, Any] = {"state": state, "code": code, "facts": dumped(facts), "resolved_by": by}
    row |= {"settled_at": None if state in {"PLANNED", "SENDING"} else clock.now().isoformat(), **values}
    names = ", ".join(f"{name} = ${number}" for number, name in enumerate(row, 3))
    sql = (
        f"UPDATE batches SET {names} WHERE batch_id = $1 AND state IN ({texts(before)}) "
        "AND (CAST($2 AS TEXT) IS NULL OR attempt = $2) RETURNING company_id, attempt"
    )
    changed = [*connection.execute(sql, [batch_id, of_attempt, *row.values()])]
    if not changed:
        return False
    sql = "UPDATE batch_entries SET live = $2 WHERE batch_id = $1 AND live <> $2"
    connection.execute(sql, [batch_id, int(state in LIVE_STATES)])
    about = {"company_id": changed[0]["company_id"], "attempt": changed[0]["attempt"]}
    journal.record(connection, code, state=state, batch_id=batch_id, person=by, facts=row["facts"], **about)
    return True
