"""Files of several people move to one database: each history comes whole, once, or nothing is moved."""

from __future__ import annotations

import re
import shutil

import pytest
from backends import typed_by_hand, without_triggers
from batches import COMPANY, batch, entry, send

from bktools.errors import ArgumentError, JournalError
from bktools.export.plan import BatchRequest
from bktools.journal import move as move_module
from bktools.journal import postgres as postgres_module
from bktools.journal.backups import restore
from bktools.journal.events import events_by_code
from bktools.journal.journal import Journal
from bktools.journal.move import move
from bktools.journal.periods import CHANGED
from bktools.journal.postgres import location_of
from bktools.journal.writing import WritableJournal, open_for_writing
from bktools.settings import Secret


def send_own(journal: WritableJournal, wanted: BatchRequest, state: str = "ACCEPTED") -> None:
    """Bring a batch to a state; the service answers each journal with a job of its own."""
    send(journal, wanted, state, job_id=f"job-{journal.id[:4]}-{wanted.batch_id}")


@pytest.fixture
def ada(machine):
    """A function that fills the file of the first person, and moves it."""

    def moved(**batches: tuple) -> None:
        with open_for_writing(machine("ada", file=True)) as journal:
            for name, (state, *numbers) in batches.items():
                send_own(journal, batch(name, *numbers, amount="1.00"), state)
        move(machine("ada"), by="Ada")

    return moved


@pytest.fixture
def eve(machine):
    """A function that fills the file of the second person."""

    def filled(**batches: tuple) -> Journal:
        with open_for_writing(machine("eve", file=True)) as journal:
            for name, (state, *numbers) in batches.items():
                send_own(journal, batch(name, *numbers, amount="2.00"), state)
        return journal

    return filled


def states(journal: Journal) -> dict[str, str]:
    rows = journal.rows("SELECT batch_id, state FROM batches ORDER BY batch_id")
    return {row["batch_id"]: row["state"] for row in rows}


def test_a_second_history_comes_whole(machine, ada, eve, tmp_path):
    """Batches, facts and events of both are there as they were, and nobody can send an entry again."""
    ada(a=("ACCEPTED", 1), b=("UNKNOWN", 2))
    file = eve(c=("ACCEPTED", 3, 4), d=("RELEASED", 5), e=("UNKNOWN", 6))
    shutil.copy(file.path, tmp_path / "kept.sqlite")
    columns = "code, state, batch_id, facts, person, login, machine, process, at"
    sql = f"SELECT {columns} FROM events ORDER BY event_id"
    with open_for_writing(machine("eve", file=True)) as journal:
        before = journal.rows(sql)
    last = move(machine("eve"), by="Eve")
    for name in ("ada", "eve"):
        with open_for_writing(machine(name)) as journal:
            journal.require_current()
            assert journal.problems() == []
            both = ("ACCEPTED", "UNKNOWN", "ACCEPTED", "RELEASED", "UNKNOWN")
            assert states(journal) == dict(zip("abcde", both, strict=True))
            assert "are in batch c" in journal.obstacle(batch("x", 4))
            amounts = journal.rows("SELECT batch_id, amount FROM entry_data ORDER BY entry_id")
            kept = [("a", "1.00"), ("b", "1.00"), *((name, "2.00") for name in "ccde")]
            assert [(row["batch_id"], row["amount"]) for row in amounts] == kept
            assert [row for row in journal.rows(sql) if row in before] == before
            *_, event = events_by_code(journal, "imported")
    with typed_by_hand(file, None) as closed:
        sql = "SELECT event_id, digest FROM chain ORDER BY event_id DESC LIMIT 2"
        closing, newest = closed.execute(sql).fetchall()
    told = event.facts
    assert (told["journal"], event.person, told["location"]) == (file.id, "Eve", str(file.path))
    assert (told["last_event"], told["digest"]) == (newest["event_id"], newest["digest"])
    assert closing["event_id"] == newest["event_id"] + 1, "the file was closed when its copy was whole"
    assert move(machine("eve"), by="Eve") == last, "again changes nothing"
    with open_for_writing(machine("eve")) as journal:
        for name in "be":
            journal.resolve(name, "RELEASED", evidence="not in the ERP", by="Ada")
        send_own(journal, batch("f", 7))
    closed, there = machine("eve", file=True), location_of(machine("eve").journal)
    with pytest.raises(JournalError, match=f"was moved to {there}: nothing was read or sent; set BKTOOLS"):
        open_for_writing(closed)
    for suffix in ("", "-wal", "-shm"):
        file.path.with_name(file.path.name + suffix).unlink(missing_ok=True)
    shutil.copy(tmp_path / "kept.sqlite", file.path)
    said = f"with the journal {there} .*set BKTOOLS_JOURNAL to that database"
    with pytest.raises(JournalError, match=said):
        open_for_writing(closed)
    with pytest.raises(JournalError, match="set BKTOOLS_JOURNAL to that database"):
        restore(closed, tmp_path / "kept.sqlite", by="Eve")
    with pytest.raises(JournalError, match="is an old copy"):
        move(machine("eve"), by="Eve")


@pytest.mark.parametrize(
    ("here", "there", "name"),
    [
        ("ACCEPTED", "ACCEPTED", "b"),
        ("ACCEPTED", "UNKNOWN", "b"),
        ("UNKNOWN", "ACCEPTED", "a"),
        ("UNKNOWN", "UNKNOWN", "a"),
    ],
)
def test_an_entry_that_both_sent_moves_nothing(machine, ada, eve, here, there, name):
    """Both batches are named with the way out, nothing is changed, and after that way out the file moves."""
    ada(a=(here, 1, 2))
    file = eve(**{name: (there, *((1, 2) if name == "a" else (2, 3)))})
    with open_for_writing(machine("ada")) as journal:
        before = journal.last_event()
    with pytest.raises(JournalError, match="nothing was moved") as caught:
        move(machine("eve"), by="Eve")
    said = str(caught.value)
    assert f"batch a ({here}" in said
    assert f"batch {name} ({there}" in said
    with open_for_writing(machine("ada")) as journal, open_for_writing(machine("eve", file=True)) as own:
        own.require_current()
        assert journal.last_event() == before
        way = r"export resolve (\w+) \S+ \S+ --outcome \S+ --evidence \S+ --by NAME( \(without)?"
        ways = re.findall(way, said)
        assert len(ways) == (here == "UNKNOWN") + (there == "UNKNOWN")
        for batch_id, is_of_file in ways:
            (own if is_of_file else journal).resolve(batch_id, "ACCEPTED", evidence="booked", by="Ada")
    if ways:
        with pytest.raises(JournalError, match="were exported twice") as caught:
            move(machine("eve"), by="Eve")
        said = str(caught.value)
    assert 'bktools journal move --environment https://books.example.com --evidence "..." --by NAME' in said
    with pytest.raises(ArgumentError, match="evidence"):
        move(machine("eve"), by="Eve", evidence=" ")
    move(machine("eve"), by="Eve", evidence="voucher 4711 was reversed")
    with open_for_writing(machine("eve")) as journal:
        assert journal.problems() == []
        assert set(states(journal).values()) == {"ACCEPTED"}
        imported = [event.facts for event in events_by_code(journal, "imported")]
        (told,) = [facts for facts in imported if facts["journal"] == file.id]
        assert told["evidence"] == "voucher 4711 was reversed"
        assert told["sent_twice"] == [entry(number) for number in ((1, 2) if name == "a" else (2,))]
        for number in (1, 2, *((3,) if name == "b" else ())):
            assert journal.obstacle(batch("x", number))


@pytest.mark.parametrize(
    ("here", "there", "after"),
    [
        ("PLANNED", "ACCEPTED", ("RELEASED", "ACCEPTED")),
        ("ACCEPTED", "PLANNED", ("ACCEPTED", "RELEASED")),
        ("PLANNED", "PLANNED", ("PLANNED", "RELEASED")),
        ("UNKNOWN", "PLANNED", ("UNKNOWN", "RELEASED")),
    ],
)
def test_what_was_not_sent_gives_way(machine, ada, eve, here, there, after):
    """A batch that waits in one journal, and whose entry the other one has, is withdrawn with an event."""
    ada(a=(here, 1, 2))
    eve(b=(there, 2, 3))
    move(machine("eve"), by="Eve")
    with open_for_writing(machine("eve")) as journal:
        assert journal.problems() == []
        assert (states(journal)["a"], states(journal)["b"]) == after


@pytest.mark.parametrize(
    ("here", "there", "after", "amount"),
    [
        ("ACCEPTED", "REJECTED", "ACCEPTED", "1.00"),
        ("ACCEPTED", "PLANNED", "ACCEPTED", "1.00"),
        ("REJECTED", "ACCEPTED", "ACCEPTED", "2.00"),
        ("RELEASED", "UNKNOWN", "UNKNOWN", "2.00"),
        ("PLANNED", "ACCEPTED", "ACCEPTED", "2.00"),
        ("PLANNED", "PLANNED", "PLANNED", "1.00"),
        ("RELEASED", "REJECTED", "REJECTED", "2.00"),
    ],
)
def test_a_batch_that_both_have_keeps_what_was_sent(machine, ada, eve, here, there, after, amount):
    """State, entries and facts of a batch that both have are those of the person who sent it."""
    ada(a=(here, 1, 2))
    eve(a=(there, 1, 2))
    move(machine("eve"), by="Eve")
    with open_for_writing(machine("ada")) as journal:
        assert journal.problems() == []
        assert states(journal) == {"a": after}
        (rows,) = journal.history("entries")
        assert {row["amount"] for row in rows} == {amount}
        assert bool(journal.obstacle(batch("x", 1))) == (after in {"ACCEPTED", "UNKNOWN"})


def test_a_period_that_one_closed_stays_closed(machine, ada, eve):
    """Whoever closed a month: after the move it is closed, though the other one had opened it again."""
    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))

    def say(name: str, month: str, state: str) -> None:
        with (
            open_for_writing(machine(name, file=name == "eve")) as journal,
            journal.recording(COMPANY) as connection,
        ):
            about = {"company_id": COMPANY, "period": month, "person": name, "facts": {"reason": "late"}}
            journal.record(connection, CHANGED[state], state=state, **about)

    for name, month in (("ada", "2026-08"), ("ada", "2026-09"), ("eve", "2026-09"), ("eve", "2026-10")):
        say(name, month, "CLOSED")
    say("eve", "2026-09", "OPEN")
    move(machine("eve"), by="Eve")
    with open_for_writing(machine("ada")) as journal:
        rows = journal.rows("SELECT period, state FROM periods ORDER BY period")
        assert [(row["period"], row["state"]) for row in rows] == [
            ("2026-08", "CLOSED"),
            ("2026-09", "CLOSED"),
            ("2026-10", "CLOSED"),
        ]
        assert journal.problems() == []


def test_an_account_that_both_know_is_the_newer_one(machine, ada, eve):
    """Of two rows of an account the one with an ID counts, then the newer one."""

    def know(journal: Journal, code: str, account_id: str | None, at: str, name: str) -> None:
        with journal.transaction() as connection:
            connection.execute(
                "INSERT INTO accounts (company_id, external_id, state, account_id, name, updated_at, "
                "facts) VALUES (?, ?, ?, ?, ?, ?, '{}')",
                (COMPANY, code, "CREATED" if account_id else "EXISTS", account_id, name, at),
            )

    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))
    with open_for_writing(machine("ada")) as here, open_for_writing(machine("eve", file=True)) as there:
        for code, ours, theirs in (
            ("newer here", ("1", "2"), ("1", "1")),
            ("newer there", ("1", "1"), ("1", "2")),
            ("id here", ("1", "1"), (None, "2")),
            ("id there", (None, "2"), ("1", "1")),
        ):
            know(here, code, *ours, "here")
            know(there, code, *theirs, "there")
        know(there, "alone", "1", "1", "there")
    move(machine("eve"), by="Eve")
    with open_for_writing(machine("ada")) as journal:
        rows = journal.rows("SELECT external_id, name FROM accounts")
        assert {row["external_id"]: row["name"] for row in rows} == {
            "newer here": "here",
            "newer there": "there",
            "id here": "here",
            "id there": "there",
            "alone": "there",
        }


def test_a_user_who_is_not_the_owner_is_told_before_the_file_is_closed(
    machine, ada, eve, role, postgres, database
):
    """The message names the owner; the file can still send."""
    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))
    own = role("mover")
    postgres.sql(postgres_module.rights(Secret(own), own.split("//")[1].split(":")[0]), database)
    with pytest.raises(JournalError, match="belong to the database user keeper: nothing was moved"):
        move(machine("eve", address=own), by="Eve")
    with open_for_writing(machine("eve", file=True)) as journal:
        send_own(journal, batch("c", 3))


def test_the_history_of_another_service_stays_out(machine, ada):
    """A database holds the journal of one service: the message names both addresses."""
    ada(a=("ACCEPTED", 1))
    other = "https://other.example.com"
    with open_for_writing(machine("eve", file=True, url=other)) as journal:
        send_own(journal, batch("b", 2))
    said = rf"belongs to .*https://books.example.com\), not to .*{other}\): nothing was moved"
    with pytest.raises(JournalError, match=said):
        move(machine("eve", url=other), by="Eve")
    with open_for_writing(machine("eve", file=True, url=other)) as journal:
        send_own(journal, batch("c", 3))


def test_a_job_of_two_batches_moves_nothing(machine, ada):
    """A job answers for one batch in both journals together: both are named, and the file can still send."""
    ada(a=("ACCEPTED", 1))
    with open_for_writing(machine("ada")) as journal:
        job = journal.state_of("a")["job_id"]
    with open_for_writing(machine("eve", file=True)) as journal:
        send_own(journal, batch("b", 2), "UNKNOWN")
        journal.resolve("b", "ACCEPTED", evidence="seen", by="Eve", job_id=job)
    said = f"job {job} belongs to batch a in .* to batch b in .*nothing was moved"
    with pytest.raises(JournalError, match=said):
        move(machine("eve"), by="Eve")
    with open_for_writing(machine("eve", file=True)) as journal:
        send_own(journal, batch("c", 3))


def test_a_second_copy_of_a_moved_file_stays_out(machine, ada, tmp_path):
    """A copy that went on by itself elsewhere is not a second history: it is refused, and stays as it is."""
    with open_for_writing(machine("ada", file=True)) as journal:
        send_own(journal, batch("a", 1))
    shutil.copytree(tmp_path / "ada", tmp_path / "copy")
    ada()
    shutil.move(tmp_path / "ada", tmp_path / "away")
    shutil.move(tmp_path / "copy", tmp_path / "ada")
    with open_for_writing(machine("ada", file=True)) as journal:
        send_own(journal, batch("b", 2))
    with pytest.raises(JournalError, match="is another copy of it: nothing was moved"):
        move(machine("ada"), by="Ada")


def _ends(*_):
    raise KeyboardInterrupt


def test_a_move_that_ends_before_its_switch_leaves_the_file(machine, ada, eve, monkeypatch):
    """Until the copy is whole, the file is the journal and sends on; the database is refused here."""
    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))
    for step in ("_copy", "contradictions"):
        with monkeypatch.context() as patched:
            patched.setattr(move_module._Target, step, _ends)
            with pytest.raises(KeyboardInterrupt):
                move(machine("eve"), by="Eve")
        said = r"is the file .*and its history is not in .*journal move .* --by NAME"
        with pytest.raises(JournalError, match=said):
            open_for_writing(machine("eve"))
    with open_for_writing(machine("eve", file=True)) as journal:
        send_own(journal, batch("c", 3))
    move(machine("eve"), by="Eve")
    with open_for_writing(machine("eve")) as journal:
        assert states(journal) == {"a": "ACCEPTED", "b": "ACCEPTED", "c": "ACCEPTED"}
        assert journal.problems() == []


def test_a_move_that_ends_at_its_switch_is_finished_by_the_next_run(machine, ada, eve, monkeypatch):
    """The file is closed and the copy was not committed: neither sends, and both name the way to go on."""
    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))
    original = move_module._close

    def closes_and_ends(*arguments):
        original(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(move_module, "_close", closes_and_ends)
        with pytest.raises(KeyboardInterrupt):
            move(machine("eve"), by="Eve")
    with pytest.raises(JournalError, match="was moved to"):
        open_for_writing(machine("eve", file=True))
    with pytest.raises(JournalError, match="move it there: bktools journal move"):
        open_for_writing(machine("eve"))
    last = move(machine("eve"), by="Eve")
    assert move(machine("eve"), by="Eve") == last
    with open_for_writing(machine("eve")) as journal:
        assert (states(journal), journal.problems()) == ({"a": "ACCEPTED", "b": "ACCEPTED"}, [])


def test_a_database_from_before_the_import_is_noticed(machine, ada, eve, postgres, database):
    """A dump of before is refused on the machine that moved its file, whose sent log has its batches."""
    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))
    go_back = postgres.kept(database, "new")
    move(machine("eve"), by="Eve")
    go_back()
    with Journal(machine("eve")) as journal:
        assert len(journal.problems()) == 1
    with pytest.raises(JournalError):
        open_for_writing(machine("eve"))
    assert restore(machine("eve"), None, by="Eve").accepted == ("b",)


def test_imported_events_that_somebody_changed_are_told(machine, ada, eve, postgres, database):
    """The events that came from a file are in the database's chain: a changed one is named."""
    ada(a=("ACCEPTED", 1))
    eve(b=("ACCEPTED", 2))
    move(machine("eve"), by="Eve")
    with open_for_writing(machine("ada")) as journal:
        with typed_by_hand(journal, postgres.address(database)) as by_hand:
            without_triggers(by_hand, postgres.address(database))
            by_hand.execute("UPDATE events SET facts = '{}' WHERE batch_id = 'b' AND state = 'ACCEPTED'")
        (found,) = journal.problems()
    assert "was changed after it was written" in found
