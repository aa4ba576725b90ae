"""`load_categories` and `load_employees`: which copy is used, for which company and moment, also offline."""

from __future__ import annotations

import datetime as dt
import importlib
import signal
import threading
import time
import types
import uuid
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import warm
from scripted_server import only_page

import bktools
from bktools.errors import ArgumentError, SnapshotNotFoundError, StaleSnapshotWarning, UnreachableError
from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.settings import Secret, load_settings
from bktools.snapshots import fetch as fetch_module
from bktools.snapshots.snapshot import Query
from bktools.snapshots.store import Store

FIRST, SECOND = (str(uuid.UUID(int=number)) for number in (1, 2))
NO_ROWS = only_page(total=0)
NEXT_YEAR = dt.timedelta(days=365)
QUICK = RetryPolicy(attempts=2, shortest_pause=0.01, longest_pause=0.02)


def with_settings(service, **changed):
    """Return a service of the same folders with other settings."""
    return Service(replace(service.settings, **changed), retry=QUICK)


def without_network(service):
    """Return the same environment and credential with nobody at the address."""
    return with_settings(service, base_url="http://127.0.0.1:9")


def test_all_categories_come_to_the_letter(sandbox, service):
    """Every category of the service is there once, in order, with the service's own values."""
    frame = bktools.load_categories(service=service)
    assert frame["id"].tolist() == sandbox.server.category_ids()
    first = service.search_categories(service.settings.company, limit=1).data[0]
    row = frame.iloc[0]
    assert (row["id"], row["name"], row["archived"]) == (first.id, first.name, first.archived)
    unmapped = {record.id for page in service.pages("categories") for record in page if not record.account_id}
    assert set(frame.loc[frame["account_id"].isna(), "id"]) == unmapped
    some = frame["id"].head(3).tolist()
    assert bktools.load_categories(ids=some, service=service)["id"].tolist() == some


def test_the_second_load_is_the_snapshot(sandbox, service, caplog):
    """Within max_age the cached rows are used, and the log says so; refresh and no age ask the service."""
    first = bktools.load_categories(service=service)
    added = sandbox.server.add_category("Fresh")
    with caplog.at_level("INFO", logger="bktools"):
        pd.testing.assert_frame_equal(bktools.load_categories(service=service, progress=False), first)
    line = f"categories: {len(first)} rows from the snapshot of "
    assert any(message.startswith(line) for message in caplog.messages)
    assert added in set(bktools.load_categories(service=service, refresh=True)["id"])
    another = sandbox.server.add_category("Fresher")
    assert another in set(bktools.load_categories(service=service, max_age=0)["id"])


def test_as_of_reads_history_alone(sandbox, service):
    """The newest snapshot at an instant is given, a day means its end, and before the first there is none."""
    before = bktools.load_categories(service=service)
    moment = dt.datetime.now(dt.UTC)
    sandbox.server.add_category("Later")
    after = bktools.load_categories(refresh=True, service=service)
    assert len(after) == len(before) + 1
    pd.testing.assert_frame_equal(bktools.load_categories(as_of=moment, service=service), before)
    pd.testing.assert_frame_equal(bktools.load_categories(as_of=f"{moment:%Y-%m-%d}", service=service), after)
    with pytest.raises(SnapshotNotFoundError, match="up to 2020-01-01"):
        bktools.load_categories(as_of="2020-01-01", service=service)


def test_bad_arguments_name_the_argument(service):
    """Each is refused before anything is sent."""
    for arguments, line in (
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": "2026-10-31", "refresh": True}, "refresh"),
        ({"company": []}, "company"),
        ({"ids": "x"}, "ids"),
        ({"verify": "lax"}, r"verify must be one of strict, warn.*lax"),
        ({"on_error": "ignore"}, "on_error must be one of raise, collect"),
        ({"archive": True}, "archive is not an argument of load_categories; there are .*archived"),
    ):
        with pytest.raises(ArgumentError, match=line):
            bktools.load_categories(**arguments, service=service)


def test_a_result_says_where_it_comes_from(service):
    """A frame names environment, address, table, companies and rows, as asked; so do all other results."""
    settings = replace(service.settings, environment="staging")
    with bktools.Service(settings) as staging:
        frame = bktools.load_categories([settings.company], archived=False, service=staging)
        somebody = bktools.load_employees(service=staging).iloc[0]
        employee = bktools.get_employee(somebody["id"], service=staging)
        with pytest.warns(DeprecationWarning, match="balance") as caught:
            balance = bktools.get_balance(service=staging)
        others = [bktools.load_accounts(service=staging), bktools.load_export_jobs(service=staging)]
    origin = {"environment": "staging", "base_url": settings.identity}
    asked = {"archived": False, "company_id": [settings.company]}
    about = origin | {"table": "categories", "filters": asked, "rows": len(frame), "complete": True}
    assert frame.attrs["bktools"].items() >= about.items()
    assert (employee.attrs["bktools"], employee["email"]) == (
        origin | {"operation": "get_employee"},
        somebody["email"],
    )
    assert balance.attrs["bktools"] == origin | {"operation": "get_balance"}
    assert [warning.filename for warning in caught] == [__file__]
    assert [*balance.index] == ["currency", "current", "available"]
    assert {other.attrs["bktools"]["environment"] for other in others} == {"staging"}


def clock_off_by(monkeypatch, difference):
    """Have loads believe that it is earlier or later than it is."""

    class Wrong(dt.datetime):
        @classmethod
        def now(cls, tz=None):
            return dt.datetime.now(tz) + difference

    monkeypatch.setattr(fetch_module, "dt", types.SimpleNamespace(datetime=Wrong, UTC=dt.UTC))


def test_a_snapshot_of_the_future_is_served_by_nobody(sandbox, service, monkeypatch):
    """After the clock was ahead once, the service is asked again, and what it gave last is the newest."""
    with monkeypatch.context() as patch:
        clock_off_by(patch, NEXT_YEAR)
        bktools.load_categories(service=service)
    added = sandbox.server.add_category("Later")
    assert added in set(bktools.load_categories(service=service)["id"])
    sandbox.server.remove_category(sandbox.server.category_ids()[0])
    frame = bktools.load_categories(refresh=True, service=service)
    now = dt.datetime.now(dt.UTC)
    # Of all that are not after the moment, the last one committed: no clock decides between them.
    for options in ({}, {"as_of": now}, {"as_of": now + 2 * NEXT_YEAR}):
        pd.testing.assert_frame_equal(bktools.load_categories(**options, service=service), frame)
    with without_network(service) as offline, pytest.warns(StaleSnapshotWarning):
        pd.testing.assert_frame_equal(bktools.load_categories(max_age=0, service=offline), frame)


def test_a_clock_that_was_behind_hides_nothing(sandbox, service, monkeypatch):
    """The last snapshot committed is the newest, also when its clock was behind that of the one before."""
    bktools.load_categories(service=service)
    added = sandbox.server.add_category("Later")
    with monkeypatch.context() as patch:
        clock_off_by(patch, -NEXT_YEAR)
        bktools.load_categories(refresh=True, service=service)
    with without_network(service) as offline, pytest.warns(StaleSnapshotWarning):
        assert added in set(bktools.load_categories(service=offline)["id"])


def test_no_link_and_no_lock_is_asked_of_the_drive(service, monkeypatch):
    """Some network and USB drives have none."""

    def refused(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refused)
    monkeypatch.setattr("fcntl.flock", refused)
    assert len(bktools.load_categories(service=service)) == 240


# Which company


@pytest.mark.parametrize(("configured", "sent"), [(SECOND.upper(), SECOND), (None, None)])
def test_the_configured_company_is_meant_where_none_is_named(served_by, configured, sent):
    """Without a company the configured one is used, without that all, and "all" always means all."""
    asked = []

    def script(request):
        asked.append(request.one("companyId"))
        return NO_ROWS

    service = served_by(script, company=configured)
    bktools.load_employees(service=service)
    bktools.load_employees("all", service=service, refresh=True)
    assert asked == [sent, None]


def test_a_company_is_never_guessed(served_by):
    """Where a credential sees no employee, one must be named; a wrong configured one is refused."""
    service = served_by(lambda _: NO_ROWS, company=None)
    with pytest.raises(ArgumentError, match=r"^company must be given: the credential can see no employee"):
        bktools.load_categories(service=service)
    asked = []
    service = served_by(asked.append, company="Example Ltd")
    with pytest.raises(ArgumentError, match=r"^company \(configured\) must be a UUID.*Example Ltd"):
        bktools.load_categories(service=service)
    assert asked == []


def test_a_renewed_token_keeps_its_history(served_by):
    """A warm load and a moment of the past find what another token has loaded."""
    first = served_by(lambda _: NO_ROWS)
    bktools.load_categories(service=first)
    with with_settings(first, token=Secret("renewed")) as renewed:
        for options in ({}, {"as_of": dt.datetime.now(dt.UTC)}):
            frame = bktools.load_categories(service=renewed, **options)
            assert frame.attrs["bktools"]["source"] == ["snapshot"]
        bktools.load_categories(service=renewed, refresh=True)
    assert (
        len(Store(first.settings).history(Query("categories", {"company_id": first.settings.company}))) == 2
    )


def test_employees_of_all_companies_are_fresh_for_their_own_credential_alone(served_by):
    """The credential decides which companies these are: another token asks anew, and finds the past."""
    first = served_by(lambda _: NO_ROWS)

    def source(service, **options):
        return bktools.load_employees("all", service=service, **options).attrs["bktools"]["source"]

    assert [source(first), source(first)] == [["service"], ["snapshot"]]
    with with_settings(first, token=Secret("another")) as other:
        assert [source(other), source(other)] == [["service"], ["snapshot"]]
        assert source(other, as_of=dt.datetime.now(dt.UTC)) == ["snapshot"]
    assert source(first) == ["service"]


# Offline, and interrupted


def test_offline_the_snapshot_is_used_with_a_warning(sandbox, service):
    """The newest one that is whole is used; refresh, and a query that was never loaded, are errors."""
    online = bktools.load_categories(service=service)
    with without_network(service) as offline:
        with pytest.warns(StaleSnapshotWarning, match=r"no connection.*seconds old") as warned:
            frame = bktools.load_categories(max_age=0, service=offline)
        assert warned[0].filename == __file__
        pd.testing.assert_frame_equal(frame, online)
        for options in ({"refresh": True}, {"name": "never loaded"}):
            with pytest.raises(UnreachableError):
                bktools.load_categories(**options, service=offline)
        sandbox.server.add_category("Later")
        bktools.load_categories(refresh=True, service=service)
        query = Query("categories", {"company_id": service.settings.company})
        Store(service.settings).history(query)[-1].path.write_bytes(b"damaged")
        with pytest.warns(StaleSnapshotWarning, match="is used instead"):
            pd.testing.assert_frame_equal(bktools.load_categories(service=offline), online)


def loads_until_interrupted(address, folder, companies):
    """Load categories until somebody interrupts it; yield the seconds until the last of its threads ended."""
    given = {"token": "t", "company": FIRST, "requests_per_minute": 0}
    settings = load_settings(address, env={}, cache_dir=folder, data_dir=folder, **given)
    yield "ready"
    try:
        bktools.load_categories(companies, service=Service(settings))
    except KeyboardInterrupt:
        begin = time.monotonic()
        while time.monotonic() - begin < 5 and any("_work" in each.name for each in threading.enumerate()):
            time.sleep(0.01)
        yield time.monotonic() - begin


@pytest.mark.parametrize("latency", [0.3, 30.0], ids=["in the middle of pages", "no answer"])
def test_ctrl_c_stops_within_a_second(tmp_path, monkeypatch, latency):
    """The user is asked back within a second, no thread goes on, and nothing was committed."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    with (
        importlib.import_module("loading").serving(20_000, 100, latency) as server,
        warm.Process(loads_until_interrupted, server.url, tmp_path, [FIRST, SECOND]) as process,
    ):
        assert process.read() == "ready"
        time.sleep(0.7)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.read() < 1.0
        assert time.monotonic() - begin < 1.0
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob(".tmp-*"))
