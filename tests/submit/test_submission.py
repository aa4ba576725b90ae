"""Submitting a plan to the real sandbox: once, in order, and again without sending again."""

from __future__ import annotations

import uuid

import pandas as pd
import pytest

import bktools
from bktools.errors import ExportAlreadyInProgressError, JournalError, PlanError
from bktools.sandbox.faults import Fault


def entries_of(company: str, count: int, first: int = 0) -> pd.DataFrame:
    ids = [str(uuid.UUID(int=number + 1, version=4)) for number in range(first, first + count)]
    return pd.DataFrame({"id": ids, "company_id": [company] * count})


@pytest.fixture
def entries(service):
    return entries_of(service.settings.company, 10)


def test_without_apply_nothing_is_sent(sandbox, service, entries):
    """The first call shows what would happen."""
    shown = bktools.submit_export_jobs(bktools.compose_export_jobs(entries), service=service)
    assert shown["outcome"].to_list() == ["PLANNED"]
    assert sandbox.server.export_jobs() == []


def test_batches_are_sent_one_after_another(sandbox, service, entries):
    """Each entry is accepted once; the next batch waits for the job before it."""
    plan = bktools.compose_export_jobs(entries, max_entries=4)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 3
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert len(sandbox.server.accepted_entries()) == 10
    assert sent["job_id"].to_list() == [job["id"] for job in sandbox.server.export_jobs()]


def test_again_sends_nothing(sandbox, service, entries):
    """A plan that was submitted is told as it stands, and history keeps its entries out of the next plan."""
    plan = bktools.compose_export_jobs(entries)
    bktools.submit_export_jobs(plan, apply=True, service=service)
    again = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert again["outcome"].to_list() == ["ACCEPTED"]
    assert len(sandbox.server.export_jobs()) == 1
    history = bktools.load_export_jobs(entries=True, service=service)
    later = bktools.compose_export_jobs(entries, history=history)
    assert later.not_ready["reason"].unique().tolist() == ["exported"]


def test_another_plan_with_the_same_entries_is_refused(sandbox, service, entries):
    """What one plan booked, another one does not send, history or not."""
    bktools.submit_export_jobs(bktools.compose_export_jobs(entries), apply=True, service=service)
    other = bktools.compose_export_jobs(entries.head(3))
    with pytest.raises(PlanError, match="nothing was sent"):
        bktools.submit_export_jobs(other, apply=True, service=service)
    assert len(sandbox.server.export_jobs()) == 1


def test_a_lost_answer_blocks_the_company_until_it_is_settled(sandbox, service, entries):
    """UNKNOWN says which batch and how to settle it; settled by a person, the rest goes on."""
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    plan = bktools.compose_export_jobs(entries, max_entries=5)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
    batch = sent["batch_id"][0]
    assert f"bktools export resolve {batch}" in sent["message"][0]
    again = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert again["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]

    bktools.resolve_export_job(batch, "accepted", evidence="found in the ERP", by="Ada", service=service)
    with pytest.raises(JournalError, match="is ACCEPTED"):
        bktools.resolve_export_job(batch, "released", evidence="changed my mind", by="Ada", service=service)
    last = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert last["outcome"].to_list() == ["ACCEPTED", "ACCEPTED"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_refusals_say_what_to_do(sandbox, service):
    """Contra accounts and the integration: each refusal names the next step, and may be sent again after it."""
    companies = sandbox.server.companies()
    for first, company, said in ((0, companies[1].id, "contra accounts"), (9, companies[2].id, "accounting system")):
        plan = bktools.compose_export_jobs(entries_of(company, 2, first))
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["REJECTED"]
        assert said in sent["message"][0]
        sandbox.server.configure_company(company, has_integration=True, has_contra_accounts=True)
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["ACCEPTED"]


def test_somebody_elses_job_is_waited_for(sandbox, service, entries):
    """A job in progress puts the batch back; without time to wait it stays PLANNED."""
    with bktools.Sandbox(job_seconds=30) as slow:
        company = slow.settings.company
        slow.create_export_job([str(uuid.uuid4())], company)
        with pytest.raises(ExportAlreadyInProgressError):
            slow.create_export_job([str(uuid.uuid4())], company)
        plan = bktools.compose_export_jobs(entries_of(company, 2))
        sent = bktools.submit_export_jobs(plan, apply=True, wait=0, service=slow)
        assert sent["outcome"].to_list() == ["PLANNED"]
        assert "in progress" in sent["message"][0]


def test_a_service_that_is_not_there_leaves_the_batch_planned(sandbox, service, entries):
    """No connection, nothing sent: the same plan goes out later."""
    plan = bktools.compose_export_jobs(entries)
    sandbox.server.stop()
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["PLANNED"]
    assert "nothing was sent" in sent["message"][0]
