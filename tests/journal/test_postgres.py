"""A journal that a team shares in PostgreSQL: unsafe servers, rights, cut connections, colleagues."""

from __future__ import annotations

import traceback
from contextlib import nullcontext
from dataclasses import replace

import pytest
from batches import ADDRESS, COMPANY, answer, batch, begun, claimed, send, state
from postgres_server import OWNER, PASSWORD

from bktools.errors import ConfigurationError, JournalBusyError, JournalError, StorageError
from bktools.journal import postgres as postgres_module
from bktools.journal.attempts import record_intent, record_outcome, recover_free
from bktools.journal.journal import identity_of
from bktools.journal.writing import open_for_writing, open_up_to_date
from bktools.settings import Secret, Settings

pytestmark = pytest.mark.parametrize("backend", ["postgres"], indirect=True)


def at(settings: Settings, address: str) -> Settings:
    """Return the settings of a machine with another address of a database."""
    return replace(settings, journal=Secret(address))


def test_one_machine_sends_for_a_company(machine):
    """The lock holds for all machines; a connection that ends frees it."""
    open_for_writing(machine("second")).close()
    with open_for_writing(machine("second")) as second:
        with open_for_writing(machine()) as first:
            claimed(first, batch("a", 1))
            with first.lock(COMPANY):
                record_intent(first, "a")
                with pytest.raises(JournalBusyError, match="is sending for company"), second.lock(COMPANY):
                    pass
                recover_free(second)
                assert state(second, "a") == "SENDING"
        recover_free(second)
        assert state(second, "a") == "UNKNOWN"


@pytest.mark.parametrize("is_back", [True, False])
def test_a_cut_connection_loses_no_outcome(machine, postgres, database, is_back):
    """It is written on another connection, or by the next command from the sent log."""
    outcomes = {"a": answer("ACCEPTED", "job"), "b": answer("PLANNED")}
    for number, (name, outcome) in enumerate(outcomes.items()):
        with open_for_writing(machine()) as journal:
            attempt = begun(journal, batch(name, number))
            if not is_back:
                postgres.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS false")
            postgres.cut(database)
            unwritten = pytest.raises(StorageError, match="kept in this machine's sent log")
            with nullcontext() if is_back else unwritten:
                record_outcome(journal, attempt, outcome)
            postgres.sql(f"ALTER DATABASE {database} ALLOW_CONNECTIONS true")
        with open_up_to_date(machine()) as journal:
            assert (state(journal, name), journal.batch(name)["job_id"]) == (outcome.state, outcome.job_id)


@pytest.mark.parametrize("whose", ["DATABASE {}", f"ROLE {OWNER} IN DATABASE {{}}"])
def test_every_commit_is_on_the_disk(machine, postgres, database, whose):
    """Whatever the database or the role says, a session of the journal waits for the disk."""
    postgres.sql(f"ALTER {whose.format(database)} SET synchronous_commit = off")
    with open_for_writing(machine()) as journal:
        assert journal.row("SHOW synchronous_commit") == {"synchronous_commit": "on"}


UNSAFE = [
    ("is_replica", True, "it is a replica"),
    ("process", 7, "a connection pooler is in between"),
    ("fsync", "off", "fsync is off"),
    ("full_page_writes", "off", "full_page_writes is off"),
    ("encoding", "LATIN1", "its encoding is LATIN1"),
]


def test_a_server_that_could_lose_something_is_refused(backend):
    """Each reason has its sentence; a safe server has none."""
    safe = {"process": 1, "is_replica": False, "encoding": "UTF8", "fsync": "on", "full_page_writes": "on"}
    postgres_module._refuse_unsafe("the database", safe, 1)
    for fact, value, message in UNSAFE:
        with pytest.raises(StorageError, match=f"cannot be kept safely: {message}"):
            postgres_module._refuse_unsafe("the database", safe | {fact: value}, 1)


def test_a_password_is_never_shown(machine, postgres, database):
    """Neither settings, locations, messages, tracebacks nor the frames' variables have it."""
    shown = [repr(machine()), identity_of(machine())]
    with open_for_writing(machine()) as journal:
        send(journal, batch("a", 1))
        shown += [journal.location, str(journal.memory()), repr(vars(journal._database)["_address"])]
    wrong = f"{PASSWORD}-wrong"
    addresses = (
        postgres.address(database, password=wrong),
        f"postgresql://{OWNER}:{PASSWORD}@127.0.0.1:1/{database}",
        f"postgresql://{OWNER}:{PASSWORD}%zz@127.0.0.1/{database}",
    )
    for settings in [at(machine(), address) for address in addresses]:
        with pytest.raises((StorageError, ConfigurationError)) as refused:
            open_for_writing(settings)
        error = traceback.TracebackException.from_exception(refused.value, capture_locals=True)
        # The frames of the test have the addresses.
        error.stack = traceback.StackSummary.from_list(
            [frame for frame in error.stack if __file__ not in frame.filename]
        )
        shown += error.format()
        assert "\n" not in str(refused.value)
    for name in ("machine", "sent_log"):
        for path in machine().sent_log_dir.rglob("*"):
            shown.append(f"{name} {path.read_text()}" if path.is_file() else "")
    assert PASSWORD not in "\n".join(shown)
    assert f"postgresql://127.0.0.1:{postgres.port}/{database}" in shown[1]


def test_a_colleague_names_the_address_alone(machine):
    """The database has the journal of "live"; who has no config file uses it by the address."""
    live = machine("ada", url="live", base_url=ADDRESS)
    with open_for_writing(live) as journal:
        send(journal, batch("a", 1))
    for _ in range(2):
        with open_for_writing(machine("bob")) as journal:
            assert journal.origin()["environment"] == "live"
            assert "are in batch a" in str(journal.obstacle(batch("x", 1)))
    with open_for_writing(machine("bob")) as journal:
        send(journal, batch("b", 2, date="2030-01-01"))
    # With a name for the address the machine's own folders take it, too; another name is asked about.
    bob = machine("bob")
    named = replace(live, data_dir=bob.data_dir, sent_log_dir=bob.sent_log_dir)
    open_for_writing(named).close()
    another = replace(named, environment="another")
    with pytest.raises(JournalError, match="go on with the name live"):
        open_for_writing(another)
