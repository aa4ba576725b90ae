"""What a submission tells of itself, of each batch, and of what another process is sending at that moment."""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
import time

import pandas as pd
import pytest
from entries_by_hand import COMPANY, entries_of, to_create
from raw_service import job, send

import bktools


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
    """ID, company, count, job and message of each batch are its own; the journal keeps the message."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 7), max_entries=4)
    sent = bktools.submit_export_jobs(plan, apply=True, service=service)
    jobs = sandbox.server.export_jobs()
    assert sent["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    assert (sent["company_id"] == service.settings.company).all()
    assert sent["entries"].to_list() == [4, 3] == [job["numberOfItems"] for job in jobs]
    assert sent["job_id"].to_list() == [job["id"] for job in jobs]
    assert all(
        message.startswith(f"job {one['id']}, ") for message, one in zip(sent["message"], jobs, strict=True)
    )
    history = bktools.load_export_jobs(service=service).set_index("batch_id").loc[sent["batch_id"]]
    for column, other in (
        ("state", "outcome"),
        ("job_id", "job_id"),
        ("message", "message"),
        ("entries", "entries"),
    ):
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


def test_a_doubt_is_told_in_the_words_of_its_error(talking):
    """What the service said is told as it is; the name of an exception is not for a person who looks up a
    batch.
    """

    def answer(raw, connection, request):
        send(connection, 500, '{"message": "a problem"}')

    with talking(answer) as (_, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2))
        message = bktools.submit_export_jobs(plan, apply=True, service=service)["message"][0]
    assert "a problem" in message
    assert "Error" not in message
    assert "while sending" not in message


def test_a_job_of_another_size_is_told(talking):
    """How many items the service answered and how many were sent, each by its name."""

    def answer(raw, connection, request):
        send(connection, 201, job(request, numberOfItems=7))

    with talking(answer) as (_, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2))
        message = bktools.submit_export_jobs(plan, apply=True, service=service)["message"][0]
    assert re.search(r"answered with job [0-9a-f-]{36} of 7 items, but 2 were sent", message)


def test_a_dry_run_tells_of_every_company(sandbox, service):
    """Without apply each batch of each company is told, and nothing is sent."""
    companies = [company.id for company in sandbox.server.companies()[:3]]
    entries = pd.concat([entries_of(company, 3, first=10 * at) for at, company in enumerate(companies)])
    plan = bktools.compose_export_jobs(entries, max_entries=2)
    told = bktools.submit_export_jobs(plan, service=service)
    assert told["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    assert told["company_id"].value_counts().to_dict() == dict.fromkeys(companies, 2)
    assert told["message"].to_list() == ["would be sent"] * 6
    assert sandbox.server.export_jobs() == []


def test_progress_reaches_its_end(talking, capsys):
    """Where progress is asked for, each batch and each account is counted."""

    def answer(raw, connection, request):
        time.sleep(0.2)
        said = (
            raw.accept(request)
            if "accountingEntryIds" in request
            else json.dumps({"data": request | {"id": COMPANY}})
        )
        send(connection, 201, said)

    with talking(answer) as (_, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)
        bktools.submit_export_jobs(plan, apply=True, progress=True, service=service)
        assert "3/3" in capsys.readouterr().err
        accounts = to_create(*({"external_id": code, "name": f"name {code}"} for code in "123"))
        bktools.create_accounts(accounts, apply=True, progress=True, service=service)
        assert "3/3" in capsys.readouterr().err


def test_the_last_part_of_a_wait_is_waited(talking):
    """Also where less than a pause is left, the company is asked again at the end of it."""

    def answer(raw, connection, request):
        in_progress = '{"type": "EXPORT_ALREADY_IN_PROGRESS"}'
        send(connection, *((409, in_progress) if len(raw.requests) == 1 else (201, raw.accept(request))))

    with talking(answer) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 1))
        sent = bktools.submit_export_jobs(plan, apply=True, wait=0.4, others_export=True, service=service)
        assert (sent["outcome"].to_list(), len(raw.requests)) == (["ACCEPTED"], 2)


def test_a_service_that_is_waited_for_is_not_hammered(talking):
    """While a job is in progress there is a pause before each request, twice as long each time, and one to
    the end of the wait.
    """
    with talking(
        lambda _, connection, __: send(connection, 409, '{"type": "EXPORT_ALREADY_IN_PROGRESS"}')
    ) as (
        raw,
        service,
    ):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 1))
        sent = bktools.submit_export_jobs(plan, apply=True, wait=1.2, others_export=True, service=service)
        assert (sent["outcome"].to_list(), len(raw.requests)) == (["PLANNED"], 4)


@pytest.mark.parametrize("wait", [dt.timedelta(0), 0, 0.0])
def test_a_wait_is_seconds_or_a_timedelta(service, wait):
    """Nothing to wait is a wait, in each of its forms."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 1))
    sent = bktools.submit_export_jobs(plan, apply=True, wait=wait, service=service)
    assert sent["outcome"].to_list() == ["ACCEPTED"]


def test_an_account_to_create_is_told_with_its_own(service):
    """Without apply each account is a row with its own texts, and the frame says that nothing was written."""
    # The second line has no name, so it is not created.
    found = to_create(
        {"external_id": "1", "code": "code 1", "name": "name 1"}, {"external_id": "2", "name": None}
    )
    planned = bktools.create_accounts(found, service=service)
    assert planned[["company_id", "external_id", "code", "name", "outcome"]].to_numpy().tolist() == [
        [COMPANY, "1", "code 1", "name 1", "PLANNED"]
    ]
    assert planned["id"].isna().all()
    assert planned.attrs["bktools"] == {"environment": "sandbox", "applied": False, "rows": 1}


def test_a_company_in_doubt_is_told_the_same_dry_and_applied(talking):
    """What waits for a batch in doubt says which one it is, in the words of the dry run, and nothing is sent
    for it.
    """

    def answer(raw, connection, request):
        send(connection, 500, "")

    with talking(answer) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2), max_entries=1)
        bktools.submit_export_jobs(plan, apply=True, service=service)
        dry = bktools.submit_export_jobs(plan, service=service)
        applied = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert applied["outcome"].to_list() == dry["outcome"].to_list() == ["UNKNOWN", "BLOCKED"]
        assert applied["message"].to_list() == dry["message"].to_list()
        assert plan.batches["batch_id"][0] in applied["message"][1]
        assert len(raw.requests) == 1
