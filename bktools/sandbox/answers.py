"""Answers of the service: JSON bodies, and refusals with their reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

from starlette.responses import Response

JSON_TYPE = "application/json;charset=UTF-8"


class Refusal(Exception):
    """A refused request: the status, `type` and `message` of its answer, and further headers."""

    def __init__(
        self, status: int, type: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body: dict[str, object] = {"type": type, "message": message}

    def answer(self) -> Response:
        """Return the answer: `{type, message}` (interface, section 7.1)."""
        return json_answer(self.body, self.status, self.headers)


class ScopeRefusal(Refusal):
    """A missing, wrong or weak credential: `{statusCode, error, message}` (interface, section 7.2)."""

    def __init__(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        message = "user_scope_insufficient"
        super().__init__(status, message, message, headers)
        self.body = {"statusCode": status, "error": HTTPStatus(status).phrase, "message": message}


def invalid(message: str) -> Refusal:
    """Return the refusal of a request that breaks a rule of the interface."""
    return Refusal(400, "INVALID_REQUEST", message)


def json_answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with a JSON body."""
    return text_answer(json.dumps(body, ensure_ascii=False), status, headers)


def text_answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer whose body is this JSON text."""
    # The newline at the end keeps the output of several curl calls apart.
    # A message may quote a lone surrogate of the request, which must not fail the server.
    return Response(f"{text}\n".encode("utf-8", "replace"), status, headers, media_type=JSON_TYPE)
