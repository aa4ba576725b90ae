"""What an operation of the service is, apart from its fields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

Record = TypeVar("Record")


class Credential(StrEnum):
    """Kinds of credentials (interface, section 5)."""

    BEARER = "bearer"
    API_KEY = "api key"


class Host(StrEnum):
    """Which of the two hosts an operation is on."""

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
        What it accepts, the preferred one first.
    repeatable : bool
        Whether the same request may be sent again after a failure without changing what the service holds.
    host : Host
        The host it is on.
    deprecated : bool
        Whether the interface marks it so.
    """

    operation: str
    method: str
    path: str
    credentials: tuple[Credential, ...] = (Credential.BEARER,)
    repeatable: bool = True
    host: Host = Host.MAIN
    deprecated: bool = False


class Data(msgspec.Struct, Generic[Record], frozen=True):
    """Wrapper of a single resource in an answer."""

    data: Record
