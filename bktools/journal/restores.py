"""`restore`: one command of one person after a journal was restored ends the stop.

From then on only what a ledger of a later day, or a person on a later day, shows not to be booked is sent
(`right_journal.needs_ledger_since`). Nothing is joined: the copy stays as it is, and the sent log of this
machine lists the batches that it lacks.
"""

from __future__ import annotations

import secrets
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bktools import disk
from bktools.contract import rules
from bktools.errors import StorageError
from bktools.journal import clock
from bktools.journal.folders import FILE, RESTORE, command_for, environment_of, folder_of, origin_of
from bktools.journal.lock import sending_for
from bktools.journal.memory import remember
from bktools.journal.records import File
from bktools.journal.right_journal import STOPS
from bktools.journal.sent_log import SentLine
from bktools.journal.sentences import line_of, refusal
from bktools.journal.sqlite import COMPANIONS, remove_with_companions
from bktools.journal.writable import WritableJournal
from bktools.settings import Settings


@dataclass(frozen=True)
class Restored:
    """The result of a restore."""

    # The journal's file, or its database.
    location: str
    # New path of the replaced file.
    set_aside: Path | None
    # What this machine sent and the journal does not have.
    missing: tuple[SentLine, ...]


def restore(settings: Settings, source: Path | None, *, by: str, evidence: str) -> Restored:
    """Put a backup in the place of the journal's file, or go on with the journal as it is.

    A database is restored with its own programs before. Safe to run again after a kill. When a copy is
    refused, nothing was changed.

    Parameters
    ----------
    settings : Settings
        The environment.
    source : Path, optional
        The backup; by default the present file or database, or an empty one where it is lost.
    by : str
        The person.
    evidence : str
        Why this journal is the right one: where it comes from, and who else was asked.
    """
    by, evidence = rules.a_name("by", by), rules.evidence("evidence", evidence)
    set_aside = None
    if source is not None:
        if settings.journal is not None:
            raise refusal("restored_elsewhere", command=command_for(environment_of(settings), RESTORE))
        set_aside = _put_in_place(settings, source)
    with WritableJournal(settings, may_forget=True) as journal, ExitStack() as stack:
        for company_id in journal.companies():
            stack.enter_context(journal.lock(company_id))
        # Who restores may use the journal in the place of any other one, but not of another service.
        restored = (*STOPS, "another_journal", "stopped", "history_left_in_file", "another_computer")
        facts = {"restore": secrets.token_hex(8), "replaces": journal.memory().journal, "evidence": evidence}
        facts |= {"database": journal.token()}
        # The memory of another computer becomes one of this computer.
        journal.machine = remember(journal.folder).machine
        with journal.right_transaction(but=restored) as connection:
            missing = tuple(journal.record_lost(connection))
            journal.record(connection, "restored", person=by, facts=facts)
        journal.remember()
    return Restored(journal.location, set_aside, missing)


def _put_in_place(settings: Settings, source: Path) -> Path | None:
    """Copy a backup, check the whole copy, and rename it; return the new path of the replaced file."""
    if not source.is_file():
        raise StorageError(line_of("backup_not_found", source=source))
    folder = disk.private_folder(folder_of(settings))
    path, made = folder / FILE, folder / f"journal-restored-{secrets.token_hex(8)}.sqlite"
    try:
        with disk.storage_errors(made):
            for suffix in ("", *COMPANIONS):
                beside = source.with_name(source.name + suffix)
                # SQLite rebuilds the index of its log (-shm).
                if suffix != "-shm" and beside.exists():
                    shutil.copyfile(beside, made.with_name(made.name + suffix))
        with File(made, str(source)) as file:
            _require_own(file, source, settings)
            companies = file.companies()
        with ExitStack() as stack:
            for company_id in companies:
                stack.enter_context(sending_for(folder, company_id))
            return _rename(made, path)
    finally:
        remove_with_companions(made)


def _require_own(file: File, source: Path, settings: Settings) -> None:
    """Refuse a damaged copy, one of another service, and one whose history is in a database."""
    if faults := file.damage():
        raise StorageError(line_of("file_damaged", location=source, fault=faults[0]))
    origin, asked = file.origin(), origin_of(settings)
    if origin["environment"] != asked["environment"] and origin["address"] != asked["address"]:
        about = {f"asked_{name}": value for name, value in asked.items()}
        raise refusal("of_another_service", location=source, **origin, **about)
    if moved := file.about("moved_to"):
        raise refusal("moved", location=source, to=moved)


def _rename(made: Path, path: Path) -> Path | None:
    """Rename a copy to the journal's path; keep the replaced file and its companions under another name."""
    replaced = path.with_name(f"journal-replaced-{clock.now():%Y%m%dT%H%M%S%f}.sqlite")
    set_aside = replaced if path.exists() else None
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
