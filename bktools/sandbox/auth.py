"""Credentials: random tokens and one API key, with their scopes. The interface names no scopes; these are our own."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bktools.contract import ENDPOINTS
from bktools.contract.endpoint import Endpoint
from bktools.sandbox.answers import ScopeRefusal
from bktools.sandbox.nouns import EMPLOYEES, NOUNS

# Also needed to list the employees of all companies.
ORGANISATION_SCOPE = "organisation:read"

SCOPES = {noun.operation: noun.scope for noun in NOUNS} | {
    "create_account": "accounts:write",
    "create_export_job": "export_jobs:write",
    "get_employee": EMPLOYEES.scope,
    "get_balance": "balance:read",
}
ALL_SCOPES = (*dict.fromkeys(SCOPES.values()), ORGANISATION_SCOPE)

MAIN_AUDIENCE = "service"
BALANCE_AUDIENCE = "balance"


class Caller(NamedTuple):
    """The owner of a credential: its host, scopes, companies (None: all of them) and time of expiry."""

    audience: str
    scopes: Sequence[str] = ALL_SCOPES
    companies: Sequence[str] | None = None
    expires_at: float | None = None


def authenticate(
    endpoint: Endpoint, header: str | None, audience: str, api_key: str, caller_of: Callable[[str], Caller | None]
) -> Caller:
    """Return the caller of an `Authorization` header; refuse an unknown one with 401, a missing scope with 403."""
    scheme, _, credential = (header or "").strip().partition(" ")
    # The password is empty, so the colon is the last byte.
    basic = base64.b64encode(f"{api_key}:".encode())
    caller = None
    if scheme.lower() == "bearer":
        caller = caller_of(credential.strip())
    elif (
        endpoint.takes_api_key and scheme.lower() == "basic" and hmac.compare_digest(credential.strip().encode(), basic)
    ):
        caller = Caller(audience, [SCOPES[known.operation] for known in ENDPOINTS if known.takes_api_key])
    expired = caller and caller.expires_at is not None and time.time() >= caller.expires_at
    if caller is None or caller.audience != audience or expired:
        raise ScopeRefusal(401, {"WWW-Authenticate": "Bearer, Basic" if endpoint.takes_api_key else "Bearer"})
    if SCOPES[endpoint.operation] not in caller.scopes:
        raise ScopeRefusal(403)
    return caller
