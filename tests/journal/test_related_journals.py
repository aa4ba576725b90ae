"""Several journals in one data folder: what a person says of two of them is kept in both."""

from __future__ import annotations

import re
import shutil

import pytest

from bktools.errors import JournalError, StorageError
from bktools.export.plan import BatchRequest
from bktools.journal.journal import Journal
from bktools.journal.related_journals import ELSEWHERE, FILE
from bktools.journal.undelivered import Answer
from bktools.settings import load_settings

COMPANIES = ["9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d", "123e4567-e89b-42d3-a456-426614174000"]
HOSTS = ["https://one.example.com", "https://two.example.com"]


ENTRY = "00000000-0000-4000-8000-000000000007"


def send(settings, company: str, batch_id: str, entry: str, answer: Answer) -> None:
    """Send a batch of one entry, with this answer."""
    with Journal(settings) as journal, journal.sending(company):
        journal.claim([BatchRequest(batch_id, company, [entry], b"{}")], "plan")
        journal.begin(batch_id)
        journal.settle(batch_id, answer)


@pytest.fixture
def both(tmp_path):
    """The settings of two addresses in one data folder; each has sent for a company of its own."""
    settings = [load_settings(host, env={}, data_dir=tmp_path / "d", sent_log_dir=tmp_path / "m") for host in HOSTS]
    for number, company in enumerate(COMPANIES):
        entry = f"00000000-0000-4000-8000-{number:012d}"
        send(settings[number], company, f"batch-{number}", entry, Answer("ACCEPTED", "said", job_id=entry))
    return settings


@pytest.mark.parametrize(("relation", "same"), [("same", 1), ("other", 0)])
def test_what_a_person_says_is_kept_in_both(both, relation, same):
    """Either journal knows the other one as the same service, whose right to send it takes too, or as another one."""
    with Journal(both[1]) as journal:
        assert journal.related.folders_of_same() == []
        said = journal.related.say(HOSTS[0], relation, "Ada")
        assert said.startswith(HOSTS[0])
    for settings, other in (both, both[::-1]):
        with Journal(settings) as journal:
            assert journal.related.folders_of_same() == [other.state_dir] * same
            (row,) = journal.rows("SELECT relation, said_by FROM other_journals")
            assert (row["relation"], row["said_by"]) == (relation, "Ada")


def test_the_other_journals_are_closed_with_their_own(both):
    """No file of another journal stays open: Windows lets nobody move or restore one that is."""
    with Journal(both[1]) as journal:
        assert len(journal.related.all()) == len(journal.related._open) == 1
        (other,) = journal.related._open.values()
    assert journal.related._open == {}
    with pytest.raises(StorageError, match="closed"):
        other.rows("SELECT 1 AS one")


def test_what_another_journal_of_the_service_has_in_doubt_blocks_its_company(both):
    """The message names the batch, its state and the journal where it is to be resolved."""
    with Journal(both[1]) as journal:
        journal.related.say(HOSTS[0], "same", "Ada")
    send(both[0], COMPANIES[0], "doubt", ENTRY, Answer("UNKNOWN", "no answer"))
    with Journal(both[1]) as journal:
        assert f"batch doubt is UNKNOWN in {HOSTS[0]}" in journal.related.obstacle(COMPANIES[0])


def test_an_old_copy_of_another_journal_of_the_service_blocks_the_company(both, tmp_path):
    """Whether it was in its place before, or was put there after the journal was opened."""
    path, copy = both[0].state_dir / FILE, tmp_path / "copy.sqlite"
    shutil.copy(path, copy)
    with Journal(both[1]) as journal:
        journal.related.say(HOSTS[0], "same", "Ada")
    send(both[0], COMPANIES[0], "later", ENTRY, Answer("ACCEPTED", "said", job_id=ENTRY))
    with Journal(both[1]) as journal:
        assert journal.related.obstacle(COMPANIES[0]) == ""
        copy.replace(path)
        with pytest.raises(JournalError, match="moved or replaced while it was open"):
            journal.related.obstacle(COMPANIES[0])
    with Journal(both[1]) as journal, pytest.raises(JournalError, match="is an old copy"):
        journal.related.obstacle(COMPANIES[0])


def test_an_entry_that_another_journal_beside_sent_is_an_obstacle(both):
    """Also for another company, and before a person said how the two journals belong together."""
    batch = BatchRequest("again", COMPANIES[1], ["00000000-0000-4000-8000-000000000000"], b"{}")
    with Journal(both[1]) as journal:
        assert "are in batch batch-0 of" in journal.obstacle(batch)


def test_an_address_that_cannot_be_recorded_is_one_clear_error(both, tmp_path):
    """A new address whose folder cannot hold the name of the journal is named, and keeps its own journal."""
    third = load_settings("https://three.example.com", env={}, data_dir=tmp_path / "d", sent_log_dir=tmp_path / "m")
    with Journal(third) as journal:
        (third.state_dir / ELSEWHERE).mkdir()
        with pytest.raises(StorageError, match=str(third.state_dir)):
            journal.related.say(HOSTS[0], "same", "Ada")
    with pytest.raises(StorageError, match=f"{ELSEWHERE} cannot be read"):
        Journal(third)


def test_a_journal_that_sent_for_the_company_is_asked_about(both):
    """The question names the company, the other address, and both answers as commands."""
    said = f"company {COMPANIES[0]} was exported before from {HOSTS[0]} .* --same {HOSTS[0]} .* --other {HOSTS[0]}"
    with Journal(both[1]) as journal:
        assert re.search(said, journal.related.obstacle(COMPANIES[0]))


@pytest.mark.parametrize("name", ["nobody", "https://books example.com", "https://[::1", "https://books.example.com:x"])
def test_a_name_is_that_of_one_journal(both, tmp_path, name):
    """Of several journals the named one alone is meant; a name of none of them is refused, with those there are."""
    third = load_settings("https://three.example.com", env={}, data_dir=tmp_path / "d", sent_log_dir=tmp_path / "m")
    with Journal(third) as journal:
        with pytest.raises(JournalError, match=f"{re.escape(repr(name))} .* 0 journals.*{HOSTS[1]}"):
            journal.related.say(name, "other", "Ada")
        journal.related.say(HOSTS[1], "other", "Ada")
        wanted = [other.id for other in journal.related.all() if HOSTS[1] in other.addresses]
        assert [row["journal_id"] for row in journal.rows("SELECT journal_id FROM other_journals")] == wanted
