"""Restores a backup of the journal, or accepts the present file, with the sent batches that it lacks.

A missing batch is ACCEPTED again where its line in the sent log holds the service's job, otherwise UNKNOWN.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bktools import disk
from bktools.caller import in_shell
from bktools.contract import rules
from bktools.errors import JournalError, StorageError
from bktools.frames.batches import BatchRequest
from bktools.journal.entry_data import NOT_KEPT
from bktools.journal.folders import (
    FILE,
    folder_of,
    journals_of_address,
    origin_of,
    outer_folder,
    take_folder_of_version_0,
    take_sent_log_of_version_0,
)
from bktools.journal.journal import Journal, command_of, refuse_elsewhere
from bktools.journal.lock import sending_for
from bktools.journal.postgres import is_database
from bktools.journal.records import Connection, Records, now
from bktools.journal.sent_log import (
    FOLDER,
    SentLine,
    SentLog,
    another_journal,
    at_risk,
    lost,
    read_about,
    unpacked,
)
from bktools.journal.sqlite import COMPANIONS, File, remove_with_companions
from bktools.journal.writing import WritableJournal, change, insert
from bktools.settings import Settings


@dataclass(frozen=True)
class Restored:
    """The result of a restore."""

    # The journal's file, or its database.
    location: str
    # New path of the replaced file.
    set_aside: Path | None
    # Missing batches that are ACCEPTED again, and UNKNOWN batches.
    accepted: tuple[str, ...]
    in_doubt: tuple[str, ...]
    # A line for each batch of this machine that another one has sent again.
    booked_twice: tuple[str, ...] = ()
    # The other machines that sent with a restored database and have not confirmed it.
    unconfirmed: tuple[str, ...] = ()


def restore(settings: Settings, source: Path | None, *, by: str, evidence: str | None = None) -> Restored:
    """Restore a backup of the journal, accept the present file, or without a file the sent log alone.

    A batch that is in the sent log but not in the copy is ACCEPTED where the sent log holds its job.
    Otherwise it becomes UNKNOWN, unless the sent log shows that nothing was booked, and its company is
    blocked until a person resolves it. Safe to run again after a kill.

    `evidence` is where the person looked for exports after the last one that the copy knows, and found none:
    it is needed where this machine has no sent log. When a copy is refused, nothing was changed.
    """
    by = rules.not_blank("by", by)
    evidence = None if evidence is None else rules.not_blank("evidence", evidence)
    if settings.journal is not None:
        return _go_on(settings, source, by)
    take_folder_of_version_0(settings)
    folder = disk.private_folder(folder_of(settings))
    path, origin = folder / FILE, origin_of(settings)
    made = folder / f"journal-restored-{secrets.token_hex(8)}.sqlite"
    try:
        _copy(source, path, made)
        with File(made, origin, str(source or path)) as file:
            _require_own(file, source or path, settings, folder)
            sent_log = SentLog(folder, outer_folder(settings), file, origin)
            take_sent_log_of_version_0(sent_log, folder, settings, file)
            refuse_elsewhere(sent_log, path, file.id, origin)
            if sent_log.are_known_outside():
                evidence = None
            elif evidence is None:
                _require_evidence(file, source, settings, sent_log)
            to_lock = sorted({*sent_log.of_all(), *file.companies()})
        with ExitStack() as stack:
            for company_id in to_lock:
                stack.enter_context(sending_for(folder, company_id))
            # Read again under the locks: a process may have sent meanwhile.
            companies = sent_log.of_all()
            with File(made, origin, str(source or path)) as file, file.transaction() as connection:
                file.machine = sent_log.machine()
                sent_log.journal = file
                accepted = _complete(file, connection, companies, sent_log, by, evidence)
            set_aside = _put_in_place(made, path)
            with WritableJournal(settings) as journal:
                # After a kill before this the sent log does not match: nothing is sent until a restore is run
                # again.
                _log_newest_event(journal, companies)
                in_doubt = tuple(row["batch_id"] for row in journal.unknown())
    finally:
        remove_with_companions(made)
    return Restored(str(path), set_aside, accepted, in_doubt)


def _go_on(settings: Settings, source: Path | None, by: str) -> Restored:
    """Confirm, for this machine, a database that was restored with its own programs."""
    if source is not None:
        raise JournalError(
            "the journal is a database: nothing was changed; restore it with pg_restore, "
            f"then confirm it with {command_of(settings, 'journal restore')} --by NAME"
        )
    accepted: tuple[str, ...] = ()
    booked_twice: list[str] = []
    with WritableJournal(settings) as journal, ExitStack() as stack:
        confirmations = journal.restores
        assert confirmations is not None
        journal.machine = journal.sent_log.machine()
        # Confirming again, or without anything to add, is right, too.
        if confirmations.is_needed() or confirmations.is_open():
            companies = journal.sent_log.of_all()
            for company_id in sorted({*companies, *journal.companies()}):
                stack.enter_context(journal.sending(company_id))
            booked_twice = list(_sent_twice(journal, companies))
            with journal.transaction() as connection:
                confirmations.confirm(connection, by=by, booked_twice=booked_twice)
                accepted = _complete(journal, connection, companies, journal.sent_log, by)
            _log_newest_event(journal, companies)
            confirmations.see(anew=True)
        in_doubt = tuple(row["batch_id"] for row in journal.unknown())
        missing = tuple(confirmations.missing())
        return Restored(journal.location, None, accepted, in_doubt, tuple(booked_twice), missing)


def _sent_twice(journal: Journal, companies: dict[str, list[SentLine]]) -> Iterator[str]:
    """Yield a line for each batch from this machine that the restored database sent again as another job."""
    for line in _gap(journal, companies):
        entries = json.loads(unpacked(line.body))["accountingEntryIds"] if line.body else []
        for row in journal.holding(entries):
            job_id = row["job_id"] or ""
            # In this very batch, only the answer of another request is another booking.
            is_same = row["batch_id"] == line.batch_id and (
                row["state"] != "ACCEPTED" or job_id == line.job_id
            )
            if row["state"] == "PLANNED" or is_same:
                continue
            yield (
                f"batch {line.batch_id} of company {line.company_id} was sent from here at {line.at[:19]} "
                f"UTC (job {line.job_id or 'unknown'}), and {row['entries']} of its entries again in batch "
                f"{row['batch_id']} (job {job_id or 'unknown'}): look them up in the accounting system, "
                "they may be booked twice"
            )


def _copy(source: Path | None, path: Path, made: Path) -> None:
    """Copy a journal and its companion files without opening the original, which would change it."""
    original = source or path
    if source is not None and not source.is_file():
        raise StorageError(f"the backup {source} was not found: nothing was changed")
    with disk.storage_errors(made):
        for suffix in ("", *COMPANIONS):
            beside = original.with_name(original.name + suffix)
            # SQLite rebuilds the index of its log (-shm).
            if suffix != "-shm" and beside.exists():
                shutil.copyfile(beside, made.with_name(made.name + suffix))


def _require_own(file: File, source: Path, settings: Settings, folder: Path) -> None:
    """Refuse a damaged copy, or one of another journal; an empty copy gets the identity in the sent log."""
    damage = file.damage()
    if damage:
        raise StorageError(f"{source} is damaged: {damage[0]}; nothing was changed")
    origin, asked = file.origin(), origin_of(settings)
    if origin["environment"] != asked["environment"] and origin["address"] != asked["address"]:
        raise JournalError(
            f"{source} is the journal of {origin['environment']} ({origin['address']}), "
            f"not of {asked['environment']} ({asked['address']}): nothing was changed"
        )
    known = (
        read_about(outer_folder(settings))
        or read_about(folder / FOLDER)
        or next(iter(journals_of_address(settings)), {})
    )
    if known and is_database(known["location"]):
        raise another_journal(known, str(folder / FILE))
    has_batches = bool(file.rows("SELECT 1 FROM batches LIMIT 1"))
    if not known and not has_batches and not source.exists():
        raise JournalError(
            f"no journal {source} and no sent log was found: nothing was ever sent with this data folder"
        )
    # Not `file.id`, which is read once: it is the one that the copy has after this.
    own = file.about("id") or ""
    if not known or known["journal"] == own:
        return
    if has_batches:
        raise JournalError(
            f"{source} is journal {own[:8]}, but {known['journal'][:8]} was used here: nothing was changed"
        )
    # A copy without batches becomes a new start of the journal that the sent log names.
    with file.transaction() as connection:
        connection.execute("UPDATE about SET value = ? WHERE name = 'id'", (known["journal"],))


def _gap(file: Records, companies: dict[str, list[SentLine]]) -> list[SentLine]:
    """Return the last line of each batch that is missing in a copy and may have been booked."""
    return [line for lines in companies.values() for line in at_risk(_of_lost_batches(file, lines))]


def _require_evidence(file: File, source: Path | None, settings: Settings, sent_log: SentLog) -> None:
    """Refuse a copy that no sent log proves to be the newest, unless it was never used."""
    sent = file.rows(_NEWEST_SENT)
    if not sent and source is None:
        return
    last = (
        "none" if not sent else "batch {batch_id} of company {company_id}, sent {sent_at}".format(**sent[0])
    )
    again = command_of(settings, f"journal restore {in_shell(str(source))}" if source else "journal restore")
    raise JournalError(
        f"this user of this machine has no log of sent batches ({sent_log.outer}), "
        "so what was sent after the copy is not known, and could be sent again; "
        f"the last export that is known here is {last}: nothing was restored. "
        "Restore the newest backup, or bring the sent log of the lost disk (BKTOOLS_SENT_LOG_DIR). "
        "If the accounting system shows no later export, "
        f'confirm that: {again} --evidence "..." --by NAME. '
        "Later exports must be left out of every plan from then on"
    )


_NEWEST_SENT = """
    SELECT batch_id, company_id, sent_at FROM batches
    WHERE state IN ('SENDING', 'ACCEPTED', 'UNKNOWN') ORDER BY coalesce(sent_at, planned_at) DESC LIMIT 1
"""


def _complete(
    file: Records,
    connection: Connection,
    companies: dict[str, list[SentLine]],
    sent_log: SentLog,
    by: str,
    evidence: str | None = None,
) -> tuple[str, ...]:
    """Add the sent batches that a copy lacks, in one transaction; return the ACCEPTED ones.

    The others become UNKNOWN.
    """
    gap = _gap(file, companies)
    accepted = []
    facts = {"batches": [line.batch_id for line in gap]} | (
        {} if evidence is None else {"evidence": evidence}
    )
    file.record(connection, "restored", person=by, facts=facts)
    for line in gap:
        if _is_put_in_doubt(file, connection, line, sent_log) and _is_proof(file, line):
            # The rule about doubt asks for evidence: it is the sent log's line.
            proof = {"job_id": line.job_id, "at": line.at[:19], "evidence": "sent log"}
            change(
                file,
                connection,
                line.batch_id,
                "ACCEPTED",
                "accepted_again",
                proof,
                job_id=line.job_id,
                settled_at=now().isoformat(),
                settled_by=by,
            )
            accepted.append(line.batch_id)
    return tuple(accepted)


def _is_put_in_doubt(file: Records, connection: Connection, line: SentLine, sent_log: SentLog) -> bool:
    """Write a sent batch as UNKNOWN, unless it is ACCEPTED or others have its entries; return if it is."""
    row = file.row("SELECT state, body FROM batches WHERE batch_id = ?", line.batch_id)
    state: str | None = None if row is None else row["state"]
    if state in {"ACCEPTED", "UNKNOWN"}:
        return state == "UNKNOWN"
    body = _body_of(line, sent_log) if row is None else row["body"]
    # A PLANNED batch with the same entries was withdrawn after the copy was made.
    for row in file.holding(json.loads(body)["accountingEntryIds"]):
        if row["state"] == "PLANNED" and row["batch_id"] != line.batch_id:
            change(
                file,
                connection,
                row["batch_id"],
                "RELEASED",
                "sent_in_another_batch",
                {"batch_id": line.batch_id},
            )
    if state is None:
        free = [row["id"] for row in file.rows(_FREE)]
        if not free:
            return False
        insert(file, connection, BatchRequest(line.batch_id, line.company_id, free, body), line.plan_id)
    else:
        # The batch may have been claimed again after the copy was made.
        file.record(connection, NOT_KEPT, company_id=line.company_id, batch_id=line.batch_id)
        if state in {"REJECTED", "RELEASED"}:
            change(file, connection, line.batch_id, "PLANNED", "planned", {})
    change(
        file, connection, line.batch_id, "UNKNOWN", "sent_after_copy", {"state": line.state}, sent_at=line.at
    )
    return True


def _is_proof(file: Records, line: SentLine) -> bool:
    """Whether a line proves that the service accepted its batch: it holds a job that no other batch has."""
    return (
        line.state == "ACCEPTED" and line.job_id != "" and file.other_with(line.job_id, line.batch_id) is None
    )


# Entries that no other batch holds.
_FREE = "SELECT id FROM wanted WHERE id NOT IN (SELECT entry_id FROM batch_entries WHERE live = 1)"


def _body_of(line: SentLine, sent_log: SentLog) -> bytes:
    """Return the request body of a batch that the copy lacks. Without it, its entries could be sent again."""
    if not line.body:
        files = " and ".join(map(str, sent_log.files_of(line.company_id)))
        raise JournalError(
            f"batch {line.batch_id} of company {line.company_id} was sent before {line.at[:19]} UTC, "
            "and neither this copy nor the sent log has its entries: nothing was changed; "
            "restore a backup that has the batch. Without one, look up in the accounting system which "
            "entries were booked then, leave them out of every further export, "
            f"and delete the lines of batch {line.batch_id} from {files}"
        )
    return unpacked(line.body)


def _of_lost_batches(file: Records, lines: Sequence[SentLine]) -> list[SentLine]:
    """Return all lines of each batch with an event that is missing in the journal."""
    batches = {line.batch_id for line in lost(file, lines)}
    return [line for line in lines if line.batch_id in batches]


def _put_in_place(made: Path, path: Path) -> Path | None:
    """Rename a copy to the journal's path; keep the replaced file and its companions under another name."""
    set_aside = path.with_name(f"journal-replaced-{now():%Y%m%dT%H%M%S%f}.sqlite") if path.exists() else None
    with disk.storage_errors(path):
        for suffix in (*COMPANIONS, ""):
            beside = path.with_name(path.name + suffix)
            if beside.exists() and set_aside is not None:
                disk.replace(beside, set_aside.with_name(set_aside.name + suffix))
            else:
                beside.unlink(missing_ok=True)
        disk.replace(made, path)
        disk.folder_to_disk(path.parent)
    return set_aside


def _log_newest_event(journal: Journal, companies: dict[str, list[SentLine]]) -> None:
    """Append a line with the restored journal's last event for each company whose lines do not match it."""
    journal.sent_log.merge()
    for lines in companies.values():
        for line in _of_lost_batches(journal, lines)[-1:]:
            last = journal.last_event()
            row = journal.state_of(line.batch_id)
            state = line.state if row is None else row["state"]
            anew = replace(
                line, journal=journal.id, event=last["event_id"], digest=last["digest"], state=state
            )
            journal.sent_log.write(anew)
