"""The service's rate limit while export jobs are sent: waited for and sent again; any other 429 leaves a
doubt.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pandas as pd
import pytest
from backends import BOTH
from entries_by_hand import COMPANY, company_of, entries_of, entries_of_each
from raw_service import send

import bktools
from bktools.errors import ConfigurationError
from bktools.sandbox import app as sandbox_app
from bktools.service import Service
from bktools.settings import load_settings
from bktools.submit import rate_limit

LIMIT = json.dumps({"type": "RATE_LIMITED", "message": "too many requests"})
IN_PROGRESS = '{"type": "EXPORT_ALREADY_IN_PROGRESS"}'

# Jobs of three clients together; BKTOOLS_TEST_JOBS asks for others, with the minute of a real limit.
JOBS = int(os.environ.get("BKTOOLS_TEST_JOBS", "36"))
MINUTE = 60.0 if "BKTOOLS_TEST_JOBS" in os.environ else 2.0


def limited(times: int, retry_after: str | None = "0"):
    """Return an answer that is the rate limit's for the first requests, and then creates the job."""

    def answer(raw, connection, request):
        if len(raw.requests) > times:
            send(connection, 201, raw.accept(request))
        else:
            headers = "" if retry_after is None else f"Retry-After: {retry_after}\r\n"
            send(connection, 429, LIMIT, headers=headers)

    return answer


def states_of(service: Service) -> list[str]:
    """Return the states that the only batch went through."""
    return bktools.load_export_jobs(events=True, service=service)["after"].to_list()


FOREIGN = {
    "a page of a gateway": "<html><body><h1>429 Too Many Requests</h1></body></html>",
    "no body": "",
    "no type": '{"message": "API rate limit exceeded"}',
    "another type": '{"type": "QUOTA", "message": "too many requests"}',
    "a problem document": '{"type": "https://example.com/rate-limited", "title": "RATE_LIMITED", "status": '
    "429}",
    "a type that is no text": '{"type": ["RATE_LIMITED"]}',
    "the type as a text": '"RATE_LIMITED"',
    "the type inside": '{"error": {"type": "RATE_LIMITED"}}',
    "a list": '[{"type": "RATE_LIMITED"}]',
}


@BOTH
def test_a_429_of_something_else_leaves_a_doubt(talking):
    """Whatever is not in the shape of the service's own rate limit is never sent again, whether it says when
    or not.
    """
    bodies = dict(enumerate(FOREIGN.values()))

    def answer(raw, connection, request):
        body = bodies[int(request["companyId"][-12:])]
        send(connection, 429, body, headers="Retry-After: 0\r\n")

    with talking(answer, read=30.0) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of_each(map(company_of, bodies)))
        for _ in range(2):
            sent = bktools.submit_export_jobs(plan, apply=True, service=service)
            assert sent["outcome"].to_list() == ["UNKNOWN"] * len(FOREIGN)
        assert len(raw.requests) == len(FOREIGN)


def test_a_cut_429_leaves_a_doubt(talking):
    """Half of the answer is no answer of the rate limit."""

    def answer(raw, connection, request):
        send(connection, 429, LIMIT, missing=9)

    with talking(answer) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 1))
        assert bktools.submit_export_jobs(plan, apply=True, service=service)["outcome"].to_list() == [
            "UNKNOWN"
        ]
        assert len(raw.requests) == 1


@BOTH
def test_the_rate_limit_is_waited_for(talking, capsys):
    """After the wait that it asks for, the batch is a new request with a new intent; the run says why it
    waits.
    """
    with talking(limited(1, "1"), read=30.0) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2))
        begin = time.monotonic()
        sent = bktools.submit_export_jobs(plan, apply=True, wait=0, progress=True, service=service)
        assert time.monotonic() - begin >= 1
        assert sent["outcome"].to_list() == ["ACCEPTED"]
        assert states_of(service) == ["PLANNED", "SENDING", "PLANNED", "SENDING", "ACCEPTED"]
        assert (len(raw.requests), set(raw.accepted.values())) == (2, {1})
    assert "Waiting 1 s, because the service's rate limit is reached" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["seconds", "date", "none"])
def test_the_limit_may_say_when_in_each_form(talking, monkeypatch, form):
    """Retry-After in seconds, as a date, or not at all."""
    monkeypatch.setattr(rate_limit, "USUAL_WAIT", 0.2)
    retry_after = {"seconds": "1", "date": formatdate(time.time() + 1, usegmt=True), "none": None}[form]
    with talking(limited(2, retry_after), read=30.0) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 1))
        assert bktools.submit_export_jobs(plan, apply=True, service=service)["outcome"].to_list() == [
            "ACCEPTED"
        ]
        assert len(raw.requests) == 3


@pytest.mark.parametrize(
    ("kind", "outcome"), [("none", "UNKNOWN"), ("quota", "UNKNOWN"), ("Rate_Limited", "ACCEPTED")]
)
def test_a_setting_names_the_limits_type(talking, monkeypatch, kind, outcome):
    """A service may name its limit in another way, and whoever does not trust it turns the repeats off."""
    monkeypatch.setenv("BKTOOLS_RATE_LIMIT_TYPE", kind)
    with talking(limited(1)) as (raw, _):
        monkeypatch.setenv("BKTOOLS_BASE_URL", raw.base_url)
        with bktools.connect(token="t", base_url=raw.base_url) as service:
            plan = bktools.compose_export_jobs(entries_of(COMPANY, 1))
            assert bktools.submit_export_jobs(plan, apply=True, service=service)["outcome"].to_list() == [
                outcome
            ]
    with pytest.raises(ConfigurationError, match="rate_limit_type"):
        load_settings(raw.base_url, rate_limit_type=" ", token="t")


def test_three_in_a_row_stop_the_run(talking):
    """A limit that stays reached after each wait ends the run in one clear line; a later run goes on where it
    stopped.
    """
    with talking(limited(3), read=30.0) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 3), max_entries=1)
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["PLANNED", "BLOCKED", "BLOCKED"]
        assert "429 (its rate limit) 3 times in a row" in sent["message"][0]
        assert len(raw.requests) == 3
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["ACCEPTED"] * 3
        assert set(raw.accepted.values()) == {1}


def test_companies_that_meet_the_limit_together_count_once(talking):
    """Five companies whose requests are all on their way when the first is answered 429 are exported after
    one wait.
    """
    companies = [company_of(number) for number in range(5)]
    unanswered = []

    def answer(raw, connection, request):
        if len(raw.requests) > len(companies):
            send(connection, 201, raw.accept(request))
            return
        # However late a thread begins: an earlier answer would make the others wait at once.
        unanswered.append(connection.dup())
        if len(unanswered) == len(companies):
            for waiting in unanswered:
                with waiting:
                    send(waiting, 429, LIMIT, headers="Retry-After: 1\r\n")

    with talking(answer, read=30.0) as (raw, service):
        sent = bktools.submit_export_jobs(
            bktools.compose_export_jobs(entries_of_each(companies)), apply=True, service=service
        )
        assert sent["outcome"].to_list() == ["ACCEPTED"] * 5
        assert len(raw.requests) == 2 * len(companies)
        assert set(raw.accepted.values()) == {1}


def test_a_wait_that_is_too_long_stops_the_run(talking):
    """Who is told to come back in an hour is told so at once, for every company, and nothing more is sent."""
    companies = [company_of(number) for number in range(5)]
    entries = pd.concat([entries_of(company, 2, 2 * number) for number, company in enumerate(companies)])
    with talking(limited(99, "3600"), read=30.0) as (raw, service):
        plan = bktools.compose_export_jobs(entries, max_entries=1)
        begin = time.monotonic()
        sent = bktools.submit_export_jobs(plan, apply=True, service=service).set_index("company_id")
        assert time.monotonic() - begin < 30
        assert set(sent["outcome"]) == {"PLANNED", "BLOCKED"}
        assert sent["message"].str.contains("asks to wait 3,600 s").all()
        assert len(raw.requests) <= len(companies)


def test_a_company_that_waits_for_a_job_is_stopped_too(talking):
    """While one company waits for a job of others, another is told to come back in an hour: neither sends
    again.
    """
    waits, is_limited = company_of(0), company_of(1)
    is_waiting = threading.Event()

    def answer(raw, connection, request):
        if request["companyId"] == is_limited and is_waiting.is_set():
            send(connection, 429, LIMIT, headers="Retry-After: 3600\r\n")
            return
        send(connection, 409, IN_PROGRESS)
        if request["companyId"] == waits:
            is_waiting.set()

    with talking(answer, read=60.0) as (_, service):
        plan = bktools.compose_export_jobs(entries_of_each([waits, is_limited]))
        begin = time.monotonic()
        sent = bktools.submit_export_jobs(plan, apply=True, wait=40, others_export=True, service=service)
        assert time.monotonic() - begin < 30
        assert set(sent["outcome"]) == {"PLANNED"}
        assert sent["message"].str.contains("asks to wait 3,600 s").all()


def test_a_limit_of_another_batch_is_no_doubt(talking):
    """A job of others that is in progress is waited for, whichever other batch met the rate limit."""

    def answer(raw, connection, request):
        if request["companyId"] == company_of(1):
            send(connection, 409, IN_PROGRESS)
        elif len(raw.requests) == 1:
            send(connection, 429, LIMIT, headers="Retry-After: 0\r\n")
        else:
            send(connection, 201, raw.accept(request))

    with talking(answer) as (_, service):
        for number, outcome in enumerate(["ACCEPTED", "PLANNED"]):
            plan = bktools.compose_export_jobs(entries_of(company_of(number), 1, number))
            sent = bktools.submit_export_jobs(plan, apply=True, wait=0, others_export=True, service=service)
            assert sent["outcome"].to_list() == [outcome]


@pytest.mark.parametrize("is_later", [False, True], ids=["the same run", "a later run"])
@pytest.mark.parametrize("others_export", [False, True], ids=["own job", "others export"])
def test_a_job_in_progress_after_a_429_leaves_a_doubt(talking, is_later, others_export):
    """It may be the job of the request that was answered 429, also while an own job runs, or where others
    export.
    """
    limit = 4 if is_later else 2

    def answer(raw, connection, request):
        number = len(raw.requests)
        if number == 1:
            send(connection, 201, raw.accept(request))
        elif number <= limit:
            send(connection, 429, LIMIT, headers="Retry-After: 0\r\n")
        else:
            send(connection, 409, IN_PROGRESS)

    with talking(answer) as (raw, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2), max_entries=1)
        options = {"apply": True, "others_export": others_export, "service": service}
        if is_later:
            assert bktools.submit_export_jobs(plan, **options)["outcome"].to_list() == ["ACCEPTED", "PLANNED"]
        sent = bktools.submit_export_jobs(plan, **options)
        assert sent["outcome"].to_list() == ["ACCEPTED", "UNKNOWN"]
        assert len(raw.requests) == limit + 1


@pytest.mark.skipif(
    not hasattr(signal, "pthread_kill"), reason="signals to a thread as POSIX systems have them"
)
@pytest.mark.parametrize("companies", [1, 6])
def test_ctrl_c_ends_the_wait(talking, companies):
    """The run ends within a second, with every batch as it was, however many companies wait."""
    told = []

    def interrupt():
        told.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def answer(raw, connection, request):
        send(connection, 429, LIMIT, headers="Retry-After: 60\r\n")
        if len(raw.requests) == 1:
            threading.Timer(1.0, interrupt).start()

    with talking(answer, read=30.0) as (_, service):
        plan = bktools.compose_export_jobs(entries_of_each(map(company_of, range(companies))))
        with pytest.raises(KeyboardInterrupt):
            bktools.submit_export_jobs(plan, apply=True, service=service)
        assert time.monotonic() - told[0] < 1
        assert bktools.load_export_jobs(service=service)["state"].to_list() == ["PLANNED"] * companies


@BOTH
@pytest.mark.timeout(600)
def test_three_machines_with_one_token(monkeypatch, tmp_path, backend):
    """Clients that do not know each other meet the limit of their token: every job is accepted, none in
    doubt, none twice.
    """
    monkeypatch.setattr(sandbox_app, "_MINUTE", MINUTE)
    sandbox = bktools.Sandbox(
        tmp_path / "sandbox",
        companies=9,
        categories=0,
        employees=0,
        job_seconds=0,
        requests_per_minute=JOBS * 5 // 9,
    )
    with sandbox:
        companies = [company.id for company in sandbox.server.companies()]
        for company in companies:
            sandbox.server.configure_company(company, has_contra_accounts=True, has_integration=True)

        def machine(number: int) -> list[str]:
            own = companies[number::3]
            frames = [entries_of(company, JOBS // 9, 1000 * companies.index(company)) for company in own]
            plan = bktools.compose_export_jobs(pd.concat(frames, ignore_index=True), max_entries=1)
            folders = {f"{name}_dir": tmp_path / str(number) / name for name in ("cache", "data", "sent_log")}
            address, token = sandbox.server.base_url, sandbox.server.token
            with bktools.connect(address, token=token, journal=backend, **folders) as service:
                sent = bktools.submit_export_jobs(plan, apply=True, service=service)
                events = bktools.load_export_jobs(events=True, service=service)
                waits.append(events["message"].str.contains("rate limit", na=False).sum())
                return sent["outcome"].to_list()

        waits: list[int] = []
        with ThreadPoolExecutor(3) as machines:
            outcomes = [outcome for own in machines.map(machine, range(3)) for outcome in own]
        accepted = sandbox.server.accepted_entries()
    assert outcomes == ["ACCEPTED"] * (JOBS // 9 * 9)
    assert (len(accepted), set(accepted.values())) == (len(outcomes), {1})
    assert max(waits) > 0
