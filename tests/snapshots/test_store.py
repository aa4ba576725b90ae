"""Snapshots on disk: old or new, whole, never mixed; private, by environment and query, in their order."""

from __future__ import annotations

import datetime as dt
import os
import random
import re
import resource
import shlex
import signal
import stat
import subprocess
import time

import duckdb
import polars as pl
import pytest
import warm
from caches import COMPANY, QUERY, Cache

import bktools
from bktools.errors import SnapshotNotFoundError, StorageError
from bktools.snapshots.snapshot import Query

# More by these variables, however long they take.
KILLS = int(os.environ.get("BKTOOLS_TEST_KILLS", "100"))
SECONDS = 2.0 if "BKTOOLS_TEST_KILLS" not in os.environ else float("inf")
FLIPS = int(os.environ.get("BKTOOLS_TEST_FLIPS", "120"))

A_DAY = dt.timedelta(days=1)
LEVELS = pytest.mark.parametrize("level", range(5), ids=["file", "query", "table", "snapshots", "cache"])


def files_of(service):
    """Return the files of all snapshots."""
    return list((service.settings.cache_dir / "snapshots").rglob("*.parquet"))


def source_of(service):
    """Return where a load takes its rows from."""
    return bktools.load_categories(service=service).attrs["bktools"]["source"]


def test_files_are_private_and_every_engine_reads_them(service):
    """No name has text from outside; equal content is a file each time, and its rows are as they are."""
    frame = bktools.load_categories(service=service)
    bktools.load_categories(refresh=True, service=service)
    bktools.load_employees(email="ada@example.com", service=service)
    paths = list(service.settings.cache_dir.rglob("*"))
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert not [path for path in paths if service.settings.company in str(path) or "ada" in str(path)]
    assert not [path for path in paths if path.name.startswith(".")]
    (first, second) = (file for file in files_of(service) if "categories" in file.parts)
    assert duckdb.sql(f"SELECT id FROM '{first}'").fetchall() == [(text,) for text in frame["id"]]
    assert pl.read_parquet(second)["name"].to_list() == frame["name"].to_list()


def test_a_damaged_file_is_set_aside_and_fetched_again(service, caplog):
    """A flipped bit is noticed and shown, the next load is whole, and the damaged moment is not answered."""
    before = bktools.load_categories(service=service)
    bktools.load_categories(refresh=True, service=service)
    moment, newest = dt.datetime.now(dt.UTC), max(files_of(service))
    raw = bytearray(newest.read_bytes())
    raw[len(raw) // 3] ^= 1
    newest.write_bytes(raw)
    again = bktools.load_categories(service=service)
    assert (again.attrs["bktools"]["source"], again["id"].equals(before["id"])) == (["service"], True)
    assert f"the snapshot {newest} is damaged" in caplog.text
    with pytest.raises(SnapshotNotFoundError, match="is damaged or missing"):
        bktools.load_categories(as_of=moment, service=service)
    assert source_of(service) == ["snapshot"]


def test_a_flipped_bit_anywhere(tmp_path):
    """Every flipped bit of a file is noticed, also in its footer; the snapshot before can still be read."""
    chance, cache = random.Random(7), Cache(tmp_path)
    old, new = cache.commit(1), cache.commit(2)
    whole = new.path.read_bytes()
    # One bit of each byte of the end, where the facts are, and any others.
    bytes_hit = [*range(len(whole) - 8, len(whole)), *(chance.randrange(len(whole)) for _ in range(FLIPS))]
    for hit in bytes_hit:
        raw = bytearray(whole)
        raw[hit] ^= 1 << chance.randrange(8)
        new.path.write_bytes(raw)
        assert cache.store.read(new) is None
        # It keeps its number in the history, so that nobody takes the one before for it.
        assert [snapshot.is_damaged for snapshot in cache.history()] == [False, True]
    assert cache.name_in(old) == "1"


def test_the_order_is_that_of_the_commits(cache):
    """A clock that goes back changes no order; two commits with one number both stay, by time."""
    moment = dt.datetime(2026, 10, 31, tzinfo=dt.UTC)
    for name, time_of in (("a", moment), ("b", moment - A_DAY), ("c", moment - 2 * A_DAY)):
        last = cache.commit(name, moment=time_of)
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["a", "b", "c"]
    # As another process that saw only the first two would have named it.
    twin = cache.commit("d", moment=moment)
    twin.path.rename(twin.path.with_name(twin.path.name.replace("000004", "000003")))
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["a", "b", "c", "d"]
    assert cache.history()[2] == last


def test_a_query_and_an_environment_have_their_own_snapshots(cache, tmp_path):
    """The order of filters changes no query; another environment sees nothing; no file has a token."""
    filters = {"email": "zoë@example.com", "company_id": COMPANY}
    query, turned = Query("employees", filters), Query("employees", dict(reversed(filters.items())))
    committed = cache.commit(1, query=query)
    assert cache.history(turned) == [committed]
    (tmp_path / "cache" / "snapshots" / "notes.txt").write_text("of somebody else")
    assert cache.store.queries() == [query]
    other = Cache(tmp_path / "cache", environment="http://127.0.0.1:8")
    assert (other.history(query), other.store.queries()) == ([], [])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if cache.settings.token.reveal().encode() in path.read_bytes()]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
@LEVELS
def test_what_others_may_write_is_refused(service, level):
    """A file or folder that others may change is not read; the printed command mends it."""
    bktools.load_categories(service=service)
    [file] = files_of(service)
    path = [file, *file.parents][level]
    path.chmod(stat.S_IMODE(path.stat().st_mode) | (0o002 if level % 2 else 0o020))
    with pytest.raises(StorageError, match="may be forged") as refused:
        bktools.load_categories(service=service)
    command = re.search(r"run (chmod .*?), or", str(refused.value))
    subprocess.run(shlex.split(command[1]), check=True)
    assert source_of(service) == ["snapshot"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
@LEVELS
def test_what_another_user_owns_is_refused(service, level):
    """A file or folder of another user is not read, whatever its permissions."""
    bktools.load_categories(service=service)
    [file] = files_of(service)
    os.chown([file, *file.parents][level], 65534, -1)
    with pytest.raises(StorageError, match=r"belongs to another user.* BKTOOLS_CACHE_DIR"):
        bktools.load_categories(service=service)


def test_other_files_are_no_snapshots(cache):
    """Files that are not named as snapshots are left alone; leftovers of killed processes go after a day."""
    cache.commit(1)
    folder = cache.store.folder(QUERY)
    month_13 = "000002_2026-13-01T000000.000000Z_0123456789abcdef.parquet"
    names = [".tmp-old", ".tmp-young", "notes.txt", "0123.parquet", month_13]
    for name in names:
        (folder / name).write_text("text")
        if name != ".tmp-young":
            os.utime(folder / name, (0, 0))
    (folder / ".tmp-gone").symlink_to("nowhere")  # as good as removed by somebody else meanwhile
    cache.commit(2)
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["1", "2"]
    assert {name for name in names if not (folder / name).exists()} == {".tmp-old"}


def writes_and_reads(folder, name):
    """Commit snapshots for a time, and read the newest after each; yield their number."""
    cache, end, count = Cache(folder), time.monotonic() + 0.2, 0
    while time.monotonic() < end:
        cache.commit(f"{name} {count}")
        assert cache.newest()
        count += 1
    yield count


def test_processes_write_and_read_the_same(tmp_path):
    """Processes that share a new cache see all snapshots, read whole ones, and lose no commit."""
    running = [warm.Process(writes_and_reads, tmp_path, number) for number in range(2)]
    counts = [process.read() for process in running]
    assert [process.wait() for process in running] == [0] * 2
    cache = Cache(tmp_path)
    names = [cache.name_in(snapshot) for snapshot in cache.history()]
    for number, count in enumerate(counts):
        own = [name for name in names if name.startswith(f"{number} ")]
        assert own == [f"{number} {turn}" for turn in range(count)]
    assert len(names) == sum(counts)


def test_a_full_disk(tmp_path):
    """What does not fit is one clear error that names the folder, and the last snapshot is as it was."""
    cache = Cache(tmp_path)
    cache.commit(1)
    folder = cache.store.folder(QUERY)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for bytes_left in (0, 2_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, usual[1]))
            with pytest.raises(StorageError, match="the last snapshot is unchanged") as error:
                cache.commit(2, rows=20_000)
            assert str(folder) in str(error.value)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, previous)
    assert (cache.newest(), len([*folder.iterdir()])) == ("1", 1)
