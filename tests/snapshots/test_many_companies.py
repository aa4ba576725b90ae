"""Many companies in one load: each is read to its end, whatever becomes of the others."""

from __future__ import annotations

import datetime as dt
import json
import time
from dataclasses import replace

import pytest

import bktools
from bktools.errors import (
    IncompleteTableWarning,
    ServerError,
    UnreachableError,
)
from bktools.sandbox import Fault
from bktools.service import Service
from bktools.service.retry import RetryPolicy
from bktools.service.transport import Limits

QUICK = RetryPolicy(attempts=2, shortest_pause=0.001, longest_pause=0.002)


@pytest.fixture
def group(tmp_path):
    """A sandbox of forty companies that counts requests, and a client that gives up quickly."""
    sandbox = bktools.Sandbox(tmp_path / "group", companies=40, categories=8, employees=4)
    with sandbox as connected:
        sandbox.ids = [company.id for company in sandbox.server.companies()]
        with Service(connected.settings, retry=QUICK, limits=Limits(read=2.0)) as sandbox.service:
            yield sandbox


def failing(group, *, hanging=True):
    """Make companies fail: with 500, with 403, and, if wanted, by hanging."""
    faults = [Fault("error"), Fault("error", status=403), Fault("latency", seconds=30)]
    bad = group.ids[3 : 6 if hanging else 5]
    for company, fault in zip(bad, faults, strict=False):
        group.server.inject(replace(fault, company=company))
    return bad


def asked(monkeypatch):
    """Return the list of companies that are asked for from now on."""
    companies, answered = [], Service._answered

    def counting(service, *arguments, body, **options):
        companies.append(json.loads(body)["companyId"])
        return answered(service, *arguments, body=body, **options)

    monkeypatch.setattr(Service, "_answered", counting)
    return companies


def test_three_of_forty_fail_and_the_others_are_whole(group, monkeypatch):
    """The rows of 37 companies, three failures as lines, never complete; the next load asks for three."""
    bad = failing(group)
    companies, begin = asked(monkeypatch), time.time()
    with pytest.warns(IncompleteTableWarning, match="3 of 40 companies could not be read"):
        frame = bktools.load_categories(group.ids, on_error="collect", service=group.service)
    # The one that hangs delays no other.
    about = frame.attrs["bktools"]
    assert time.time() - begin >= 4
    assert max(map(dt.datetime.fromisoformat, about["fetched_at"])).timestamp() < begin + 4
    assert set(frame["company_id"]) == set(group.ids) - set(bad)
    assert (about["complete"], len(about["snapshot"])) == (False, 37)
    errors = {row["company_id"]: row["error"] for row in about["failures"]}
    assert errors == dict(zip(bad, ("ServerError", "ScopeError", "ConnectionLostError"), strict=True))
    assert all(row["message"] and row["to_do"] for row in about["failures"])
    group.server.clear_faults()
    companies.clear()
    again = bktools.load_categories(group.ids, on_error="collect", service=group.service)
    assert sorted(companies) == sorted(bad)
    assert (again.attrs["bktools"]["complete"], "failures" in again.attrs["bktools"]) == (True, False)
    # In the order of the companies asked for, wherever each came from.
    assert list(again["company_id"].unique()) == group.ids


def test_a_failure_is_raised_when_the_others_are_kept(group, monkeypatch):
    """The default raises the first failure in the order asked for, of its own kind; nothing read is lost."""
    bad = failing(group, hanging=False)
    said = f"2 of 40 companies.*first is {bad[0]}.*ask only for what is missing"
    with pytest.raises(ServerError, match=said) as error:
        bktools.load_categories(group.ids, service=group.service)
    assert error.value.status == 500
    group.server.clear_faults()
    companies = asked(monkeypatch)
    assert len(bktools.load_categories(group.ids, service=group.service)) == 8 + 39 * 2
    assert sorted(companies) == sorted(bad)


def test_a_refused_credential_is_not_sent_for_every_company(group, monkeypatch):
    """The companies being read get the refusal, the others are not asked for and say so."""
    cache = group.service.settings.cache_dir / "other"
    wrong = bktools.connect(group.server.base_url, token="wrong-token-of-nobody", cache_dir=cache)
    companies = asked(monkeypatch)
    with wrong, pytest.warns(IncompleteTableWarning):
        frame = bktools.load_categories(group.ids, on_error="collect", service=wrong)
    failures = frame.attrs["bktools"]["failures"]
    assert (len(frame), len(failures), len(companies) <= 16) == (0, 40, True)
    assert sum(row["message"].startswith("not asked for: ") for row in failures) == 40 - len(companies)
    assert {row["error"] for row in failures} == {"AuthenticationError"}
    assert list(frame.columns) == list(bktools.load_categories(group.ids[0], service=group.service).columns)


def test_a_service_that_is_away_leaves_the_cached_companies(group):
    """What was cached is used and said to be stale, what was not is a failure each, after few attempts."""
    bktools.load_categories(group.ids[:5], service=group.service)
    group.server.stop()
    begin = time.monotonic()
    with pytest.warns() as told:
        frame = bktools.load_categories(group.ids, max_age=0, on_error="collect", service=group.service)
    assert {item.category.__name__ for item in told} == {"IncompleteTableWarning", "StaleSnapshotWarning"}
    assert set(frame["company_id"]) == set(group.ids[:5])
    assert len(frame.attrs["bktools"]["failures"]) == 35
    assert time.monotonic() - begin < 10
    with pytest.raises(UnreachableError):
        bktools.load_categories(group.ids, max_age=0, service=group.service)
