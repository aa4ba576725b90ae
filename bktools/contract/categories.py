"""Bookkeeping categories (interface, sections 2.1, 2.2 and 4.1)."""

from __future__ import annotations

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.contract.noun import Filter, Noun


class Category(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A bookkeeping category. `metadata` is the JSON text as sent (`bytes(category.metadata)`).

    Its fields are in the order of the columns of a table: the name first, IDs last.
    """

    name: str
    archived: bool
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    account_id: str | None = None
    tax_code_id: str | None = None
    category_group_id: str
    company_id: str
    id: str


# Rows are checked against each filter that has a column. The interface does not define the search by name, so
# `name` has none.
CATEGORIES = Noun(
    "categories",
    Endpoint("search_categories", "POST", "/v1/bookkeeping-categories:search", takes_api_key=True),
    Category,
    (
        Filter("company_id", rules.uuid_text, "company_id", required=True),
        Filter("ids", rules.unique_uuids, "id"),
        Filter("account_ids", rules.unique_uuids, "account_id"),
        Filter("category_group_ids", rules.unique_uuids, "category_group_id"),
        Filter("archived", rules.flag, "archived"),
        Filter("name", rules.text),
    ),
    title="bookkeeping categories",
    shown=("name", "archived", "id", "account_id", "tax_code_id"),
    example="bktools categories --output categories.csv",
)
