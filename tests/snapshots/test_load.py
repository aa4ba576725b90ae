"""`load_categories` and `load_employees` as a user calls them."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pandas as pd
import pytest

import bktools
from bktools.errors import ArgumentError, SnapshotNotFoundError


def test_all_categories_come_to_the_letter(sandbox, service):
    """Every category of the service is there once, in order, with the service's own values."""
    frame = bktools.load_categories(service=service)
    assert frame["id"].tolist() == sandbox.server.category_ids()
    assert frame["archived"].dtype == bool
    assert str(frame["name"].dtype) == "str"
    first = service.search_categories(service.settings.company, limit=1).data[0]
    row = frame.iloc[0]
    assert (row["id"], row["name"], row["archived"]) == (first.id, first.name, first.archived)
    unmapped = {record.id for page in service.pages("categories") for record in page if not record.account_id}
    assert set(frame.loc[frame["account_id"].isna(), "id"]) == unmapped


def test_the_second_load_is_the_snapshot(sandbox, service, caplog):
    """Within max_age the cached rows are used, and the log says so; refresh and no age ask the service."""
    first = bktools.load_categories(service=service)
    added = sandbox.server.add_category("Fresh")
    with caplog.at_level("INFO", logger="bktools"):
        pd.testing.assert_frame_equal(bktools.load_categories(service=service, progress=False), first)
    said = f"categories: {len(first)} rows from the snapshot of "
    assert any(line.startswith(said) for line in caplog.messages)
    assert added in set(bktools.load_categories(service=service, refresh=True)["id"])
    another = sandbox.server.add_category("Fresher")
    assert another in set(bktools.load_categories(service=service, max_age=0)["id"])


def test_filters_narrow_as_the_service_does(service):
    everything = bktools.load_categories(service=service)
    archived = bktools.load_categories(archived=True, service=service)
    assert set(archived["id"]) == set(everything.loc[everything["archived"], "id"])
    some = everything["id"].head(3).tolist()
    assert bktools.load_categories(ids=some, service=service)["id"].tolist() == some


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
    for arguments, said in (
        ({"as_of": "yesterday"}, "as_of"),
        ({"as_of": "2026-10-31", "refresh": True}, "refresh"),
        ({"company": []}, "company"),
        ({"ids": "x"}, "ids"),
        ({"verify": "lax"}, r"verify must be one of strict, warn.*lax"),
        ({"on_error": "ignore"}, "on_error must be one of raise, collect"),
        ({"archive": True}, "archive is not an argument of load_categories; there are .*archived"),
    ):
        with pytest.raises(ArgumentError, match=said):
            bktools.load_categories(**arguments, service=service)


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
        somebody = bktools.load_employees(service=staging)["id"].iloc[0]
        employee = bktools.get_employee(somebody, service=staging)
    assert settings.identity.startswith("http")
    origin = {"environment": "staging", "base_url": settings.identity}
    asked = {"archived": False, "company_id": [settings.company]}
    told = origin | {"table": "categories", "filters": asked, "rows": len(frame), "complete": True}
    assert frame.attrs["bktools"].items() >= told.items()
    assert employee.attrs["bktools"] == origin | {"operation": "get_employee"}
    assert bktools.load_employees("all", service=service).attrs["bktools"]["filters"] == {}


def test_a_balance_is_the_services(service):
    """Each value is in its own place, with one warning to the caller."""
    with pytest.warns(DeprecationWarning, match="balance") as caught:
        balance = bktools.get_balance(service=service)
    assert [warning.filename for warning in caught] == [__file__]
    assert balance.attrs["bktools"]["operation"] == "get_balance"
    with pytest.warns(DeprecationWarning, match="balance"):
        found = service.get_balance()
    names = ("currency", "current", "available")
    assert list(balance.items()) == [(name, getattr(found, name)) for name in names]
