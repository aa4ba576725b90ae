"""Accounts of the chart of accounts (interface, sections 2.4 and 4.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.errors import ArgumentError

CREATE_ACCOUNT = Endpoint(
    operation="create_account",
    method="POST",
    path="/v1/chart-of-accounts",
    # (externalId, companyId) is unique in the service, but whether a repeat changed anything is for the caller to
    # judge by its journal, so the transport does not repeat it by itself.
    repeatable=False,
)

LONGEST_TEXT = 255

# ASSUMED: 201 says created, 200 that an existing account was matched.
MATCHED_STATUS = 200


class Account(msgspec.Struct, frozen=True, rename="camel"):
    """An account as the service answers it; `matched` says whether it existed before, by the answer's status."""

    id: str
    company_id: str
    external_id: str
    name: str | None = None
    archived: bool | None = None
    code: str | None = None
    tax_code_external_id: str | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    # Not of the wire, so it has a name there that no service sends.
    matched: bool = msgspec.field(default=False, name="bktools:matched")


def is_duplicate(status: int, said: str) -> bool:
    """Whether an answer refuses a create because the account exists.

    ASSUMED: 409, with or without a body, or 400 with a body that says so; another 400 is another mistake.
    """
    words = ("exist", "duplicate", "already", "conflict")
    return status == 409 or (status == 400 and any(word in said.lower() for word in words))  # noqa: PLR2004


def create_body(
    company_id: object,
    external_id: object,
    name: object,
    *,
    archived: object = False,
    code: object = None,
    metadata: object = None,
    tax_code_external_id: object = None,
) -> dict[str, Any]:
    """Return the body of an account's creation, checked.

    ASSUMED: `archived`, `companyId`, `externalId` and `name` are required, the rest may be left out.
    """
    body: dict[str, Any] = {
        "archived": rules.flag("archived", archived),
        "companyId": rules.uuid_text("company_id", company_id),
        "externalId": rules.text("external_id", external_id, shortest=1, longest=LONGEST_TEXT),
        "name": rules.text("name", name, longest=LONGEST_TEXT),
    }
    if code is not None:
        body["code"] = rules.text("code", code, longest=LONGEST_TEXT)
    if metadata is not None:
        body["metadata"] = _json_object("metadata", metadata)
    if tax_code_external_id is not None:
        body["taxCodeExternalId"] = rules.text("tax_code_external_id", tax_code_external_id)
    return body


def _json_object(argument: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ArgumentError(argument, "must be an object with text keys", value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(argument, f"must hold only what JSON can ({error})", value) from None
    return dict(value)
