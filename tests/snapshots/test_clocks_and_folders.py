"""Wrong clocks, odd folders and locks of others: snapshots are used as they should, or one error."""

from __future__ import annotations

import datetime as dt
import types
from dataclasses import replace

import pandas as pd
import pytest

import bktools
from bktools.errors import StaleSnapshotWarning
from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.snapshots import fetch as fetch_module

NEXT_YEAR = dt.timedelta(days=365)


def clock_off_by(monkeypatch, difference):
    """Have loads believe that it is earlier or later than it is."""

    class Wrong(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return dt.datetime.now(tz) + difference

    monkeypatch.setattr(fetch_module, "dt", types.SimpleNamespace(datetime=Wrong, UTC=dt.UTC))


def with_settings(service, **changed):
    quick = RetryPolicy(attempts=2, shortest_pause=0.01, longest_pause=0.02)
    return Service(replace(service.settings, **changed), retry=quick)


def test_a_snapshot_of_the_future_is_served_by_nobody(sandbox, service, monkeypatch):
    """After the clock was ahead once, the service is asked again, and what it gave last is the newest."""
    with monkeypatch.context() as patch:
        clock_off_by(patch, NEXT_YEAR)
        before = bktools.load_categories(service=service)
    added = sandbox.server.add_category("Later")
    assert added in set(bktools.load_categories(service=service)["id"])
    removed = sandbox.server.category_ids()[0]
    sandbox.server.remove_category(removed)
    frame = bktools.load_categories(refresh=True, service=service)
    assert len(frame) == len(before)
    pd.testing.assert_frame_equal(bktools.load_categories(service=service), frame)
    now = dt.datetime.now(dt.UTC)
    pd.testing.assert_frame_equal(bktools.load_categories(as_of=now, service=service), frame)
    # Of all that are not after the moment, the last one committed: no clock decides between them.
    later = bktools.load_categories(as_of=now + 2 * NEXT_YEAR, service=service)
    pd.testing.assert_frame_equal(later, frame)
    with with_settings(service, base_url="http://127.0.0.1:9") as offline, pytest.warns(StaleSnapshotWarning):
        pd.testing.assert_frame_equal(bktools.load_categories(max_age=0, service=offline), frame)


def test_a_clock_that_was_behind_hides_nothing(sandbox, service, monkeypatch):
    """The last snapshot committed is the newest, also when its clock was behind that of the one before."""
    bktools.load_categories(service=service)
    added = sandbox.server.add_category("Later")
    with monkeypatch.context() as patch:
        clock_off_by(patch, -NEXT_YEAR)
        bktools.load_categories(refresh=True, service=service)
    with with_settings(service, base_url="http://127.0.0.1:9") as offline, pytest.warns(StaleSnapshotWarning):
        assert added in set(bktools.load_categories(service=offline)["id"])


def test_no_link_and_no_lock_is_asked_of_the_drive(service, monkeypatch):
    """Some network and USB drives have none."""

    def refused(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refused)
    monkeypatch.setattr("fcntl.flock", refused)
    assert len(bktools.load_categories(service=service)) == 240
