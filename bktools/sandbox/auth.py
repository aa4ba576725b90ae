"""Credentials: random tokens and one API key. The interface names no scopes; those of a token are our own."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bktools.sandbox.answers import ScopeRefusal

# Also needed to list the employees of all companies.
ORGANISATION_SCOPE = "organisation:read"

MAIN_AUDIENCE = "service"
BALANCE_AUDIENCE = "balance"


class Caller(NamedTuple):
    """The owner of a credential: host, scopes and companies (None: all of them), and time of expiry."""

    audience: str
    scopes: Sequence[str] | None = None
    companies: Sequence[str] | None = None
    expires_at: float | None = None

    def require(self, scope: str) -> None:
        """Refuse a caller without a scope with 403."""
        if self.scopes is not None and scope not in self.scopes:
            raise ScopeRefusal(403)


def authenticate(
    header: str | None, audience: str, api_key: str | None, caller_of: Callable[[str], Caller | None]
) -> Caller:
    """Return the caller of an `Authorization` header, or refuse it with 401.

    `api_key` is None where none is needed.
    """
    scheme, _, credential = (header or "").strip().partition(" ")
    # The password is empty, so the colon is the last byte.
    basic = base64.b64encode(f"{api_key}:".encode())
    caller = None
    if scheme.lower() == "bearer":
        caller = caller_of(credential.strip())
    elif api_key and scheme.lower() == "basic" and hmac.compare_digest(credential.strip().encode(), basic):
        caller = Caller(audience)
    expired = caller and caller.expires_at is not None and time.time() >= caller.expires_at
    if caller is None or caller.audience != audience or expired:
        raise ScopeRefusal(401, {"WWW-Authenticate": "Bearer, Basic" if api_key else "Bearer"})
    return caller
