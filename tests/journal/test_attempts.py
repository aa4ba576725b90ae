"""An attempt: the intent is a compare-and-set, an old one is not sent, and an outcome names its attempt."""

from __future__ import annotations

import os
import shutil
import time

import pytest
from backends import BOTH
from batches import COMPANY, LOOKED, OTHER_COMPANY, answer, batch, begun, send, state

from bktools.errors import JournalError, StorageError
from bktools.journal import attempts, clock, sent_log
from bktools.journal.attempts import record_intent, record_outcome, recover, still_sending
from bktools.journal.resolving import resolve, tick_off
from bktools.journal.sent_log import BatchOutcome, lines_from
from bktools.journal.writable import WritableJournal
from bktools.journal.writing import open_for_writing


def codes(journal, batch_id: str = "a") -> list[str]:
    """Return what the events of a batch say."""
    rows = journal.rows("SELECT code FROM events WHERE batch_id = $1 ORDER BY event_id", batch_id)
    return [row["code"] for row in rows]


@pytest.mark.parametrize("before", ["SENDING", "ACCEPTED", "REJECTED", "UNKNOWN", "BOOKED"])
def test_a_batch_that_is_not_planned_is_not_sent(opened, before):
    """A second intent changes no row and is refused, whatever brought the batch to its state."""
    send(opened, batch("a", 0), before)
    refused = pytest.raises(JournalError, match=r"not planned|nothing else of the company")
    with opened.lock(COMPANY), refused:
        record_intent(opened, "a")
    assert codes(opened).count("sending") == 1


def test_a_company_has_one_request_on_its_way(opened):
    """Neither while one is sent nor while one is in doubt; other companies go on."""
    send(opened, batch("b", 1), "PLANNED")
    attempt = begun(opened, batch("a", 0))
    for doubt in ("being sent", "in doubt"):
        with pytest.raises(JournalError, match=f"batch a of company {COMPANY} is {doubt}"):
            record_intent(opened, "b")
        record_outcome(opened, attempt, answer("UNKNOWN"))
    begun(opened, batch("c", 2, company=OTHER_COMPANY))


def test_the_journals_own_bytes_are_sent(opened):
    """Begin returns the body of the claim, and the sent log has its entries; a line cut short hides none."""
    wanted = batch("a", 0, 1)
    attempt = begun(opened, wanted)
    assert attempt.body == wanted.body
    (line,) = lines_from(opened.folder)[0]
    assert (line.attempt, line.batch_id, line.entry_ids) == (attempt.token, "a", wanted.entry_ids)
    path = opened.folder / sent_log.SENT_LOG
    path.write_bytes(path.read_bytes() + path.read_bytes()[:40])
    assert len(lines_from(opened.folder)[0]) == 1
    begun(opened, batch("b", 2, company=OTHER_COMPANY))
    assert [line.batch_id for line in lines_from(opened.folder)[0]] == ["a", "b"]


@pytest.mark.parametrize("sleeps", ["wall", "boot"])
def test_an_old_intent_is_not_sent(opened, monkeypatch, sleeps):
    """The clock that says more decides: one is set back by hand, the other goes on in sleep."""
    attempt = begun(opened, batch("a", 0))
    assert still_sending(opened, attempt) == ""
    minute = attempts.MOST_AGE + 1
    if sleeps == "boot":
        monkeypatch.setattr(clock, "boot_time", lambda: attempt.begun.boot + minute)
        monkeypatch.setattr(time, "time", lambda: attempt.begun.wall - 3600)
    else:
        monkeypatch.setattr(clock, "boot_time", lambda: attempt.begun.boot)
        monkeypatch.setattr(time, "time", lambda: attempt.begun.wall + minute)
    assert still_sending(opened, attempt) == "too_old"


@BOTH
def test_what_another_process_settled_is_not_sent(opened, settings, today):
    """Found in doubt, released on a later day, begun again: the sleeper sends nothing, and ends nothing."""
    today("2026-11-20T23:00")
    sleeper = begun(opened, batch("a", 0))
    with open_for_writing(settings) as colleague:
        assert state(colleague, "a") == "UNKNOWN"
        assert still_sending(opened, sleeper) == "not_sending"
        today("2026-11-21T09:00")
        resolve(colleague, "a", "RELEASED", **LOOKED)
        begun(colleague, batch("a", 0))
        assert still_sending(opened, sleeper) == "not_sending"
    for late in ("PLANNED", "REJECTED", "UNKNOWN"):
        record_outcome(opened, sleeper, answer(late))
        assert state(opened, "a") == "SENDING"
    assert codes(opened)[-1] == "sending"


# What became of a batch whose answer came late; then its state after the job of that answer, and after a job
# that is in doubt; in capitals where a person is shown "booked twice".
LATE = {
    "in doubt": ("accepted", "unknown"),
    "released": ("accepted", "unknown"),
    "planned again": ("accepted", "unknown"),
    "planned in another batch": ("accepted", "unknown"),
    "begun again": ("SENDING", "SENDING"),
    "accepted again": ("ACCEPTED", "ACCEPTED"),
    "accepted by hand": ("accepted", "ACCEPTED"),
    "accepted by hand with another job": ("ACCEPTED", "ACCEPTED"),
    "in another batch": ("RELEASED", "RELEASED"),
    "beside another in doubt": ("accepted", "RELEASED"),
}
# The batch, its entries and its state that came after the release.
SINCE = {
    "planned again": ("a", (0, 1), "PLANNED"),
    "planned in another batch": ("b", (0,), "PLANNED"),
    "begun again": ("a", (0, 1), "SENDING"),
    "accepted again": ("a", (0, 1), "ACCEPTED"),
    "in another batch": ("b", (0,), "ACCEPTED"),
    "beside another in doubt": ("b", (5,), "UNKNOWN"),
}
JOBS = [answer("ACCEPTED", "job-1"), BatchOutcome("UNKNOWN", "job_failed", {"reason": "failed"}, "job-1")]


@pytest.mark.parametrize("kind", [0, 1], ids=["a job", "a job in doubt"])
@pytest.mark.parametrize("became", LATE)
def test_the_job_of_an_earlier_attempt_is_never_lost(opened, today, became, kind):
    """It settles the batch or brings its doubt back, or it is shown until a person ticks it off."""
    today("2026-11-20T10:00")
    attempt = begun(opened, batch("a", 0, 1))
    record_outcome(opened, attempt, answer("UNKNOWN"))
    today("2026-11-21T10:00")
    if became.startswith("accepted by hand"):
        job = "another" if became.endswith("job") else None
        resolve(opened, "a", "ACCEPTED", **LOOKED, job_id=job)
    elif became != "in doubt":
        resolve(opened, "a", "RELEASED", **LOOKED)
    if became in SINCE:
        name, numbers, new_state = SINCE[became]
        send(opened, batch(name, *numbers), new_state, job_id="job-2")
    after, is_shown = LATE[became][kind].upper(), LATE[became][kind].isupper()
    for _ in range(2):
        recorded = record_outcome(opened, attempt, JOBS[kind])
        assert (state(opened, "a"), len(opened.late_answers(COMPANY))) == (after, is_shown)
        assert (recorded.code == "late_answer") == is_shown
    for row in opened.late_answers():
        tick_off(opened, row["event_id"], **LOOKED)
        with pytest.raises(JournalError, match="is not about a late answer"):
            tick_off(opened, row["event_id"] + 1, **LOOKED)
    assert opened.late_answers() == []


@pytest.mark.parametrize("answered", ["PLANNED", "REJECTED"])
def test_a_request_that_was_not_sent_contradicts_a_person(opened, settings, today, answered):
    """Who found it booked: without the line, the entries would be in no books."""
    today("2026-11-20T10:00")
    sleeper = begun(opened, batch("a", 0))
    with open_for_writing(settings) as colleague:
        resolve(colleague, "a", "ACCEPTED", **LOOKED)
    assert record_outcome(opened, sleeper, answer(answered)).code == "late_answer"
    assert (state(opened, "a"), len(opened.late_answers(COMPANY))) == ("ACCEPTED", 1)


@BOTH
def test_a_job_answers_for_one_batch(opened):
    """An answer with another batch's job was replayed: the batch is in doubt."""
    send(opened, batch("a", 0), job_id="job-1")
    attempt = begun(opened, batch("b", 1))
    assert record_outcome(opened, attempt, answer("ACCEPTED", "job-1")).code == "job_of_another_batch"
    assert state(opened, "b") == "UNKNOWN"


@pytest.mark.parametrize("answered", ["ACCEPTED", "REJECTED", "PLANNED"])
def test_an_answer_in_hand_outlives_a_journal_that_cannot_be_written(opened, settings, monkeypatch, answered):
    """It goes to the sent log first: the drive of the journal is full, and the next run brings the answer."""
    attempt = begun(opened, batch("a", 0))

    def full(*_: object, **__: object) -> None:
        raise StorageError("the drive is full")

    job = "job-1" if answered == "ACCEPTED" else None
    with monkeypatch.context() as patched:
        patched.setattr(WritableJournal, "transaction", full)
        with pytest.raises(StorageError, match="kept in this machine's sent log"):
            record_outcome(opened, attempt, answer(answered, job))
    assert state(opened, "a") == "SENDING"
    with open_for_writing(settings) as later:
        assert (state(later, "a"), later.row_of("a")["job_id"]) == (answered, job)
        assert later.memory().delivered > 0


def test_a_killed_senders_batch_is_in_doubt(opened, settings):
    """Not while the lock is held; the event names the sender."""
    begun(opened, batch("a", 0))
    with opened.lock(COMPANY):
        with open_for_writing(settings) as other:
            assert state(other, "a") == "SENDING"
        recover(opened, COMPANY)
    assert state(opened, "a") == "UNKNOWN"
    assert f"process {os.getpid()}" in opened.row_of("a")["facts"]


def test_an_intent_without_its_line_is_taken_back(opened, monkeypatch):
    """Where the sent log cannot be written, nothing is sent and the batch is PLANNED."""
    send(opened, batch("a", 0), "PLANNED")

    def full(*_: object) -> None:
        raise StorageError("the sent log is full")

    monkeypatch.setattr(sent_log, "append", full)
    with pytest.raises(StorageError, match="the sent log is full"):
        record_intent(opened, "a")
    assert state(opened, "a") == "PLANNED"


@pytest.mark.parametrize("backend", ["file"], indirect=True)
def test_a_file_that_was_replaced_is_not_sent_with(opened):
    """An old copy in the place of the open file: the intent is in neither, so nothing is sent."""
    copy = opened.path.with_name("copy.sqlite")
    opened.backup(copy)
    attempt = begun(opened, batch("a", 0))
    shutil.move(copy, opened.path)
    assert still_sending(opened, attempt) == "not_sending"
    with pytest.raises(StorageError, match=r"moved or replaced.*sent log"):
        record_outcome(opened, attempt, answer("ACCEPTED", "job-1"))
