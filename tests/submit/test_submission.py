"""Submitting a plan to the real sandbox: once, in order, and again without sending again."""

from __future__ import annotations

import os
import re
import tracemalloc
import uuid
from dataclasses import replace

import pandas as pd
import pytest
from backends import BOTH
from entries_by_hand import entries_of, outcomes, submit

import bktools
from bktools.errors import ArgumentError, JournalError, PlanError
from bktools.journal.writing import open_for_writing
from bktools.sandbox.faults import Fault
from bktools.submit import sender

MANY = int(os.environ.get("BKTOOLS_TEST_ENTRIES", "2000"))


@pytest.fixture
def entries(service):
    return entries_of(service.settings.company, 10)


@BOTH
def test_a_lost_answer_blocks_the_company_until_it_is_settled(sandbox, service, entries):
    """UNKNOWN says which batch and how to settle it; settled by a person, the rest goes on."""
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    plan = bktools.compose_export_jobs(entries, max_entries=5)
    sent = submit(plan, service)
    assert sent["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
    batch = sent["batch_id"][0]
    assert f"bktools export resolve {batch}" in sent["message"][0]
    # How to settle it is said once, also where the batch in doubt is of another plan.
    assert sent["message"][1] == f"Waiting: first resolve batch {batch} (outcome unknown)"
    later = submit(entries.tail(3), service, size=1, apply=False)
    assert later["outcome"].to_list() == ["BLOCKED"] * 3
    assert later["message"].str.contains(f"bktools export resolve {batch}").to_list() == [True, False, False]
    dry, again = (submit(plan, service, apply=apply) for apply in (False, True))
    assert again["outcome"].to_list() == dry["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
    assert again["message"].to_list() == dry["message"].to_list()

    bktools.resolve_export_job(batch, "accepted", evidence="found in the ERP", by="Ada", service=service)
    with pytest.raises(JournalError, match="is ACCEPTED"):
        bktools.resolve_export_job(batch, "released", evidence="changed my mind", by="Ada", service=service)
    assert outcomes(plan, service) == ["ACCEPTED", "ACCEPTED"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


@pytest.mark.parametrize(("number", "said"), [(1, "contra accounts"), (2, "accounting system")])
def test_refusals_say_what_to_do(sandbox, service, number, said):
    """Contra accounts and the integration: a refusal names the next step, and is sent again after it."""
    company = sandbox.server.companies()[number].id
    plan = bktools.compose_export_jobs(entries_of(company, 2))
    sent = submit(plan, service)
    assert sent["outcome"].to_list() == ["REJECTED"]
    assert said in sent["message"][0]
    sandbox.server.configure_company(company, has_integration=True, has_contra_accounts=True)
    assert outcomes(plan, service) == ["ACCEPTED"]


@BOTH
def test_only_one_process_sends_for_a_company(sandbox, service, entries):
    """While somebody sends for a company, the others say who, and send for the other companies alone."""
    other = sandbox.server.companies()[1].id
    sandbox.server.configure_company(other, has_contra_accounts=True)
    both = pd.concat([entries, entries_of(other, 2, first=50)])
    bktools.load_export_jobs(service=service)
    with open_for_writing(service.settings) as journal, journal.sending(service.settings.company):
        busy = submit(entries, service)
        assert busy["outcome"].to_list() == ["BLOCKED"]
        assert re.search(r"process \d+ .*is sending for company", busy["message"][0])
        sent = submit(both, service).set_index("company_id")["outcome"]
    assert sent.to_dict() == {service.settings.company: "BLOCKED", other: "ACCEPTED"}
    assert len(sandbox.server.export_jobs()) == 1


@BOTH
def test_entries_that_another_run_took_meanwhile_stop_their_company_alone(sandbox, service, monkeypatch):
    """The company whose entries went out in another batch is BLOCKED and says in which; others are sent."""
    first, second = sorted(company.id for company in sandbox.server.companies()[:2])
    for company in (first, second):
        sandbox.server.configure_company(company, has_contra_accounts=True)
    entries = pd.concat([entries_of(first, 2), entries_of(second, 4, first=50)])
    other = bktools.compose_export_jobs(entries_of(second, 1, first=53))
    claim = sender.claim

    def another_run_after(*arguments: object):
        monkeypatch.setattr(sender, "claim", claim)
        claim(*arguments)
        assert outcomes(other, service) == ["ACCEPTED"]

    monkeypatch.setattr(sender, "claim", another_run_after)
    # One after another, so that the other run comes between the two companies.
    monkeypatch.setattr("bktools.submit.export_jobs.COMPANIES", 1)
    sent = submit(entries, service, size=2)
    assert sent["outcome"].to_list() == ["ACCEPTED", "BLOCKED", "BLOCKED"]
    assert sent["message"].str.contains(str(other.batches["batch_id"][0])).to_list() == [False, True, True]
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert len(sandbox.server.accepted_entries()) == 3


@pytest.mark.parametrize("wait", [-1, float("nan"), "5", None, True])
def test_a_wait_that_is_none_is_refused(sandbox, service, entries, wait):
    """A wrong argument is named, and nothing is sent."""
    with pytest.raises(ArgumentError, match="wait must be a number of seconds"):
        submit(entries, service, wait=wait)
    assert sandbox.server.export_jobs() == []


@BOTH
def test_nothing_is_sent_when_anything_is_wrong(sandbox, service, entries):
    """One entry that was exported before, in the last batch: no batch of the plan is sent."""
    submit(entries.tail(1), service)
    with pytest.raises(PlanError, match="nothing was sent"):
        submit(entries, service, size=2)
    changed = bktools.compose_export_jobs(entries.head(9), max_entries=2)
    with pytest.raises(PlanError, match="compose"):
        submit(replace(changed, rows=changed.rows.slice(0, 8)), service)
    assert len(sandbox.server.export_jobs()) == 1


@pytest.mark.timeout(60 + MANY // 100)
@pytest.mark.parametrize(("count", "spread"), [(MANY, 50), (MANY // 5, 1)])
def test_many_entries(count, spread):
    """Many entries, also of one company, take bounded memory, each accepted once."""
    sandbox = bktools.Sandbox(companies=spread, categories=0, employees=0, job_seconds=0)
    with sandbox as running:
        companies = [company.id for company in sandbox.server.companies()]
        for company in companies[1:3]:
            sandbox.server.configure_company(company, has_integration=True, has_contra_accounts=True)
        numbers = range(count)
        ids = [str(uuid.UUID(int=number + 1, version=4)) for number in numbers]
        frame = pd.DataFrame({"id": ids, "company_id": [companies[number % spread] for number in numbers]})
        plan = bktools.compose_export_jobs(frame)
        tracemalloc.start()
        sent = submit(plan, running)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (len(sent), set(sent["outcome"])) == (len(plan.batches), {"ACCEPTED"})
        accepted = sandbox.server.accepted_entries()
    assert (len(accepted), set(accepted.values())) == (count, {1})
    assert peak < 8 * 2**20
