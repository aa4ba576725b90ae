"""`bktools journal`: which journal it is, whether it is whole, and how another one belongs to it."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import bktools
from bktools.cli.exits import Exit
from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.journal.writing import open_for_writing

ENTRY = "123e4567-e89b-42d3-a456-426614174000"


@pytest.fixture
def sent(sandbox, run):
    """One batch that was accepted, sent to the sandbox as to any service."""
    entries = pd.DataFrame({"id": [ENTRY], "company_id": [sandbox.server.company_id]})
    with bktools.connect() as service:
        bktools.submit_export_jobs(bktools.compose_export_jobs(entries), apply=True, service=service)
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


def test_a_backup_of_another_journal_is_refused(run, sent, tmp_path):
    """A file of another service, or of another journal, changes nothing."""
    with (
        bktools.connect("https://books.example.com", token="t") as other,
        open_for_writing(other.settings) as journal,
    ):
        journal.backup(tmp_path / "other.sqlite")
    with pytest.raises(JournalError, match=r"is the journal of https://books\.example\.com"):
        run("journal restore other.sqlite --by Ada")
    (tmp_path / "broken.sqlite").write_bytes(b"no journal" * 500)
    with pytest.raises(StorageError, match="damaged"):
        run("journal restore broken.sqlite --by Ada")
    assert run("journal verify")[0] == Exit.DONE
