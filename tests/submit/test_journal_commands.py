"""`bktools journal`: which journal it is, whether it is whole, and how another one belongs to it."""

from __future__ import annotations

import re

import pytest
from entries_by_hand import entries_of, submit

import bktools
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.journal.writing import open_for_writing


@pytest.fixture
def sent(sandbox, run):
    """One batch that was accepted, sent to the sandbox as to any service."""
    with bktools.connect() as service:
        submit(entries_of(sandbox.server.company_id, 1), service)
        yield service


def test_it_shows_which_journal_is_used(run, sent):
    """Identity, file, address and the states of batches, without a request to the service."""
    code, said = run("journal")
    with open_for_writing(sent.settings) as journal:
        assert (code, journal.id in said, str(journal.path) in said) == (Exit.DONE, True, True)
    assert re.search(r"address +http://localhost:\d+\n", said)
    assert re.search(r"ACCEPTED +1\n", said)


def test_there_must_be_something_to_restore(run):
    """Without journal, backup and sent log there is nothing to go on with, and nothing is made."""
    with pytest.raises(StorageError, match=r"the backup missing\.sqlite was not found"):
        run("journal restore missing.sqlite --by Ada")
    with pytest.raises(JournalError, match="no sent log was found"):
        run("journal restore --by Ada")


def test_who_restores_or_says_something_is_named(run, sent):
    """A change that a person answers for needs the person's name."""
    with pytest.raises(ArgumentError, match="--by must be given"):
        run("journal restore")
    with pytest.raises(ArgumentError, match="--by must be given"):
        run(f"journal rename other {sent.settings.base_url}")
