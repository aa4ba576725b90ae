"""What a submission tells of itself, of each batch, and of what another process is sending at that moment."""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
import time

import pytest
from backends import BOTH
from entries_by_hand import COMPANY, entries_of, outcomes, submit, to_create
from raw_service import created, job, send

import bktools


@pytest.mark.parametrize("apply", [False, True])
def test_a_frame_says_where_it_comes_from(service, apply):
    """Environment, plan, whether anything was written, and what was not checked."""
    plan = bktools.compose_export_jobs(entries_of(service.settings.company, 3))
    assert submit(plan, service, apply=apply).attrs["bktools"] == {
        "environment": "sandbox",
        "plan": plan.plan_id,
        "applied": apply,
        "unchecked": list(plan.unchecked),
    }


@BOTH
def test_each_batch_is_told_with_its_own_and_sent_once(sandbox, service):
    """ID, count, job and message of each batch are its own and kept, and nothing is sent again."""
    entries = entries_of(service.settings.company, 7)
    plan = bktools.compose_export_jobs(entries, max_entries=4)
    sent = submit(plan, service)
    jobs = sandbox.server.export_jobs()
    assert sent["outcome"].to_list() == ["ACCEPTED"] * 2
    assert sent["batch_id"].to_list() == plan.batches["batch_id"].to_list()
    assert (sent["company_id"] == service.settings.company).all()
    assert sent["entries"].to_list() == [4, 3] == [job["numberOfItems"] for job in jobs]
    assert sent["job_id"].to_list() == [job["id"] for job in jobs]
    assert all(job["id"] in message for message, job in zip(sent["message"], jobs, strict=True))
    history = bktools.load_export_jobs(service=service).set_index("batch_id").loc[sent["batch_id"]]
    for column, other in (("state", "outcome"), *((name, name) for name in ("job_id", "message", "entries"))):
        assert history[column].to_list() == sent[other].to_list()
    again = submit(plan, service)
    since = history["settled_at"].to_list()
    for message, before, at in zip(again["message"], sent["message"], since, strict=True):
        assert message.startswith(f"{before} (since {at.isoformat()[:19]}")
        assert message.endswith("; nothing was sent again)")
    assert sandbox.server.accepted_entries() == dict.fromkeys(entries["id"], 1)
    later = bktools.compose_export_jobs(
        entries, history=bktools.load_export_jobs(entries=True, service=service)
    )
    assert later.not_ready["reason"].to_list() == ["exported"] * 7


def test_what_another_run_is_sending_is_told(talking):
    """While a request is on its way, another run names who sends it and since when, and sends nothing."""
    arrived, answered = threading.Event(), threading.Event()

    def answer(raw, connection, request):
        arrived.set()
        answered.wait(10)
        created(raw, connection, request)

    with talking(answer) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2))
        first = threading.Thread(target=submit, args=(plan, service))
        first.start()
        assert arrived.wait(10)
        told = submit(plan, service, apply=False)
        answered.set()
        first.join()
        assert told["outcome"].to_list() == ["SENDING"]
        said = re.fullmatch(r"(.+) is sending it \(since (.+)\)", told["message"][0])
        assert said is not None
        assert re.search(r"process \d+", said[1])
        assert abs(dt.datetime.fromisoformat(said[2]) - dt.datetime.now(dt.UTC)) < dt.timedelta(minutes=2)
        assert len(raw.requests) == 1


def test_progress_reaches_its_end(talking, capsys):
    """Where progress is asked for, each batch and each account is counted."""

    def answer(raw, connection, request):
        time.sleep(0.2)
        account = json.dumps({"data": request | {"id": COMPANY}})
        send(connection, 201, raw.accept(request) if "accountingEntryIds" in request else account)

    with talking(answer) as (_, service):
        submit(entries_of(COMPANY, 3), service, size=1, progress=True)
        assert "3/3" in capsys.readouterr().err
        accounts = to_create(*({"external_id": code, "name": f"name {code}"} for code in "123"))
        bktools.create_accounts(accounts, apply=True, progress=True, service=service)
        assert "3/3" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expires_in", "wait", "seconds"),
    [
        (1, 300.0, 1.0),
        (3600, 0.5, 0.5),
        # Milliseconds are not believed: an hour, as without them.
        (3_600_000, dt.timedelta(seconds=0.5), 0.5),
        (3600, 0, 0.0),
        (None, 0, 0.0),
    ],
)
def test_a_job_gets_its_time_before_the_next_batch(talking, expires_in, wait, seconds):
    """At most what it says it takes, and at most the wait that is asked for."""
    moments = []

    def answer(raw, connection, request):
        moments.append(time.monotonic())
        raw.accepted.update(request["accountingEntryIds"])
        send(connection, 201, job(request, expiresIn=expires_in))

    with talking(answer) as (_, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2), max_entries=1)
        assert outcomes(plan, service, wait=wait) == ["ACCEPTED"] * 2
        assert seconds - 0.1 <= moments[1] - moments[0] < seconds + 5
