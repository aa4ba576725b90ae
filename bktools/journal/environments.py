"""Keeps the journal of an environment whose address changes; a person accepts the change once."""

from __future__ import annotations

from bktools.journal.records import this_user
from bktools.journal.writable import WritableJournal
from bktools.settings import Settings


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
