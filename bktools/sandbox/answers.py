"""Answers of the service: JSON bodies, and refusals that say what was wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

JSON_TYPE = "application/json;charset=UTF-8"


class Refusal(Exception):  # noqa: N818 - it is an answer of the service, not an error of the program
    """A request that is not done, with the answer that says why.

    Parameters
    ----------
    status : int
        HTTP status.
    type : str
        The body's `type`.
    message : str
        The body's `message`: the thing, the rule, what was given.
    headers : mapping, optional
        Further headers of the answer.
    """

    def __init__(self, status: int, type: str, message: str, headers: Mapping[str, str] | None = None) -> None:  # noqa: A002 - the interface's name
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.headers = headers

    def answer(self) -> Response:
        """Return the answer: `{type, message}` (interface, section 7.1)."""
        return json_answer({"type": self.type, "message": self.message}, self.status, self.headers)


class ScopeRefusal(Refusal):
    """A credential that is missing, wrong or too weak, in the shape of the scope errors (interface, section 7.2)."""

    def __init__(self, status: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, "user_scope_insufficient", "user_scope_insufficient", headers)

    def answer(self) -> Response:
        """Return the answer: `{statusCode, error, message}`."""
        error = {401: "Unauthorized", 403: "Forbidden"}[self.status]
        return json_answer(
            {"statusCode": self.status, "error": error, "message": self.message}, self.status, self.headers
        )


def invalid(message: str) -> Refusal:
    """Return the refusal of a request that breaks a rule of the interface."""
    return Refusal(400, "INVALID_REQUEST", message)


def json_answer(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with a JSON body."""
    return text_answer(json.dumps(body, ensure_ascii=False), status, headers)


def text_answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer whose JSON was written before."""
    # Answers that are shown one after another (curl) each end their line.
    # A lone surrogate can stand in a message that quotes what was sent; it must not become a failure of the server.
    return Response(f"{text}\n".encode("utf-8", "replace"), status, headers, media_type=JSON_TYPE)
