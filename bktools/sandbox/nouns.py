"""The nouns that the sandbox lists: record, filters and rows. Routes, tables and descriptions follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bktools.sandbox.paging import among, field
from bktools.sandbox.schemas import ANYTHING, FLAG, PAGING, TEXT, UUID, UUIDS, Schema, record
from bktools.sandbox.world import World


@dataclass(frozen=True)
class Listed:
    """A noun that a search lists: the search, the scope that it needs, and its table in the database."""

    operation: str
    scope: str
    table: str
    # The record, with its name in the OpenAPI document; every field that is no object sorts.
    name: str
    schema: Schema
    # By its name in a request: the schema of a filter's value, and its SQL condition; without `companyId`.
    filters: Mapping[str, tuple[Schema, str]]
    # The rows of a new world's company, given by its number.
    rows: Callable[[World, int], Iterable[dict[str, Any]]]
    # Name of the search's body in the OpenAPI document; a search without one has query parameters.
    body: str | None = None
    needs_company: bool = False

    @property
    def sortable(self) -> list[str]:
        """The fields that a search can sort by."""
        return [name for name, rule in self.schema["properties"].items() if "object" not in rule["type"]]

    @property
    def search(self) -> Schema:
        """The schema of the filters: of the body, or of the query parameters."""
        company = "companyId!" if self.needs_company else "companyId"
        filters = ((f"{name}?" if self.body else name, schema) for name, (schema, _) in self.filters.items())
        return record((company, UUID), *filters, closed=True)

    @property
    def query(self) -> Schema:
        """The schema of the query parameters: paging, and the filters of a search without a body."""
        filters = record() if self.body else self.search
        keys = PAGING["sorting_keys"] | {"items": TEXT | {"enum": self.sortable}}
        return {**filters, "properties": filters["properties"] | PAGING | {"sorting_keys": keys}}


CATEGORIES = Listed(
    "search_categories",
    "categories:read",
    "categories",
    "BookkeepingCategory",
    record(
        ("id! companyId! categoryGroupId! accountId? taxCodeId?", UUID),
        ("name!", TEXT),
        ("archived!", FLAG),
        ("metadata?", ANYTHING),
    ),
    {
        "ids": (UUIDS, among("id")),
        "accountIds": (UUIDS, among(field("accountId"))),
        "categoryGroupIds": (UUIDS, among(field("categoryGroupId"))),
        "archived": (FLAG, f"{field('archived')} = ?"),
        "name": (TEXT, f"instr(folded({field('name')}), folded(?)) > 0"),
    },
    World.categories_of,
    body="CategorySearch",
    needs_company=True,
)

EMPLOYEES = Listed(
    "search_employees",
    "employees:read",
    "employees",
    "Employee",
    record(
        ("id! companyId!", UUID),
        ("email! firstName! lastName! code jobTitle phone role", TEXT),
        ("avatar", record(("url!", TEXT))),
    ),
    {"email": (TEXT, f"{field('email')} = ?"), "code": (TEXT, f"{field('code')} = ?")},
    World.employees_of,
)

NOUNS = (CATEGORIES, EMPLOYEES)
