"""The tables of outcomes, each line a real socket that does it: one request, and a state that is true."""

# ruff: noqa: ARG005 - every answer takes what answers are given

from __future__ import annotations

import gzip
import json
import signal
import socket
import threading

import pandas as pd
import pytest
from backends import BOTH
from entries_by_hand import COMPANY, company_of, entries_of
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


def by_company(answers: dict):
    """Return an answer to the company of each answer of a table."""
    table = dict(zip(map(company_of, range(len(answers))), answers.values(), strict=True))
    return lambda raw, connection, request: table[request["companyId"]](raw, connection, request)


def submitted_each(service, answers: dict) -> pd.DataFrame:
    """Submit two entries for each answer; return outcome and message by the answer's name."""
    entries = entries_of(COMPANY, 2 * len(answers))
    entries["company_id"] = [company_of(number // 2) for number in range(len(entries))]
    sent = bktools.submit_export_jobs(
        bktools.compose_export_jobs(entries), apply=True, wait=0, service=service
    )
    history = bktools.load_export_jobs(service=service).set_index("batch_id")["state"]
    assert history.reindex(sent["batch_id"]).to_list() == sent["outcome"].to_list()
    return sent.set_index("company_id").loc[map(company_of, range(len(answers)))].set_axis(list(answers))


def others_than(outcome: str, sent: pd.DataFrame) -> dict[str, str]:
    return sent.loc[sent["outcome"] != outcome, "outcome"].to_dict()


@BOTH
def test_accepted(talking):
    """Any 2xx with an id, the same company and the same number of items."""
    with talking(by_company(ACCEPTED), read=30.0) as (raw, service):
        assert others_than("ACCEPTED", submitted_each(service, ACCEPTED)) == {}
        assert len(raw.requests) == len(ACCEPTED)


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
    "a job in progress that nothing explains": answers(409, '{"type": "EXPORT_ALREADY_IN_PROGRESS"}'),
    "no answer": hanging,
    "no end": hanging_in_the_body,
}


@BOTH
def test_unknown(talking):
    """Whatever leaves a doubt: never sent again, and the message says how to settle it."""
    with talking(by_company(UNKNOWN)) as (raw, service):
        sent = submitted_each(service, UNKNOWN)
        assert others_than("UNKNOWN", sent) == {}
        assert sent["message"].str.contains("bktools export resolve").all()
        assert not sent["message"].str.contains("\n").any()
        assert "others_export=True" in sent.loc["a job in progress that nothing explains", "message"]
        assert others_than("UNKNOWN", submitted_each(service, UNKNOWN)) == {}
        assert len(raw.requests) == len(UNKNOWN)


DENIED = '{"message": "no"}'
REJECTED = {
    **{
        f"{status} {body}": answers(status, body)
        for status in (400, 402, 403, 404, 405, 410, 413, 422, 451, 499)
        for body in ('{"message": "no"}', '{"type": "ODD"}')
    },
    **{
        f"{kind} with {status}": answers(status, json.dumps({"type": kind}))
        for kind in (TYPES[0], TYPES[2], TYPES[0].lower())
        for status in (302, 400, 404, 409, 429, 500, 503)
    },
}


@BOTH
@pytest.mark.parametrize("table", [{"401": answers(401, DENIED)}, REJECTED], ids=["credential", "others"])
def test_rejected(talking, table):
    """A documented type with any status, and every other 4xx in the service's form: nothing was booked, it
    may be sent again.
    """
    with talking(by_company(table), read=30.0) as (raw, service):
        for times in (1, 2):
            assert others_than("REJECTED", submitted_each(service, table)) == {}
            assert len(raw.requests) == times * len(table)


PAGES = ("", "<html>Forbidden</html>", '"no"', "[]", '{"error": "Bad Gateway"}', '{"message": 7}')


def test_a_page_of_a_gateway_is_no_refusal(talking):
    """What lacks the service's form may follow a request that was passed on: the outcome is unknown."""
    table = {
        f"{status} {body}": answers(status, body) for status in (400, 401, 403, 404, 413) for body in PAGES
    }
    with talking(by_company(table), read=30.0) as (raw, service):
        for _ in (1, 2):
            sent = submitted_each(service, table)
            assert others_than("UNKNOWN", sent) == {}
        assert len(raw.requests) == len(table)
        events = bktools.load_export_jobs(events=True, service=service)
        assert (
            events.loc[events["after"] == "UNKNOWN", "message"]
            .str.contains("a gateway may have sent it")
            .all()
        )


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
    with talking(answers(401, DENIED)) as (raw, service):
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
    """Ctrl-C while the answer is awaited: the journal says UNKNOWN before the interrupt goes on, on Windows
    too.
    """
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
