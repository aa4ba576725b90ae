"""Opens a journal: to write, after it was compared with what this machine knows, or to read.

The journal of an environment whose address changes is kept; a person accepts the change once.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.journal.attempts import deliver, recover_free
from bktools.journal.journal import Journal
from bktools.journal.memory import remember
from bktools.journal.records import this_user
from bktools.journal.right_journal import is_new_restore, require_right
from bktools.journal.sent_log import lines_from
from bktools.journal.writable import WritableJournal
from bktools.settings import Settings

log = logging.getLogger("bktools")


def open_for_writing(settings: Settings) -> WritableJournal:
    """Open a journal, ask whether it is the right one, and recover what killed senders left.

    Nothing is written before it was asked. A machine without a memory is written down as a newcomer where the
    journal has exports.

    Raises
    ------
    StorageError
        When the file cannot be opened or written, or is damaged.
    JournalError
        When it is not the right journal, see `right_journal`.
    """
    journal = WritableJournal(settings)
    try:
        with journal.right_transaction() as connection:
            journal.machine = remember(journal.folder).machine
            if is_new_restore(journal):
                journal.record_lost(connection)
            is_newcomer = not journal.memory().journal and not settings.is_sandbox
            if is_newcomer and journal.has_exports():
                journal.record(connection, "joined")
        deliver(journal)
        recover_free(journal)
        journal.remember()
    except BaseException:
        journal.close()
        raise
    return journal


def open_up_to_date(settings: Settings) -> Journal:
    """Open a journal to read it, after this machine has written what the journal lacks of it, if it may.

    That is what killed senders left, answers in its sent log, and after a restore, what it sent before that.
    A wrong journal is opened with a warning: it can be read, and nothing is written to it.
    """
    journal = WritableJournal(settings)
    try:
        sql = "SELECT 1 AS one FROM batches WHERE state = 'SENDING' LIMIT 1"
        has_answers = bool(lines_from(journal.folder, journal.memory().delivered)[0])
        if journal.row(sql) or has_answers or is_new_restore(journal):
            open_for_writing(settings).close()
        elif journal.memory().journal:
            # What was seen is remembered also where nothing is written.
            require_right(journal)
            with suppress(StorageError, JournalBusyError):
                journal.remember()
    except JournalError as error:
        log.warning("%s", error)
    except BaseException:
        journal.close()
        raise
    return journal


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
