"""The description of an operation: method, path, credentials, host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

Record = TypeVar("Record")

# ASSUMED: headers of an answer that may identify the request for the service's support; the interface names none.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-trace-id", "cf-ray")


@dataclass(frozen=True)
class Endpoint:
    """One operation of the service.

    Parameters
    ----------
    operation : str
        Name of the method of `Service` that performs it.
    method, path : str
        HTTP method and path below the host; `{name}` is a path parameter.
    takes_api_key : bool
        Whether it accepts an API key besides a bearer token (interface, section 5).
    repeatable : bool
        Whether `Service` may send the same request again after a failure.
    on_balance_host : bool
        Whether it is on the balance host, with a token of that host's own.
    deprecated : bool
        Whether the interface deprecates it.
    books_money : bool
        Whether it creates what cannot be undone, and may take long. It is sent once, on a new connection.
    """

    operation: str
    method: str
    path: str
    takes_api_key: bool = False
    repeatable: bool = True
    on_balance_host: bool = False
    deprecated: bool = False
    books_money: bool = False


class Data(msgspec.Struct, Generic[Record], frozen=True):
    """The wrapper around a single record in an answer."""

    data: Record
