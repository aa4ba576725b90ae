"""Old snapshots go by a rule: recent ones stay, and the last one of each month, and the newest."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time

from caches import COMPANY, QUERY, Cache

from bktools.snapshots.snapshot import Query

NOW = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
MONTH = dt.timedelta(days=30)
A_DAY = dt.timedelta(days=1)
AN_HOUR = dt.timedelta(hours=1)

OTHER = Query("categories", {"company_id": COMPANY, "archived": True})


def days_left(cache, query=QUERY):
    """Return how many days before now the snapshots of a query were fetched."""
    return [(NOW - snapshot.time).days for snapshot in cache.history(query)]


def in_background(cache):
    """Make a load that commits, and wait until pruning has ended."""
    cache.commit("newest", moment=NOW)
    for thread in threading.enumerate():
        if thread.name == "bktools-prune":
            thread.join(20)
            assert not thread.is_alive()


def a_day_ago(path):
    """Set the time of the last pruning."""
    os.utime(path, (time.time() - 90_000,) * 2)


def test_every_query_keeps_its_days_and_its_months(cache):
    """All queries are pruned with one rule, the result adds them up, and what is left can be read."""
    for query in (QUERY, OTHER):
        for days in (60, 55, 53, 40, 23, 20, 1):
            cache.commit(f"{days}", moment=NOW - days * A_DAY, query=query)
    gone = cache.store.prune(MONTH, now=NOW)
    # September 30, October 13 as the last of the old ones, and what is younger than thirty days.
    assert days_left(cache) == days_left(cache, OTHER) == [53, 23, 20, 1]
    assert (gone.snapshots, gone.size > 0) == (6, True)
    assert [cache.name_in(snapshot) for snapshot in cache.history()] == ["53", "23", "20", "1"]
    # With an age of nothing, the last one of each month and the newest are left.
    assert cache.store.prune(dt.timedelta(0), now=NOW).snapshots == 2
    assert days_left(cache) == [53, 23, 1]


def test_equal_content_is_kept_once_a_day(cache):
    """After a week, a snapshot equal to the one before, of the same day, goes; all others stay."""
    for days, names in ((9, "aaba"), (8, "aa"), (3, "aaa")):
        for hour, name in enumerate(names):
            cache.commit(name, moment=NOW - days * A_DAY + hour * AN_HOUR)
    assert cache.store.prune(90 * A_DAY, now=NOW).snapshots == 2
    assert "".join(map(cache.name_in, cache.history())) == "abaaaaa"
    # At any moment, the newest snapshot has the rows that it had before.
    assert [snapshot.time.hour for snapshot in cache.history()][:4] == [12, 14, 15, 12]


def test_nothing_else_is_removed(cache, tmp_path):
    """Files that are no snapshots stay, and snapshots of another environment."""
    other = Cache(tmp_path / "cache", environment="http://127.0.0.1:8")
    other.commit("old", moment=NOW - 60 * A_DAY)
    other.commit("newest", moment=NOW - 60 * A_DAY)
    for days in (60, 55, 1):
        cache.commit(f"{days}", moment=NOW - days * A_DAY)
    older = tmp_path / "cache" / "snapshots" / ("0" * 64)
    others = [older / "manifest.json", older / f"{'1' * 64}.parquet"]
    others.append(cache.store.folder(QUERY) / "notes.parquet")
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("of somebody else")
        os.utime(path, (0, 0))
    assert cache.store.prune(MONTH, now=NOW).snapshots == 1
    assert [path.exists() for path in others] == [True] * 3
    assert days_left(other) == [60, 60]


def test_pruning_runs_by_itself_once_a_day(cache, tmp_path):
    """A commit starts it in the background when the last one is a day ago, by the rule of 90 days."""
    mark = tmp_path / "cache" / "pruned"
    for days in (400, 399, 80):
        cache.commit(f"{days}", moment=dt.datetime.now(dt.UTC) - days * A_DAY)
    assert mark.exists()  # the first commit of a new cache begins the day
    in_background(cache)
    assert len(cache.history()) == 4
    a_day_ago(mark)
    in_background(cache)
    assert [cache.name_in(snapshot) for snapshot in cache.history()][-3:] == ["80", "newest", "newest"]
    assert len(cache.history()) in (4, 5)  # five when the month changed between the two
    assert time.time() - mark.stat().st_mtime < 60
