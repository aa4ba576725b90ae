"""Export jobs of many companies: all at once, each company one job at a time, none stopped by another."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections import Counter, defaultdict

import pandas as pd
import pytest
import warm
from entries_by_hand import company_of, outcomes, states, submit

import bktools
from bktools.errors import StorageError
from bktools.sandbox import Fault
from bktools.service import Service
from bktools.settings import load_settings
from bktools.submit import request


def entries_of(companies, batches):
    """Return two entries for each batch of each company."""
    owners = companies * 2 * batches
    return pd.DataFrame({"id": [str(uuid.uuid4()) for _ in owners], "company_id": owners})


@pytest.fixture
def group(tmp_path):
    """A sandbox with ten companies that can export, whose jobs take a second."""
    sandbox = bktools.Sandbox(tmp_path / "group", companies=10, categories=4, employees=4, job_seconds=0.9)
    with sandbox as sandbox.service:
        sandbox.ids = [company.id for company in sandbox.server.companies()]
        for company in sandbox.ids:
            sandbox.server.configure_company(company, has_contra_accounts=True, has_integration=True)
        yield sandbox


def test_companies_are_sent_at_once_and_each_in_order(group):
    """Ten companies with three jobs each take the time of one company; no two jobs of one company overlap."""
    plan = bktools.compose_export_jobs(entries_of(group.ids, 3), max_entries=2)
    begin = time.monotonic()
    sent = submit(plan, group.service)
    # One company after another they take at least 18 s.
    assert time.monotonic() - begin < 12
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 30
    # One row a batch, company by company, in the order of the plan.
    assert sent["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    jobs = defaultdict(list)
    for job in group.server.export_jobs():
        jobs[job["companyId"]].append(job["id"])
    assert {company: len(own) for company, own in jobs.items()} == dict.fromkeys(group.ids, 3)
    for company, own in sent.groupby("company_id", sort=False):
        assert own["job_id"].to_list() == jobs[company]
    history = bktools.load_export_jobs(service=group.service).sort_values("sent_at")
    for _, own in history.groupby("company_id"):
        assert (own["sent_at"].iloc[1:].array >= own["settled_at"].iloc[:-1].array).all()
    assert set(group.server.accepted_entries().values()) == {1}
    assert outcomes(plan, group.service) == ["ACCEPTED"] * 30


def test_a_refusal_and_a_doubt_stop_their_own_company_alone(group):
    """One company is refused, one loses its answer, eight are exported; no row is missing."""
    refused, lost = group.ids[:2]
    group.server.configure_company(refused, has_contra_accounts=False)
    group.server.inject(Fault("drop", company=lost, operation="create_export_job", times=1))
    sent = submit(entries_of(group.ids, 2), group.service, size=2)
    told = {company: own["outcome"].to_list() for company, own in sent.groupby("company_id")}
    assert told.pop(refused) == ["REJECTED", "BLOCKED"]
    assert told.pop(lost) == ["UNKNOWN", "BLOCKED"]
    assert set(map(tuple, told.values())) == {("ACCEPTED", "ACCEPTED")}
    assert set(group.server.accepted_entries().values()) == {1}


def test_a_journal_that_cannot_be_written_loses_no_answer(group, monkeypatch):
    """Requests on their way go on to their end, every lost outcome is told, and nothing more is sent."""
    original, together = request.record_outcome, threading.Barrier(10)

    def full(*_):
        together.wait(timeout=20)
        raise StorageError("no space left")

    monkeypatch.setattr(request, "record_outcome", full)
    with pytest.raises(StorageError) as error:
        submit(entries_of(group.ids, 2), group.service, size=2)
    monkeypatch.setattr(request, "record_outcome", original)
    booked = group.server.export_jobs()
    assert len(booked) == 10
    assert all(f"ACCEPTED (job {job['id']}" in str(error.value) for job in booked)
    assert Counter(states(group.service)) == {"UNKNOWN": 10, "PLANNED": 10}


def sends_until_interrupted(address, folders, ids):
    """Send an entry of each company, three a minute, until somebody interrupts it."""
    entries = pd.DataFrame({"id": ids, "company_id": ids})
    with bktools.connect(address, token="t", requests_per_minute=3, **folders) as service:
        yield "ready"
        try:
            submit(entries, service)
        except KeyboardInterrupt:
            yield "interrupted"


def test_ctrl_c_while_many_are_sent(talking, tmp_path):
    """Requests that wait for their rate were not sent; those on their way are in doubt."""
    ids = [company_of(number) for number in range(8)]

    def hang(raw, connection, request):
        raw.held.append(connection.dup())

    with talking(hang) as (raw, _):
        folders = {f"{name}_dir": tmp_path / name for name in ("cache", "data", "sent_log")}
        with warm.Process(sends_until_interrupted, raw.base_url, folders, ids) as process:
            assert process.read() == "ready"
            while len(raw.requests) < 3:
                time.sleep(0.02)
            time.sleep(0.3)
            begin = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.read() == "interrupted"
            assert process.wait() == 0
        assert time.monotonic() - begin < 10
        assert len(raw.requests) == 3
        with Service(load_settings(raw.base_url, env={}, token="t", **folders)) as service:
            assert Counter(states(service)) == {"UNKNOWN": 3, "PLANNED": 5}
