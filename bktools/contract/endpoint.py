"""The description of an operation: method, path, credentials, host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

Record = TypeVar("Record")

# ASSUMED: headers of an answer that may identify the request for the service's support; the interface names none.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-trace-id", "cf-ray")


class Credential(StrEnum):
    """Kinds of credentials (interface, section 5)."""

    BEARER = "bearer"
    API_KEY = "api key"


class Host(StrEnum):
    """The two hosts of the service."""

    MAIN = "base_url"
    BALANCE = "balance_url"


@dataclass(frozen=True)
class Endpoint:
    """One operation of the service.

    Parameters
    ----------
    operation : str
        Name of the method of `Service` that performs it.
    method, path : str
        HTTP method and path below the host; `{name}` is a path parameter.
    credentials : tuple of Credential
        Accepted credentials, the preferred one first.
    repeatable : bool
        Whether `Service` may send the same request again after a failure.
    host : Host
        Host of the operation.
    deprecated : bool
        Whether the interface deprecates it.
    books_money : bool
        Whether it creates what cannot be undone, and may take long. It is sent once, on a new connection.
    """

    operation: str
    method: str
    path: str
    credentials: tuple[Credential, ...] = (Credential.BEARER,)
    repeatable: bool = True
    host: Host = Host.MAIN
    deprecated: bool = False
    books_money: bool = False


class Data(msgspec.Struct, Generic[Record], frozen=True):
    """The wrapper around a single record in an answer."""

    data: Record
