"""Restores of a shared database: a machine notices one by what it has seen, and every machine that sent confirms it.

A database that was restored, rolled back or failed over may lack what was sent since. The first machine that notices it writes
an event, so that all machines know. From then on a company's entries are sent when every machine that is known to have sent
has confirmed the restore, which completes the database with what its sent log holds. A machine that is gone is waived by a
person, for a company: with evidence, or for entries dated after the waiver alone. All of these are events.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bktools.caller import in_shell
from bktools.contract import rules
from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.journal.postgres import Postgres
from bktools.journal.records import Connection, Records, Row, now, record_event, this_user
from bktools.journal.sent_log import Seen, SentLog

log = logging.getLogger("bktools")

# The subject of the events; `subject_id` is a random identity of the restore.
SUBJECT = "restore"

NOTICED = "NOTICED"
CONFIRMED = "CONFIRMED"
WAIVED = "WAIVED"

_EVENTS = "SELECT subject_id, after, message, at FROM events WHERE subject = 'restore' ORDER BY event_id"
_SENDERS = "SELECT DISTINCT split_part(sender, ' process ', 1) AS name FROM batches WHERE sender IS NOT NULL"


@dataclass(frozen=True)
class _Restores:
    """What the events say of the restores of a database."""

    last: str  # the last restore, "" for none
    database: str  # the database when that one was noticed, or when the journal was created
    senders: frozenset[str]  # the machines that sent, as these events name them
    confirmed: frozenset[str]  # the machines that confirmed the last restore
    waivers: tuple[dict[str, str], ...]  # since the last restore: sender, company, evidence ("" for none) and day


@dataclass(eq=False)
class DatabaseRestores:
    """The restores of one shared database, as this machine and the database know them."""

    records: Records
    database: Postgres
    sent_log: SentLog
    # Completes a command for a message, see `Journal.command`.
    command: Callable[[str], str]

    def sender(self) -> str:
        """Return the name of this machine as a sender: its user, and the identity of its sent log."""
        return f"{this_user()}#{self.sent_log.machine()}"

    def see(self, *, anew: bool = False) -> None:
        """Write what this machine sees now, unless it lacks something that this machine has seen."""
        try:
            seen = self.sent_log.seen()
            last, position, restores = self.records.last_event(), self.database.position(), self._restores()
            if not last["event_id"] or not (anew or self._agrees(seen, position, restores)):
                return
            newest = Seen(
                last["event_id"], last["digest"], position["database"], position["flushed"], restores.last,
                self._senders(restores, seen),
            )  # fmt: skip
            self.sent_log.see(newest, anew=anew)
        except (StorageError, JournalBusyError) as error:
            # Reading goes on without a sent log, sending does not.
            log.warning("%s", error)

    def is_needed(self) -> bool:
        """Whether this machine has to confirm a restore; a restore that nobody noticed before is written down."""
        seen = self.sent_log.seen()
        is_known = self._agrees(seen, self.database.position(), self._restores())
        if is_known and not self.sent_log.lost():
            return False
        with self.records.transaction() as connection:
            restores, position = self._restores(), self.database.position()
            # Otherwise it is noticed, and this machine has not confirmed it, or was killed meanwhile.
            is_confirmed = {state.restore for state in seen} == {restores.last}
            if restores.database != position["database"] or not restores.last or is_confirmed:
                state = {"database": position["database"], "senders": self._senders(restores, seen)}
                record_event(connection, SUBJECT, secrets.token_hex(8), None, NOTICED, json.dumps(state))
        return True

    def require(self, company_id: str, dates: Iterable[str | None]) -> None:
        """Refuse to send while this machine has to confirm a restore, or the company waits for others.

        Call it in the transaction that writes the intent, in which no other machine writes.
        """
        is_known = self._agrees(self.sent_log.seen(), self.database.position(), self._restores())
        reason = self.obstacle(company_id, dates) if is_known else self.noticed()
        if reason:
            raise JournalError(reason)

    def confirm(self, connection: Connection, *, by: str, booked_twice: Sequence[str]) -> None:
        """Write, in a transaction, that this machine completes the restored database with what it knows."""
        restores = self._restores()
        senders = self._senders(restores, self.sent_log.seen())
        state = {"sender": self.sender(), "senders": senders, "booked_twice": booked_twice}
        record_event(connection, SUBJECT, restores.last, None, CONFIRMED, json.dumps(state), by)

    def missing(self) -> list[str]:
        """Return the machines that have not confirmed the last restore."""
        return self._unconfirmed(self._restores())

    def waive(self, senders: Sequence[str], company_id: str, *, evidence: str, by: str) -> list[str]:
        """Record that a company does not wait for machines that cannot confirm a restore; return their names.

        `senders` are their names, or the identities at the end of these. `evidence` is where it was looked up that none
        of the entries to be sent is booked; without it, only entries dated after this day are sent.
        """
        by = rules.not_blank("by", by)
        with self.records.transaction() as connection:
            restores = self._restores()
            unconfirmed = self._unconfirmed(restores)
            waived = [name for name in unconfirmed if {name, _identity(name)} & {*senders}]
            unknown = {*senders}.difference(waived, map(_identity, waived))
            if unknown or not waived:
                raise JournalError(
                    f"nothing was recorded: {', '.join(sorted(unknown)) or 'nobody'} is not among the machines that have not "
                    f"confirmed a restore ({', '.join(unconfirmed) or 'none'})"
                )
            # Messages say "after today": the person's calendar may be a day ahead of UTC.
            day = max(f"{moment:%Y-%m-%d}" for moment in (now(), now().astimezone()))
            for name in waived:
                waiver = {"sender": name, "company_id": company_id, "evidence": evidence, "day": day}
                record_event(connection, SUBJECT, restores.last, None, WAIVED, json.dumps(waiver), by)
        return waived

    def obstacle(self, company_id: str, dates: Iterable[str | None]) -> str:
        """Return the reason why a company's entries of some dates cannot be sent after a restore, "" when they can."""
        restores = self._restores()
        waivers = {_identity(said["sender"]): said for said in restores.waivers if said["company_id"] == company_id}
        unconfirmed = self._unconfirmed(restores)
        missing = [name for name in unconfirmed if _identity(name) not in waivers]
        if missing:
            return (
                f"company {company_id} waits since a restore of the database {self.records.location}: "
                f"{', '.join(missing)} sent with it and did not confirm the restore. Nothing was sent. {self._how()} "
                f"For a machine that is gone: {self._waive(missing, company_id)}"
            )
        limited = [said for said in map(waivers.get, map(_identity, unconfirmed)) if said and not said["evidence"]]
        until = max((said["day"] for said in limited), default="")
        if until and any(not date or date[:10] <= until for date in dates):
            senders = [said["sender"] for said in limited]
            return (
                f"entries of company {company_id} dated until {until} may have been sent by {', '.join(senders)} before the database "
                f"{self.records.location} was restored. Nothing was sent. Export those dated later by themselves, or "
                f"record that none of them is booked: {self._waive(senders, company_id)}"
            )
        return ""

    def _waive(self, senders: Iterable[str], company_id: str) -> str:
        waive = self.command(f"journal waive {' '.join(map(in_shell, senders))} --company {in_shell(company_id)}")
        return (
            f'{waive} --by NAME --evidence "..." (where you looked up that none of the entries to send is booked; without '
            "--evidence, only entries dated after today are sent)"
        )

    def noticed(self) -> str:
        """Return the reason why nothing is sent until this machine has confirmed the last restore, and the command."""
        return (
            f"the database of the journal {self.records.location} was restored, copied or failed over: it may lack "
            f"what was sent since. Nothing was sent. {self._how()}"
        )

    def _how(self) -> str:
        return f"Each machine that sent confirms it once: {self.command('journal restore')} --by NAME."

    def _agrees(self, seen: Sequence[Seen], position: Row, restores: _Restores) -> bool:
        """Whether this is the database as this machine knows it."""
        return restores.database == position["database"] and all(
            state.database == position["database"]
            and state.restore == restores.last
            and state.position <= position["inserted"]
            and self.records.digest_at(state.event) == state.digest
            for state in {*seen}
        )

    def _restores(self) -> _Restores:
        events = [(row, json.loads(row["message"])) for row in self.records.rows(_EVENTS)]
        noticed = [(row["subject_id"], said["database"]) for row, said in events if row["after"] == NOTICED]
        last, database = noticed[-1] if noticed else ("", self.records.about("incarnation") or "")
        of_last = [(row, said) for row, said in events if row["subject_id"] == last]
        confirmed = [said["sender"] for row, said in of_last if row["after"] == CONFIRMED]
        return _Restores(
            last,
            database,
            frozenset().union(*(said.get("senders", ()) for _, said in events)),
            # What a moved file sent has the machine's name alone.
            frozenset(name for sender in confirmed for name in (_identity(sender), sender.rpartition("#")[0])),
            tuple({"day": row["at"][:10]} | said for row, said in of_last if row["after"] == WAIVED),
        )

    def _unconfirmed(self, restores: _Restores) -> list[str]:
        if not restores.last:
            return []
        return [name for name in self._senders(restores, ()) if _identity(name) not in restores.confirmed]

    def _senders(self, restores: _Restores, seen: Iterable[Seen]) -> tuple[str, ...]:
        """Return the machines that sent, as batches, events of restores and this machine's sent log and memory name them."""
        sent = {row["name"] for row in self.records.rows(_SENDERS)}
        own = {self.sender()} if self.sent_log.have_sent() else set()
        return tuple(sorted(sent.union(restores.senders, own, *(state.senders for state in seen))))


def _identity(sender: str) -> str:
    """Return the identity of a machine's sent log, from its name as a sender; the name itself where it has none."""
    return sender.rpartition("#")[2]
