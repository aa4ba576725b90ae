"""Killed at any instant, many processes at once, a full disk, a flipped bit: old or new, whole, never a mixture."""

from __future__ import annotations

import contextlib
import datetime as dt
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
import pyarrow.parquet as pq
import pytest

from bktools.errors import DamagedStoreWarning, StorageError
from bktools.frames.schema import CATEGORIES
from bktools.settings import load_settings
from bktools.store import Facts, FolderStore, Query
from bktools.tables.options import Options

COMPANY = str(uuid.UUID(int=1))
ROWS = 200

# More by BKTOOLS_TEST_KILLS, within as many seconds as they take.
KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "500"))
SECONDS = 10.0 if "BKTOOLS_TEST_KILLS" not in os.environ else float("inf")


QUERY = Query("search_categories", {"company_id": COMPANY})


def store_in(folder, token="t"):
    return FolderStore(load_settings("http://127.0.0.1:9", env={}, token=token, cache_dir=folder, data_dir=folder))


def rows_of(version, count=ROWS):
    """Return rows that all say which snapshot they are of."""
    ids = [str(uuid.UUID(int=number + 1)) for number in range(count)]
    columns = {"id": ids, "company_id": [COMPANY] * count, "category_group_id": [COMPANY] * count}
    columns |= {"name": [f"{version}"] * count, "archived": [False] * count}
    columns |= {name: [None] * count for name in ("account_id", "tax_code_id", "metadata")}
    return pa.table(columns, schema=CATEGORIES)


def commit(store, version, count=ROWS, moment=None):
    def write(path):
        pq.write_table(rows_of(version, count), path, write_page_checksum=True)
        return Facts((moment or dt.datetime.now(dt.UTC)).isoformat(), count, ("ids", "total"))

    return store.append(QUERY, write)


def history(store):
    return store.history(QUERY).snapshots


def read(store, snapshot):
    return pa.concat_tables(store.read(QUERY, snapshot))


def version_in(store):
    """Return which snapshot is the newest, when it is whole and of one piece."""
    rows = read(store, history(store)[-1])
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
            store = store_in(folder)
            os.write(tell, b"!")
            commit(store, version)
        finally:
            os._exit(0)
    os.close(tell)
    assert os.read(ready, 1) == b"!"
    os.close(ready)
    return child


def test_killed_while_committing(tmp_path):
    """After each kill the newest snapshot is the one before or the one that was being written."""
    store = store_in(tmp_path)
    commit(store, 0)
    taken = []
    for number in (1, 2, 3):
        child = committing_child(tmp_path, number)
        begin = time.monotonic()
        os.waitpid(child, 0)
        taken.append(time.monotonic() - begin)
    # Another process may have held one of them up, and kills would then come too late.
    usual = min(taken)
    before, killed, newer = version_in(store), 0, 0
    assert before == 3
    begin = time.monotonic()
    for number in range(4, KILLS + 4):
        child = committing_child(tmp_path, number)
        time.sleep(random.uniform(0, usual * 1.5))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        found = version_in(store)
        assert found in {before, number}
        newer += found == number
        before = found
        if time.monotonic() - begin > SECONDS:
            break
    print(f"{killed} kills while committing, {newer} new snapshots, each whole")
    assert killed > 10
    assert newer > 0
    # Every line of the history can be read, not only the last.
    assert all(read(store, item).num_rows == ROWS for item in history(store))


WRITE_AND_READ = """
import sys, time
sys.path.insert(0, sys.argv[1])
from test_kills_and_damage import commit, store_in, version_in
end = time.monotonic() + 2.5
count = 0
while time.monotonic() < end:
    store = store_in(sys.argv[2])
    commit(store, int(sys.argv[3]) * 100_000 + count)
    for _ in range(4):
        version_in(store)
    count += 1
print(count)
"""


def test_four_processes_write_and_read_the_same(tmp_path):
    """Each always reads one whole snapshot, and no commit of anybody is lost."""
    commit(store_in(tmp_path), 0)
    command = [sys.executable, "-c", WRITE_AND_READ, str(Path(__file__).parent), str(tmp_path)]
    running = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(1, 5)
    ]
    outputs = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    counts = [int(output) for output, _ in outputs]
    assert len(history(store_in(tmp_path))) == 1 + sum(counts)
    assert min(counts) > 0


def test_a_full_disk(tmp_path):
    """What does not fit is one clear error, and the last snapshot is as it was."""
    store = store_in(tmp_path)
    commit(store, 1)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for bytes_left in (0, 100, 2_000, 6_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, usual[1]))
            with pytest.raises(StorageError, match="the last one is unchanged"):
                commit(store, 2, count=20_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)
    assert version_in(store) == 1
    assert not list(store.folder(QUERY).glob("tmp-*"))


def test_a_flipped_bit_anywhere_in_the_data(tmp_path):
    """Every flipped bit of the data file is noticed; the snapshot before can still be read."""
    random.seed(7)
    store = store_in(tmp_path)
    old, new = commit(store, 1), commit(store, 2)
    path = store.path(QUERY, new)
    whole = path.read_bytes()
    for place in random.sample(range(len(whole)), 200):
        raw = bytearray(whole)
        raw[place] ^= 1 << random.randrange(8)
        path.write_bytes(raw)
        # Bytes that nothing refers to may change without changing a row.
        with contextlib.suppress(StorageError):
            assert read(store, new).equals(rows_of(2))
    path.unlink(missing_ok=True)
    assert read(store, old).equals(rows_of(1))


def test_a_flipped_bit_anywhere_in_the_history(tmp_path):
    """It is reported, and nothing is lost: the newest snapshot stays the newest, also after the next commit."""
    random.seed(8)
    store = store_in(tmp_path)
    for version in (1, 2):
        commit(store, version)
    before = history(store)
    path = store.folder(QUERY) / "manifest.json"
    whole = path.read_bytes()
    for place in random.sample(range(len(whole)), 500):
        raw = bytearray(whole)
        raw[place] ^= 1 << random.randrange(8)
        path.write_bytes(raw)
        with pytest.warns(DamagedStoreWarning, match="second copy"):
            assert history(store) == before
    with pytest.warns(DamagedStoreWarning):
        commit(store, 3)
    assert [item.rows for item in history(store)] == [ROWS] * 3
    assert version_in(store) == 3
    print("500 flipped bits in the history: 500 reported, 0 snapshots lost")


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4, 0.6, 0.9])
def test_a_history_that_was_cut_short(tmp_path, share):
    """What is left is used, what is missing is reported, no older snapshot counts as fresh, and no row is deleted."""
    store = store_in(tmp_path)
    for version in (1, 2, 3):
        commit(store, version)
    path = store.folder(QUERY) / "manifest.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.warns(DamagedStoreWarning, match="lost" if share < 0.5 else "second copy"):
        found = store.history(QUERY)
    assert found.lost == (share < 0.5)
    options = Options.of(None, 3600, refresh=False)
    assert (options.fresh(found) is None) == found.lost
    with pytest.warns(DamagedStoreWarning):
        commit(store, 4)
    for file in store.folder(QUERY).glob("*.parquet"):
        os.utime(file, (0, 0))
    commit(store, 5)
    assert version_in(store) == 5
    assert len(list(store.folder(QUERY).glob("*.parquet"))) == 5
    assert (
        path.with_name(next(store.folder(QUERY).glob("damaged-manifest-*")).name).read_bytes()
        == whole[: int(len(whole) * share)]
    )


def test_two_credentials_never_meet(tmp_path):
    mine, theirs = store_in(tmp_path, "mine"), store_in(tmp_path, "theirs")
    commit(mine, 1)
    assert history(theirs) == ()
    assert mine.folder(QUERY) != theirs.folder(QUERY)
    assert not any(b"mine" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_pruning_keeps_each_months_last(tmp_path):
    """Old snapshots go, but what a month ended with stays, and so does what shares its file."""
    store = store_in(tmp_path)
    moments = [dt.datetime(2026, month, day, 12, tzinfo=dt.UTC) for month in (7, 8, 9, 10) for day in (3, 20, 30)]
    for number, moment in enumerate(moments):
        # The first and the last of a month have the same content.
        commit(store, number // 3 * 3 + number % 3 % 2, moment=moment)
    gone = store.prune(QUERY, dt.timedelta(days=30), now=dt.datetime(2026, 11, 1, tzinfo=dt.UTC))
    kept = [item.time for item in history(store)]
    assert kept == [moments[2], moments[5], moments[8], moments[9], moments[10], moments[11]]
    assert gone.snapshots == 6
    assert gone.size > 0
    assert all(read(store, item).num_rows == ROWS for item in history(store))
    assert len(list(store.folder(QUERY).glob("*.parquet"))) == 3 + 2
    assert store.prune(QUERY, dt.timedelta(0)).snapshots == 2
    assert history(store)[-1].time == moments[-1]
