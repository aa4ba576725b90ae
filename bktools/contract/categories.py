"""Bookkeeping categories (interface, sections 2.1, 2.2 and 4.1)."""

from __future__ import annotations

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Credential, Endpoint
from bktools.contract.noun import Filter, Noun

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


# Rows are checked against each filter that has a column. The interface does not define the search by name, so `name` has
# none.
CATEGORIES = Noun(
    "categories",
    SEARCH_CATEGORIES,
    Category,
    (
        Filter("company_id", "companyId", rules.uuid_text, column="company_id", required=True, ignores_case=True),
        Filter(
            "ids",
            "ids",
            rules.unique_uuids,
            "--id",
            "UUID of a category; may be repeated.",
            column="id",
            ignores_case=True,
        ),
        Filter(
            "account_ids",
            "accountIds",
            rules.unique_uuids,
            "--account",
            "UUID of an account; may be repeated.",
            column="account_id",
            ignores_case=True,
        ),
        Filter(
            "category_group_ids",
            "categoryGroupIds",
            rules.unique_uuids,
            "--group",
            "UUID of a group; may be repeated.",
            column="category_group_id",
            ignores_case=True,
        ),
        Filter(
            "archived",
            "archived",
            rules.flag,
            "--archived/--active",
            "Only archived, or only active categories.",
            column="archived",
        ),
        Filter("name", "name", rules.text, "--name", "Search by name; the service defines the match."),
    ),
    title="bookkeeping categories",
    shown=("id", "name", "archived", "account_id", "tax_code_id"),
    example="bktools categories --active --output categories.csv",
)
