"""Old snapshots go by a rule: what is younger than some days stays, and the last one of each month, and the newest."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time

import filelock
import pytest
from caches import COMPANY, QUERY, Cache

from bktools.store import FolderStore, Query
from bktools.store import folder as folder_module

NOW = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
MONTH = dt.timedelta(days=30)
A_DAY = dt.timedelta(days=1)

OTHER = Query("search_categories", {"company_id": COMPANY, "archived": True})


def days_left(cache, query=QUERY):
    """Return how many days before now the snapshots of a query were fetched."""
    return [(NOW - item.time).days for item in cache.store.history(query).snapshots]


def in_background(cache):
    """Make a load that commits, and wait until pruning has ended."""
    cache.commit("newest", moment=NOW)
    for thread in threading.enumerate():
        if thread.name == "bktools-prune":
            thread.join(20)
            assert not thread.is_alive()


def test_every_query_keeps_its_days_and_its_months(cache):
    """All queries are pruned with one rule, and the result adds them up."""
    for query in (QUERY, OTHER):
        for days in (60, 55, 53, 40, 23, 20, 1):
            cache.commit(f"{days}", moment=NOW - days * A_DAY, query=query)
    gone = cache.store.prune_all(MONTH, now=NOW)
    # The 30th of September, the 13th of October as the last of the old ones, and what is younger than thirty days.
    assert days_left(cache) == days_left(cache, OTHER) == [53, 23, 20, 1]
    assert (gone.snapshots, gone.size > 0) == (6, True)
    assert cache.store.prune_all(MONTH, now=NOW).snapshots == 0


def test_what_a_renewed_token_left_behind_goes(cache, tmp_path):
    """Snapshots of another token go when this one has its own of the same query, and all of theirs are old."""
    before = Cache(tmp_path / "cache", token="the-token-before")
    before.commit("replaced", moment=NOW - 60 * A_DAY)
    before.commit("replaced, too", moment=NOW - 31 * A_DAY)
    before.commit("never loaded again", moment=NOW - 60 * A_DAY, query=OTHER)
    cache.commit("current", moment=NOW - A_DAY)
    gone = cache.store.prune_all(MONTH, now=NOW)
    assert (gone.snapshots, gone.size > 0) == (2, True)
    assert days_left(before) == []
    assert not list(before.store.folder(QUERY).glob("*.parquet"))
    assert days_left(before, OTHER) == [60]
    assert days_left(cache) == [1]


@pytest.mark.parametrize(
    ("token", "environment", "days"),
    [
        pytest.param("in-use", "http://127.0.0.1:9", 29, id="another token that is in use"),
        pytest.param("the-token-of-the-service", "http://127.0.0.1:8", 60, id="another service"),
    ],
)
def test_what_others_use_stays(cache, tmp_path, token, environment, days):
    """Snapshots of a token that was used lately, or of another service, are not this credential's to remove."""
    other = Cache(tmp_path / "cache", token=token, environment=environment)
    other.commit("old", moment=NOW - 60 * A_DAY)
    other.commit("newest", moment=NOW - days * A_DAY)
    cache.commit("current", moment=NOW - A_DAY)
    assert cache.store.prune_all(MONTH, now=NOW).snapshots == 0
    assert days_left(other) == [60, days]


def test_a_name_for_the_credential_keeps_the_history(tmp_path):
    """With a credential name, a renewed token finds the snapshots of the one before, and nothing is left behind."""
    before = Cache(tmp_path / "cache", token="the-token-before", credential_name="books")
    before.commit("old", moment=NOW - 60 * A_DAY)
    renewed = Cache(tmp_path / "cache", credential_name="books")
    renewed.commit("new", moment=NOW)
    renewed.store.prune_all(MONTH, now=NOW)
    assert days_left(renewed) == [60, 0]


def test_a_damaged_history_is_left_alone(cache):
    """Where the list of snapshots is damaged, nothing is removed until a load has repaired it."""
    for days in (60, 55, 1):
        cache.commit(f"{days}", moment=NOW - days * A_DAY)
    path = cache.store.folder(QUERY) / "manifest.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    assert cache.store.prune_all(MONTH, now=NOW).snapshots == 0
    assert len(list(cache.store.folder(QUERY).glob("*.parquet"))) == 3


def test_pruning_runs_by_itself_once_a_day(cache, tmp_path, monkeypatch):
    """A commit starts it in the background when the last one is a day ago; `keep_days` is its rule."""
    mark = tmp_path / "cache" / "pruned"
    for days in (400, 399, 80):
        cache.commit(f"{days}", moment=dt.datetime.now(dt.UTC) - days * A_DAY)
    assert mark.exists()  # the first commit of a new cache begins the day
    in_background(cache)
    assert len(cache.store.history(QUERY).snapshots) == 4
    os.utime(mark, (time.time() - 90_000,) * 2)
    in_background(cache)
    names = [rows for item in cache.store.history(QUERY).snapshots for rows in cache.store.read(QUERY, item)]
    assert [rows["name"][0].as_py() for rows in names] in (
        ["399", "80", "newest", "newest"],
        ["400", "399", "80", "newest", "newest"],  # when the month changed between the two
    )
    assert time.time() - mark.stat().st_mtime < 60


def test_no_load_waits_for_pruning(cache, tmp_path, monkeypatch):
    """While pruning is held up, loads go on; a process that ends before it lets the next one continue."""
    cache.commit("first", moment=NOW)
    mark = tmp_path / "cache" / "pruned"
    os.utime(mark, (time.time() - 90_000,) * 2)
    is_held = threading.Event()
    prune_all = FolderStore.prune_all
    monkeypatch.setattr(FolderStore, "prune_all", lambda *args, **given: is_held.wait(20) and prune_all(*args, **given))
    cache.commit("second", moment=NOW)
    cache.commit("third", moment=NOW)
    running = [thread for thread in threading.enumerate() if thread.name == "bktools-prune"]
    assert [thread.daemon for thread in running] == [True]
    assert time.time() - mark.stat().st_mtime > 80_000
    is_held.set()
    running[0].join(20)
    assert time.time() - mark.stat().st_mtime < 60
    assert folder_module._pruning.acquire(blocking=False)
    folder_module._pruning.release()


def test_pruning_that_fails_is_logged_and_tried_again(cache, tmp_path, monkeypatch, caplog):
    """While another process holds a query, the load succeeds, the log has the reason, and the next load tries again."""
    monkeypatch.setattr(folder_module, "REPORT_AFTER", 0.05)
    monkeypatch.setattr(folder_module, "GIVE_UP_AFTER", 0.05)
    cache.commit("held", moment=NOW, query=OTHER)
    mark = tmp_path / "cache" / "pruned"
    os.utime(mark, (time.time() - 90_000,) * 2)
    with filelock.FileLock(cache.store.folder(OTHER) / "manifest.lock"):
        in_background(cache)
    assert "old snapshots were not removed: another process has held" in caplog.text
    in_background(cache)
    assert time.time() - mark.stat().st_mtime < 60


def test_nothing_is_pruned_when_all_is_to_be_kept(tmp_path):
    """With `keep_days` 0, and in the folder of one load, nothing goes by itself."""
    everything = Cache(tmp_path / "cache", keep_days=0)
    everything.commit("old", moment=NOW - 400 * A_DAY)
    everything.commit("a day later", moment=NOW - 399 * A_DAY)
    mark = tmp_path / "cache" / "pruned"
    mark.touch()
    os.utime(mark, (time.time() - 90_000,) * 2)
    in_background(everything)
    assert len(everything.store.history(QUERY).snapshots) == 3
