"""The nouns that the sandbox lists: filters, order and rows. Routes and tables follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bktools.sandbox.paging import among, field
from bktools.sandbox.requests import CategorySearch, EmployeeSearch, Paging
from bktools.sandbox.world import World


@dataclass(frozen=True)
class Listed:
    """A noun that a search lists: the search, the scope that it needs, and its table in the database."""

    operation: str
    scope: str
    table: str
    # The fields that a search can sort by.
    sortable: tuple[str, ...]
    # By its name in the search: the SQL condition of a filter.
    filters: Mapping[str, str]
    # The rows of a new world's company, given by its number.
    rows: Callable[[World, int], Iterable[dict[str, Any]]]
    query: type[Paging]
    # A search without one has its filters in the query.
    body: type[CategorySearch] | None = None


CATEGORIES = Listed(
    "search_categories",
    "categories:read",
    "categories",
    ("id", "companyId", "categoryGroupId", "accountId", "taxCodeId", "name", "archived"),
    {
        "ids": among("id"),
        "account_ids": among(field("accountId")),
        "category_group_ids": among(field("categoryGroupId")),
        "archived": f"{field('archived')} = ?",
        "name": f"instr(folded({field('name')}), folded(?)) > 0",
    },
    World.categories_of,
    Paging,
    CategorySearch,
)

EMPLOYEES = Listed(
    "search_employees",
    "employees:read",
    "employees",
    ("id", "companyId", "email", "firstName", "lastName", "code", "jobTitle", "phone", "role"),
    {"email": f"{field('email')} = ?", "code": f"{field('code')} = ?"},
    World.employees_of,
    EmployeeSearch,
)

NOUNS = (CATEGORIES, EMPLOYEES)
