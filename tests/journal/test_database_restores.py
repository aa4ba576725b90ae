"""A restored, rolled back or failed over database: who notices and confirms it, and what is sent."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from dataclasses import replace
from functools import partial

import batches
import pyarrow as pa
import pytest
from batches import COMPANY, OTHER_COMPANY
from typer.testing import CliRunner

from bktools.cli.app import app
from bktools.errors import ArgumentError, BktoolsError, JournalError
from bktools.journal import postgres as postgres_module
from bktools.journal.backups import restore
from bktools.journal.journal import Journal
from bktools.journal.writing import open_for_writing
from bktools.settings import Secret

# Dumps that go back in place are restored by most of the tests below, too.
WAYS = [
    "volume",
    "new",
    "replica",
    *(pytest.param(way, marks=pytest.mark.long) for way in ("pg_restore", "psql")),
]


def send(settings, number: int, *, job: int | None = None, state: str = "ACCEPTED", **details) -> None:
    """Send a batch of one entry from a machine; the service creates a job, or its answer is lost."""
    if "date" in details:
        details["date"] = pa.array([details["date"] and dt.date.fromisoformat(details["date"])], pa.date32())
    wanted = batches.batch(f"batch-{number}", number, **details)
    with open_for_writing(settings) as journal:
        journal.require_current()
        if reason := journal.obstacle(wanted):
            raise JournalError(reason)
        batches.send(journal, wanted, state, job_id=f"job-{job or number}")


def look(settings) -> None:
    """Open the journal, as every command does."""
    Journal(settings).close()


@pytest.fixture
def both(machine):
    """Two machines that share the database, each of which has sent a batch of its number."""
    machines = machine("ada"), machine("bob")
    for number, settings in enumerate(machines, 1):
        send(settings, number)
    return machines


@pytest.fixture
def restored(postgres, database):
    """A function that keeps a copy of the database, and one that restores it; both take the way."""
    return partial(postgres.kept, database)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_restored_database_lacks_is_not_sent_again(both, restored, way):
    """Whoever saw what is gone sends nothing before one step; then what was sent is known by its job."""
    ada, bob = both
    go_back = restored(way)
    send(ada, 3)
    look(bob)
    go_back()
    for _ in range(2):
        said = r"was restored, copied or failed over.*bktools journal restore"
        with pytest.raises(JournalError, match=said):
            send(bob, 3, job=33)
    assert restore(bob, None, by="Bob").accepted == ()
    with pytest.raises(JournalError, match=r"ada|@.*did not confirm the restore"):
        send(bob, 3, job=33)
    done = restore(ada, None, by="Ada")
    assert (done.accepted, done.in_doubt, done.booked_twice, done.unconfirmed) == (("batch-3",), (), (), ())
    with open_for_writing(bob) as journal:
        assert journal.state_of("batch-3")["job_id"] == "job-3"
        assert "are in batch batch-3" in journal.obstacle(batches.batch("again", 3))
    for settings, number in ((bob, 4), (ada, 5)):
        send(settings, number)
        with open_for_writing(settings) as journal:
            assert journal.problems() == []


def test_a_rolled_back_volume_stops_all_as_soon_as_one_notices_it(machine, restored, postgres, database):
    """A missing event tells it, whatever was logged since; a machine that saw nothing of it waits as well."""
    ada, bob, eve = machine("ada"), machine("bob"), machine("eve")
    for number, settings in enumerate((ada, bob, eve), 1):
        send(settings, number)
    go_back = restored("volume")
    send(ada, 4)
    look(eve)
    go_back()
    postgres.sql("CREATE TABLE large AS SELECT generate_series(1, 100000)", database)
    with pytest.raises(JournalError, match="was restored"):
        send(eve, 5)
    with pytest.raises(JournalError, match="was restored"):
        send(bob, 4, job=44)


def test_a_log_that_ends_earlier_is_a_rolled_back_volume(both, restored, postgres, database):
    """Every event that the machine saw is there, but the server's log was longer when it looked last."""
    ada, bob = both
    go_back = restored("volume")
    postgres.sql("CREATE TABLE large AS SELECT generate_series(1, 10000)", database)
    look(bob)
    send(ada, 3)
    go_back()
    with pytest.raises(JournalError, match="was restored"):
        send(bob, 3, job=33)


def test_a_machine_that_another_one_remembers_is_waited_for(machine, restored):
    """It sent for the first time after the copy: no row names it, but a machine that saw it remembers it."""
    ada, bob = machine("ada"), machine("bob")
    send(ada, 1)
    go_back = restored("new")
    send(bob, 2)
    look(ada)
    go_back()
    assert len(restore(ada, None, by="Ada").unconfirmed) == 1
    with pytest.raises(JournalError, match="did not confirm the restore"):
        send(ada, 2, job=22)
    assert restore(bob, None, by="Bob").accepted == ("batch-2",)
    send(ada, 3)


def test_one_confirmation_is_that_of_one_machine(machine, restored):
    """Two users' folders on one computer are two machines: each has its sent log, and each confirms."""
    ada, bob, eve = machine("ada"), machine("bob"), machine("eve")
    for number, settings in enumerate((ada, bob, eve), 1):
        send(settings, number)
    go_back = restored("new")
    send(bob, 4)
    go_back()
    assert len(restore(ada, None, by="Ada").unconfirmed) == 2
    assert len(restore(eve, None, by="Eve").unconfirmed) == 1
    with pytest.raises(JournalError, match="did not confirm the restore"):
        send(eve, 4, job=44)
    again = restore(ada, None, by="Ada").unconfirmed
    assert again == restore(eve, None, by="Eve").unconfirmed, "again changes nothing"
    assert restore(bob, None, by="Bob").unconfirmed == ()
    send(eve, 5)


@pytest.mark.parametrize("place", [0, 1])
def test_a_confirmation_that_was_interrupted_is_made_again_by_nobody_else(both, restored, place):
    """After a kill before both places of the memory were written, the same machine confirms again alone."""
    ada, bob = both
    go_back = restored("new")
    with open_for_writing(bob) as journal:
        file = journal.sent_log.folders[place] / "seen.json"
    before = file.read_bytes()
    go_back()
    for settings in (ada, bob):
        restore(settings, None, by="Ada")
    file.write_bytes(before)
    with pytest.raises(JournalError, match="was restored"):
        send(bob, 3)
    assert restore(bob, None, by="Bob").unconfirmed == ()
    for settings, number in ((ada, 4), (bob, 5)):
        send(settings, number)


def test_a_restore_after_a_restore_is_another_one(both, restored):
    """Confirmations of the first one do not count for the second, of the same copy."""
    ada, bob = both
    go_back = restored("pg_restore")
    for number in (3, 4):
        send(ada, number)
        go_back()
        for settings in (bob, ada):
            restore(settings, None, by="Ada")
        with open_for_writing(bob) as journal:
            assert journal.state_of(f"batch-{number}")["job_id"] == f"job-{number}"
    send(bob, 5)


def test_confirmations_that_a_copy_holds_are_not_those_of_its_restore(both, restored):
    """The copy was made after an earlier restore was confirmed: each machine confirms again."""
    ada, bob = both
    first = restored("pg_restore")
    send(ada, 3)
    first()
    for settings in (bob, ada):
        restore(settings, None, by="Ada")
    second = restored("pg_restore")
    send(ada, 4)
    second()
    restore(bob, None, by="Bob")
    with pytest.raises(JournalError, match="journal restore"):
        send(bob, 5)
    restore(ada, None, by="Ada")
    send(bob, 5)


def test_a_machine_that_is_gone_is_waived_for_a_company_and_a_span(machine, restored, postgres, database):
    """A person's word covers the company and the dates that were looked up: others are refused."""
    ada, bob = machine("ada"), machine("bob")
    for settings, number, company in ((ada, 1, COMPANY), (bob, 2, COMPANY), (bob, 3, OTHER_COMPANY)):
        send(settings, number, company=company)
    go_back = restored("new")
    go_back()
    (gone,) = restore(ada, None, by="Ada").unconfirmed
    told = {"evidence": "none of them in the ledger until 5 November", "by": "Ada"}
    span = {"begins": "2026-10-01", "ends": "2026-10-31"}
    with open_for_writing(ada) as journal:
        with pytest.raises(JournalError, match=f"nobody is not among .*{re.escape(gone)}"):
            journal.restores.waive(["nobody"], COMPANY, **span, **told)
        for change in ({"evidence": " "}, {"by": ""}, {"begins": "October"}, {"ends": "2026-09-30"}):
            with pytest.raises(ArgumentError):
                journal.restores.waive([gone], COMPANY, **span | told | change)
        assert journal.restores.waive([gone.rpartition("#")[2]], COMPANY, **span, **told) == [gone]
        assert journal.problems() == [f"a restore is not confirmed by {gone}"]
    send(ada, 4, date="2026-10-31")
    for number, date in ((5, "2026-11-01"), (6, None), (7, "2999-01-01")):
        with pytest.raises(JournalError, match=r"Nothing was sent.*journal waive .* --from DATE --to DATE"):
            send(ada, number, date=date)
    with pytest.raises(JournalError, match=f"company {OTHER_COMPANY} waits"):
        send(ada, 8, company=OTHER_COMPANY, date="2026-10-31")
    for statement in ("DELETE FROM bktools.events", "UPDATE bktools.events SET at = 0"):
        with pytest.raises(Exception, match="only ever added"):
            postgres.sql(f"{statement} WHERE code = 'restore_waived'", database)


def test_a_machine_whose_first_use_was_its_last_confirms(both, restored):
    """The backup has its batch, so nothing is missing: it confirms, and nobody waits for it for ever."""
    ada, bob = both
    go_back = restored("new")
    go_back()
    assert restore(ada, None, by="Ada").unconfirmed != ()
    for _ in range(2):
        restore(bob, None, by="Bob")
    assert restore(ada, None, by="Ada").unconfirmed == ()
    send(ada, 3)
    send(bob, 4)


def test_a_machine_that_nobody_knew_is_written_down_when_it_is_refused(machine, restored):
    """It sent for the first time after the backup: once it was refused, the others wait for it."""
    ada, bob = machine("ada"), machine("bob")
    send(ada, 1)
    go_back = restored("new")
    send(bob, 2)
    go_back()
    restore(ada, None, by="Ada")
    with pytest.raises(JournalError, match="was restored"):
        send(bob, 3)
    with pytest.raises(JournalError, match="did not confirm the restore"):
        send(ada, 2)
    restore(bob, None, by="Bob")
    with open_for_writing(ada) as journal:
        assert journal.state_of("batch-2")["state"] == "ACCEPTED"
    send(ada, 3)


def test_what_was_sent_again_by_hand_of_nobody_is_told_by_its_job(both, restored):
    """The sender's confirmation compares jobs, not states, and says what may be booked twice."""
    ada, bob = both
    go_back = restored("volume")
    send(ada, 3)
    go_back()
    send(bob, 3, job=33)
    with pytest.raises(JournalError, match="was restored"):
        send(ada, 4)
    (line,) = restore(ada, None, by="Ada").booked_twice
    assert "batch-3" in line
    assert "job-3)" in line
    assert "job-33)" in line


def test_a_crash_of_the_server_is_no_restore(machine, postgres, database):
    """What was committed is there afterwards, and the log goes on: nobody is asked for anything."""
    ada = machine("ada")
    send(ada, 1)
    postgres.sql("CREATE TABLE large AS SELECT generate_series(1, 10000)", database)
    look(ada)
    postgres.stop()
    postgres.start()
    send(ada, 2)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_memory_that_one_place_lost_is_in_the_other(machine, restored, place):
    """A damaged or missing file in one place is no alarm; after the loss of both, the sent log notices."""
    ada = machine("ada")
    send(ada, 1)
    go_back = restored("volume")
    send(ada, 2)
    with open_for_writing(ada) as journal:
        files = [folder / "seen.json" for folder in journal.sent_log.folders]
    for file in files if place == 2 else [files[place]]:
        file.write_bytes(file.read_bytes().replace(b"digest", b"dygest"))
    with open_for_writing(ada) as journal:
        journal.require_current()
    go_back()
    with pytest.raises(JournalError, match="was restored"):
        send(ada, 3)


def test_what_a_colleague_resolved_comes_back_in_any_order(both, restored):
    """Whoever records an outcome has the entries in the sent log and need not wait for the sender."""
    ada, bob = both
    go_back = restored("pg_restore")
    send(ada, 3, state="UNKNOWN")
    with open_for_writing(bob) as journal:
        journal.resolve("batch-3", "ACCEPTED", evidence="in the ERP", by="Bob")
    go_back()
    assert restore(bob, None, by="Bob").in_doubt == ("batch-3",)
    assert restore(ada, None, by="Ada").in_doubt == ("batch-3",)


@pytest.mark.parametrize("way", ["pg_restore", pytest.param("new", marks=pytest.mark.long)])
def test_with_the_least_rights_each_person_needs_one_step(
    machine, restored, role, postgres, database, monkeypatch, way
):
    """The printed command, run literally on each machine that sent, is all: no other right, no circle."""
    look(machine("owner"))
    roles = {name: role(name) for name in ("ada", "bob", "eve")}
    for address in roles.values():
        postgres.sql(postgres_module.rights(Secret(address), address.split("//")[1].split(":")[0]), database)
    people = {name: machine(name, address) for name, address in roles.items()}
    for number, settings in enumerate(people.values(), 1):
        send(settings, number)
    go_back = restored(way)
    for number, settings in enumerate(people.values(), 11):
        send(settings, number)
    go_back()
    for settings in people.values():
        with pytest.raises(JournalError) as refused:
            send(settings, 21)
        command = re.search(r"bktools (journal .*?--by NAME)", str(refused.value))[1]
        assert run(command.replace("NAME", "Ada"), settings, monkeypatch)[0] == 0
    for number, settings in enumerate(people.values(), 21):
        send(settings, number)
        with open_for_writing(settings) as journal:
            assert journal.problems() == []


def run(line: str, settings, monkeypatch) -> tuple[int, str]:
    """Run a command on a machine."""
    for kind in ("data", "cache", "sent_log"):
        monkeypatch.setenv(f"BKTOOLS_{kind.upper()}_DIR", str(getattr(settings, f"{kind}_dir")))
    monkeypatch.setenv("BKTOOLS_JOURNAL", settings.journal.reveal())
    monkeypatch.setenv("BKTOOLS_BASE_URL", settings.base_url)
    result = CliRunner().invoke(app, shlex.split(line))
    if isinstance(result.exception, BktoolsError):
        return 1, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.mark.parametrize("release", [None, "bktools 9.0"])
def test_another_version_confirms_and_waives_nothing(machine, postgres, database, monkeypatch, release):
    """A colleague with another version of the schema is told which one to install; nothing is written."""
    send(machine("ada"), 1)
    postgres.sql("UPDATE bktools.about SET value = '9' WHERE name = 'schema_version'", database)
    postgres.sql(f"UPDATE bktools.about SET value = '{release}' WHERE name = 'release'", database)
    if release is None:
        postgres.sql("DELETE FROM bktools.about WHERE name IN ('schema_version', 'release')", database)
    tables, wanted = ("about", "events", "chain", "batches"), release or "bktools at commit cdb2426"
    before = [postgres.sql(f"SELECT * FROM bktools.{table} ORDER BY 1", database) for table in tables]
    for line in (
        *("journal", "journal verify", "journal restore --by Bob", "export status", "export history"),
        f"journal waive x --company {COMPANY} --by Bob --from 2026-10-01 --to 2026-10-31 --evidence x",
    ):
        code, said = run(line, replace(machine("bob"), token=None), monkeypatch)
        assert (code, f"install {wanted} to use it" in said) == (1, True), said
    assert [postgres.sql(f"SELECT * FROM bktools.{table} ORDER BY 1", database) for table in tables] == before
