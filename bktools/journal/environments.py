"""Keeps the journal of an environment whose address or name changes; a person accepts the change once."""

from __future__ import annotations

import json
from pathlib import Path

from bktools import disk
from bktools.contract import rules
from bktools.errors import ConfigurationError, JournalError
from bktools.journal.folders import FILE, renamed
from bktools.journal.journal import Journal
from bktools.journal.records import this_user
from bktools.journal.sent_log import ABOUT, FOLDER, read_about
from bktools.journal.writing import WritableJournal
from bktools.settings import Settings, folder_name_of, name_of


def changed_address(settings: Settings) -> tuple[str, str] | None:
    """Return the address in the environment's journal and the present one; None where they are equal."""
    with Journal(settings) as journal:
        before = journal.origin()["address"]
    return None if before == settings.identity else (before, settings.identity)


def accept_address(settings: Settings, by: str | None = None) -> tuple[str, str] | None:
    """Record that the environment has another address from now on; return both, None where nothing changed.

    Raises
    ------
    JournalError
        When the journal is an old copy, or the new address has a journal of its own; nothing was recorded.
    """
    with WritableJournal(settings) as journal:
        before, after = journal.origin()["address"], settings.identity
        if before == after:
            return None
        journal.require_current(any_origin=True)
        journal.machine = journal.sent_log.machine()
        with journal.transaction() as connection:
            facts = {"address": after, "before": before}
            journal.record(connection, "address_accepted", person=by or this_user(), facts=facts)
        journal.sent_log.describe()
    return before, after


def rename(settings: Settings, old: str, *, by: str) -> str:
    """Give the journal of an environment the name that the settings have; return where it is.

    Safe to run again after a kill. For a database, each machine of the team runs it once for its own folders.

    Raises
    ------
    ConfigurationError
        When both names are the same, or the sandbox is one of them.
    JournalError
        When no journal has the old name, or both names have one, or it is an old copy; nothing was changed.
    """
    by = rules.not_blank("by", by)
    old, new = name_of(old), name_of(settings.environment)
    if old == new or settings.is_sandbox or old == "sandbox":
        raise ConfigurationError(
            f"{old!r} cannot become {new!r}: give two names of environments, of which none is the sandbox"
        )
    for root in (settings.data_dir, settings.sent_log_dir):
        _rename(root / folder_name_of(old), root / folder_name_of(new))
    for folder in (settings.state_dir / FOLDER, settings.sent_log_dir / folder_name_of(new)):
        about = read_about(folder)
        if about and about["environment"] == old:
            disk.replace_content(folder / ABOUT, json.dumps(about | {"environment": new}, indent=1).encode())
    if settings.journal is None and not (settings.state_dir / FILE).exists():
        raise JournalError(f"there is no journal of {old!r} in {settings.data_dir}: nothing was changed")
    with WritableJournal(settings) as journal:
        if journal.origin()["environment"] not in {old, new}:
            raise JournalError(
                f"the journal {journal.location} belongs to {journal.origin()['environment']!r}, "
                f"not to {old!r}: nothing was recorded"
            )
        journal.require_current(any_origin=True)
        journal.machine = journal.sent_log.machine()
        if journal.origin()["environment"] != new:
            with journal.transaction() as connection:
                facts = {"environment": new, "before": old}
                journal.record(connection, "environment_renamed", person=by, facts=facts)
        if journal.sent_log.journal_in_use():
            journal.sent_log.describe()
        return journal.location


def _rename(old: Path, new: Path) -> None:
    if not old.exists():
        return
    with disk.storage_errors(new):
        if new.exists():
            is_empty = not any(new.rglob("*.sqlite")) and not any(new.rglob("about.json"))
            if not is_empty:
                raise JournalError(
                    f"both {old} and {new} hold a journal or its sent log: nothing was changed"
                )
        renamed(old, new)
