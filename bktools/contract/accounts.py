"""Accounts of the chart of accounts (interface, sections 2.4 and 4.3)."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.errors import ArgumentError
from bktools.wording import Sentence

# A repeat is safe, because (externalId, companyId) is unique in the service. But `submit` repeats it, not
# `Service`, so that the journal records each outcome.
CREATE_ACCOUNT = Endpoint("create_account", "POST", "/v1/chart-of-accounts", repeatable=False)

LONGEST_TEXT = 255

# ASSUMED: 201 for a created account, 200 for an existing one that matched.
MATCHED_STATUS = 200


class Account(msgspec.Struct, frozen=True, rename="camel"):
    """An account in an answer of the service. `matched` is True when the status says that it existed."""

    id: str
    company_id: str
    external_id: str
    name: str | None = None
    archived: bool | None = None
    code: str | None = None
    tax_code_external_id: str | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    # Set by `Service`, not decoded: no service sends a field of this name.
    matched: bool = msgspec.field(default=False, name="bktools:matched")


class CompanyInFile(NamedTuple):
    """The company that a chart's file names: its number in a register or program, and its name, or ""."""

    number: str = ""
    name: str = ""


def is_duplicate(status: int, detail: str) -> bool:
    """Whether an answer refuses a create because the account exists.

    ASSUMED: 409 with any body, or 400 with one of these words in its body. Any other 400 is another error.
    """
    words = ("exist", "duplicate", "already", "conflict")
    return status == 409 or (status == 400 and any(word in detail.lower() for word in words))


def create_body(**account: object) -> dict[str, Any]:
    """Check the arguments, those of `Service.create_account`, and return the body that creates an account."""
    return {
        field: rule(name, account.get(name))
        for name, (field, rule) in _FIELDS.items()
        if name in _REQUIRED or account.get(name) is not None
    }


def _json_object(argument: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ArgumentError(argument, Sentence("rule.json_object"), value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ArgumentError(argument, Sentence("rule.json_values", why=str(error)), value) from None
    return dict(value)


_short_text = functools.partial(rules.text, longest=LONGEST_TEXT)

# By argument: the field of the body, and its rule.
_FIELDS: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
    "archived": ("archived", rules.flag),
    "company_id": ("companyId", rules.uuid_text),
    "external_id": ("externalId", functools.partial(_short_text, shortest=1)),
    "name": ("name", _short_text),
    "code": ("code", _short_text),
    "metadata": ("metadata", _json_object),
    "tax_code_external_id": ("taxCodeExternalId", rules.text),
}
# ASSUMED: the others may be missing.
_REQUIRED = ("archived", "company_id", "external_id", "name")
