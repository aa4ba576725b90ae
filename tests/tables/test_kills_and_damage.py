"""Killed at any instant, many processes at once, a full disk, a flipped bit: old or new, whole, never a mixture."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

from bktools.errors import StorageError
from bktools.frames.schema import CATEGORIES
from bktools.settings import load_settings
from bktools.tables.snapshots import Question, Shelf

COMPANY = str(uuid.UUID(int=1))
ROWS = 200

# More by BKTOOLS_TEST_KILLS, within as many seconds as they take.
KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "500"))
SECONDS = 30.0 if "BKTOOLS_TEST_KILLS" not in os.environ else float("inf")


def shelf_in(folder, token="t"):
    given = load_settings("http://127.0.0.1:9", env={}, token=token, cache_dir=folder, data_dir=folder)
    return Shelf(given, Question("search_categories", {"company_id": COMPANY}))


def rows_of(version, count=ROWS):
    """Return rows that all say which snapshot they are of."""
    ids = [str(uuid.UUID(int=number + 1)) for number in range(count)]
    columns = {"id": ids, "company_id": [COMPANY] * count, "category_group_id": [COMPANY] * count}
    columns |= {"name": [f"{version}"] * count, "archived": [False] * count}
    columns |= {name: [None] * count for name in ("account_id", "tax_code_id", "metadata")}
    return pa.table(columns, schema=CATEGORIES)


def commit(shelf, version, count=ROWS):
    with shelf.writer(CATEGORIES) as writer:
        writer.write(rows_of(version, count))
        return shelf.commit(writer.finish(), dt.datetime.now(dt.UTC))


def version_in(shelf):
    """Return which snapshot is the newest, when it is whole and of one piece."""
    newest = shelf.newest()
    assert newest is not None
    rows = shelf.read(newest)
    assert rows is not None
    assert rows.num_rows == ROWS
    versions = set(rows.column("name").to_pylist())
    assert len(versions) == 1
    return int(versions.pop())


def committing_child(folder, version):
    """Fork a process that commits a snapshot; return once it is about to."""
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            shelf = shelf_in(folder)
            os.write(tell, b"!")
            commit(shelf, version)
        finally:
            os._exit(0)
    os.close(tell)
    assert os.read(ready, 1) == b"!"
    os.close(ready)
    return child


def test_killed_while_committing(tmp_path):
    """After each kill the newest snapshot is the one before or the one that was being written."""
    shelf = shelf_in(tmp_path)
    commit(shelf, 0)
    child = committing_child(tmp_path, 1)
    begin = time.monotonic()
    os.waitpid(child, 0)
    usual = time.monotonic() - begin
    before, killed, newer = version_in(shelf), 0, 0
    assert before == 1
    begin = time.monotonic()
    for number in range(2, KILLS + 2):
        child = committing_child(tmp_path, number)
        time.sleep(random.uniform(0, usual * 1.5))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        found = version_in(shelf)
        assert found in {before, number}
        newer += found == number
        before = found
        if time.monotonic() - begin > SECONDS:
            break
    print(f"{killed} kills while committing, {newer} new snapshots, each whole")
    assert killed > 20
    assert newer > 0
    # Every line of the history can be read, not only the last.
    assert all(shelf.read(item) is not None for item in shelf.history())


WRITE_AND_READ = """
import sys, time
sys.path.insert(0, sys.argv[1])
from test_kills_and_damage import commit, shelf_in, version_in
end = time.monotonic() + 2.5
count = 0
while time.monotonic() < end:
    shelf = shelf_in(sys.argv[2])
    commit(shelf, int(sys.argv[3]) * 100_000 + count)
    for _ in range(4):
        version_in(shelf)
    count += 1
print(count)
"""


def test_four_processes_write_and_read_the_same(tmp_path):
    """Each always reads one whole snapshot, and no commit of anybody is lost."""
    commit(shelf_in(tmp_path), 0)
    command = [sys.executable, "-c", WRITE_AND_READ, str(Path(__file__).parent), str(tmp_path)]
    running = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(1, 5)
    ]
    outputs = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    counts = [int(output) for output, _ in outputs]
    assert len(shelf_in(tmp_path).history()) == 1 + sum(counts)
    assert min(counts) > 0


def test_a_full_disk(tmp_path):
    """What does not fit is one clear error, and the last snapshot is as it was."""
    shelf = shelf_in(tmp_path)
    commit(shelf, 1)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for bytes_left in (0, 100, 2_000, 6_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, usual[1]))
            with pytest.raises(StorageError, match="the last one is as it was"):
                commit(shelf, 2, count=20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)
    assert version_in(shelf) == 1
    assert not list(shelf.folder.glob("tmp-*"))


def test_a_flipped_bit_anywhere_in_the_data(tmp_path):
    """Every flipped bit of the data file is noticed; the snapshot before can still be read."""
    random.seed(7)
    shelf = shelf_in(tmp_path)
    old, new = commit(shelf, 1), commit(shelf, 2)
    whole = shelf.path(new).read_bytes()
    for place in random.sample(range(len(whole)), 200):
        raw = bytearray(whole)
        raw[place] ^= 1 << random.randrange(8)
        shelf.path(new).write_bytes(raw)
        found = shelf.read(new)
        # Bytes that nothing refers to may change without changing a row.
        assert found is None or found.equals(rows_of(2))
    shelf.path(new).unlink(missing_ok=True)
    assert shelf.read(old).equals(rows_of(1))


def test_a_flipped_bit_anywhere_in_the_manifest(tmp_path):
    """The manifest is whole, or the one before it answers; the next commit repairs it."""
    random.seed(8)
    shelf = shelf_in(tmp_path)
    for version in (1, 2):
        commit(shelf, version)
    path = shelf.folder / "manifest.json"
    whole = path.read_bytes()
    for place in random.sample(range(len(whole)), 200):
        raw = bytearray(whole)
        raw[place] ^= 1 << random.randrange(8)
        path.write_bytes(raw)
        assert version_in(shelf) in {1, 2}
    path.write_bytes(whole[: len(whole) // 2])
    assert version_in(shelf) == 1
    commit(shelf, 3)
    assert version_in(shelf) == 3
    assert json.loads(path.read_bytes())
    assert list(shelf.folder.glob("damaged-*"))


def test_two_credentials_never_meet(tmp_path):
    mine, theirs = shelf_in(tmp_path, "mine"), shelf_in(tmp_path, "theirs")
    commit(mine, 1)
    assert theirs.newest() is None
    assert mine.folder != theirs.folder
    assert not any(b"mine" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_pruning_keeps_each_months_last(tmp_path):
    """Old snapshots go, but what a month ended with stays, and so does what shares its file."""
    shelf = shelf_in(tmp_path)
    moments = [dt.datetime(2026, month, day, 12, tzinfo=dt.UTC) for month in (7, 8, 9, 10) for day in (3, 20, 30)]
    for number, moment in enumerate(moments):
        with shelf.writer(CATEGORIES) as writer:
            # The first and the last of a month have the same content.
            writer.write(rows_of(number // 3 * 3 + number % 3 % 2))
            shelf.commit(writer.finish(), moment)
    gone = shelf.prune(dt.timedelta(days=30), now=dt.datetime(2026, 11, 1, tzinfo=dt.UTC))
    kept = [item.time for item in shelf.history()]
    assert kept == [moments[2], moments[5], moments[8], moments[9], moments[10], moments[11]]
    assert gone.snapshots == 6
    assert gone.size > 0
    assert all(shelf.read(item) is not None for item in shelf.history())
    assert len(list(shelf.folder.glob("*.parquet"))) == 3 + 2
    assert shelf.prune(dt.timedelta(0)).snapshots == 2
    assert shelf.newest().time == moments[-1]
