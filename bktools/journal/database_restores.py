"""Restores of a shared database: a machine notices one by what it has seen; each that sent confirms it once.

A database that was restored, rolled back or failed over may lack what was sent since. Whatever suggests that
stops all writing: another server, timeline or table, or a gap before what this machine has seen or sent.
Every machine that meets it is written down. From then on a company's entries are sent when every machine that
is known to have sent has confirmed the restore, which completes the database with what its sent log holds. A
machine that is gone is waived by a person, for a company and either the dates that the person looked up or
the entries that a ledger does not hold. All of these are events.
"""

from __future__ import annotations

import datetime as dt
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bktools.caller import in_shell
from bktools.contract import rules
from bktools.errors import ArgumentError, JournalBusyError, JournalError, StorageError
from bktools.journal.entry_data import Dated
from bktools.journal.postgres import Postgres
from bktools.journal.records import Connection, Records, Row, loaded, named, this_user
from bktools.journal.sent_log import Seen, SentLog

log = logging.getLogger("bktools")

NOTICED, MET, CONFIRMED, WAIVED = "restore_noticed", "restore_met", "restore_confirmed", "restore_waived"

_EVENTS = f"""
    SELECT at, code, company_id, facts FROM events
    WHERE code IN ('{NOTICED}', '{MET}', '{CONFIRMED}', '{WAIVED}', 'upgraded') ORDER BY event_id
"""
_SENDERS = "SELECT DISTINCT login, machine FROM events WHERE code = 'sending'"

# A machine that sent: its login, and the identity of its sent log (null in what version 0 moved from a file).
Sender = tuple[str | None, str | None]


@dataclass(frozen=True)
class _Restores:
    """What the events say of the restores of a database."""

    # The last restore, "" for none, and when it was noticed (ISO 8601, UTC).
    last: str
    noticed_at: str
    # The database when that one was noticed, or when it was created, and before an upgrade.
    databases: frozenset[str]
    # The machines that sent, as these events name them.
    senders: frozenset[Sender]
    # The machines that met the last restore, and those that confirmed it.
    met: frozenset[str | None]
    confirmed: frozenset[str | None]
    # Since the last restore: sender, company_id, and begins and ends, or entries.
    waivers: tuple[dict[str, Any], ...]

    def waivers_of(self, sender: Sender, company_id: str) -> list[dict[str, Any]]:
        """Return the waivers of a machine for a company."""
        about = _identity(sender), company_id
        return [each for each in self.waivers if (_identity(each["sender"]), each["company_id"]) == about]


@dataclass(eq=False)
class DatabaseRestores:
    """The restores of one shared database, as this machine and the database know them."""

    records: Records
    database: Postgres
    sent_log: SentLog
    # Completes a command for a message, see `Journal.command`.
    command: Callable[[str], str]

    def see(self, *, anew: bool = False) -> None:
        """Write what this machine sees now, unless it lacks something that this machine has seen."""
        try:
            seen = self.sent_log.seen()
            last, position, restores = self.records.last_event(), self.database.position(), self._restores()
            if not (anew or self._agrees(seen, position, restores)):
                return
            newest = Seen(
                last["event_id"],
                last["digest"],
                position["database"],
                position["flushed"],
                restores.last,
                self._senders(restores, seen),
            )
            self.sent_log.see(newest, anew=anew)
        except (StorageError, JournalError, JournalBusyError) as error:
            # Reading goes on without a sent log, sending does not.
            log.warning("%s", error)

    def is_needed(self) -> bool:
        """Whether this machine has to confirm a restore. The restore and the machine are written down."""
        seen = self.sent_log.seen()
        if self._agrees(seen, self.database.position(), self._restores()) and not self.sent_log.lost():
            return False
        with self.records.transaction() as connection:
            restores, position = self._restores(), self.database.position()
            # Otherwise it is noticed, and this machine has not confirmed it, or was killed meanwhile.
            is_confirmed = {state.restore for state in seen} == {restores.last}
            about: dict[str, Any] = {"sender": self._own(), "senders": self._senders(restores, seen)}
            if position["database"] not in restores.databases or not restores.last or is_confirmed:
                about |= {"restore": secrets.token_hex(8), "database": position["database"]}
                self.records.record(connection, NOTICED, facts=about)
            elif _identity(self._own()) not in restores.met:
                self.records.record(connection, MET, facts=about | {"restore": restores.last})
        return True

    def require(self, company_id: str, entries: Iterable[Dated]) -> None:
        """Refuse to send while this machine has to confirm a restore, or the company waits for others.

        Call it in the transaction that writes the intent, in which no other machine writes.
        """
        is_known = self._agrees(self.sent_log.seen(), self.database.position(), self._restores())
        reason = self.obstacle(company_id, entries) if is_known else self.noticed()
        if reason:
            raise JournalError(reason)

    def is_open(self) -> bool:
        """Whether a restore was noticed that this machine has not confirmed."""
        restores = self._restores()
        return bool(restores.last) and _identity(self._own()) not in restores.confirmed

    def confirm(self, connection: Connection, *, by: str, booked_twice: Sequence[str]) -> None:
        """Write, in a transaction, that this machine completes the restored database with what it knows."""
        restores = self._restores()
        senders = self._senders(restores, self.sent_log.seen())
        facts = {
            "restore": restores.last,
            "sender": self._own(),
            "senders": senders,
            "booked_twice": booked_twice,
        }
        self.records.record(connection, CONFIRMED, person=by, facts=facts)

    def missing(self) -> list[str]:
        """Return the names of the machines that have not confirmed the last restore."""
        return [named(*sender) for sender in self._unconfirmed(self._restores())]

    def waive(
        self, machines: Sequence[str], company_id: str, *, begins: str, ends: str, evidence: str, by: str
    ) -> list[str]:
        """Record that a company does not wait for machines that cannot confirm a restore; return their names.

        `machines` are their names or identities. `evidence` is where a person looked up that none of the
        company's entries dated from `begins` to `ends` is booked; entries with other dates, or without one,
        still wait.
        """
        begins, ends = _day("begins", begins), _day("ends", ends)
        if ends < begins:
            raise ArgumentError("ends", f"must not be before {begins}", ends)
        return self._waived(machines, company_id, {"begins": begins, "ends": ends}, evidence, by)

    def waive_entries(
        self, machines: Sequence[str], company_id: str, entries: Iterable[str], *, evidence: str, by: str
    ) -> list[str]:
        """Record that a company's entries are not in a ledger and wait no longer; return machines' names.

        `entries` are their IDs, and `evidence` says which ledger it is.
        """
        return self._waived(machines, company_id, {"entries": sorted(entries)}, evidence, by)

    def noticed_at(self) -> dt.datetime | None:
        """Return when the last restore was noticed, None without one: a lost machine sent nothing later."""
        restores = self._restores()
        return dt.datetime.fromisoformat(restores.noticed_at) if restores.last else None

    def _waived(
        self, machines: Sequence[str], company_id: str, span: dict[str, Any], evidence: str, by: str
    ) -> list[str]:
        by, evidence = rules.not_blank("by", by), rules.not_blank("evidence", evidence)
        with self.records.transaction() as connection:
            restores = self._restores()
            names = {sender: {named(*sender), _identity(sender)} for sender in self._unconfirmed(restores)}
            waived = [sender for sender in names if names[sender] & {*machines}]
            unknown = {*machines}.difference(*(names[sender] for sender in waived))
            if unknown or not waived:
                raise JournalError(
                    f"nothing was recorded: {', '.join(sorted(unknown)) or 'nobody'} is not among the "
                    f"machines that have not confirmed a restore ({', '.join(self.missing()) or 'none'})"
                )
            for sender in waived:
                facts = {"restore": restores.last, "sender": sender, **span, "evidence": evidence}
                self.records.record(connection, WAIVED, company_id=company_id, person=by, facts=facts)
        return [named(*sender) for sender in waived]

    def obstacle(self, company_id: str, entries: Iterable[Dated]) -> str:
        """Return why some entries of a company cannot be sent after a restore, "" if they can."""
        restores = self._restores()
        waivers = {sender: restores.waivers_of(sender, company_id) for sender in self._unconfirmed(restores)}
        missing = [named(*sender) for sender, of_sender in waivers.items() if not of_sender]
        if missing:
            return (
                f"company {company_id} waits since a restore of the database {self.records.location}: "
                f"{', '.join(missing)} sent with it and did not confirm the restore. Nothing was sent. "
                f"{self._how()} For a machine that is gone: {self._waive(missing, company_id)}"
            )
        outside = sorted(
            {
                date[:10] if date else "without a date"
                for entry_id, date in entries
                if not all(any(_covers(each, entry_id, date) for each in some) for some in waivers.values())
            }
        )
        if outside:
            senders = [named(*sender) for sender in waivers]
            return (
                f"entries of company {company_id} "
                f"({outside[0]}{' and others' if len(outside) > 1 else ''}) may have been sent by "
                f"{', '.join(senders)} before the database {self.records.location} was restored, "
                "and nobody looked those dates up. Nothing was sent. Record it when you have: "
                f"{self._waive(senders, company_id)}"
            )
        return ""

    def _waive(self, senders: Iterable[str], company_id: str) -> str:
        waive = self.command(
            f"journal waive {' '.join(map(in_shell, senders))} --company {in_shell(company_id)}"
        )
        return (
            f'{waive} --from DATE --to DATE --by NAME --evidence "..." '
            "(where you looked up that none of the entries dated from the first to the second day is booked)"
            f", or {waive} --plan PLAN --by NAME "
            "(what export compose --ledger wrote, with a ledger exported since)"
        )

    def noticed(self) -> str:
        """Return why nothing is sent until this machine has confirmed the last restore, and the command."""
        return (
            f"the database of the journal {self.records.location} was restored, copied or failed over: "
            f"it may lack what was sent since. Nothing was sent. {self._how()}"
        )

    def _how(self) -> str:
        return f"Each machine that sent confirms it once: {self.command('journal restore')} --by NAME."

    def _own(self) -> Sender:
        return this_user(), self.sent_log.machine()

    def _agrees(self, seen: Sequence[Seen], position: Row, restores: _Restores) -> bool:
        """Whether this is the database as this machine knows it."""
        return position["database"] in restores.databases and all(
            state.database in restores.databases
            and state.restore == restores.last
            and state.position <= position["inserted"]
            and self.records.digest_at(state.event) == state.digest
            for state in {*seen}
        )

    def _restores(self) -> _Restores:
        events = [(row, loaded(row["facts"])) for row in self.records.rows(_EVENTS)]
        incarnation = self.records.about("incarnation") or ""
        last, noticed_at, databases = "", "", {incarnation}
        for row, facts in events:
            if row["code"] == NOTICED:
                last, noticed_at, databases = facts["restore"], row["at"], {facts["database"]}
            elif row["code"] == "upgraded" and "database_before" in facts:
                # The upgrade made new tables in the same database.
                databases = {incarnation, facts["database_before"]}
        of_last = [(row, facts) for row, facts in events if last and facts.get("restore") == last]
        by_code = {
            code: frozenset(
                _identity(facts["sender"])
                for row, facts in of_last
                if row["code"] in code and "sender" in facts
            )
            for code in ((CONFIRMED,), (NOTICED, MET, CONFIRMED))
        }
        # A batch from a moved file of version 0 has the login of its machine alone.
        logins = frozenset(facts["sender"][0] for row, facts in of_last if row["code"] == CONFIRMED)
        waivers = (
            {"company_id": row["company_id"], **facts, "entries": frozenset(facts.get("entries", ()))}
            for row, facts in of_last
            if row["code"] == WAIVED
        )
        return _Restores(
            last,
            noticed_at,
            frozenset(databases),
            frozenset(tuple(sender) for _, facts in events for sender in facts.get("senders", ())),
            by_code[NOTICED, MET, CONFIRMED],
            by_code[CONFIRMED,] | logins,
            # Version 0 took a waiver without evidence for entries dated later, which proves nothing.
            tuple(waiver for waiver in waivers if waiver["evidence"]),
        )

    def _unconfirmed(self, restores: _Restores) -> list[Sender]:
        if not restores.last:
            return []
        return [
            sender for sender in self._senders(restores, ()) if _identity(sender) not in restores.confirmed
        ]

    def _senders(self, restores: _Restores, seen: Iterable[Seen]) -> tuple[Sender, ...]:
        """Return the machines that sent: those in batches, restore events, the sent log and its memory."""
        sent = {(row["login"], row["machine"]) for row in self.records.rows(_SENDERS)}
        own = {self._own()} if self.sent_log.have_sent() else set[Sender]()
        of_each = {
            _identity(sender): sender
            for sender in sent.union(restores.senders, own, *(state.senders for state in seen))
        }
        return tuple(sorted(of_each.values(), key=lambda sender: (sender[0] or "", sender[1] or "")))


def _covers(waiver: dict[str, Any], entry_id: str, date: str | None) -> bool:
    if waiver["entries"]:
        return entry_id in waiver["entries"]
    # Version 0 had waivers of a company alone.
    begins, ends = waiver.get("begins"), waiver.get("ends", "")
    return not begins or (date is not None and begins <= date[:10] <= ends)


def _day(argument: str, text: str) -> str:
    try:
        return dt.date.fromisoformat(rules.text(argument, text)).isoformat()
    except ValueError:
        raise ArgumentError(argument, "must be a day such as 2026-11-24", text) from None


def _identity(sender: Sequence[str | None]) -> str | None:
    """Return the identity of a machine's sent log; its login where it has none."""
    login, machine = sender
    return machine or login
