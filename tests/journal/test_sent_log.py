"""The sent log outside of the journal's file survives a cut line, a lost place, an old copy."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from batches import ADDRESS, COMPANY, OTHER_COMPANY, batch, send

from bktools.errors import JournalBusyError, JournalError, StorageError
from bktools.journal import sent_log as sent_log_module
from bktools.journal.sent_log import SentLine, SentLog, at_risk, read_about
from bktools.journal.writing import open_for_writing


def log_in(inner, outer) -> SentLog:
    """Return the sent log of a journal that is not asked for more than its name."""
    journal = SimpleNamespace(id="journal", location="", rows=lambda *_: [])
    return SentLog(inner, outer, journal, {"environment": "test", "address": ADDRESS})


def line(name: str, state: str = "SENDING", *, event: int = 1, body: str = "") -> SentLine:
    """Return a line about a batch."""
    about = ("plan", COMPANY, state, "sending", "{}", "2026-10-31", body)
    return SentLine("journal", event, "d", name, *about)


@pytest.fixture
def sent(settings):
    """A journal with one batch that was accepted."""
    with open_for_writing(settings) as journal:
        send(journal, batch("a", 1))
        yield journal


def test_a_mark_is_in_both_places(sent):
    """Each step of a batch is a line in both places, private, with the request that was sent."""
    files = [next(place.glob("*.log")) for place in sent.sent_log.folders]
    assert [len(file.read_text().splitlines()) for file in files] == [2, 2]
    assert files[0].read_bytes() == files[1].read_bytes()
    if os.name == "posix":
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    marks = sent.sent_log.of_all()[COMPANY]
    assert [(mark.state, mark.code, mark.facts, bool(mark.body)) for mark in marks] == [
        ("SENDING", "sending", "{}", True),
        ("ACCEPTED", "accepted", '{"message": "said"}', False),
    ]
    assert sent.problems() == []


@pytest.mark.parametrize("place", [0, 1])
def test_one_place_makes_up_for_the_other(sent, place, caplog):
    """What one place lost, or holds damaged, the other one still tells; a log names a damaged file."""
    file = next(sent.sent_log.folders[place].glob("*.log"))
    data = bytearray(file.read_bytes())
    data[40] ^= 1
    file.write_bytes(data[:-10])
    caplog.clear()
    assert [mark.state for mark in sent.sent_log.of_all()[COMPANY]] == ["SENDING", "ACCEPTED"]
    assert f"damaged line of {file}" in caplog.text
    sent.require_current()
    assert sent.problems() == []
    file.unlink()
    assert len(sent.sent_log.of_all()[COMPANY]) == 2


@pytest.mark.parametrize(
    ("lost", "events"),
    [
        *((lost, (1, 2, 3, 4)) for lost in (("2", "3"), ("1", "3"), ("1", "4"), ("23", "4"), ("3", "12"))),
        # After a restore events start at a lower number.
        (("", "23"), (5, 6, 2, 3)),
    ],
)
@pytest.mark.parametrize("places", [(0, 1), (1, 0)], ids=["beside the journal first", "outside first"])
def test_lines_that_each_place_lost_keep_their_order(tmp_path, lost, events, places):
    """Where both places lost lines, they tell together what happened, in its order."""
    marks = log_in(tmp_path / "inner", tmp_path / "outer")
    for name, event in zip("1234", events, strict=True):
        marks.write(line(name, event=event))
    for place, gone in zip(places, lost, strict=True):
        (file,) = marks.folders[place].glob("*.log")
        lines = zip("1234", file.read_bytes().splitlines(keepends=True), strict=True)
        file.write_bytes(b"".join(data for number, data in lines if number not in gone))
    assert "".join(mark.batch_id for mark in marks.of_all()[COMPANY]) == "1234"
    for _ in range(2):
        marks.merge()
        for place in marks.folders:
            (file,) = place.glob("*.log")
            assert len(file.read_text().splitlines()) == 4


def test_a_line_that_is_written_while_both_places_are_merged_stays(tmp_path, monkeypatch):
    """Who merges the lines waits for the process that begins to send, and reads the lines again."""
    marks = log_in(tmp_path / "inner", tmp_path / "outer")
    first, second = line("1", event=1), line("2", event=2)
    marks.write(first)
    has_read, has_written, content_of = threading.Event(), threading.Event(), sent_log_module._content

    def slowly(path):
        content = content_of(path)
        if threading.current_thread() is not threading.main_thread():
            has_read.set()
            assert has_written.wait(10)
        return content

    monkeypatch.setattr(sent_log_module, "_content", slowly)
    with ThreadPoolExecutor(1) as threads:
        with marks.alone(COMPANY):
            merged = threads.submit(marks.merge)
            assert has_read.wait(10)
            marks.write(second)
            has_written.set()
        merged.result()
    assert marks.of_all() == {COMPANY: [first, second]}


def test_a_line_is_as_it_is_typed_here(tmp_path):
    """A mark is written to the letter as this line, and is read from it again."""
    fields = '"journal": "journal", "event": 1, "digest": "d", "batch_id": "b", "plan_id": "p", '
    fields += '"company_id": "c", "state": "SENDING", "code": "sending", "facts": "caf\\u00e9", '
    body = f'{{{fields}"at": "2026-10-31", "body": "", "job_id": "j"}}'
    line = f"{hashlib.sha256(body.encode()).hexdigest()[:16]} {body}\n"
    marks = log_in(tmp_path / "inner", tmp_path / "outer")
    mark = SentLine("journal", 1, "d", "b", "p", "c", "SENDING", "sending", "café", "2026-10-31", job_id="j")
    marks.write(mark)
    for place in marks.folders:
        (file,) = place.glob("*.log")
        assert file.read_text() == line
    assert marks.of_all() == {"c": [mark]}


def test_a_line_that_was_cut_stays_by_itself(sent):
    """After a kill in the middle of a line the next one is whole."""
    for place in sent.sent_log.folders:
        file = next(place.glob("*.log"))
        file.write_bytes(file.read_bytes() + b"0123456789abcdef {")
    mark = sent.sent_log.of_all()[COMPANY][-1]
    sent.sent_log.write(mark.__class__(**{**mark.__dict__, "batch_id": "b"}))
    assert [mark.batch_id for mark in sent.sent_log.of_all()[COMPANY]] == ["a", "a", "b"]


def test_another_history_is_noticed(sent, settings, tmp_path):
    """A copy that went on by itself has as many events, and another digest: it is refused."""
    path = sent.path
    sent.close()
    with closing(sqlite3.connect(path)) as copy:
        assert copy.execute("SELECT count(*) FROM chain").fetchone() == (4,)
    path.unlink()
    elsewhere = replace(settings, data_dir=tmp_path / "new", sent_log_dir=tmp_path / "new")
    with open_for_writing(elsewhere) as journal:
        with journal.transaction() as connection:
            # The same identity, as a copy has it.
            connection.execute("UPDATE about SET value = ? WHERE name = 'id'", (sent.id,))
        journal.claim([batch("b", 1)], "plan")
        journal.backup(path)
    with pytest.raises(JournalError, match="is an old copy"):
        open_for_writing(settings)


def test_only_what_may_have_been_booked_is_at_risk():
    """After a restore a refused batch is no doubt; one without an answer is, with its request."""
    marks = [
        *(
            line("refused", "SENDING", body="x"),
            line("refused", "REJECTED"),
            line("lost", "SENDING", body="y"),
        ),
        *(line("booked", "SENDING", body="z"), line("booked", "ACCEPTED")),
        *(line("again", "SENDING", body="1"), line("again", "PLANNED"), line("again", "SENDING", body="2")),
    ]
    found = {item.batch_id: (item.state, item.body) for item in at_risk(marks)}
    assert found == {"lost": ("SENDING", "y"), "booked": ("ACCEPTED", "z"), "again": ("SENDING", "2")}


def test_marks_name_the_folder_of_the_journal(sent, settings):
    """Who finds the sent log of a lost journal can read where it was and which service it was for."""
    text = (sent.sent_log.outer / "about.json").read_text()
    assert str(sent.path) in text
    assert ADDRESS in text


@pytest.mark.parametrize("order", [(COMPANY, OTHER_COMPANY), (OTHER_COMPANY, COMPANY)])
def test_an_old_copy_names_the_batch_that_was_sent_first(settings, tmp_path, order):
    """Of all that an old copy lacks, the message names the first batch, its company and its time."""
    with open_for_writing(settings) as journal:
        journal.backup(tmp_path / "kept.sqlite")
        for number, company in enumerate(order):
            send(journal, batch(f"batch-{number}", number, company=company), "UNKNOWN")
        (first, _) = journal.rows("SELECT sent_at FROM batches ORDER BY sent_at")
        path = journal.path
    path.write_bytes((tmp_path / "kept.sqlite").read_bytes())
    since = f"2 batches of 2 companies, sent since {first['sent_at'][:15]}"
    with pytest.raises(JournalError, match=f"{since}.*first is batch-0 of company {order[0]}"):
        open_for_writing(settings)


def test_marks_that_cannot_be_written_are_one_clear_error(tmp_path):
    """A file in the place of the sent log's folder is named by whoever locks, writes or confirms there."""
    (tmp_path / "file").write_text("no folder")
    marks = log_in(tmp_path, tmp_path / "file")
    with pytest.raises(StorageError, match="file"), marks.alone(COMPANY):
        pass
    with pytest.raises(StorageError, match=r"file.*BKTOOLS_SENT_LOG_DIR"):
        marks.write(line("b"))
    with pytest.raises(StorageError, match="file"):
        marks.merge()


def test_a_lock_that_another_process_holds_is_busy(tmp_path, monkeypatch):
    """Whoever waits for it in vain can run again later: nothing is wrong with the folder of the sent log."""
    monkeypatch.setattr(sent_log_module, "PATIENCE", 0.05)
    marks = log_in(tmp_path / "inner", tmp_path / "outer")
    busy = pytest.raises(JournalBusyError, match="another process has held")
    with marks.alone(COMPANY), busy, marks.alone(COMPANY):
        pass


def test_the_name_of_a_new_file_of_marks_is_on_disk(tmp_path, monkeypatch):
    """The first line of a company flushes the folder too: after a power cut the file is there."""
    marks = log_in(tmp_path / "inner", tmp_path / "outer")
    marks.merge()
    flushed = []
    fsync = os.fsync
    monkeypatch.setattr("os.fsync", lambda file: (flushed.append(os.fstat(file).st_ino), fsync(file)))
    for _ in range(2):
        marks.write(line("b"))
        files = [next(place.glob("*.log")) for place in marks.folders]
        assert [flushed.count(place.stat().st_ino) for place in marks.folders] == [1, 1]
    assert [flushed.count(file.stat().st_ino) for file in files] == [2, 2]


@pytest.mark.parametrize("content", [None, b"", b"7", b"[]", b"{", b"\xff"])
def test_a_sent_log_that_does_not_say_its_journal_says_nothing(tmp_path, content):
    """Where the description is gone or damaged, the other folder has it."""
    if content is not None:
        (tmp_path / "about.json").write_bytes(content)
    assert read_about(tmp_path) == {}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe"])
@pytest.mark.parametrize("place", [0, 1])
def test_an_identity_that_one_place_lost_is_that_of_the_other(tmp_path, place, content):
    """A damaged file of the machine's identity does not make it another machine, or one without a name."""
    log = log_in(tmp_path / "inner", tmp_path / "outer")
    machine = log.machine()
    (log.folders[place] / "machine").write_bytes(content)
    assert log.machine() == machine
    assert [(folder / "machine").read_text() for folder in log.folders] == [machine] * 2


def test_an_identity_that_cannot_be_read_is_one_clear_error(tmp_path):
    """What the operating system says is told with the file."""
    log = log_in(tmp_path / "inner", tmp_path / "outer")
    (log.folders[1] / "machine").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"the sent log in .*machine cannot be read: .*nothing was sent"):
        log.machine()
