"""Keeps the journal of an environment whose address or name changes; a person accepts the change once."""

from __future__ import annotations

from pathlib import Path

from bktools import disk
from bktools.contract import rules
from bktools.errors import ConfigurationError
from bktools.journal.folders import FILE
from bktools.journal.journal import Journal
from bktools.journal.memory import MEMORY, read_memory, remember
from bktools.journal.records import now, this_user
from bktools.journal.sentences import line_of, refusal
from bktools.journal.sqlite import File
from bktools.journal.writable import WritableJournal
from bktools.settings import Settings, folder_name_of, name_of

# What a person changes here is not asked.
_CHANGED = ("another_environment", "another_address", "another_name")


def changed_address(settings: Settings) -> tuple[str, str] | None:
    """Return the address in the environment's journal and the present one; None where they are equal."""
    with Journal(settings) as journal:
        before = journal.origin()["address"]
    return None if before == settings.identity else (before, settings.identity)


def accept_address(settings: Settings) -> tuple[str, str] | None:
    """Record that the environment has another address from now on; return both, None where nothing changed.

    Raises
    ------
    JournalError
        When this is not the right journal, or the new address has a journal of its own; nothing was recorded.
    """
    with WritableJournal(settings) as journal:
        before, after = journal.origin()["address"], settings.identity
        if before == after:
            return None
        facts = {"address": after, "before": before}
        with journal.right_transaction(but=("another_address",)) as connection:
            journal.record(connection, "address_accepted", person=this_user(), facts=facts)
        journal.remember()
    return before, after


def rename(settings: Settings, old: str, *, by: str) -> str:
    """Give the journal of an environment the name that the settings have; return where it is.

    Its address may have changed, too. Safe to run again after a kill. For a database, each machine of the
    team runs it once for its own folders.

    Raises
    ------
    ConfigurationError
        When both names are the same, or the sandbox is one of them.
    JournalError
        When no journal has the old name, both names have one, or it is not the right one; nothing was
        changed.
    """
    by = rules.a_name("by", by)
    old, new = name_of(old), name_of(settings.environment)
    if old == new or settings.is_sandbox or old == "sandbox":
        raise ConfigurationError(line_of("no_such_names", old=old, new=new))
    roots = (settings.data_dir, settings.sent_log_dir)
    data, machine = (root / folder_name_of(new) for root in roots)
    before = roots[0] / folder_name_of(old)
    if settings.journal is None and not ((data / FILE).exists() or (before / FILE).exists()):
        raise refusal("no_journal_to_rename", old=old, folder=settings.data_dir)
    if before.exists() and (_has_batches(data / FILE) or read_memory(machine).companies):
        raise refusal("exported_under_both", old=old, new=new)
    for root in roots:
        _rename(root / folder_name_of(old), root / folder_name_of(new))
    if read_memory(machine).environment == old:
        # The file's location changes with the folder's name.
        moved = {} if settings.journal is not None else {"location": str(settings.state_dir / FILE)}
        remember(machine, environment=new, **moved)
    with WritableJournal(settings) as journal:
        origin = journal.origin()
        if origin["environment"] not in {old, new}:
            raise refusal("of_another_name", location=journal.location, old=old, **origin)
        with journal.right_transaction(but=_CHANGED) as connection:
            if origin != {"environment": new, "address": settings.identity}:
                facts = {"environment": new, "address": settings.identity, "before": old}
                journal.record(connection, "environment_renamed", person=by, facts=facts)
        journal.remember()
        return journal.location


def _has_batches(path: Path) -> bool:
    if not path.exists():
        return False
    with File(path) as file:
        return file.row("SELECT 1 AS one FROM batches LIMIT 1") is not None


def _rename(old: Path, new: Path) -> None:
    """Rename a folder. One that has the new name, with which nothing was exported, is put aside."""
    if not old.exists():
        return
    with disk.storage_errors(new):
        if new.exists():
            # Its memory is none of another environment.
            (new / MEMORY).unlink(missing_ok=True)
            new.rename(new.with_name(f"{new.name}-unused-{now():%Y%m%dT%H%M%S%f}"))
        old.rename(new)
        disk.folder_to_disk(new.parent)
