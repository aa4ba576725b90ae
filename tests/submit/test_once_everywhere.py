"""One booking for an entry: under any spelling, in any folder, from any backup. The server counts."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import signal
import time
import uuid
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import warm
from backends import BOTH, typed_by_hand, without_triggers
from entries_by_hand import COMPANY, entries_of, outcomes, states, submit
from honest import EVIDENCE, printed_commands
from raw_service import IN_PROGRESS, answering, created, in_turn, job, send

import bktools
from bktools.cli.exits import Exit
from bktools.errors import BktoolsError, JournalError, PlanError
from bktools.export.plan_file import write_plan
from bktools.journal.undelivered import BatchOutcome
from bktools.journal.writing import WritableJournal, open_for_writing
from bktools.sandbox import Server
from bktools.sandbox.faults import Fault
from bktools.submit import export_jobs

KILLS = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signal kills at once here")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The data folder of an analyst; the sent log lies outside of it."""
    monkeypatch.setenv("BKTOOLS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("BKTOOLS_SENT_LOG_DIR", str(tmp_path / "sent_log"))
    return tmp_path / "data"


@pytest.fixture
def entries(sandbox):
    return entries_of(sandbox.server.company_id, 6)


@pytest.fixture
def connect(sandbox, folder, backend) -> Any:
    """A function that connects to the test's sandbox as to any service."""

    def connected(address: str | None = None, **settings: object) -> bktools.Service:
        address = address or sandbox.server.base_url
        return bktools.connect(address, token=sandbox.server.token, journal=backend, **settings)

    return connected


def submitted(entries, service, **options: object) -> list[str]:
    """Submit entries as somebody does who has no history."""
    return outcomes(entries, service, size=2, **options)


def booked(sandbox) -> set[int]:
    """Return how often entries were booked."""
    return set(sandbox.server.accepted_entries().values())


def test_a_spelling_has_the_same_journal(sandbox, connect, entries):
    """However the address is written, what was sent is known, and nothing is sent again."""
    port = sandbox.server.base_url.rpartition(":")[2]
    with connect() as service:
        assert submitted(entries, service) == ["ACCEPTED"] * 3
    for spelling in (
        f"http://localhost:{port}",
        f"http://LOCALHOST:{port}/",
        f"http://127.0.0.1:{port}/./x/..",
    ):
        with connect(spelling) as service:
            assert submitted(entries, service) == ["ACCEPTED"] * 3
            assert len(bktools.load_export_jobs(service=service)) == 3
    assert booked(sandbox) == {1}


def test_an_environment_asks_once_about_a_new_address(sandbox, folder, entries, run, tmp_path, monkeypatch):
    """Its journal knows the old address: nothing is sent before a person accepted the new one."""
    config = tmp_path / "config.toml"
    monkeypatch.setenv("BKTOOLS_CONFIG", str(config))

    def at(server: Server) -> bktools.Service:
        at = f'[live]\nbase_url = "{server.base_url}"\ntoken = "{server.token}"\n'
        config.write_text(f'environment = "live"\n{at}')
        return bktools.connect()

    for name in ("BASE_URL", "TOKEN"):
        monkeypatch.delenv(f"BKTOOLS_{name}")
    with at(sandbox.server) as service:
        submitted(entries.head(4), service)
    with Server(tmp_path / "moved", job_seconds=0.05) as moved, at(moved) as service:
        was = re.escape(service.settings.identity[:7])
        said = rf"was {was}.*bktools check --accept-address --environment live"
        for _ in range(2):
            with pytest.raises(JournalError, match=said):
                submitted(entries, service)
        assert len(bktools.load_export_jobs(service=service)) == 2, "the history is shown"
        checked = bktools.check().set_index("check")
        assert sandbox.server.base_url.rpartition(":")[2] in checked.loc["address", "message"]
        run("check --accept-address --environment live")
        assert submitted(entries, service) == ["ACCEPTED"] * 3
        assert set(moved.accepted_entries()) == set(entries["id"][4:])
    assert booked(sandbox) == {1}


def test_an_address_whose_journal_has_another_name_is_refused(
    sandbox, folder, entries, run, tmp_path, monkeypatch
):
    """The address gets a name in the config file: the journal is asked to take it before anything is sent."""
    for name in ("BASE_URL", "TOKEN"):
        monkeypatch.delenv(f"BKTOOLS_{name}")
    address, token = sandbox.server.base_url, sandbox.server.token
    with bktools.connect(address, token=token) as service:
        submitted(entries.head(4), service)
    (tmp_path / "config.toml").write_text(f'[live]\nbase_url = "{address}"\ntoken = "{token}"\n')
    monkeypatch.setenv("BKTOOLS_CONFIG", str(tmp_path / "config.toml"))
    said = "under the environment"
    with bktools.connect("live") as service, pytest.raises(JournalError, match=said) as caught:
        submitted(entries, service)
    command = re.search(r"bktools (journal rename \S+ live --by) NAME", str(caught.value))[1]
    assert run(f"{command} Ada")[0] == Exit.DONE
    assert run(f"{command} Ada")[0] == Exit.DONE, "again changes nothing"
    for name in ("live", address):
        with bktools.connect(name) as service:
            assert submitted(entries, service) == ["ACCEPTED"] * 3
    assert booked(sandbox) == {1}


def test_a_plan_is_bound_to_its_journal(sandbox, folder, run, tmp_path, monkeypatch, entries):
    """A plan that was approved with one journal is refused with another, which names the journal it wants."""
    (tmp_path / "entries.csv").write_text(entries.assign(category_id=COMPANY).to_csv(index=False))
    with bktools.connect() as service, open_for_writing(service.settings) as journal:
        wanted = journal.id
        history = bktools.load_export_jobs(entries=True, service=service)
    plan = bktools.compose_export_jobs(entries, history=history)
    write_plan(plan, tmp_path / "october.plan", made_for=service.settings.identity, made_by="Ada")
    assert run("export submit october.plan --apply")[0] == Exit.DONE
    for kind in ("DATA", "SENT_LOG"):
        monkeypatch.setenv(f"BKTOOLS_{kind}_DIR", str(tmp_path / "second"))
    with pytest.raises(PlanError, match=wanted):
        run("export submit october.plan --apply")
    assert booked(sandbox) == {1}


def test_a_second_data_folder_knows_of_the_first(sandbox, connect, entries, tmp_path):
    """In another data folder of the user no second journal begins; the message names the first."""
    with connect() as service:
        submitted(entries, service)
    first = str(tmp_path / "data")
    with connect(data_dir=tmp_path / "second") as service, pytest.raises(JournalError, match=first):
        submitted(entries, service)
    assert booked(sandbox) == {1}


def test_a_restored_data_folder_is_noticed_and_repaired(sandbox, connect, entries, tmp_path, folder, run):
    """An old data folder refuses to send; following the messages alone ends with each entry booked once."""
    with connect() as service:
        submitted(entries.head(2), service)
        shutil.copytree(folder, tmp_path / "kept")
        submitted(entries.tail(4), service)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "kept", folder)
    code, said = run("journal verify")
    assert (code, "is an old copy: " in said) == (Exit.JOURNAL, True), said
    with connect() as service, pytest.raises(JournalError, match="UTC, are missing in it") as caught:
        submitted(entries.tail(4), service)
    assert "2 batches of 1 companies" in str(caught.value)
    assert re.search(r"bktools journal restore --environment \S+ --by NAME", str(caught.value))
    code, said = run("journal restore --by Ada")
    assert (code, "ACCEPTED again: 2 batches" in said) == (Exit.DONE, True), said
    assert run("export status")[0] == Exit.DONE
    with connect() as service:
        assert submitted(entries.tail(4), service) == ["ACCEPTED"] * 2
        assert states(service) == ["ACCEPTED"] * 3
    assert booked(sandbox) == {1}
    code, said = run("journal verify")
    assert (code, "is whole" in said) == (Exit.DONE, True), said


def test_a_backup_goes_back_by_the_command(sandbox, connect, entries, tmp_path, folder, run):
    """`journal restore FILE` keeps what was there; what was sent since is known by its job, or in doubt."""
    with connect() as service:
        submitted(entries.head(2), service)
        assert run("journal backup kept.sqlite")[0] == Exit.DONE
        submitted(entries[2:4], service, wait=20)
        sandbox.server.inject(Fault("drop", "create_export_job", times=1))
        submitted(entries[4:6], service, wait=20)
    kept = (tmp_path / "kept.sqlite").read_bytes()
    code, said = run("journal restore kept.sqlite --by Ada")
    assert (code, "Outcome unknown: 1 batch;" in said, "is kept as" in said) == (Exit.DONE, True, True), said
    assert (tmp_path / "kept.sqlite").read_bytes() == kept
    with connect() as service:
        history = bktools.load_export_jobs(service=service)
        assert sorted(history["state"]) == ["ACCEPTED", "ACCEPTED", "UNKNOWN"]
        assert submitted(entries.tail(4), service) == ["ACCEPTED", "UNKNOWN"]
        events = bktools.load_export_jobs(events=True, service=service)
        assert set(events.loc[events["after"] == "UNKNOWN", "message"]) == {
            "sent after the restored copy was made; its state was ACCEPTED",
            "sent after the restored copy was made; its state was UNKNOWN",
        }
    assert booked(sandbox) == {1}


def test_a_lost_data_folder_needs_three_steps(talking, folder, run):
    """Of 40 accepted batches and 3 in doubt the sent log proves the 40: each printed command is run once."""
    companies = [str(uuid.UUID(int=number, version=4)) for number in range(1, 5)]

    def answer(raw, connection, request):
        text = raw.accept(request)
        if request["companyId"] == companies[0]:
            send(connection, 201, text)

    lost = [entries_of(company, 2, 100 * number) for number, company in enumerate(companies[1:], 1)]
    entries = pd.concat([entries_of(companies[0], 80), *lost])
    with talking(answer) as (raw, service):
        sent = submitted(entries, service)
        assert (sent.count("ACCEPTED"), sent.count("UNKNOWN")) == (40, 3)
        shutil.rmtree(folder)
        with pytest.raises(JournalError) as caught:
            submitted(entries, service)
        said, steps = str(caught.value), 0
        while printed := printed_commands(said):
            code, said = run(printed[-1])
            assert code in {Exit.DONE, Exit.INCOMPLETE}, said
            steps += 1
        assert steps == 3
        assert submitted(entries, service) == ["ACCEPTED"] * 43
        events = bktools.load_export_jobs(events=True, service=service)
        assert (events["message"] == EVIDENCE).sum() == 3
        assert set(raw.accepted.values()) == {1}


def test_files_of_two_people_move_to_one_database(sandbox, tmp_path, postgres, database, run, monkeypatch):
    """Each person moves a file, after a look at the database; then neither sends the other's entries."""
    entries = entries_of(sandbox.server.company_id, 4)
    people = {"ada": entries.head(2), "eve": entries.tail(2)}

    def at(person: str, journal: str | None) -> bktools.Service:
        folders = {f"{kind}_dir": tmp_path / person / kind for kind in ("data", "sent_log")}
        for name, folder in folders.items():
            monkeypatch.setenv(f"BKTOOLS_{name.upper()}", str(folder))
        token = sandbox.server.token
        return bktools.connect(sandbox.server.base_url, token=token, journal=journal, **folders)

    for person, own in people.items():
        with at(person, None) as service:
            assert submitted(own, service, wait=20, others_export=True) == ["ACCEPTED"]
    address = postgres.address(database)
    monkeypatch.setenv("BKTOOLS_JOURNAL", address)
    for person in people:
        at(person, address).close()
        assert run("journal")[0] == Exit.DONE
        assert run("journal move --by Ada")[0] == Exit.DONE
    for person in people:
        with at(person, address) as service:
            assert submitted(entries, service, wait=20) == ["ACCEPTED"] * 2
            assert run("journal verify")[0] == Exit.DONE
    assert booked(sandbox) == {1}


def submits_and_is_killed(address, token, entries):
    """Submit entries; yield the outcomes, and wait to be killed."""
    with bktools.connect(address, token=token) as service, open_for_writing(service.settings):
        # While this journal is open, SQLite keeps what is written in the log beside the file.
        yield submitted(entries, service)
        time.sleep(60)


def submits(address, token, journal, entries):
    """Submit entries; yield the outcomes."""
    with bktools.connect(address, token=token, journal=journal) as service:
        yield submitted(entries, service)


@BOTH
@KILLS
def test_a_sender_that_was_killed_leaves_doubt(sandbox, connect, backend, entries):
    """Killed between the intent and the answer: nobody sends the batch again without a person."""
    sandbox.server.inject(Fault("latency", "create_export_job", seconds=60))
    given = (sandbox.server.base_url, sandbox.server.token, backend, entries)
    with connect() as service, warm.Process(submits, *given) as sender:
        until = time.monotonic() + 30
        while "SENDING" not in states(service):
            assert time.monotonic() < until
            time.sleep(0.05)
        sender.kill()
        assert sender.wait() == -signal.SIGKILL
        sandbox.server.clear_faults()
        assert "ACCEPTED" not in submitted(entries, service)
        assert "UNKNOWN" in states(service)
        assert "ACCEPTED" not in submitted(entries, service)


@KILLS
def test_a_lost_log_is_noticed(sandbox, connect, entries, folder, tmp_path):
    """After a kill the newest events are in the log alone: without it, or cut, nothing is sent."""
    with connect() as service:
        bktools.load_export_jobs(service=service)
    at = (sandbox.server.base_url, sandbox.server.token)
    with warm.Process(submits_and_is_killed, *at, entries) as sender:
        assert set(sender.read()) == {"ACCEPTED"}
        sender.kill()
        assert sender.wait() == -signal.SIGKILL
    assert booked(sandbox) == {1}
    shutil.copytree(folder, tmp_path / "left by the kill")
    # Deleted, cut after its first page, emptied.
    for left in (None, 5000, 0):
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "left by the kill", folder)
        log = next(folder.glob("*/journal.sqlite-wal"))
        log.unlink() if left is None else log.write_bytes(log.read_bytes()[:left])
        with connect() as service, pytest.raises(JournalError, match="is an old copy"):
            submitted(entries, service)
    assert booked(sandbox) == {1}


def test_a_folder_that_moves_while_it_is_used(sandbox, connect, entries, folder, monkeypatch):
    """A journal whose file is not where it was opened sends nothing more, and none is begun in its place."""
    begin = WritableJournal.begin

    def moved(journal: WritableJournal, batch_id: str) -> bytes:
        if folder.exists():
            folder.rename(folder.with_name("moved"))
        return begin(journal, batch_id)

    monkeypatch.setattr(WritableJournal, "begin", moved)
    with connect() as service:
        assert set(submitted(entries, service)) == {"BLOCKED"}
    monkeypatch.setattr(WritableJournal, "begin", begin)
    folder.with_name("moved").rename(folder)
    with connect() as service:
        assert submitted(entries, service) == ["ACCEPTED"] * 3
    folder.rename(folder.with_name("moved"))
    with connect() as service, pytest.raises((JournalError, PlanError)):
        submitted(entries, service)
    assert booked(sandbox) == {1}


@BOTH
def test_what_was_sent_while_somebody_withdrew_it_stays_in_doubt(sandbox, connect, entries, monkeypatch):
    """A batch that waits is sent by another process between the look and the lock: it is not withdrawn."""
    plan = bktools.compose_export_jobs(entries)
    batch = plan.batches["batch_id"][0]
    with connect() as service:
        with open_for_writing(service.settings) as journal, journal.sending(sandbox.server.company_id):
            journal.claim(plan.requests(), plan.plan_id)
            kind = type(journal._database)
        lock = kind.lock

        def after_another_run(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(kind, "lock", lock)
            sandbox.server.inject(Fault("drop", "create_export_job", times=1))
            assert outcomes(plan, service) == ["UNKNOWN"]
            return lock(*arguments, **options)

        monkeypatch.setattr(kind, "lock", after_another_run)
        with pytest.raises(JournalError, match="changed from PLANNED to UNKNOWN"):
            bktools.resolve_export_job(batch, "released", evidence="wrong month", by="Ada", service=service)
        assert outcomes(plan, service) == ["UNKNOWN"]
    assert booked(sandbox) == {1}


@pytest.mark.parametrize(
    ("expires", "age", "outcome"),
    [
        *((3600, 10, "PLANNED"), (3600, 4000, "UNKNOWN"), (3600, -60, "UNKNOWN"), (20, 10, "PLANNED")),
        *((5, 10, "UNKNOWN"), (None, 10, "PLANNED"), (0, 10, "PLANNED"), (-5, 10, "PLANNED")),
    ],
)
def test_only_a_job_that_may_still_run_is_waited_for(talking, monkeypatch, age, expires, outcome):
    """A job explains a refusal as long as its answer says, else an hour, unless the clock was set back."""

    def accepted(raw, connection, request):
        send(connection, 201, job(request, expiresIn=expires))

    monkeypatch.setattr(export_jobs, "now", lambda: dt.datetime.now(dt.UTC) + dt.timedelta(seconds=age))
    with talking(in_turn(accepted, answering(409, IN_PROGRESS))) as (_, service):
        assert outcomes(entries_of(COMPANY, 2), service, size=1, wait=0) == ["ACCEPTED", outcome]


@BOTH
@pytest.mark.parametrize("size", [2, 3], ids=["the same batches", "other batches"])
def test_what_an_administrator_released_is_not_sent_again(sandbox, connect, entries, backend, size):
    """A row that was changed in the database, without an event: its entries are refused, in any batch."""
    with connect() as service:
        submitted(entries, service)
        with open_for_writing(service.settings) as journal, typed_by_hand(journal, backend) as by_hand:
            without_triggers(by_hand, backend)
            by_hand.execute("UPDATE batches SET state = 'RELEASED'")
            by_hand.execute("UPDATE batch_entries SET live = 0")
        with pytest.raises(PlanError, match="was changed by hand: nothing was sent"):
            submit(entries, service, size=size, wait=20)
    assert booked(sandbox) == {1}


@BOTH
def test_a_batch_that_somebody_withdrew_meanwhile_is_told_in_the_frame(talking, monkeypatch):
    """Whatever another process did in between, what was sent is told, and the rest says why it was not."""
    begin = WritableJournal.begin

    def withdrawn(journal: WritableJournal, batch_id: str) -> bytes:
        if journal.rows("SELECT 1 FROM batches WHERE state = 'ACCEPTED'"):
            journal.settle(batch_id, BatchOutcome("RELEASED", "settled", {"message": "withdrawn meanwhile"}))
        return begin(journal, batch_id)

    monkeypatch.setattr(WritableJournal, "begin", withdrawn)
    with talking(created) as (raw, service):
        assert outcomes(entries_of(COMPANY, 3), service, size=1) == ["ACCEPTED", "BLOCKED", "BLOCKED"]
        assert len(raw.requests) == 1


@BOTH
def test_marks_that_cannot_be_written_keep_the_batch_planned(talking, folder, tmp_path):
    """Without a sent log nothing is sent or written: the message names the folder."""
    (tmp_path / "sent_log").write_bytes(b"a file where the folder should be")
    with talking(created) as (raw, service):
        with pytest.raises(BktoolsError) as caught:
            submit(entries_of(COMPANY, 1), service)
        assert "\n" not in str(caught.value)
        assert (raw.requests, states(service)) == ([], [])


@pytest.mark.skipif(os.name != "posix", reason="modes and links as POSIX systems have them")
def test_a_link_keeps_the_mode_of_what_it_points_to(connect, folder, tmp_path):
    """A journal behind a symbolic link is used, and the rights of somebody's file are left alone."""
    with connect() as service:
        path = service.settings.state_dir / "journal.sqlite"
        path.parent.mkdir(parents=True)
        target = tmp_path / "kept.sqlite"
        target.touch(mode=0o640)
        target.chmod(0o640)
        path.symlink_to(target)
        bktools.load_export_jobs(service=service)
    assert target.stat().st_size > 0
    assert target.stat().st_mode & 0o777 == 0o640
