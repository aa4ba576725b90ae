"""Credentials: tokens in the shape of a JWT, one API key, and what each may do.

The interface names no scopes; these are the sandbox's own. A token carries its scopes, companies and audience, signed
with the secret of the database, so nothing has to be looked up and every process on the same database agrees.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bktools.contract.accounts import CREATE_ACCOUNT
from bktools.contract.balance import GET_BALANCE
from bktools.contract.categories import SEARCH_CATEGORIES
from bktools.contract.employees import GET_EMPLOYEE, SEARCH_EMPLOYEES
from bktools.contract.endpoint import Endpoint
from bktools.contract.export_jobs import CREATE_EXPORT_JOB
from bktools.sandbox.answers import ScopeRefusal

# Employees of all companies at once need this one besides.
ORGANISATION_SCOPE = "organisation:read"

SCOPES = {
    SEARCH_CATEGORIES.operation: "categories:read",
    CREATE_ACCOUNT.operation: "accounts:write",
    CREATE_EXPORT_JOB.operation: "export_jobs:write",
    SEARCH_EMPLOYEES.operation: "employees:read",
    GET_EMPLOYEE.operation: "employees:read",
    GET_BALANCE.operation: "balance:read",
}
ALL_SCOPES = (*dict.fromkeys(SCOPES.values()), ORGANISATION_SCOPE)

# The interface lets these two take an API key (section 5).
TAKING_API_KEY = (SEARCH_CATEGORIES.operation, GET_EMPLOYEE.operation)

MAIN_AUDIENCE = "service"
BALANCE_AUDIENCE = "balance"


@dataclass(frozen=True)
class Caller:
    """Who asks: what it may do, and for which companies (None: all of them)."""

    scopes: frozenset[str]
    companies: frozenset[str] | None

    def check_company(self, company_id: str, known: bool) -> None:  # noqa: FBT001 - the two go together
        """Refuse a company that the caller cannot see; one that does not exist looks the same."""
        if not known or (self.companies is not None and company_id not in self.companies):
            raise ScopeRefusal(403)


def new_secret() -> str:
    """Return a secret that cannot be guessed."""
    return secrets.token_urlsafe(32)


def issue_token(
    secret: str,
    audience: str,
    scopes: Sequence[str] = ALL_SCOPES,
    companies: Sequence[str] | None = None,
    expires_in: float | None = None,
) -> str:
    """Return a signed token."""
    claims: dict[str, object] = {"aud": audience, "scopes": list(scopes), "jti": secrets.token_urlsafe(16)}
    if companies is not None:
        claims["companies"] = list(companies)
    if expires_in is not None:
        claims["exp"] = time.time() + expires_in
    signed = f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}"
    return f"{signed}.{_signature(secret, signed)}"


def authenticate(endpoint: Endpoint, authorization: str | None, secret: str, api_key: str, audience: str) -> Caller:
    """Return who asks, by the header `Authorization`; refuse with 401 who is unknown and with 403 who may not."""
    scheme, _, credential = (authorization or "").strip().partition(" ")
    caller = None
    if scheme.lower() == "bearer":
        caller = _bearer(credential.strip(), secret, audience)
    elif scheme.lower() == "basic" and endpoint.operation in TAKING_API_KEY:
        caller = _api_key(credential.strip(), api_key)
    if caller is None:
        challenge = "Bearer, Basic" if endpoint.operation in TAKING_API_KEY else "Bearer"
        raise ScopeRefusal(401, {"WWW-Authenticate": challenge})
    if SCOPES[endpoint.operation] not in caller.scopes:
        raise ScopeRefusal(403)
    return caller


def _bearer(token: str, secret: str, audience: str) -> Caller | None:
    signed, _, signature = token.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(secret, signed).encode()):
        return None
    payload = signed.partition(".")[2]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    if claims["aud"] != audience or time.time() >= claims.get("exp", float("inf")):
        return None
    companies = claims.get("companies")
    return Caller(frozenset(claims["scopes"]), None if companies is None else frozenset(companies))


def _api_key(credential: str, api_key: str) -> Caller | None:
    try:
        given = base64.b64decode(credential, validate=True)
    except (binascii.Error, ValueError):
        return None
    # The password is empty, so the colon is the last byte.
    if not hmac.compare_digest(given, f"{api_key}:".encode()):
        return None
    return Caller(frozenset(SCOPES[operation] for operation in TAKING_API_KEY), None)


def _encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).rstrip(b"=").decode()


def _signature(secret: str, signed: str) -> str:
    digest = hmac.digest(secret.encode(), signed.encode("utf-8", "replace"), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
