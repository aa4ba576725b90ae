"""Creating accounts at the real sandbox."""

from __future__ import annotations

import pytest

import bktools
from bktools.sandbox.faults import Fault


@pytest.fixture
def found(service, samples):
    chart = bktools.read_chart_of_accounts(samples[0], company=service.settings.company)
    known = bktools.load_accounts(service=service)
    return bktools.reconcile_accounts(chart, known, bktools.load_categories(service=service))


def test_without_apply_nothing_is_created(sandbox, service, found):
    """The first call lists what the service lacks."""
    before = len(sandbox.server.accounts())
    planned = bktools.create_accounts(found, service=service)
    assert set(planned["outcome"]) == {"PLANNED"}
    assert len(sandbox.server.accounts()) == before


def test_each_account_exists_once_afterwards(sandbox, service, found):
    """Created or existing already, each external ID is there once; a second run sends nothing new."""
    made = bktools.create_accounts(found, apply=True, service=service)
    assert set(made["outcome"]) <= {"CREATED", "MATCHED", "EXISTS"}
    assert "CREATED" in set(made["outcome"])
    there = [account.external_id for account in sandbox.server.accounts()]
    assert len(there) == len(set(there))
    assert set(made["external_id"]) <= set(there)
    again = bktools.create_accounts(found, apply=True, service=service)
    assert again["outcome"].to_list() == made["outcome"].to_list()
    assert (again["message"] == "known already; nothing was sent").all()


def test_lost_answers_are_repeated(sandbox, service, found):
    """A create may be repeated: the account is there once, and known."""
    sandbox.server.inject(Fault("drop", "create_account", times=2))
    made = bktools.create_accounts(found, apply=True, service=service)
    assert set(made["outcome"]) <= {"CREATED", "MATCHED", "EXISTS"}
    there = [account.external_id for account in sandbox.server.accounts()]
    assert len(there) == len(set(there))
