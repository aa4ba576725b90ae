"""Creating accounts at the real sandbox."""

from __future__ import annotations

import pandas as pd
import pytest
from entries_by_hand import to_create

import bktools
from bktools.errors import ArgumentError, InputError
from bktools.sandbox.faults import Fault


@pytest.mark.parametrize("lost", [0, 2], ids=["every answer arrives", "two answers are lost"])
def test_each_account_exists_once_afterwards(sandbox, service, samples, lost):
    """Listed first; created or existing already, each external ID is there once; again nothing is sent."""
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    known = bktools.load_accounts(service=service)
    found = bktools.reconcile_accounts(chart, known, bktools.load_categories(service=service))
    before = len(sandbox.server.accounts())
    assert set(bktools.create_accounts(found, service=service)["outcome"]) == {"PLANNED"}
    assert len(sandbox.server.accounts()) == before
    if lost:
        sandbox.server.inject(Fault("drop", "create_account", times=lost))
    made = bktools.create_accounts(found, apply=True, service=service)
    assert set(made["outcome"]) <= {"CREATED", "MATCHED", "EXISTS"}
    assert "CREATED" in set(made["outcome"])
    there = [account.external_id for account in sandbox.server.accounts()]
    assert len(there) == len(set(there))
    assert set(made["external_id"]) <= set(there)
    again = bktools.create_accounts(found, apply=True, service=service)
    assert again["outcome"].to_list() == made["outcome"].to_list()
    assert (again["message"] == "exists already; nothing was sent").all()


@pytest.mark.parametrize("apply", [False, True])
def test_one_account_that_breaks_a_rule_keeps_all_from_being_sent(sandbox, service, apply):
    """Everything is checked before the first account is created; the journal knows of none."""
    before = len(sandbox.server.accounts())
    right = {"company_id": service.settings.company, "external_id": "9990", "name": "First"}
    wrong = to_create(right, {"company_id": "nobody", "external_id": "9991", "name": "Second"})
    with pytest.raises(InputError, match="account '9991' cannot be created: company_id must be a UUID"):
        bktools.create_accounts(wrong, apply=apply, service=service)
    assert len(sandbox.server.accounts()) == before
    assert bktools.load_accounts(service=service).empty


def test_a_company_in_capitals_is_the_same(service):
    """The UUID is sent, answered and remembered in lower case."""
    company = service.settings.company
    accounts = [{"company_id": company.upper(), "external_id": code, "name": "Cash"} for code in "12"]
    made = bktools.create_accounts(to_create(*accounts), apply=True, service=service)
    assert made["outcome"].to_list() == ["CREATED", "CREATED"]
    assert len(bktools.load_accounts(company, service=service)) == 2


def test_something_else_than_a_reconciliation_is_refused(service):
    """The line names what is needed and what was given; columns alone make no reconciliation."""
    with pytest.raises(ArgumentError, match="must be a result of reconcile_accounts, is a DataFrame"):
        bktools.create_accounts(pd.DataFrame({"actions": ["create"]}), service=service)
