"""Calls in threads, in the order in which they end."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import pytest

from bktools.service.workers import Stopped, as_they_end, pause


def test_a_failure_stops_the_others():
    """The failure is raised at once, running calls are stopped, and all but the next one never begin."""
    begun = []

    def wait():
        begun.append(1)
        pause(30)

    def fail():
        time.sleep(0.1)
        raise KeyError

    begin = time.monotonic()
    with pytest.raises(KeyError):
        list(as_they_end([wait, fail, *([wait] * 20)], 2))
    assert (len(begun) <= 2, time.monotonic() - begin < 5) == (True, True)


def test_calls_that_must_settle_are_waited_for(monkeypatch):
    """At the end they are told first, then stopped, and what they write down is written."""
    monkeypatch.setattr("bktools.service.workers.GRACE", 0.1)
    ending, settled = threading.Event(), []
    all_begun = threading.Barrier(3)

    def first():
        all_begun.wait()
        return 1

    def settle():
        all_begun.wait()
        try:
            pause(30)
        except Stopped:
            settled.append(ending.is_set())
            raise

    with closing(as_they_end([first, settle, settle], 3, ending=ending)) as ended:
        assert next(ended) == (0, 1)
    assert settled == [True, True]
