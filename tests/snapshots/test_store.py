"""Snapshots on disk: private, by environment and query, ordered by commits, readable everywhere."""

from __future__ import annotations

import datetime as dt
import os
import re
import shlex
import stat
import subprocess

import duckdb
import polars as pl
import pytest
from caches import COMPANY, QUERY, Cache

import bktools
from bktools.errors import StorageError
from bktools.snapshots.snapshot import Query
from bktools.snapshots.store import Store

A_DAY = dt.timedelta(days=1)


def files_of(service):
    """Return the files of all snapshots."""
    return list((service.settings.cache_dir / "snapshots").rglob("*.parquet"))


def test_files_are_readable_by_the_owner_alone(service):
    """Only the owner can read the cache; no name has text from outside, and nothing is left over."""
    bktools.load_employees(email="ada@example.com", service=service)
    paths = list(service.settings.cache_dir.rglob("*"))
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert not [path for path in paths if service.settings.company in str(path) or "ada" in str(path)]
    assert not [path for path in paths if path.name.startswith(".")]


def test_every_load_is_a_file_that_engines_read(service):
    """Equal content is a file each time; DuckDB and Polars read the rows of each as they are."""
    frame = bktools.load_categories(service=service)
    bktools.load_categories(refresh=True, service=service)
    files = files_of(service)
    assert len(files) == 2
    for file in files:
        assert duckdb.sql(f"SELECT id FROM '{file}'").fetchall() == [(text,) for text in frame["id"]]
        assert pl.read_parquet(file)["name"].to_list() == frame["name"].to_list()


def test_a_damaged_file_is_set_aside_and_fetched_again(service, caplog):
    """A flipped bit is found and told, the next load is whole, and the damaged moment is not answered."""
    before = bktools.load_categories(service=service)
    bktools.load_categories(refresh=True, service=service)
    moment = dt.datetime.now(dt.UTC)
    newest = max(files_of(service))
    raw = bytearray(newest.read_bytes())
    raw[len(raw) // 3] ^= 1
    newest.write_bytes(raw)
    again = bktools.load_categories(service=service)
    assert again.attrs["bktools"]["source"] == ["service"]
    assert f"the snapshot {newest} is damaged" in caplog.text
    assert again["id"].tolist() == before["id"].tolist()
    with pytest.raises(bktools.errors.SnapshotNotFoundError, match="is damaged or missing"):
        bktools.load_categories(as_of=moment, service=service)
    assert bktools.load_categories(service=service).attrs["bktools"]["source"] == ["snapshot"]


def test_a_query_is_the_same_in_any_order_of_its_filters(cache):
    """The same filters in another order find the same snapshots, which are listed."""
    filters = {"email": "zoë@example.com", "company_id": COMPANY}
    query, other = Query("employees", filters), Query("employees", dict(reversed(filters.items())))
    taken = cache.commit(1, query=query)
    assert cache.history(other) == [taken]
    assert cache.store.queries() == [query]


def test_the_order_is_that_of_the_commits(cache):
    """A clock that goes back changes no order; two commits with one number both stay, by time."""
    moment = dt.datetime(2026, 10, 31, tzinfo=dt.UTC)
    for name, time in (("a", moment), ("b", moment - A_DAY), ("c", moment - 2 * A_DAY)):
        last = cache.commit(name, moment=time)
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["a", "b", "c"]
    # As another process that saw only the first two would have named it.
    twin = cache.commit("d", moment=moment)
    twin.path.rename(twin.path.with_name(twin.path.name.replace("000004", "000003")))
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["a", "b", "c", "d"]
    assert cache.history()[2] == last


def test_another_environment_never_finds_a_snapshot(cache, tmp_path):
    """Two environments never see each other's snapshots, and no file has a token."""
    other = Cache(tmp_path / "cache", environment="http://127.0.0.1:8")
    cache.commit(1)
    (tmp_path / "cache" / "snapshots" / "notes.txt").write_text("of somebody else")
    assert cache.store.queries() == [QUERY]
    assert (other.history(), other.store.queries()) == ([], [])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if cache.settings.token.reveal().encode() in path.read_bytes()]


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
@pytest.mark.parametrize("level", range(5), ids=["file", "query", "table", "snapshots", "cache"])
@pytest.mark.parametrize("mode", [0o020, 0o002], ids=["group", "others"])
def test_what_others_may_write_is_refused(service, level, mode):
    """A file or folder that others may change is not read; the printed command mends it."""
    frame = bktools.load_categories(service=service)
    [file] = files_of(service)
    path = [file, *file.parents][level]
    path.chmod(stat.S_IMODE(path.stat().st_mode) | mode)
    with pytest.raises(StorageError, match="may be forged") as refused:
        bktools.load_categories(max_age=3600, service=service)
    command = re.search(r"run (chmod .*?), or", str(refused.value))
    subprocess.run(shlex.split(command[1]), check=True)
    again = bktools.load_categories(max_age=3600, service=service)
    assert again.attrs["bktools"]["source"] == ["snapshot"]
    assert again.equals(frame)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("level", range(5), ids=["file", "query", "table", "snapshots", "cache"])
def test_what_another_user_owns_is_refused(service, level):
    """A file or folder of another user is not read, whatever its permissions."""
    bktools.load_categories(service=service)
    [file] = files_of(service)
    os.chown([file, *file.parents][level], 65534, -1)
    with pytest.raises(StorageError, match=r"belongs to another user.* BKTOOLS_CACHE_DIR"):
        bktools.load_categories(max_age=3600, service=service)


def test_other_files_are_no_snapshots(cache):
    """Files that are not named as snapshots are left alone; leftovers of killed processes go after a day."""
    cache.commit(1)
    folder = cache.store.folder(QUERY)
    month_13 = "000002_2026-13-01T000000.000000Z_0123456789abcdef.parquet"
    names = [".tmp-old", ".tmp-young", "notes.txt", "manifest.json", "0123.parquet", month_13]
    for name in names:
        (folder / name).write_text("text")
        if name != ".tmp-young":
            os.utime(folder / name, (0, 0))
    (folder / ".tmp-gone").symlink_to("nowhere")  # as good as removed by somebody else meanwhile
    cache.commit(2)
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["1", "2"]
    assert {name for name in names if not (folder / name).exists()} == {".tmp-old"}


def test_a_column_that_a_snapshot_lacks_is_null(service):
    """A snapshot of an earlier version without one of today's columns is read; the column is null."""
    frame = bktools.load_categories(service=service)
    store, query = Store(service.settings), Query("categories", {"company_id": service.settings.company})
    rows, facts = store.read(store.history(query)[-1])
    store.append(query, rows.drop_columns(["metadata"]), facts)
    again = bktools.load_categories(as_of=dt.datetime.now(dt.UTC), service=service)
    assert again["metadata"].isna().all()
    assert again.dtypes.equals(frame.dtypes)
    assert again["name"].equals(frame["name"])
