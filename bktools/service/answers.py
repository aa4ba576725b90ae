"""Turns an answer into a typed record or an error."""

from __future__ import annotations

import datetime as dt
import re
import threading
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import msgspec

from bktools.contract.accounts import CREATE_ACCOUNT, is_duplicate
from bktools.contract.endpoint import Endpoint
from bktools.contract.export_jobs import REFUSALS
from bktools.errors import (
    AuthenticationError,
    DuplicateAccountError,
    NotFoundError,
    RateLimitedError,
    ScopeError,
    ServerError,
    StatusError,
    UnreadableAnswerError,
)
from bktools.service.transport import Answer, of_answer
from bktools.visible import one_line
from bktools.wording import Sentence

Record = TypeVar("Record")

LONGEST_DETAIL = 300

# A `type` in the form of section 7.1: a word of capitals and underscores.
_REFUSAL_TYPE = re.compile("[A-Z]+(?:_[A-Z]+)*")

# An escape of JSON: a surrogate pair, a half of one, or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

EXISTS_ALREADY = (
    "the account exists already, but its id is unknown: import the service's list (bktools accounts import)"
)
_REDIRECTED = (
    "the address redirects, and redirects are not followed, so that no credential goes to another host: "
    "correct the address (bktools config shows it)"
)

_TOKENS_END = "token_command gives a new one in the middle of a load (bktools guide settings)"

# The error and its advice by status, or by the class of statuses.
BY_STATUS: dict[int, tuple[type[StatusError], str]] = {
    3: (StatusError, _REDIRECTED),
    401: (
        AuthenticationError,
        "the credential is missing, wrong or expired: renew it (bktools config shows its source); "
        + _TOKENS_END,
    ),
    403: (
        ScopeError,
        "the credential lacks permission, or access to this company: ask for it, or use another credential",
    ),
    404: (NotFoundError, "not found, or the address is wrong (bktools config shows it)"),
    429: (RateLimitedError, "too many requests: lower requests_per_minute (BKTOOLS_REQUESTS_PER_MINUTE)"),
    5: (ServerError, "the service failed: try again later"),
}


_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
_BUILDING = threading.Lock()


def _decoder(kind: type[Record]) -> msgspec.json.Decoder[Record]:
    """Return the decoder of a type; msgspec crashes where two threads build the first one at once."""
    with _BUILDING:
        if kind not in _DECODERS:
            _DECODERS[kind] = msgspec.json.Decoder(kind)
        return _DECODERS[kind]


def read_answer(answer: Answer, kind: type[Record], endpoint: Endpoint) -> Record:
    r"""Return the record of an answer, with unknown fields and values; raise the error of another answer.

    Half of a surrogate pair, allowed in JSON but not in text, becomes \ufffd.
    """
    status, headers, body = answer
    if not 200 <= status < 300:
        raise _error_of(answer, endpoint)
    try:
        try:
            return _decoder(kind).decode(body)
        except msgspec.DecodeError:
            whole = _ESCAPE.sub(lambda escape: rb"\ufffd" if escape["half"] else escape[0], body)
            if whole == body:
                raise
            return _decoder(kind).decode(whole)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        is_json, operation = isinstance(error, msgspec.ValidationError), endpoint.operation
        if is_json:
            problem = Sentence("error.answer_breaks_interface", operation=operation, why=str(error))
        elif body:
            media_type = one_line(headers.get("content-type", "no content type"), LONGEST_DETAIL)
            why = one_line(str(error), LONGEST_DETAIL)
            problem = Sentence("error.answer_not_json", operation=operation, why=why, media_type=media_type)
        else:
            problem = Sentence("error.answer_without_body", operation=operation, status=status)
        unreadable = UnreadableAnswerError(problem, status=status, repeatable=not is_json)
        raise of_answer(unreadable, headers) from error


def _error_of(answer: Answer, endpoint: Endpoint) -> StatusError:
    """Return the error for an answer other than 2xx.

    The body's `type` identifies a refusal of an export job, never the status (interface, section 7.1).
    """
    status, headers, body = answer
    content = _json(body)
    fields = content if isinstance(content, dict) else {"message": content}
    is_service = _is_of_service(status, fields)
    kind, *details = (fields.get(name) for name in ("type", "message", "error", "detail"))
    kind = kind.strip().upper() if isinstance(kind, str) else ""
    detail = one_line(next((text for text in details if isinstance(text, str)), ""), LONGEST_DETAIL)
    error, advice = BY_STATUS.get(status) or BY_STATUS.get(status // 100, (StatusError, ""))
    if endpoint.books_money and kind in REFUSALS:
        error, advice = REFUSALS[kind]
    elif endpoint == CREATE_ACCOUNT and is_duplicate(status, f"{kind} {detail}"):
        error, advice = DuplicateAccountError, EXISTS_ALREADY
    elif endpoint.on_balance_host and status not in BY_STATUS and isinstance(content, str):
        # The interface shows two plain-text bodies without status codes (section 7.2), so the text decides.
        error, advice = BY_STATUS[404] if "route" in detail.lower() else (ServerError, "")
    reason = ": ".join(part for part in (kind, detail) if part)
    message = f"{endpoint.operation} was answered {status}" + (f" ({reason})" if reason else "")
    refusal = error(
        f"{message}: {advice}" if advice else message,
        status=status,
        body=body,
        type=kind,
        detail=detail,
        retry_after=_retry_after(headers.get("retry-after")),
        is_service=is_service,
    )
    return of_answer(refusal, headers)


def _is_of_service(status: int, fields: dict[str, Any]) -> bool:
    """Return whether a refusal has one of the service's own forms (interface, sections 7.1 and 7.2).

    Gateways write other forms: a bare `message`, a `type` that is a URI, a page.
    """
    kind, message, error = (fields.get(name) for name in ("type", "message", "error"))
    if not isinstance(message, str):
        return False
    if isinstance(kind, str) and _REFUSAL_TYPE.fullmatch(kind):
        return True
    return status in (401, 403) and fields.get("statusCode") == status and isinstance(error, str)


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    date = date.replace(tzinfo=dt.UTC) if date.tzinfo is None else date
    return max((date - dt.datetime.now(dt.UTC)).total_seconds(), 0.0)
