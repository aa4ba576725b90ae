"""A backup of the journal goes back: what it lacks is in doubt, and nothing is left over."""

from __future__ import annotations

import pytest

from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.export.plan import BatchRequest
from bktools.journal.journal import Journal
from bktools.journal.marks import at_risk
from bktools.journal.restore import restore
from bktools.settings import load_settings

COMPANY = "9b2f9a3e-3f0c-4d62-8f0e-0d6f3a1c2b4d"
ENTRY = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def settings(tmp_path):
    return load_settings("https://books.example.com", env={}, data_dir=tmp_path / "data", marks_dir=tmp_path / "marks")


def send(journal, name: str, state: str = "ACCEPTED") -> bytes:
    """Send a batch of one entry, and return its body."""
    entry = f"00000000-0000-4000-8000-{int(name):012d}"
    body = f'{{"accountingEntryIds": ["{entry}"], "companyId": "{COMPANY}"}}'.encode()
    with journal.sending(COMPANY):
        journal.claim([BatchRequest(name, COMPANY, [entry], body)], "plan")
        journal.begin(name)
        journal.settle(name, state, "said", job_id=entry if state == "ACCEPTED" else None)
    return body


@pytest.fixture
def kept(settings, tmp_path):
    """A backup with two batches, and a journal that sent three more, of which one was refused."""
    with Journal(settings) as journal:
        for name in "12":
            send(journal, name)
        journal.backup(tmp_path / "kept.sqlite")
        for name, state in zip("345", ["ACCEPTED", "REJECTED", "ACCEPTED"], strict=True):
            send(journal, name, state)
    return tmp_path / "kept.sqlite"


def test_only_what_the_backup_lacks_is_in_doubt(settings, kept):
    """Of the batches that were sent after the backup, those that may have been booked are in doubt, with their bodies."""
    done = restore(settings, kept, by="Ada")
    assert done.in_doubt == ("3", "5")
    assert done.set_aside is not None
    assert done.set_aside.exists()
    with Journal(settings) as journal:
        states = {row["batch_id"]: row["state"] for row in journal.rows("SELECT batch_id, state FROM batches")}
        assert states == {"1": "ACCEPTED", "2": "ACCEPTED", "3": "UNKNOWN", "5": "UNKNOWN"}
        (event,) = journal.rows("SELECT message, done_by FROM events WHERE after = 'restored'")
        assert (event["message"], event["done_by"]) == ("2 batches were sent after the copy", "Ada")
        assert journal.problems() == []
        marks = journal.marks.of_all()[COMPANY]
        assert [mark.batch_id for mark in at_risk(marks)] == ["1", "2", "3", "5"]
        assert (marks[-1].batch_id, marks[-1].state) == ("5", "UNKNOWN")
    assert restore(settings, kept, by="Ada").in_doubt == ("3", "5"), "the same backup once more"


def test_a_whole_journal_that_is_restored_stays_as_it_is(settings, kept):
    """Where nothing is missing, no batch is in doubt and no line is added to the marks."""
    with Journal(settings) as journal:
        before = journal.marks.of_all()
    assert restore(settings, None, by="Ada").in_doubt == ()
    with Journal(settings) as journal:
        assert journal.marks.of_all() == before
        assert journal.state_of("4")["state"] == "REJECTED"


def test_a_refused_backup_leaves_nothing_behind(settings, kept, tmp_path):
    """A backup that is refused changes nothing: neither the journal nor the files in its folder."""
    (tmp_path / "broken.sqlite").write_bytes(b"no journal" * 500)
    other = load_settings("https://other.example.com", env={}, data_dir=tmp_path / "o", marks_dir=tmp_path / "m")
    with Journal(other) as journal:
        send(journal, "9")
        journal.backup(tmp_path / "other.sqlite")
    folder = settings.state_dir
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name, error in (("broken", StorageError), ("other", JournalError), ("missing", StorageError)):
        with pytest.raises(error):
            restore(settings, tmp_path / f"{name}.sqlite", by="Ada")
        assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_who_restores_must_be_named(settings):
    """A name of blanks is none; the argument is named and nothing is made."""
    with pytest.raises(ArgumentError, match="by must be the name of the person"):
        restore(settings, None, by=" ")
    assert not settings.state_dir.exists()


def test_what_waited_with_entries_that_were_sent_later_is_withdrawn(settings, tmp_path):
    """A batch that waits in the backup and whose entry went out in a later one is released, and says in which."""
    body = f'{{"accountingEntryIds": ["{ENTRY}"], "companyId": "{COMPANY}"}}'.encode()
    with Journal(settings) as journal:
        journal.claim([BatchRequest("waiting", COMPANY, [ENTRY], body)], "plan")
        journal.backup(tmp_path / "kept.sqlite")
        with journal.sending(COMPANY):
            journal.claim([BatchRequest("later", COMPANY, [ENTRY], body)], "plan")
            journal.begin("later")
            journal.settle("later", "ACCEPTED", "said", job_id=ENTRY)
    assert restore(settings, tmp_path / "kept.sqlite", by="Ada").in_doubt == ("later",)
    with Journal(settings) as journal:
        waiting = journal.state_of("waiting")
    assert (waiting["state"], waiting["message"]) == ("RELEASED", "its entries were sent in batch later")
