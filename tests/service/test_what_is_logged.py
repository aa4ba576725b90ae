"""What a failure tells the service's support, and what the log tells: each wait, no credential."""

from __future__ import annotations

import logging
import pickle

import pytest
from scripted_server import Close, answer
from small_service import COMPANY, SmallService, row

from bktools.errors import (
    ConnectionLostError,
    ServerError,
    StatusError,
    UnreadableAnswerError,
)
from bktools.service.retry import RetryPolicy

TOKEN = "tok/en+of==the/books"
ONCE = RetryPolicy(attempts=1)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        (ServerError, answer({}, 503, X_Request_Id="abc-7", Set_Cookie="session=1", Echo=f"Bearer {TOKEN}")),
        (UnreadableAnswerError, answer(b"<html>", X_Correlation_Id="abc-7", X_Api_Key="1", Echo=TOKEN)),
        (UnreadableAnswerError, answer(b"", Request_Id="abc-7", Content_Encoding="br", Echo=TOKEN)),
        (ConnectionLostError, [*answer(b"{", X_Request_Id="abc-7", Echo=TOKEN, Content_Length="9"), Close()]),
        (StatusError, answer({}, 418, X_Request_Id=f"{TOKEN} abc-7", Echo=TOKEN)),
    ],
    ids=["status", "no JSON", "encoding", "cut", "echoed"],
)
def test_an_error_has_the_headers_and_the_request_id(serve, converse, kind, steps):
    """The request id is a field and ends the message; no field or copy has cookies or credentials."""
    service = converse(serve(lambda _: steps), token=TOKEN, retry=ONCE)
    with pytest.raises(kind) as caught:
        service.search_categories(COMPANY)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.request_id in {"abc-7", "[credential] abc-7"}
    assert str(error).endswith(f" (request id {error.request_id})")
    assert "[credential]" in error.headers["echo"]
    assert not {"set-cookie", "x-api-key"} & error.headers.keys()
    assert TOKEN not in repr((error, error.__dict__))


def test_each_retry_is_one_line_at_info(serve, converse, caplog):
    """A logger at INFO gets a line for each retry and each wait, only from bktools, with request id."""
    caplog.set_level(logging.INFO)
    faults = {
        1: answer({}, 503, X_Request_Id="first"),
        2: answer({}, 429, Retry_After="0", X_Request_Id="second"),
    }
    service = converse(serve(SmallService([row(1)], fault=faults.get)), token=TOKEN)
    assert len(service.search_categories(COMPANY).data) == 1
    told = [(record.name, record.levelname, record.request_id) for record in caplog.records]
    assert told == [("bktools", "INFO", "first"), ("bktools", "INFO", "second")]
    first, second = (record.getMessage() for record in caplog.records)
    assert "then sending again (attempt 2 of 4): search_categories was answered 503" in first
    assert "then sending again (the rate limit): search_categories was answered 429" in second
    assert TOKEN not in caplog.text
