"""Is this the right journal: each condition, its code, its way out, and what is not written meanwhile."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from backends import DATABASE
from batches import ADDRESS, COMPANY, ENTRIES, LOOKED, OTHER_COMPANY, batch, begun, send, state

import bktools
from bktools.caller import ON_WINDOWS
from bktools.errors import JournalError, StorageError
from bktools.journal import memory
from bktools.journal.attempts import record_intent
from bktools.journal.claims import claim
from bktools.journal.folders import FILE, folder_of, machine_folder
from bktools.journal.memory import MEMORY, read_memory
from bktools.journal.move import move
from bktools.journal.restores import restore
from bktools.journal.right_journal import first_export_question, needs_ledger_since, problems
from bktools.journal.statements import record_first_export, record_not_booked
from bktools.journal.writing import accept_address, open_for_writing, open_up_to_date
from bktools.settings import Settings

OTHER_ADDRESS = "https://new.example.com"


def code_of(settings: Settings) -> str:
    """Return the code of the condition that refuses to write, "" where none does."""
    try:
        open_for_writing(settings).close()
    except JournalError as error:
        return error.code or str(error)
    return ""


def used(settings: Settings, *batches: str) -> Settings:
    """Send batches, the first one of entry 0."""
    with open_for_writing(settings) as journal:
        for number, name in enumerate(batches or ("a",)):
            send(journal, batch(name, number))
    return settings


def file_of(settings: Settings) -> Path:
    """Return the journal's file."""
    return folder_of(settings) / FILE


def at(settings: Settings, **changes: object) -> Settings:
    """Return settings of another address or name, with the same folders and journal."""
    return replace(settings, **changes)


# Each condition: what brings it about, and the words of its way out. It gets the settings of a journal that
# was used, with two batches, and returns those that are refused.


def _another_environment(settings: Settings) -> Settings:
    other = at(settings, environment="staging", base_url=OTHER_ADDRESS)
    folder_of(other).mkdir(parents=True)
    if settings.journal is None:
        shutil.copyfile(file_of(settings), file_of(other))
    return other


def _another_journal(settings: Settings) -> Settings:
    other = at(settings, data_dir=settings.data_dir.with_name("elsewhere"))
    # A journal that another machine made.
    with open_for_writing(_elsewhere(other)) as journal:
        send(journal, batch("z", 7))
    return other


def _event_missing(settings: Settings) -> Settings:
    with open_for_writing(settings) as journal:
        journal.backup(copy := settings.data_dir / "copy.sqlite")
        send(journal, batch("c", 2))
    shutil.move(copy, file_of(settings))
    return settings


def _elsewhere(settings: Settings) -> Settings:
    """Return the settings of another machine with the same journal."""
    return at(settings, sent_log_dir=settings.sent_log_dir.with_name("another-machine"))


def _stopped(settings: Settings) -> Settings:
    assert code_of(_event_missing(settings)) == "event_missing"
    return _elsewhere(settings)


def _missing(settings: Settings) -> Settings:
    file_of(settings).unlink()
    return settings


def _memory_of(settings: Settings) -> Path:
    return machine_folder(settings) / MEMORY


def _without_memory(change, content: str | None = None):
    """Return a change after which the memory is gone, or damaged."""

    def changed(settings: Settings) -> Settings:
        wrong = change(settings)
        _memory_of(settings).unlink()
        if content is not None:
            _memory_of(settings).write_text(content)
        return wrong

    return changed


FILE_CONDITIONS = [
    (_another_environment, "another_environment", "go on with the name production, as the table"),
    (lambda settings: at(settings, base_url=OTHER_ADDRESS), "another_address", "check --accept-address"),
    # A second name for one address, with a journal of its own.
    (lambda settings: at(settings, environment="books2"), "another_name", "go on with the name production"),
    (_another_journal, "another_journal", "bktools journal restore"),
    (_event_missing, "event_missing", "sent from here and not in it: batches c.*bktools journal restore"),
    (_stopped, "stopped", "lacks what .* had seen.*bktools journal restore"),
    (_missing, "missing", "bktools journal restore"),
    (_without_memory(_missing), "missing", "bktools journal restore"),
    (_without_memory(_event_missing, '{"machine": "'), "event_missing", "not in it: batches c"),
    (_without_memory(_event_missing), "event_missing", "sent from here and not in it: batches c"),
    (_without_memory(lambda settings: settings), "another_computer", "is lost.*bktools journal restore"),
    (_elsewhere, "another_computer", "Several computers need a database.*bktools journal restore"),
]


@pytest.mark.parametrize(("change", "code", "way_out"), FILE_CONDITIONS)
def test_each_condition_of_a_file(settings, change, code, way_out):
    """It refuses every change with one line and its way out; reading goes on."""
    wrong = change(used(at(settings, environment="production"), "a", "b"))
    with pytest.raises(JournalError, match=way_out) as caught:
        open_for_writing(wrong)
    assert (caught.value.code, "\n" in str(caught.value)) == (code, False)
    # A way out that is a command names the environment.
    assert "bktools" not in str(caught.value) or "--environment" in str(caught.value)
    # What this machine found is written, so that it stops for everybody.
    assert code_of(wrong) in {code, "stopped"}
    if code not in {"missing", "another_environment", "another_name"}:
        with open_up_to_date(wrong) as journal:
            assert state(journal, "z" if code == "another_journal" else "a") in {"ACCEPTED", None}


@DATABASE
def test_the_file_and_the_database_of_a_move(settings, backend):
    """Before it the database is refused, and after it the file is."""
    file, database = replace(settings, journal=None), settings
    used(file)
    assert code_of(database) == "history_left_in_file"
    move(database, by="Ada")
    with pytest.raises(JournalError, match=r"was moved to postgresql://.*BKTOOLS_JOURNAL") as caught:
        open_for_writing(file)
    assert caught.value.code == "moved"
    assert code_of(database) == ""


def test_a_copied_home_is_asked_about_once(settings, monkeypatch):
    """Memory and sent log were copied, too: only the computer differs. A container has no identity."""
    monkeypatch.setattr(memory, "this_computer", lambda: "laptop")
    used(settings)
    machine = read_memory(machine_folder(settings)).machine
    monkeypatch.setattr(memory, "this_computer", lambda: "desktop")
    assert code_of(settings) == "another_computer"
    restore(settings, None, **LOOKED)
    assert code_of(settings) == ""
    with open_for_writing(settings) as journal:
        assert (journal.machine != machine, needs_ledger_since(journal) is not None) == (True, True)
    for name, code in (("", ""), ("laptop", "another_computer")):
        monkeypatch.setattr(memory, "this_computer", lambda name=name: name)
        assert code_of(settings) == code


def test_a_memory_does_not_go_back(tmp_path):
    """Of two processes that end in another order, the newer event is remembered."""
    about = {"journal": "j", "restore": "", "location": "here", "at": "2026-11-20"}
    for event in (5, 3):
        memory.see(tmp_path, sent_for=None, event=event, digest=f"{event}", **about)
    assert (read_memory(tmp_path).event, read_memory(tmp_path).digest) == (5, "5")


@pytest.mark.skipif(ON_WINDOWS, reason="Windows has no such permissions")
@pytest.mark.parametrize("kind", ["data", "sent_log"])
def test_a_folder_that_others_may_write_is_refused(settings, kind):
    """A journal or a memory that was put there would be believed; an unreadable one is not a missing one."""
    used(settings)
    path = _memory_of(settings)
    content = path.read_bytes()
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError, match="cannot be read"):
        open_for_writing(settings)
    path.rmdir()
    path.write_bytes(content)
    folder = {"data": folder_of, "sent_log": machine_folder}[kind](settings)
    folder.chmod(0o770)
    with pytest.raises(StorageError, match=f"chmod go-w .* or set BKTOOLS_{kind.upper()}_DIR"):
        open_for_writing(settings)
    folder.chmod(0o700)
    assert code_of(settings) == ""


def test_begin_refuses_a_copy_of_which_the_original_went_on(settings, tmp_path):
    """Two copies of one file are opened, and one sends: the other one begins nothing."""
    with open_for_writing(settings) as journal:
        send(journal, batch("a", 0), "PLANNED")
        journal.backup(tmp_path / "copy.sqlite")
    other = replace(settings, data_dir=tmp_path / "other")
    folder_of(other).mkdir(parents=True)
    shutil.copyfile(tmp_path / "copy.sqlite", file_of(other))
    with open_for_writing(other) as copy, open_for_writing(settings) as journal:
        begun(journal, batch("a", 0))
        with copy.lock(COMPANY), pytest.raises(JournalError) as caught:
            record_intent(copy, "a")
        assert caught.value.code == "event_missing"


def test_a_renamed_environment_is_asked_about(settings):
    """Name and address together: the company is looked for in all sent logs; its old name goes on."""
    used(at(settings, environment="books"))
    with open_for_writing(at(settings, environment="production", base_url=OTHER_ADDRESS)) as empty:
        question = first_export_question(empty, COMPANY)
        with pytest.raises(JournalError, match="was exported with the environment books") as caught:
            begun_without_a_word(empty)
        assert question.code == caught.value.code == "company_of_another_environment"
        assert 'table ["books"] of the config file' in str(question)
        assert first_export_question(empty, OTHER_COMPANY).code == "first_export"
    moved = at(settings, environment="books", base_url=OTHER_ADDRESS)
    accept_address(moved)
    with open_for_writing(moved) as journal, pytest.raises(JournalError, match="in batch a"):
        send(journal, batch("b", 0))


def begun_without_a_word(journal) -> None:
    with journal.lock(COMPANY):
        claim(journal, [batch("b", 0)], "plan")


def test_a_changed_address_is_accepted_once(machine):
    """Nothing is written with another address before a person said that it is the same service."""
    settings = used(at(machine(), environment="production"))
    moved = at(settings, base_url=OTHER_ADDRESS)
    assert code_of(moved) == "another_address"
    assert accept_address(moved) == (ADDRESS, OTHER_ADDRESS)
    assert (code_of(moved), accept_address(moved)) == ("", None)
    assert code_of(settings) == "another_address"


# The question before the first export of a company from a machine.


def test_a_first_export_needs_a_persons_word(opened, settings):
    """Asked once; an import or an earlier export answers it, and the word is kept with the name."""
    with pytest.raises(JournalError) as caught:
        begun_without_a_word(opened)
    assert caught.value.code == "first_export"
    assert re.search(r"export import FILE --company \S+ --environment \S+ --by NAME", str(caught.value))
    assert record_first_export(opened, COMPANY, by="Ada") is not None
    assert record_first_export(opened, COMPANY, by="Ada") is None
    begun_without_a_word(opened)
    assert first_export_question(opened, OTHER_COMPANY) is not None
    elsewhere = [{"entry_id": ENTRIES[3]}]
    bktools.journal.statements.record_exported_elsewhere(opened, OTHER_COMPANY, elsewhere, **LOOKED)
    assert first_export_question(opened, OTHER_COMPANY) is None
    assert problems(opened) == []


# A machine without a memory.


@DATABASE
def test_a_newcomer_sends_nothing_of_before(machine, today):
    """Entries dated until the day of its first use wait; the others, and a colleague's, are sent."""
    today("2026-11-20T10:00")
    open_for_writing(machine("early")).close()
    used(machine("first"))
    # Who has opened the journal before anything was sent is no newcomer.
    with open_for_writing(machine("early")) as journal:
        send(journal, batch("early", 4, date="2026-10-01"))
    with open_for_writing(machine("second")) as newcomer:
        with pytest.raises(JournalError, match="A colleague who used the journal before") as caught:
            send(newcomer, batch("old", 1, date="2026-11-20"))
        assert caught.value.code == "needs_ledger_for_newcomer"
        with pytest.raises(JournalError):
            send(newcomer, batch("undated", 2))
        send(newcomer, batch("new", 3, date="2026-11-21"))
        today("2026-11-21T10:00")
        record_not_booked(newcomer, COMPANY, [ENTRIES[1]], **LOOKED)
        send(newcomer, batch("old", 1, date="2026-11-20"))
    with open_for_writing(machine("first")) as colleague:
        send(colleague, batch("undated", 2))
