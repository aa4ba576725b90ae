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
from entries_by_hand import COMPANY, company_of, entries_of, entries_of_each, outcomes, states, submit
from raw_service import IN_PROGRESS, answering, by_company, created, exactly, job, says
from scripted_server import Hold, Reset

import bktools
from bktools.service import workers

NO_ACCOUNTS, NO_INTEGRATION = "MISSING_CONTRA_ACCOUNTS", "ACCOUNTING_INTEGRATION_NOT_FOUND"
REFUSAL = f'{{"type": "{NO_ACCOUNTS}"}}'


def denied(status: int) -> str:
    """Return the service's own refusal of a credential."""
    return json.dumps({"statusCode": status, "error": "Unauthorized", "message": "user_scope_insufficient"})


def changed(**changes):
    return lambda raw, request: says(201, job(request, **changes))


def gzipped(raw, request):
    return says(201, gzip.compress(raw.accept(request).encode())[:-9], content_encoding="gzip")


def hanging_in_the_body(raw, request):
    return [*says(201, raw.accept(request)[:20], missing=100), Hold()]


def submitted_each(service, answers: dict) -> pd.DataFrame:
    """Submit two entries for each answer of a table; return outcome and message by the answer's name."""
    entries = entries_of(COMPANY, 2 * len(answers))
    entries["company_id"] = [company_of(number // 2) for number in range(len(entries))]
    sent = submit(entries, service, wait=0)
    history = bktools.load_export_jobs(service=service).set_index("batch_id")["state"]
    assert history.reindex(sent["batch_id"]).to_list() == sent["outcome"].to_list()
    return sent.set_index("company_id").loc[map(company_of, range(len(answers)))].set_axis(list(answers))


def each_has(outcome: str, talking, table: dict, *, times: int, read: float = 30.0) -> pd.DataFrame:
    """Submit twice where a table answers: each outcome is this one, after so many requests each."""
    answers = {company_of(number): answer for number, answer in enumerate(table.values())}
    with talking(by_company(answers), read=read, at_once=True) as (raw, service):
        first, second = submitted_each(service, table), submitted_each(service, table)
        assert len(raw.requests) == times * len(table)
    for sent in (first, second):
        assert sent.loc[sent["outcome"] != outcome, "outcome"].to_dict() == {}
    return first


ACCEPTED = {f"{status}": answering(status) for status in (200, 201, 202, 299)}
ACCEPTED["in capitals"] = lambda raw, request: says(
    201, job(request, companyId=request["companyId"].upper(), status="PENDING", unknown=1)
)


def test_accepted(talking):
    """Any 2xx with an id, the same company and the same number of items."""
    each_has("ACCEPTED", talking, ACCEPTED, times=1)


# Answers 429 that are not whole and in the shape of the service's own rate limit.
FOREIGN_LIMITS = (
    "",
    "<html><body><h1>429 Too Many Requests</h1></body></html>",
    '{"message": "API rate limit exceeded"}',
    '{"type": "QUOTA", "message": "too many requests"}',
    '{"type": "https://example.com/rate", "title": "RATE_LIMITED", "status": 429}',
    '{"type": ["RATE_LIMITED"]}',
    '"RATE_LIMITED"',
    '{"error": {"type": "RATE_LIMITED"}}',
    '[{"type": "RATE_LIMITED"}]',
)
UNKNOWN = {
    **{f"429 {body}": answering(429, body, retry_after="0") for body in FOREIGN_LIMITS},
    "cut 429": answering(429, '{"type": "RATE_LIMITED"}', missing=9),
    **{
        f"{status}": answering(status, '{"type": "OTHER", "message": "no"}')
        for status in (408, 409, 425, 429)
    },
    **{f"{status}": answering(status, "") for status in (300, 301, 302, 307, 308, 500, 502, 503, 504, 599)},
    "a message": answering(500, '{"message": "a problem"}'),
    "redirect": answering(307, "", location="/v3/export-jobs"),
    "id that is none": changed(id="7"),
    "no id": changed(id=None),
    "other company": changed(companyId="00000000-0000-4000-8000-000000000001"),
    "other number of items": changed(numberOfItems=7),
    "fewer items": changed(numberOfItems=1),
    "no number of items": changed(numberOfItems=None),
    **{
        f"job that is {status}": changed(status=status)
        for status in ("failed", "EXPIRED", "rejected", "aborted", "declined", "new", "", None)
    },
    "job that failed": changed(failureReason="the ERP refused it"),
    "job that failed without words": changed(failureReasonType="validation_failure"),
    "job that expired": changed(expiredAt="2026-11-01T09:00:00Z"),
    "empty 201": answering(201, ""),
    "204": exactly(b"HTTP/1.1 204 X\r\n\r\n"),
    "no JSON": answering(200, "<html>"),
    "refusal in a 200": answering(200, REFUSAL),
    "cut body": answering(201, '{"data": {"id"', missing=100),
    "cut refusal": answering(400, REFUSAL[:-1], missing=100),
    "cut gzip": gzipped,
    "cut chunks": exactly(b'HTTP/1.1 201 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"dat\r\n'),
    "closed": exactly(),
    "reset": exactly(Reset()),
    "no HTTP": exactly(b"what?\r\n\r\n"),
    "a job in progress": answering(409, IN_PROGRESS),
    **{
        f"a job in progress, {status}": answering(status, '{"type": "Export_Already_In_Progress"}')
        for status in (302, 400, 429, 500)
    },
    "no answer": exactly(Hold()),
    "no end": hanging_in_the_body,
}


def test_unknown(talking):
    """Whatever leaves a doubt: never sent again, and the message says how to settle it."""
    shown = each_has("UNKNOWN", talking, UNKNOWN, times=1, read=0.5)["message"]
    assert shown.str.contains("bktools export resolve").all()
    assert not shown.str.contains("\n").any()
    assert "this very request arrived twice" in shown["a job in progress"]
    # The words of the service, and how many items it answered; not the name of an exception.
    assert ("a problem" in shown["a message"], "Error" in shown["a message"]) == (True, False)
    assert "of 7 items, but 2 were sent" in shown["other number of items"]
    assert "may have failed: status pending, the ERP refused it" in shown["job that failed"]


# The service's two forms of a refusal (interface, sections 7.1 and 7.2).
REFUSALS = {
    **{
        f"{status} by its type": answering(status, '{"type": "NOT_BALANCED", "message": "no"}')
        for status in (400, 402, 403, 404, 405, 410, 413, 422, 451, 499)
    },
    "403 of the scope": answering(403, denied(403)),
}
REJECTED = {
    **REFUSALS,
    **{
        f"{kind} with {status}": answering(status, json.dumps({"type": kind}))
        for kind in (NO_ACCOUNTS, NO_INTEGRATION, NO_ACCOUNTS.lower())
        for status in (302, 400, 429, 500)
    },
}


@pytest.mark.parametrize(
    "table", [{"401": answering(401, denied(401))}, REJECTED], ids=["credential", "others"]
)
def test_rejected(talking, table):
    """A documented type with any status, and every other 4xx in the service's form: it may be sent again."""
    each_has("REJECTED", talking, table, times=2)


# What gateways answer: pages, and JSON that lacks the service's form.
OF_GATEWAYS = (
    "",
    "<html>Forbidden</html>",
    '"no"',
    "[]",
    '{"error": "Bad Gateway"}',
    '{"message": 7}',
    '{"message": "no Route matched with those values"}',
    '{"type": "about:blank", "title": "Forbidden", "status": 403, "message": "no"}',
    '{"type": "https://example.com/problem", "message": "no"}',
    '{"type": "Forbidden", "message": "no"}',
    '{"type": "FORBIDDEN"}',
    '{"type": "FORBIDDEN", "message": null}',
    '{"statusCode": 401, "message": "access denied due to a missing key"}',
    '{"statusCode": 500, "error": "Forbidden", "message": "no"}',
)


def test_an_answer_of_a_gateway_is_no_refusal(talking):
    """Answers without the service's form may follow a request that was passed on: the outcome is unknown."""
    table = {f"{status} {body}": answering(status, body) for status in (400, 403) for body in OF_GATEWAYS}
    each_has("UNKNOWN", talking, table, times=1)


@pytest.mark.parametrize("body", ["", OF_GATEWAYS[-2]])
def test_a_401_of_a_gateway_is_no_refusal(talking, body):
    """It is the same doubt; a credential that may be refused is not tried for other companies."""
    each_has("UNKNOWN", talking, {"401": answering(401, body)}, times=1)


@pytest.mark.parametrize("is_full", [False, True], ids=["refused", "not in time"])
def test_no_connection(talking, is_full):
    """Refused, or a connection that does not stand within its time: nothing was sent, the batch waits."""
    with talking(created) as (raw, refused), socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        raw.stop()
        queued = [socket.socket() for _ in range(4)]
        for waiting in queued:
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        address = f"http://127.0.0.1:{full.getsockname()[1]}"
        with bktools.connect(address, token="t") as waits:
            service = waits if is_full else refused
            (row,) = submit(entries_of(COMPANY, 2), service).to_dict("records")
            assert (row["outcome"], "nothing was sent" in row["message"]) == ("PLANNED", True)
            assert states(service) == ["PLANNED"]
        for waiting in queued:
            waiting.close()


def test_a_credential_that_is_refused_is_not_tried_for_every_company(talking, monkeypatch):
    """The companies that are being sent get the refusal, the others are not sent for."""
    monkeypatch.setattr("bktools.submit.export_jobs.COMPANIES", 2)
    with talking(answering(401, denied(401))) as (raw, service):
        sent = submit(entries_of_each(map(company_of, range(6))), service)
        shown = sent["outcome"].value_counts().to_dict()
        assert shown == {"REJECTED": len(raw.requests), "BLOCKED": 6 - len(raw.requests)}
        assert 1 <= len(raw.requests) <= 2


@pytest.mark.parametrize("on_windows", [False, True])
def test_ctrl_c(talking, monkeypatch, on_windows):
    """Ctrl-C while the answer is awaited: the journal says UNKNOWN before the interrupt goes on."""
    monkeypatch.setattr(workers, "ON_WINDOWS", on_windows or workers.ON_WINDOWS)

    def answer(raw, request):
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)
        return [Hold()]

    with talking(answer) as (raw, service):
        entries = entries_of(COMPANY, 2)
        with pytest.raises(KeyboardInterrupt):
            submit(entries, service)
        history = bktools.load_export_jobs(service=service)
        assert history["state"].to_list() == ["UNKNOWN"]
        assert "KeyboardInterrupt" in history["message"][0]
        assert outcomes(entries, service) == ["UNKNOWN"]
        assert len(raw.requests) == 1
