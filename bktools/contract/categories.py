"""Bookkeeping categories (interface, sections 2.1, 2.2 and 4.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Credential, Endpoint

SEARCH_CATEGORIES = Endpoint(
    operation="search_categories",
    method="POST",
    path="/v1/bookkeeping-categories:search",
    credentials=(Credential.BEARER, Credential.API_KEY),
)


class Category(msgspec.Struct, frozen=True, rename="camel"):
    """A bookkeeping category. `metadata` is the JSON text as sent (`bytes(category.metadata)`)."""

    id: str
    company_id: str
    category_group_id: str
    name: str
    archived: bool
    account_id: str | None = None
    tax_code_id: str | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")


def search_body(
    company_id: object,
    *,
    ids: Iterable[object] | None = None,
    account_ids: Iterable[object] | None = None,
    category_group_ids: Iterable[object] | None = None,
    archived: object = None,
    name: object = None,
) -> dict[str, Any]:
    """Return the body of a category search, checked.

    ASSUMED: an empty filter list is the same as no filter, so none is sent.
    """
    body: dict[str, Any] = {"companyId": rules.uuid_text("company_id", company_id)}
    lists = {"ids": ("ids", ids), "account_ids": ("accountIds", account_ids)}
    lists["category_group_ids"] = ("categoryGroupIds", category_group_ids)
    for argument, (field, values) in lists.items():
        found = [] if values is None else rules.unique_uuids(argument, values)
        if found:
            body[field] = found
    if archived is not None:
        body["archived"] = rules.flag("archived", archived)
    if name is not None:
        body["name"] = rules.text("name", name)
    return body
