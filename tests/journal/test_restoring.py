"""A backup of the journal goes back: what it lacks is in doubt, and nothing is left over."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest
from batches import COMPANY, batch, send

from bktools.errors import ArgumentError, JournalError, StorageError
from bktools.export.plan import BatchRequest
from bktools.journal import backups as backups_module
from bktools.journal import sqlite as sqlite_module
from bktools.journal.backups import restore
from bktools.journal.events import events_by_code
from bktools.journal.periods import record_close
from bktools.journal.sent_log import at_risk
from bktools.journal.writing import open_for_writing
from bktools.settings import load_settings


def of_one(name: str) -> BatchRequest:
    """Return a batch of the entry of its number."""
    return batch(name, int(name))


@pytest.fixture
def kept(settings, tmp_path):
    """A backup with two batches, and a journal that sent three more, of which one was refused."""
    with open_for_writing(settings) as journal:
        for name in "12":
            send(journal, of_one(name))
        journal.backup(tmp_path / "kept.sqlite")
        for name, state in zip("345", ["BOOKED", "REJECTED", "BOOKED"], strict=True):
            send(journal, of_one(name), state)
    return tmp_path / "kept.sqlite"


def test_only_what_the_backup_lacks_is_in_doubt(settings, kept):
    """Of the batches that were sent after the backup, those that may have been booked are in doubt."""
    done = restore(settings, kept, by="Ada")
    assert done.in_doubt == ("3", "5")
    assert done.set_aside is not None
    assert done.set_aside.exists()
    with open_for_writing(settings) as journal:
        rows = journal.rows("SELECT batch_id, state FROM batches")
        states = {row["batch_id"]: row["state"] for row in rows}
        assert states == {"1": "ACCEPTED", "2": "ACCEPTED", "3": "UNKNOWN", "5": "UNKNOWN"}
        (event,) = events_by_code(journal, "restored")
        assert (event.facts, event.person) == ({"batches": ["3", "5"]}, "Ada")
        assert journal.problems() == []
        marks = journal.sent_log.of_all()[COMPANY]
        assert [mark.batch_id for mark in at_risk(marks)] == ["1", "2", "3", "5"]
        assert (marks[-1].batch_id, marks[-1].state) == ("5", "UNKNOWN")
    assert restore(settings, None, by="Ada").in_doubt == ("3", "5"), "the restored journal itself"
    with open_for_writing(settings) as journal:
        events = events_by_code(journal, "restored")
    assert [event.facts["batches"] for event in events] == [["3", "5"], []]
    assert restore(settings, kept, by="Ada").in_doubt == ("3", "5"), "the same backup once more"


def test_what_a_mark_proves_is_not_in_doubt(settings, kept):
    """Missing batches whose jobs are in the sent log are ACCEPTED again, and so are doubts that got a job."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("6"))
        send(journal, of_one("7"), "UNKNOWN")
        journal.resolve("7", "ACCEPTED", evidence="in the ERP", by="Eve", job_id="job-7")
        send(journal, of_one("8"), "UNKNOWN")
        path = journal.path
    for times in range(2):
        # The second time everything is lost, and the sent log alone is left.
        done = restore(settings, None if times else kept, by="Ada")
        assert (done.accepted, done.in_doubt) == (tuple("1267" if times else "67"), ("3", "5", "8"))
        with open_for_writing(settings) as journal:
            rows = journal.rows("SELECT batch_id, job_id FROM batches WHERE job_id IS NOT NULL")
            jobs = {name: f"job-{name}" for name in "1267"}
            assert {row["batch_id"]: row["job_id"] for row in rows} == jobs
            events = events_by_code(journal, "accepted_again")
            event = [event for event in events if event.batch_id == "6"][-1]
            assert (event.person, event.facts["job_id"]) == ("Ada", "job-6")
            assert journal.problems() == []
            assert "which is ACCEPTED" in journal.obstacle(batch("9", 6))
        for file in path.parent.glob("*.sqlite*"):
            file.unlink()


def test_what_another_process_sent_meanwhile_is_not_lost(settings, kept, monkeypatch):
    """The sent log is read again under the locks: what was sent after the first look is ACCEPTED again."""
    original = backups_module.sending_for

    def later(*arguments):
        monkeypatch.setattr(backups_module, "sending_for", original)
        with open_for_writing(settings) as journal:
            send(journal, of_one("6"))
        return original(*arguments)

    monkeypatch.setattr(backups_module, "sending_for", later)
    assert restore(settings, kept, by="Ada").accepted == ("6",)
    with open_for_writing(settings) as journal:
        journal.require_current()
        assert journal.state_of("6")["state"] == "ACCEPTED"


def test_what_a_person_says_is_not_written_to_a_file_that_was_replaced(settings, kept, monkeypatch):
    """A restore that ends while somebody waits for the lock is noticed under it: nothing is recorded."""
    original = sqlite_module.sending_for

    def later(*arguments, **options):
        monkeypatch.setattr(sqlite_module, "sending_for", original)
        restore(settings, kept, by="Ada")
        return original(*arguments, **options)

    with open_for_writing(settings) as journal:
        send(journal, of_one("6"), "UNKNOWN")
    about = {"plan_id": "p", "prepared_by": "Eve", "approved_by": None, "held_back": pa.table({})}
    for write in (
        lambda journal: journal.resolve("6", "RELEASED", evidence="not booked", by="Eve"),
        lambda journal: record_close(journal, COMPANY, "2026-10", **about),
    ):
        with open_for_writing(settings) as journal:
            monkeypatch.setattr(sqlite_module, "sending_for", later)
            with pytest.raises(JournalError, match="was moved or replaced while it was open"):
                write(journal)
        with open_for_writing(settings) as journal:
            journal.require_current()
            assert journal.state_of("6")["state"] == "UNKNOWN"


def test_a_batch_that_was_refused_in_the_copy_and_sent_again_is_in_doubt(settings, tmp_path):
    """What the copy knows as refused or released was claimed once more since, and may be booked."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("1"), "REJECTED")
        journal.backup(tmp_path / "kept.sqlite")
        send(journal, of_one("1"), "BOOKED")
    assert restore(settings, tmp_path / "kept.sqlite", by="Ada").in_doubt == ("1",)
    with open_for_writing(settings) as journal:
        assert journal.state_of("1")["state"] == "UNKNOWN"
        assert journal.problems() == []


def test_a_job_that_another_batch_has_is_no_proof(settings, tmp_path):
    """Where two lines of the sent log name one job, the copy's batch keeps it; the other is in doubt."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("1"))
        journal.backup(tmp_path / "kept.sqlite")
        send(journal, of_one("2"))
        (mark,) = journal.sent_log.of_all()[COMPANY][-1:]
        journal.sent_log.write(replace(mark, job_id="job-1"))
    done = restore(settings, tmp_path / "kept.sqlite", by="Ada")
    assert (done.accepted, done.in_doubt) == ((), ("2",))


def test_a_whole_journal_that_is_restored_stays_as_it_is(settings, kept):
    """Where nothing is missing, no batch is in doubt and no line is added to the sent log."""
    with open_for_writing(settings) as journal:
        before = journal.sent_log.of_all()
    assert restore(settings, None, by="Ada").in_doubt == ()
    with open_for_writing(settings) as journal:
        assert journal.sent_log.of_all() == before
        assert journal.state_of("4")["state"] == "REJECTED"


def test_a_lost_batch_without_free_entries_is_passed_over(settings, tmp_path):
    """Its entries went out again in a batch that is in doubt: the batches sent after it are in doubt, too."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("2"))
        journal.backup(tmp_path / "kept.sqlite")
        for name in ("first", "second"):
            send(journal, batch(name, 1), "RELEASED")
        send(journal, of_one("3"), "BOOKED")
        files = [next(place.glob("*.log")) for place in journal.sent_log.folders]
    for file in files:
        # The sent log could not be written when both were released.
        without(file, '"state": "RELEASED"')
    assert restore(settings, tmp_path / "kept.sqlite", by="Ada").in_doubt == ("first", "3")


def test_a_backup_on_a_new_disk_needs_evidence(settings, kept, tmp_path):
    """Without a sent log the last export is named, and a person's evidence is an event."""
    new = replace(settings, data_dir=tmp_path / "d", sent_log_dir=tmp_path / "m")
    said = f"batch 2 of company {COMPANY}, sent 2.*nothing was restored"
    with pytest.raises(JournalError, match=said) as caught:
        restore(new, kept, by="Ada")
    command = f"bktools journal restore {kept} --environment https://books.example.com"
    assert f'{command} --evidence "..." --by NAME' in str(caught.value)
    assert list(new.state_dir.glob("*")) == []
    with pytest.raises(ArgumentError, match="evidence"):
        restore(new, kept, by="Ada", evidence=" ")
    restore(new, kept, by="Ada", evidence="nothing booked since October 31")
    with open_for_writing(new) as journal:
        (event,) = events_by_code(journal, "restored")
        assert (event.facts["evidence"], event.person) == ("nothing booked since October 31", "Ada")
        send(journal, of_one("3"))
    assert restore(new, kept, by="Ada").accepted == ("3",), "the sent log is here now"


def test_a_data_folder_on_a_new_disk_needs_evidence(settings, kept, tmp_path):
    """The sent log in a copied data folder may be as old as the copy: evidence is asked for, too."""
    shutil.copytree(tmp_path / "data", tmp_path / "d")
    shutil.rmtree(tmp_path / "data")
    new = replace(settings, data_dir=tmp_path / "d", sent_log_dir=tmp_path / "m")
    with pytest.raises(JournalError, match=r'restore .*--evidence "\.\.\." --by NAME'):
        open_for_writing(new)
    with pytest.raises(JournalError, match="the last export that is known here is batch 5"):
        restore(new, None, by="Ada")
    restore(new, None, by="Ada", evidence="this folder was copied from the only machine")
    with open_for_writing(new) as journal:
        send(journal, of_one("6"))


def test_what_was_sent_after_a_batch_that_was_resolved_is_in_doubt_too(settings, tmp_path):
    """A batch that the backup has in doubt, resolved since: each batch after it is looked at all the same."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("1"), "UNKNOWN")
        journal.backup(tmp_path / "kept.sqlite")
        journal.resolve("1", "ACCEPTED", evidence="booked as 4711", by="Ada")
        send(journal, of_one("2"))
    restore(settings, tmp_path / "kept.sqlite", by="Ada")
    with open_for_writing(settings) as journal:
        assert "are in batch 2" in journal.obstacle(batch("9", 2))


def test_a_refused_backup_leaves_nothing_behind(settings, kept, tmp_path):
    """A backup that is refused changes nothing: neither the journal nor the files in its folder."""
    (tmp_path / "broken.sqlite").write_bytes(b"no journal" * 500)
    folders = {"data_dir": tmp_path / "o", "sent_log_dir": tmp_path / "m"}
    other = load_settings("https://other.example.com", env={}, **folders)
    with open_for_writing(other) as journal:
        send(journal, of_one("9"))
        journal.backup(tmp_path / "other.sqlite")
    folder = settings.state_dir
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for name, error, said in (
        ("broken", StorageError, "damaged"),
        ("other", JournalError, r"is the journal of https://other\.example\.com"),
        ("missing", StorageError, r"missing\.sqlite was not found"),
    ):
        with pytest.raises(error, match=said):
            restore(settings, tmp_path / f"{name}.sqlite", by="Ada")
        assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_who_restores_must_be_named(settings):
    """A name of blanks is none; the argument is named and nothing is made."""
    with pytest.raises(ArgumentError, match="by must be given, and not be blank"):
        restore(settings, None, by=" ")
    assert not settings.state_dir.exists()


def test_what_waited_with_entries_that_were_sent_later_is_withdrawn(settings, tmp_path):
    """A batch whose entry went out in a later one is released, and says in which; others wait."""
    with open_for_writing(settings) as journal:
        journal.claim([batch("waiting", 1), of_one("2")], "plan")
        journal.backup(tmp_path / "kept.sqlite")
        send(journal, batch("later", 1), "UNKNOWN")
    assert restore(settings, tmp_path / "kept.sqlite", by="Ada").in_doubt == ("later",)
    with open_for_writing(settings) as journal:
        waiting = journal.state_of("waiting")
        assert journal.state_of("2")["state"] == "PLANNED"
    assert (waiting["state"], waiting["code"]) == ("RELEASED", "sent_in_another_batch")
    assert json.loads(waiting["facts"]) == {"batch_id": "later"}


@pytest.fixture
def without_request(settings, tmp_path):
    """Two copies, without batch 2 and with it waiting; it was sent, and no mark has its request any more."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("1"))
        journal.backup(tmp_path / "lacking.sqlite")
        journal.claim([of_one("2")], "plan")
        journal.backup(tmp_path / "waiting.sqlite")
        send(journal, of_one("2"), "BOOKED")
        send(journal, of_one("3"), "BOOKED")
        files = [next(place.glob("*.log")) for place in journal.sent_log.folders]
    for file in files:
        without(file, '"batch_id": "2"', '"state": "SENDING"')
    return files


def without(file, *texts: str) -> None:
    """Take the lines of a file away that have all of the texts."""
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not all(text in line for text in texts)))


def test_a_batch_whose_request_is_lost_is_in_doubt_where_the_copy_has_it(settings, without_request, tmp_path):
    """The sent log need not have the entries of a batch that the copy knows, which is in doubt."""
    assert restore(settings, tmp_path / "waiting.sqlite", by="Ada").in_doubt == ("2", "3")
    with open_for_writing(settings) as journal:
        assert "which is UNKNOWN" in journal.obstacle(batch("9", 2))


def test_a_batch_whose_entries_nobody_knows_is_refused_with_the_way_out(settings, without_request, tmp_path):
    """Where neither the copy nor the sent log has the entries, nothing is changed; the way out is told."""
    path = settings.state_dir / "journal.sqlite"
    before = path.read_bytes()
    with pytest.raises(JournalError, match=f"batch 2 of company {COMPANY} .*nothing was changed") as caught:
        restore(settings, tmp_path / "lacking.sqlite", by="Ada")
    assert "\n" not in str(caught.value)
    files = " and ".join(map(str, without_request))
    assert str(caught.value).endswith(f"delete the lines of batch 2 from {files}")
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.glob("*.sqlite*")] == ["journal.sqlite"]
    for file in without_request:
        without(file, '"batch_id": "2"')
    assert restore(settings, tmp_path / "lacking.sqlite", by="Ada").in_doubt == ("3",)


def test_a_copy_is_refused_while_the_journal_is_elsewhere(settings, tmp_path):
    """While the original is in its place, neither sending with a copy nor restoring there is possible."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("1"))
    shutil.copytree(tmp_path / "data", tmp_path / "copied")
    copied = replace(settings, data_dir=tmp_path / "copied")
    said = "is a copy of the journal .*data"
    with pytest.raises(JournalError, match=said):
        open_for_writing(copied)
    with pytest.raises(JournalError, match=said):
        restore(copied, None, by="Ada")


def test_a_data_folder_that_was_moved_sends_on(settings, tmp_path):
    """The sent log names the folder where the journal was: it is its own all the same."""
    with open_for_writing(settings) as journal:
        send(journal, of_one("1"))
    (tmp_path / "data").rename(tmp_path / "moved")
    moved = replace(settings, data_dir=tmp_path / "moved")
    with open_for_writing(moved) as journal:
        journal.require_current()
        send(journal, of_one("2"))
        assert journal.state_of("2")["state"] == "ACCEPTED"
