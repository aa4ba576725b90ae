"""The table of outcomes, each line with a real socket that does it: one request, and a state that is true."""

# ruff: noqa: ARG005 - every answer takes what answers are given

from __future__ import annotations

import gzip
import json
import signal
import socket
import threading

import pytest
from backends import BOTH
from entries_by_hand import COMPANY, entries_of
from raw_service import job, reset, send

import bktools
from bktools.service import workers

TYPES = ("MISSING_CONTRA_ACCOUNTS", "EXPORT_ALREADY_IN_PROGRESS", "ACCOUNTING_INTEGRATION_NOT_FOUND")


def submitted(service, **options) -> tuple[str, str]:
    """Return what submitting two entries comes to, and what the journal says."""
    plan = bktools.compose_export_jobs(entries_of(COMPANY, 2))
    sent = bktools.submit_export_jobs(plan, apply=True, wait=0, service=service, **options)
    history = bktools.load_export_jobs(service=service)
    assert history["state"].to_list() == sent["outcome"].to_list()
    return sent["outcome"][0], sent["message"][0]


def answers(status: int, body: str | bytes | None = None, **options):
    """Return an answer of a status; without a body, one that says the job was created."""

    def answer(raw, connection, request):
        send(connection, status, raw.accept(request) if body is None else body, **options)

    return answer


def changed(**changes):
    return lambda raw, connection, request: send(connection, 201, job(request, **changes))


def gzipped(raw, connection, request):
    data = gzip.compress(raw.accept(request).encode())
    send(connection, 201, data[:-9], headers="Content-Encoding: gzip\r\n")


def chunked(raw, connection, request):
    connection.sendall(b'HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"dat\r\n')


def hanging(raw, connection, request):
    raw.held.append(connection.dup())


def hanging_in_the_body(raw, connection, request):
    send(connection, 201, raw.accept(request)[:20], missing=100)
    raw.held.append(connection.dup())


ACCEPTED = {f"{status}": answers(status) for status in (200, 201, 202, 299)}
ACCEPTED["in capitals"] = lambda raw, connection, request: send(
    connection, 201, job(request, companyId=request["companyId"].upper(), status="SOMETHING_NEW", unknown=1)
)


@BOTH
@pytest.mark.parametrize("answer", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(talking, answer):
    """Any 2xx with an id, the same company and the same number of items."""
    with talking(answer) as (raw, service):
        assert submitted(service)[0] == "ACCEPTED"
        assert len(raw.requests) == 1


UNKNOWN = {
    **{f"{status}": answers(status, '{"type": "OTHER", "message": "no"}') for status in (408, 409, 425, 429)},
    **{f"{status}": answers(status, "") for status in (300, 301, 302, 307, 308, 500, 502, 503, 504, 599)},
    "redirect": answers(307, "", headers="Location: /v3/export-jobs\r\n"),
    "id that is none": changed(id="7"),
    "no id": changed(id=None),
    "other company": changed(companyId="00000000-0000-4000-8000-000000000001"),
    "other number of items": changed(numberOfItems=1),
    "no number of items": changed(numberOfItems=None),
    "empty 201": answers(201, ""),
    "204": lambda raw, connection, request: connection.sendall(b"HTTP/1.1 204 X\r\n\r\n"),
    "no JSON": answers(200, "<html>"),
    "refusal in a 200": answers(200, '{"type": "MISSING_CONTRA_ACCOUNTS"}'),
    "cut body": answers(201, '{"data": {"id"', missing=100),
    "cut refusal": answers(400, '{"type": "MISSING_CONTRA_ACCOUNTS"', missing=100),
    "cut gzip": gzipped,
    "cut chunks": chunked,
    "closed": lambda raw, connection, request: None,
    "reset": lambda raw, connection, request: reset(connection),
    "no HTTP": lambda raw, connection, request: connection.sendall(b"what?\r\n\r\n"),
    "no answer": hanging,
    "no end": hanging_in_the_body,
}


@BOTH
@pytest.mark.parametrize("answer", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown(talking, answer):
    """Whatever leaves a doubt: never sent again, and the message says how to settle it."""
    with talking(answer) as (raw, service):
        outcome, message = submitted(service)
        assert outcome == "UNKNOWN"
        assert "bktools export resolve" in message
        assert "\n" not in message
        assert submitted(service)[0] == "UNKNOWN"
        assert len(raw.requests) == 1


REJECTED = {
    **{f"{status}": answers(status, "") for status in (400, 401, 402, 403, 404, 405, 410, 413, 422, 451, 499)},
    **{
        f"{kind} with {status}": answers(status, json.dumps({"type": kind}))
        for kind in (TYPES[0], TYPES[2], TYPES[0].lower())
        for status in (302, 400, 404, 409, 429, 500, 503)
    },
}


@BOTH
@pytest.mark.parametrize("answer", REJECTED.values(), ids=REJECTED)
def test_rejected(talking, answer):
    """A documented type with any status, and every other 4xx: nothing was booked, and it may be submitted again."""
    with talking(answer) as (raw, service):
        assert submitted(service)[0] == "REJECTED"
        assert submitted(service)[0] == "REJECTED"
        assert len(raw.requests) == 2


@pytest.mark.parametrize("status", [302, 400, 409, 429, 500])
def test_a_job_in_progress_is_waited_for_where_others_export(talking, status):
    """The batch waits and is sent when the company is free; an event keeps the hint."""
    turns = iter([answers(status, '{"type": "Export_Already_In_Progress"}'), answers(201)])

    def answer(raw, connection, request):
        next(turns)(raw, connection, request)

    with talking(answer) as (raw, service):
        outcome, message = submitted(service, others_export=True)
        assert (outcome, "already_in_progress" in message.lower()) == ("PLANNED", True)
        assert submitted(service)[0] == "ACCEPTED"
        assert set(raw.accepted.values()) == {1}


@BOTH
def test_no_connection(talking):
    """Refused: nothing was sent, the batch waits."""
    with talking(answers(201)) as (raw, service):
        raw.close()
        outcome, message = submitted(service)
        assert (outcome, "nothing was sent" in message) == ("PLANNED", True)


def test_no_connection_in_time(talking):
    """A connection that does not stand within its time: nothing was sent, the batch waits."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        queued = [socket.socket() for _ in range(4)]
        for waiting in queued:
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        address = f"http://127.0.0.1:{full.getsockname()[1]}"
        with talking(answers(201)), bktools.connect(address, token="t") as service:
            assert submitted(service)[0] == "PLANNED"
        for waiting in queued:
            waiting.close()


def test_a_credential_that_is_refused_is_not_tried_for_every_company(talking, monkeypatch):
    """The companies that are being sent get the refusal, the others are not sent for."""
    monkeypatch.setattr("bktools.submit.export_jobs.COMPANIES", 2)
    entries = entries_of(COMPANY, 6)
    entries["company_id"] = [f"00000000-0000-4000-8000-{number:012}" for number in range(6)]
    with talking(answers(401, "")) as (raw, service):
        sent = bktools.submit_export_jobs(bktools.compose_export_jobs(entries), apply=True, service=service)
        outcomes = sent["outcome"].value_counts().to_dict()
        assert outcomes == {"REJECTED": len(raw.requests), "BLOCKED": 6 - len(raw.requests)}
        assert 1 <= len(raw.requests) <= 2


@BOTH
def test_a_job_that_answers_twice_is_not_believed(talking):
    """The id of another batch's job proves nothing for this one."""
    same = changed(id="00000000-0000-4000-8000-00000000000a", numberOfItems=1)
    with talking(same) as (_, service):
        plan = bktools.compose_export_jobs(entries_of(COMPANY, 2), max_entries=1)
        sent = bktools.submit_export_jobs(plan, apply=True, service=service)
        assert sent["outcome"].to_list() == ["ACCEPTED", "UNKNOWN"]
        assert "belongs to another batch" in sent["message"][1]


@BOTH
@pytest.mark.parametrize("on_windows", [False, True])
def test_ctrl_c(talking, monkeypatch, on_windows):
    """Ctrl-C while the answer is awaited: the journal says UNKNOWN before the interrupt goes on, on Windows too."""
    monkeypatch.setattr(workers, "ON_WINDOWS", on_windows or workers.ON_WINDOWS)

    def answer(raw, connection, request):
        raw.held.append(connection.dup())
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)

    with talking(answer) as (raw, service):
        with pytest.raises(KeyboardInterrupt):
            submitted(service)
        history = bktools.load_export_jobs(service=service)
        assert history["state"].to_list() == ["UNKNOWN"]
        assert "KeyboardInterrupt" in history["message"][0]
        assert submitted(service)[0] == "UNKNOWN"
        assert len(raw.requests) == 1
