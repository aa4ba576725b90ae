"""What a submission tells of itself, of each batch, and of what another process is sending at that moment."""

from __future__ import annotations

import datetime as dt
import re
import threading

import pandas as pd
import pytest
from entries_by_hand import COMPANY, entries_of
from raw_service import send

import bktools
from bktools.errors import ArgumentError


@pytest.mark.parametrize("apply", [False, True])
def test_a_frame_says_where_it_comes_from(service, apply):
    """Environment, plan, whether anything was written, and what was not checked."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 3))
    sent = bktools.submit_export_jobs(plan, apply=apply, service=service)
    assert sent.attrs["bktools"] == {
        "environment": "sandbox",
        "plan": plan.plan_id,
        "applied": apply,
        "unchecked": list(plan.unchecked),
    }


def test_each_batch_is_told_with_its_own(sandbox, service):
    """ID, company, count, job and message of each batch are its own, and the journal keeps the same message."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 7), max_entries=4)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    jobs = sandbox.server.export_jobs()
    assert sent["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    assert (sent["company_id"] == service.settings.company).all()
    assert sent["entries"].to_list() == [4, 3] == [job["numberOfItems"] for job in jobs]
    assert sent["job_id"].to_list() == [job["id"] for job in jobs]
    assert all(message.startswith(f"job {job['id']}, ") for message, job in zip(sent["message"], jobs, strict=True))
    history = bktools.load_export_jobs(service=service).set_index("batch_id").loc[sent["batch_id"]]
    for column, other in (("state", "outcome"), ("job_id", "job_id"), ("message", "message"), ("entries", "entries")):
        assert history[column].to_list() == sent[other].to_list()
    again = bktools.submit_export_jobs(plan, apply=True, service=service)
    since = history["settled_at"].to_list()
    for message, before, at in zip(again["message"], sent["message"], since, strict=True):
        assert message.startswith(f"{before} (since {at.isoformat()[:19]}")
        assert message.endswith("; nothing was sent again)")


def test_what_another_run_is_sending_is_told(talking):
    """While a request is on its way, another run names who sends it and since when, and sends nothing."""
    arrived, answered = threading.Event(), threading.Event()

    def answer(raw, connection, request):
        arrived.set()
        answered.wait(10)
        send(connection, 201, raw.accept(request))

    with talking(answer) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2))
        first = threading.Thread(target=lambda: bktools.submit_export_jobs(plan, apply=True, service=service))
        first.start()
        assert arrived.wait(10)
        told = bktools.submit_export_jobs(plan, service=service)
        answered.set()
        first.join()
        assert told["outcome"].to_list() == ["SENDING"]
        said = re.fullmatch(r"(.+) is sending it \(since (.+)\)", told["message"][0])
        assert said is not None
        assert re.search(r"process \d+", said[1])
        assert abs(dt.datetime.fromisoformat(said[2]) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=2)
        assert len(raw.requests) == 1


@pytest.mark.parametrize("wait", [dt.timedelta(0), 0, 0.0])
def test_a_wait_is_seconds_or_a_timedelta(service, wait):
    """Nothing to wait is a wait, in each of its forms."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 1))
    sent = bktools.submit_export_jobs(plan, apply=True, wait=wait, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED"]


def test_a_wait_that_is_none_is_shown(service):
    """The line says what was given."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 1))
    with pytest.raises(ArgumentError, match="0 or more, got -3"):
        bktools.submit_export_jobs(plan, wait=-3, service=service)


def test_an_account_to_create_is_told_with_its_own(service):
    """Without apply each account is a row with its own texts, and the frame says that nothing was written."""
    frame = pd.DataFrame({"external_id": ["1", "2"], "code": ["c1", "c2"], "name": ["n1", "n2"], "archived": False})
    actions = frame.assign(company_id=COMPANY, action=["create", "none"], tax_code_external_id=None)

    class Found:
        pass

    found = Found()
    found.actions = actions
    planned = bktools.create_accounts(found, service=service)
    assert planned[["company_id", "external_id", "code", "name", "outcome"]].to_numpy().tolist() == [
        [COMPANY, "1", "c1", "n1", "PLANNED"]
    ]
    assert planned["id"].isna().all()
    assert planned.attrs["bktools"] == {"environment": "sandbox", "applied": False, "rows": 1}
    found.actions = actions.drop(columns="code")
    with pytest.raises(bktools.errors.InputError, match="the actions of the reconciliation have no column code"):
        bktools.create_accounts(found, service=service)
    with pytest.raises(ArgumentError, match="reconciliation must be what reconcile_accounts returns, is a Series"):
        bktools.create_accounts(frame["name"], service=service)
