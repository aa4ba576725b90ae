"""Which companies and which moments a load means, and which of several stale snapshots its warning names."""

from __future__ import annotations

import datetime as dt
import time
import uuid

import pandas as pd
import pytest
from scripted_server import only_page
from test_clocks_and_folders import with_settings

import bktools
from bktools.errors import ArgumentError, SnapshotNotFoundError
from bktools.settings import Secret
from bktools.snapshots.snapshot import Query
from bktools.snapshots.store import Store

FIRST, SECOND, THIRD = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
NO_ROWS = only_page(total=0)


@pytest.mark.parametrize(("configured", "sent"), [(SECOND, SECOND), (SECOND.upper(), SECOND), (None, None)])
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


def test_without_employees_a_company_must_be_named(served_by):
    """Employees tell which companies a credential sees; where it sees none, nothing is guessed."""
    service = served_by(lambda _: NO_ROWS, company=None)
    with pytest.raises(ArgumentError, match=r"^company must be given: the credential can see no employee"):
        bktools.load_categories(service=service)


def test_a_configured_company_that_is_none(served_by):
    """A wrong company in the settings is named as the configured one, and nothing is sent."""
    asked = []
    service = served_by(asked.append, company="Example Ltd")
    with pytest.raises(ArgumentError, match=r"^company \(configured\) must be a UUID.*Example Ltd"):
        bktools.load_categories(service=service)
    assert asked == []


@pytest.mark.parametrize(
    ("moment", "said"),
    [
        (dt.datetime(2020, 10, 31, 12), "12:00"),  # noqa: DTZ001 - what it means is the question
        (pd.Timestamp(2020, 10, 31, 12), "12:00"),
        (dt.datetime(2020, 10, 31, 12, tzinfo=dt.UTC), "12:00"),
        (dt.datetime(2020, 10, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))), "10:00"),
        ("2020-10-31T12:00:00", "12:00"),
        (dt.date(2020, 10, 31), "23:59"),
    ],
)
def test_a_moment_means_utc_on_any_machine(served_by, monkeypatch, moment, said):
    """A moment without a zone is UTC whatever the zone of the machine; one with a zone is converted."""
    service = served_by(lambda _: NO_ROWS)
    bktools.load_categories(service=service)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        with pytest.raises(SnapshotNotFoundError, match=f"up to 2020-10-31 {said} UTC"):
            bktools.load_categories(as_of=moment, service=service)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_token_that_is_renewed_before_every_load_keeps_one_history(served_by, capsys):
    """A warm load, a moment of the past and work offline find what another token has loaded."""
    first = served_by(lambda _: NO_ROWS)
    bktools.load_categories(service=first)
    for number in range(3):
        with with_settings(first, token=Secret(f"renewed-{number}")) as renewed:
            assert bktools.load_categories(service=renewed).attrs["bktools"]["source"] == ["snapshot"]
            today = dt.datetime.now(dt.UTC)
            past = bktools.load_categories(as_of=today, service=renewed)
            assert len(past.attrs["bktools"]["snapshot"]) == 1
            bktools.load_categories(service=renewed, refresh=True)
    query = Query("categories", {"company_id": first.settings.company})
    assert len(Store(first.settings).history(query)) == 4


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
