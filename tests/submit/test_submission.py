"""Submitting a plan to the real sandbox: once, in order, and again without sending again."""

from __future__ import annotations

import hashlib
import os
import re
import tracemalloc
import uuid
from dataclasses import replace

import pandas as pd
import pytest
from backends import BOTH
from entries_by_hand import entries_of

import bktools
from bktools.errors import (
    ArgumentError,
    JournalError,
    PlanError,
    StorageError,
)
from bktools.journal.writing import WritableJournal, open_for_writing
from bktools.sandbox.faults import Fault

MANY = int(os.environ.get("BKTOOLS_TEST_ENTRIES", "4000"))


@pytest.fixture
def entries(service):
    return entries_of(service.settings.company, 10)


def test_without_apply_nothing_is_sent(sandbox, service, entries):
    """The first call shows what would happen."""
    shown = bktools.submit_export_jobs(bktools.compose_export_jobs(entries), service=service)
    assert shown["outcome"].to_list() == ["PLANNED"]
    assert sandbox.server.export_jobs() == []


@BOTH
def test_batches_are_sent_one_after_another(sandbox, service, entries):
    """Each entry is accepted once; the next batch waits for the job before it."""
    plan = bktools.compose_export_jobs(entries, max_entries=4)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 3
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert len(sandbox.server.accepted_entries()) == 10
    assert sent["job_id"].to_list() == [job["id"] for job in sandbox.server.export_jobs()]


@BOTH
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


@BOTH
def test_a_lost_answer_blocks_the_company_until_it_is_settled(sandbox, service, entries):
    """UNKNOWN says which batch and how to settle it; settled by a person, the rest goes on."""
    sandbox.server.inject(Fault("drop", "create_export_job", times=1))
    plan = bktools.compose_export_jobs(entries, max_entries=5)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
    batch = sent["batch_id"][0]
    assert f"bktools export resolve {batch}" in sent["message"][0]
    # How to settle it is said once, also where the batch in doubt is of another plan.
    assert sent["message"][1] == f"Waiting: first resolve batch {batch} (outcome unknown)"
    later = bktools.submit_export_jobs(
        bktools.compose_export_jobs(entries.tail(3), max_entries=1), service=service
    )
    assert later["outcome"].to_list() == ["BLOCKED"] * 3
    assert later["message"].str.contains(f"bktools export resolve {batch}").to_list() == [True, False, False]
    again = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert again["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]

    bktools.resolve_export_job(batch, "accepted", evidence="found in the ERP", by="Ada", service=service)
    with pytest.raises(JournalError, match="is ACCEPTED"):
        bktools.resolve_export_job(batch, "released", evidence="changed my mind", by="Ada", service=service)
    last = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert last["outcome"].to_list() == ["ACCEPTED", "ACCEPTED"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_refusals_say_what_to_do(sandbox, service):
    """Contra accounts and the integration: a refusal names the next step, and is sent again after it."""
    companies = sandbox.server.companies()
    for first, company, said in (
        (0, companies[1].id, "contra accounts"),
        (9, companies[2].id, "accounting system"),
    ):
        plan = bktools.compose_export_jobs(entries_of(company, 2, first))
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["REJECTED"]
        assert said in sent["message"][0]
        sandbox.server.configure_company(company, has_integration=True, has_contra_accounts=True)
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["ACCEPTED"]


@BOTH
def test_only_one_process_sends_for_a_company(sandbox, service, entries):
    """While somebody sends for a company, the others say who, and send for the other companies alone."""
    other = sandbox.server.companies()[1].id
    sandbox.server.configure_company(other, has_contra_accounts=True)
    both = bktools.compose_export_jobs(pd.concat([entries, entries_of(other, 2, first=50)]))
    bktools.load_export_jobs(service=service)
    with open_for_writing(service.settings) as journal, journal.sending(service.settings.company):
        busy = bktools.submit_export_jobs(bktools.compose_export_jobs(entries), apply=True, service=service)
        assert busy["outcome"].to_list() == ["BLOCKED"]
        assert re.search(r"process \d+ .*is sending for company", busy["message"][0])
        sent = bktools.submit_export_jobs(both, apply=True, service=service).set_index("company_id")[
            "outcome"
        ]
    assert sent.to_dict() == {service.settings.company: "BLOCKED", other: "ACCEPTED"}
    assert len(sandbox.server.export_jobs()) == 1


@BOTH
def test_entries_that_another_run_took_meanwhile_stop_their_company_alone(
    sandbox, service, entries, monkeypatch
):
    """What was sent before is told, the company whose entries went out in another batch is BLOCKED and says
    in which.
    """
    first, second = sorted(company.id for company in sandbox.server.companies()[:2])
    for company in (first, second):
        sandbox.server.configure_company(company, has_contra_accounts=True)
    plan = bktools.compose_export_jobs(
        pd.concat([entries_of(first, 2), entries_of(second, 4, first=50)]), max_entries=2
    )
    other = bktools.compose_export_jobs(entries_of(second, 1, first=53))
    claim = WritableJournal.claim

    def another_run_after(*arguments: object):
        monkeypatch.setattr(WritableJournal, "claim", claim)
        claim(*arguments)
        assert bktools.submit_export_jobs(other, apply=True, service=service)["outcome"].to_list() == [
            "ACCEPTED"
        ]

    monkeypatch.setattr(WritableJournal, "claim", another_run_after)
    # One after another, so that the other run comes between the two companies.
    monkeypatch.setattr("bktools.submit.export_jobs.COMPANIES", 1)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED", "BLOCKED", "BLOCKED"]
    assert sent["message"].str.contains(str(other.batches["batch_id"][0])).to_list() == [False, True, True]
    assert set(sandbox.server.accepted_entries().values()) == {1}
    assert len(sandbox.server.accepted_entries()) == 3


@pytest.mark.parametrize("wait", [-1, float("nan"), "5", None, True])
def test_a_wait_that_is_none_is_refused(sandbox, service, entries, wait):
    """A wrong argument is named, and nothing is sent."""
    with pytest.raises(ArgumentError, match="wait must be a number of seconds"):
        bktools.submit_export_jobs(
            bktools.compose_export_jobs(entries), apply=True, wait=wait, service=service
        )
    assert sandbox.server.export_jobs() == []


def test_something_else_than_a_plan_is_refused(service, entries):
    """The line says what is needed and what was given."""
    with pytest.raises(ArgumentError, match="plan must be a result of compose_export_jobs, is a DataFrame"):
        bktools.submit_export_jobs(entries, apply=True, service=service)


@BOTH
def test_nothing_is_sent_when_anything_is_wrong(sandbox, service, entries):
    """One entry that was exported before, in the last batch: no batch of the plan is sent."""
    bktools.submit_export_jobs(bktools.compose_export_jobs(entries.tail(1)), apply=True, service=service)
    with pytest.raises(PlanError, match="nothing was sent"):
        bktools.submit_export_jobs(
            bktools.compose_export_jobs(entries, max_entries=2), apply=True, service=service
        )
    changed = bktools.compose_export_jobs(entries.head(9), max_entries=2)
    with pytest.raises(PlanError, match="compose"):
        bktools.submit_export_jobs(
            replace(changed, rows=changed.rows.slice(0, 8)), apply=True, service=service
        )
    assert len(sandbox.server.export_jobs()) == 1


@pytest.mark.parametrize("lost", ["emptied", "gone"])
def test_a_lost_journal_is_not_begun_anew(sandbox, service, entries, lost):
    """Where something was sent before, an empty journal would let it be sent again: nothing is sent without
    it.
    """
    plan = bktools.compose_export_jobs(entries)
    bktools.submit_export_jobs(plan, apply=True, service=service)
    journal = service.settings.state_dir / "journal.sqlite"
    for path in journal.parent.glob("journal.sqlite?*"):
        path.unlink()
    kept = journal.read_bytes()
    journal.write_bytes(b"") if lost == "emptied" else journal.unlink()
    with pytest.raises(JournalError, match="is missing or empty, but export jobs were sent with it"):
        bktools.submit_export_jobs(plan, apply=True, service=service)
    journal.unlink(missing_ok=True)
    journal.write_bytes(kept)
    assert bktools.submit_export_jobs(plan, apply=True, service=service)["outcome"].to_list() == ["ACCEPTED"]
    assert set(sandbox.server.accepted_entries().values()) == {1}


def test_what_stands_in_the_way_of_a_lock_is_one_line(service, sandbox, entries):
    """A file in the place of the locks' folder, or a folder in that of its holder, is no traceback."""
    plan = bktools.compose_export_jobs(entries)
    locks = service.settings.state_dir / "locks"
    bktools.load_export_jobs(service=service)
    locks.write_bytes(b"")
    with pytest.raises(StorageError, match="lock cannot be written"):
        bktools.submit_export_jobs(plan, apply=True, service=service)
    locks.unlink()
    (locks / f"{hashlib.sha256(service.settings.company.encode()).hexdigest()[:32]}.holder").mkdir(
        parents=True
    )
    assert bktools.submit_export_jobs(plan, apply=True, service=service)["outcome"].to_list() == ["ACCEPTED"]


@BOTH
def test_what_waits_can_be_withdrawn(service, sandbox, entries, backend):
    """A batch that waits is released by a person, and its entries may go out in another one."""
    plan = bktools.compose_export_jobs(entries)
    with bktools.connect(
        "sandbox",
        base_url="http://127.0.0.1:9",
        token="t",
        data_dir=service.settings.data_dir,
        journal=backend,
    ) as gone:
        assert bktools.submit_export_jobs(plan, apply=True, service=gone)["outcome"].to_list() == ["PLANNED"]
    batch = plan.batches["batch_id"][0]
    with pytest.raises(JournalError, match="is PLANNED"):
        bktools.resolve_export_job(batch, "accepted", evidence="no", by="Ada", service=service)
    bktools.resolve_export_job(batch, "released", evidence="wrong month", by="Ada", service=service)
    assert bktools.load_export_jobs(service=service)["state"].to_list() == ["RELEASED"]
    assert bktools.submit_export_jobs(plan, apply=True, service=service)["outcome"].to_list() == ["ACCEPTED"]


@pytest.mark.timeout(60 + MANY // 100)
@pytest.mark.parametrize(("count", "spread"), [(MANY, 50), (MANY // 5, 1)])
def test_many_entries(count, spread):
    """Many entries (more with BKTOOLS_TEST_ENTRIES=…), also of one company, take bounded memory, each
    accepted once.
    """
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
        sent = bktools.submit_export_jobs(plan, apply=True, service=running)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (len(sent), set(sent["outcome"])) == (len(plan.batches), {"ACCEPTED"})
        accepted = sandbox.server.accepted_entries()
    assert (len(accepted), set(accepted.values())) == (count, {1})
    print(f"{spread} companies: {peak / 2**20:.1f} MiB")
    assert peak < 8 * 2**20
