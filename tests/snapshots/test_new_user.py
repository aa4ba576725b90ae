"""As somebody new would use it: offline, under cron, in a notebook's event loop, with Ctrl-C."""

from __future__ import annotations

import importlib
import signal
import threading
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import warm

import bktools
from bktools.errors import StaleSnapshotWarning, UnreachableError
from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.settings import load_settings
from bktools.snapshots.snapshot import Query
from bktools.snapshots.store import Store

QUICK = RetryPolicy(attempts=3, shortest_pause=0.01, longest_pause=0.02)


def without_network(service):
    """Return the same environment and credential with nobody at the address."""
    return Service(replace(service.settings, base_url="http://127.0.0.1:9"), retry=QUICK)


def test_offline_the_snapshot_is_used_and_said(service):
    """Without a network the newest snapshot is used, with a warning that says how old it is."""
    online = bktools.load_categories(service=service)
    with without_network(service) as offline:
        with pytest.warns(StaleSnapshotWarning, match=r"no connection.*seconds old") as told:
            frame = bktools.load_categories(max_age=0, service=offline)
        assert told[0].filename == __file__
        pd.testing.assert_frame_equal(frame, online)
        with pytest.raises(UnreachableError):
            bktools.load_categories(refresh=True, service=offline)
        with pytest.raises(UnreachableError):
            bktools.load_categories(name="never loaded", service=offline)


def test_offline_with_a_damaged_newest_the_one_before_is_used(sandbox, service):
    before = bktools.load_categories(service=service)
    sandbox.server.add_category("Later")
    bktools.load_categories(refresh=True, service=service)
    query = Query("categories", {"company_id": service.settings.company})
    Store(service.settings).history(query)[-1].path.write_bytes(b"damaged")
    with without_network(service) as offline, pytest.warns(StaleSnapshotWarning, match="is used instead"):
        frame = bktools.load_categories(service=offline)
    pd.testing.assert_frame_equal(frame, before)


def test_no_secret_in_any_file(service, tmp_path, caplog):
    """Neither token nor e-mail is in a log line, no token in a file or a repr."""
    caplog.set_level(0)
    bktools.load_employees(email="ada@example.com", service=service)
    frame = bktools.load_categories(service=service)
    token = service.settings.token.reveal()
    assert token not in caplog.text + repr(frame.attrs) + repr(service)
    assert "ada@example.com" not in caplog.text
    cache = service.settings.cache_dir
    assert not any(token.encode() in path.read_bytes() for path in cache.rglob("*") if path.is_file())


COMPANIES = [str(uuid.UUID(int=number)) for number in (1, 2)]


def loads_until_interrupted(address, folder, rate, companies):
    """Load categories until somebody interrupts it; yield the seconds until the last of its threads ended."""
    given = {"token": "t", "company": COMPANIES[0], "requests_per_minute": rate}
    settings = load_settings(address, env={}, cache_dir=folder, data_dir=folder, **given)
    yield "ready"
    try:
        bktools.load_categories(companies, service=Service(settings))
    except KeyboardInterrupt:
        begin = time.monotonic()
        while time.monotonic() - begin < 5 and any("_work" in each.name for each in threading.enumerate()):
            time.sleep(0.01)
        yield time.monotonic() - begin


@pytest.mark.parametrize(
    ("latency", "rate", "companies"),
    [
        (0.1, 30, None),  # waiting for the rate
        (0.4, 0, COMPANIES),  # in the middle of pages, threads below threads
        (30.0, 0, COMPANIES),  # a service that does not answer
    ],
)
def test_ctrl_c_stops_within_a_second(tmp_path, monkeypatch, latency, rate, companies):
    """The user is asked back within a second, no thread goes on, and nothing was committed."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    with (
        importlib.import_module("loading").serving(20_000, 100, latency) as server,
        warm.Process(loads_until_interrupted, server.url, tmp_path, rate, companies) as process,
    ):
        assert process.read() == "ready"
        time.sleep(1.2)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.read() < 1.0
        assert time.monotonic() - begin < 1.0
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob(".tmp-*"))


def test_an_unknown_company_is_empty_or_refused_and_never_guessed(service):
    with pytest.raises(bktools.errors.ServiceError):
        bktools.load_categories(str(uuid.uuid4()), service=service)
