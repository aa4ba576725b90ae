"""`load_categories` and `load_employees` as a user calls them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pandas as pd
import pytest

import bktools
from bktools.errors import ArgumentError, SnapshotNotFoundError


def requests_of(sandbox, monkeypatch):
    """Count the searches that a service sends from now on."""
    sent, answered = [], sandbox.service._answered

    def counting(endpoint, *arguments, **options):
        sent.append(endpoint.operation)
        return answered(endpoint, *arguments, **options)

    monkeypatch.setattr(sandbox.service, "_answered", counting)
    return sent


def test_all_categories_come_to_the_letter(sandbox, service):
    """Every category of the service is there once, in order, with the service's own values."""
    frame = bktools.load_categories(service=service)
    assert frame["id"].tolist() == sandbox.server.category_ids()
    assert frame["archived"].dtype == bool
    assert str(frame["name"].dtype) == "str"
    first = service.search_categories(service.settings.company, limit=1).data[0]
    row = frame.iloc[0]
    assert (row["id"], row["name"], row["archived"]) == (first.id, first.name, first.archived)


def test_nulls_are_nulls(service):
    frame = bktools.load_categories(service=service)
    pages = [
        service.search_categories(service.settings.company, offset=start, limit=100)
        for start in (0, 100, 200)
    ]
    unmapped = {record.id for page in pages for record in page.data if record.account_id is None}
    assert set(frame.loc[frame["account_id"].isna(), "id"]) == unmapped


def test_the_second_load_is_the_snapshot(sandbox, service, monkeypatch):
    """Within max_age nothing is sent; refresh asks the service in any case."""
    first = bktools.load_categories(service=service)
    sent = requests_of(sandbox, monkeypatch)
    second = bktools.load_categories(service=service)
    assert sent == []
    pd.testing.assert_frame_equal(first, second)
    bktools.load_categories(service=service, refresh=True)
    assert sent


def test_the_log_says_which_snapshot_was_used(service, caplog):
    """A program that shows nothing still logs how many rows came from the cache, and from when."""
    rows = len(bktools.load_categories(service=service))
    with caplog.at_level("INFO", logger="bktools"):
        bktools.load_categories(service=service, progress=False)
    assert any(line.startswith(f"categories: {rows} rows from the snapshot of ") for line in caplog.messages)


def test_max_age_of_nothing_asks_again(sandbox, service):
    bktools.load_categories(service=service)
    added = sandbox.server.add_category("Fresh")
    assert added not in set(bktools.load_categories(service=service)["id"])
    assert added in set(bktools.load_categories(service=service, max_age=0)["id"])


def test_filters_narrow_as_the_service_does(service):
    everything = bktools.load_categories(service=service)
    archived = bktools.load_categories(archived=True, service=service)
    assert set(archived["id"]) == set(everything.loc[everything["archived"], "id"])
    some = everything["id"].head(3).tolist()
    assert bktools.load_categories(ids=some, service=service)["id"].tolist() == some


def test_several_companies_are_one_frame(sandbox, service):
    companies = [company.id for company in sandbox.server.companies()]
    frame = bktools.load_categories(companies, service=service)
    assert frame["company_id"].drop_duplicates().tolist() == companies
    assert len(bktools.load_categories("all", service=service)) == len(frame)


def test_as_of_reads_history_alone(sandbox, service):
    """The newest snapshot at an instant is given, and before the first one there is none."""
    before = bktools.load_categories(service=service)
    moment = dt.datetime.now(dt.UTC)
    sandbox.server.add_category("Later")
    after = bktools.load_categories(refresh=True, service=service)
    assert len(after) == len(before) + 1
    pd.testing.assert_frame_equal(bktools.load_categories(as_of=moment, service=service), before)
    today = f"{dt.datetime.now(dt.UTC):%Y-%m-%d}"
    pd.testing.assert_frame_equal(bktools.load_categories(as_of=today, service=service), after)
    with pytest.raises(SnapshotNotFoundError, match="up to 2020-01-01"):
        bktools.load_categories(as_of="2020-01-01", service=service)


def test_bad_arguments_name_the_argument(service):
    with pytest.raises(ArgumentError, match="as_of"):
        bktools.load_categories(as_of="yesterday", service=service)
    with pytest.raises(ArgumentError, match="refresh"):
        bktools.load_categories(as_of="2026-10-31", refresh=True, service=service)
    with pytest.raises(ArgumentError, match="company"):
        bktools.load_categories([], service=service)
    with pytest.raises(ArgumentError, match="ids"):
        bktools.load_categories(ids="x", service=service)


@pytest.mark.parametrize("age", [-1, True, "1", float("nan"), float("inf"), 1e300, 10**400, dt.timedelta(-1)])
def test_an_age_that_is_none_is_refused(service, age):
    """What no timedelta holds is refused by name, with the bounds."""
    with pytest.raises(
        ArgumentError, match="max_age must be seconds or a timedelta, from 0 to 999999999 days"
    ):
        bktools.load_categories(max_age=age, service=service)


def test_employees_of_everybody_and_by_mail(service):
    everybody = bktools.load_employees("all", service=service)
    assert everybody["id"].is_unique
    assert len(set(everybody["company_id"])) > 1
    mail = everybody["email"].dropna().iloc[0]
    assert set(bktools.load_employees("all", email=mail, service=service)["email"]) == {mail}


def test_one_employee_is_the_one_of_the_list(service):
    somebody = bktools.load_employees(service=service).iloc[0]
    assert bktools.get_employee(somebody["id"], service=service)["email"] == somebody["email"]


def test_whatever_comes_from_the_sandbox_says_so(service):
    """Every frame and every Series names the environment it came from."""
    employees = bktools.load_employees(service=service)
    categories = bktools.load_categories(service=service)
    with pytest.warns(DeprecationWarning, match="balance"):
        balance = bktools.get_balance(service=service)
    changes = bktools.compare(dt.datetime.now(dt.UTC), service=service)
    employee = bktools.get_employee(employees["id"].iloc[0], service=service)
    accounts = bktools.load_accounts(service=service)
    jobs = bktools.load_export_jobs(service=service)
    for loaded in (employees, categories, balance, changes, employee, accounts, jobs):
        assert loaded.attrs["bktools"]["environment"] == "sandbox"


def test_a_table_says_where_it_comes_from(service):
    """A frame names environment, address, table, companies and rows, as asked; so does an employee."""
    settings = replace(service.settings, environment="staging")
    with bktools.Service(settings) as staging:
        frame = bktools.load_categories([settings.company], archived=False, service=staging)
        employee = bktools.get_employee(
            bktools.load_employees(service=staging)["id"].iloc[0], service=staging
        )
    assert settings.identity.startswith("http")
    names = ("environment", "base_url", "table", "filters", "rows", "complete")
    assert {name: frame.attrs["bktools"][name] for name in names} == {
        "environment": "staging",
        "base_url": settings.identity,
        "table": "categories",
        "filters": {"archived": False, "company_id": [settings.company]},
        "rows": len(frame),
        "complete": True,
    }
    assert employee.attrs["bktools"] == {
        "environment": "staging",
        "base_url": settings.identity,
        "operation": "get_employee",
    }
    assert bktools.load_employees("all", service=service).attrs["bktools"]["filters"] == {}


def test_a_balance_is_the_services(service):
    """Each value is in its own place, with one warning to the caller."""
    with pytest.warns(DeprecationWarning, match="balance") as caught:
        balance = bktools.get_balance(service=service)
    assert [warning.filename for warning in caught] == [__file__]
    assert balance.attrs["bktools"]["operation"] == "get_balance"
    with pytest.warns(DeprecationWarning, match="balance"):
        found = service.get_balance()
    assert list(balance.items()) == [
        ("currency", found.currency),
        ("current", found.current),
        ("available", found.available),
    ]


def test_a_wrong_verify_is_named(service):
    """Another word than strict and warn is refused with the argument's name and what was given."""
    with pytest.raises(ArgumentError, match=r'verify must be "strict" or "warn".*lax'):
        bktools.load_categories(verify="lax", service=service)
