"""The description of an operation: method, path, credentials, host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

Record = TypeVar("Record")

# ASSUMED: headers of an answer that may identify the request for support; the interface names none.
REQUEST_ID_HEADERS = (
    "x-request-id",
    "request-id",
    "x-correlation-id",
    "x-amzn-requestid",
    "x-trace-id",
    "cf-ray",
)


@dataclass(frozen=True)
class Endpoint:
    """One operation of the service."""

    # The method of `Service` that performs it.
    operation: str
    # The HTTP method, and the path below the host; `{name}` is a path parameter.
    method: str
    path: str
    # Whether it accepts an API key besides a bearer token (interface, section 5).
    takes_api_key: bool = False
    # Whether `Service` may send the same request again after a failure.
    repeatable: bool = True
    # Whether it is on the balance host, with a token of that host's own.
    on_balance_host: bool = False
    # Whether it creates what cannot be undone, and may take long. It is sent once, on a new connection.
    books_money: bool = False


class Data(msgspec.Struct, Generic[Record], frozen=True):
    """The wrapper around a single record in an answer."""

    data: Record
