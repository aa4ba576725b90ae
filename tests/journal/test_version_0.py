"""Journals of version 0, made by its code, are upgraded with all events; a kill at any point loses none.

`version_0/` holds a file and a database with every kind of event of version 0, and what it showed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from batches import ENTRIES

import bktools
from bktools.errors import JournalError
from bktools.frames.incoming import arrow_of
from bktools.journal.backups import restore
from bktools.journal.journal import Journal
from bktools.journal.records import loaded
from bktools.journal.statements import record_not_booked
from bktools.journal.writing import open_for_writing
from bktools.settings import Secret

HERE = Path(__file__).parent / "version_0"
ADDRESS = "http://127.0.0.1:8765"
ACME = "11111111-1111-4111-8111-111111111111"
LISTS = {"jobs": {}, "jobsentries": {"entries": True}, "jobsevents": {"events": True}}


def expected(kind: str):
    """What version 0 showed."""
    return json.loads(gzip.decompress((HERE / f"{kind}.json.gz").read_bytes()))


def connected(folder: Path, kind: str = "file", **more) -> bktools.Service:
    """Connect to the service whose journal it is."""
    folders = {f"{name}_dir": folder / kind / name for name in ("data", "cache", "sent_log")}
    return bktools.connect(ADDRESS, token="t", **folders, **more)


def unpack(kind: str, folder: Path) -> None:
    """Put the folders of version 0 into a folder."""
    with tarfile.open(HERE / f"{kind}.tar.gz") as archive:
        archive.extractall(folder, filter="data")


@pytest.fixture
def old(tmp_path: Path) -> bktools.Service:
    """The file of version 0, in folders of its own."""
    unpack("file", tmp_path)
    with connected(tmp_path) as service:
        yield service


def as_shown(frame) -> list[dict]:
    """The rows of a frame as JSON has them, with amounts as text."""
    amounts = {name: arrow_of(frame)[name].to_pylist() for name in frame.columns if "amount" in name}
    rows = frame.astype(object).where(lambda column: column.notna(), None).to_dict("records")
    rows = [row | {name: amounts[name][place] for name in amounts} for place, row in enumerate(rows)]
    # An event names the machine that sent as the row of its batch did.
    return json.loads(re.sub(r"#[0-9a-f]{8} process", " process", json.dumps(rows, default=str)))


def require_same(service: bktools.Service, was: dict) -> None:
    """Every event, batch and list is as version 0 had it."""
    with Journal(service.settings) as journal:
        assert journal.id == was["id"]
        sql = "SELECT events.*, digest FROM events JOIN chain USING (event_id) ORDER BY event_id"
        events = journal.rows(sql)
        for row, before in zip(events, was["events"], strict=False):
            names = ("subject", "subject_id", "before", "after", "message", "done_by")
            assert loaded(row["facts"])["version_0"] == [before[name] for name in names]
            assert all(row[name] == before[name] for name in ("event_id", "at", "digest"))
        assert len(events) > len(was["events"])
        names = "batch_id, company_id, entries, body_sha256, plan_id, job_id, job, planned_at, sent_at"
        batches = [
            row | {"body": row["body"].hex()}
            for row in journal.rows(f"SELECT {names}, body FROM batches ORDER BY batch_id")
        ]
        assert batches == [
            {name: row[name] for name in (*names.split(", "), "body")} for row in was["batches"]
        ]
    record = bktools.record_of("2026-10", company=ACME, service=service)
    for name, rows in was["record"].items():
        if name != "events":
            shown = json.loads(json.dumps(record.tables[name].to_pylist(), default=str))
            assert shown == json.loads(json.dumps(rows)), name
    assert [record.state, record.closed_by, record.not_kept] == was["state"]
    for name, which in LISTS.items():
        shown = as_shown(bktools.load_export_jobs(service=service, **which))
        # The sender that was killed is settled by whoever comes first, here and there.
        here, there = (
            [row for row in rows if "ended while" not in str(row.get("message"))]
            for rows in (shown, was[name])
        )
        assert here == there, name
    assert as_shown(bktools.load_accounts(service=service)) == was["accounts"]
    periods = as_shown(bktools.load_periods(service=service))
    assert [{name: row[name] for name in was["periods"][0]} for row in periods] == was["periods"]


def test_a_file_is_upgraded_with_all_its_events(old):
    """Each event keeps its number, time, digest and words, and each list and record is as it was."""
    require_same(old, expected("file"))
    with open_for_writing(old.settings) as journal:
        assert journal.problems() == []
        assert journal.rows("SELECT value FROM about WHERE name = 'schema_version'")[0]["value"] == "1"
        codes = {row["code"] for row in journal.rows("SELECT code FROM events")}
    assert {"rate_limited", "not_sent", "refused", "settled", "withdrawn", "close_applied"} <= codes


def test_a_copy_is_kept_and_the_sent_log_goes_on(old):
    """The copy beside the journal is whole, and what the sent log of version 0 knows counts for version 1."""
    with open_for_writing(old.settings) as journal:
        folder = journal.folder
        lines = journal.sent_log.of_all()
    assert (folder / "journal-version-0.sqlite").exists()
    assert sum(map(len, lines.values())) >= len(expected("file")["batches"])
    copy = folder / "journal-version-0.sqlite"
    # An old copy is noticed in both versions: since then a sender was settled.
    for suffix in ("-wal", "-shm"):
        (folder / f"journal.sqlite{suffix}").unlink(missing_ok=True)
    shutil.copyfile(copy, folder / "journal.sqlite")
    with pytest.raises(JournalError, match="old copy"):
        open_for_writing(old.settings)
    restore(old.settings, copy, by="Ada")
    with open_for_writing(old.settings) as journal:
        assert journal.problems() == []


def _killed_while_it_upgrades(service: bktools.Service, after: float) -> bool:
    process = os.fork()
    if process == 0:
        try:
            Journal(service.settings).close()
        finally:
            os._exit(0)
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("kills", [6, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
@pytest.mark.skipif(os.name != "posix", reason="processes are forked")
def test_a_killed_upgrade_leaves_one_version_or_the_other(tmp_path, kills):
    """Killed at any point, the journal is of version 0 or of version 1, and the next run has all of it."""
    chance, was = random.Random(kills), expected("file")
    counts = {True: 0, False: 0}
    longest = 0.1
    for number in range(kills):
        folder = tmp_path / str(number)
        folder.mkdir()
        unpack("file", folder)
        service = connected(folder)
        is_killed = _killed_while_it_upgrades(service, chance.uniform(0, longest))
        counts[is_killed] += 1
        longest *= 1.05 if is_killed else 0.8
        require_same(service, was)
        with open_for_writing(service.settings) as journal:
            assert journal.problems() == []
        service.close()
        shutil.rmtree(folder)
    assert counts[True] > kills / 4


@pytest.fixture
def shared(postgres, database, tmp_path):
    """The database of version 0, with its position in what the machine has seen as if unmoved."""
    unpack("postgres", tmp_path)
    address = postgres.address(database)
    text = gzip.decompress((HERE / "postgres.sql.gz").read_bytes()).decode()
    postgres.restore(database, "psql", text.encode())
    with psycopg.connect(address, autocommit=True) as connection:
        (position,) = connection.execute(
            "SELECT concat_ws(' ', (SELECT system_identifier FROM pg_control_system()), "
            "(SELECT oid FROM pg_database WHERE datname = current_database()), "
            "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8), "
            "to_regclass('bktools.events')::oid)"
        ).fetchone()
        connection.execute("UPDATE bktools.about SET value = %s WHERE name = 'incarnation'", [position])
        sql = "SELECT event_id, digest FROM bktools.chain ORDER BY event_id DESC LIMIT 1"
        newest = connection.execute(sql).fetchone()
    _see(tmp_path, position, *newest)
    with connected(tmp_path, "postgres", journal=address) as service:
        yield service


def _see(folder: Path, position: str, event: int, digest: str) -> None:
    for path in folder.rglob("seen.json"):
        body = json.loads(path.read_text().partition(" ")[2])
        text = json.dumps(body | {"database": position, "position": 0, "event": event, "digest": digest})
        path.write_text(f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {text}\n")
    # The database was copied before its last sender was settled.
    for path in folder.rglob("*.marks"):
        lines = path.read_text().splitlines(keepends=True)
        kept = [line for line in lines if json.loads(line.partition(" ")[2])["event"] <= event]
        path.write_text("".join(kept))
    for path in folder.rglob("about.json"):
        path.write_text(re.sub(r'"path": "[^"]*"', '"path": ""', path.read_text()))


def test_a_database_is_upgraded_by_its_owner(shared, postgres):
    """The owner upgrades it in one transaction; the memory goes on, old tables stay as a copy."""
    require_same(shared, expected("postgres"))
    with open_for_writing(shared.settings) as journal:
        assert journal.problems() == []
        (copy,) = journal.rows("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'bktools_version_0_%'")
        (events,) = journal.rows(f"SELECT count(*) AS number FROM {copy['nspname']}.events")
        assert events["number"] >= len(expected("postgres")["events"])
        assert journal.sent_log.machine() == expected("postgres")["sender"].rpartition("#")[2]


def test_a_member_of_the_team_waits_for_the_owner_and_keeps_the_rights(shared, postgres, database, role):
    """A member upgrades nothing and is told who can; afterwards the member has rights on new tables."""
    own = role("member")
    (name,) = re.findall("//(.*?):", own)
    rights = "GRANT USAGE ON SCHEMA bktools TO {0}; GRANT SELECT ON ALL TABLES IN SCHEMA bktools TO {0}"
    postgres.sql(rights.format(name), database)
    member = replace(shared.settings, journal=Secret(own))
    with pytest.raises(JournalError, match="belong to the database user keeper: nothing was upgraded"):
        Journal(member)
    Journal(shared.settings).close()
    with open_for_writing(member) as journal:
        record_not_booked(journal, ACME, [ENTRIES[0]], by="Bob", evidence="seen")
        assert journal.problems() == []
