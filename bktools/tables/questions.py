"""From what a user names (companies, filters) to the questions that the service is asked, one a company."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from bktools.contract import categories as category_contract
from bktools.contract import employees as employee_contract
from bktools.contract import rules
from bktools.contract.categories import Category
from bktools.contract.employees import Employee
from bktools.errors import ArgumentError
from bktools.frames.records import categories_table, employees_table
from bktools.frames.schema import CATEGORIES, EMPLOYEES
from bktools.service import Service
from bktools.service.pages import Search
from bktools.tables.choice import Choice
from bktools.tables.intake import Table
from bktools.tables.manifest import Question
from bktools.tables.reading import Job, read

Company = str | uuid.UUID | Iterable[str | uuid.UUID] | None

ALL = "all"
LISTS = ("ids", "account_ids", "category_group_ids")

CATEGORY_TABLE = Table("categories", CATEGORIES, categories_table)
EMPLOYEE_TABLE = Table("employees", EMPLOYEES, employees_table)


def category_jobs(
    company: Company, filters: Mapping[str, Any], service: Service, choice: Choice
) -> list[Job[Category]]:
    """Return what to ask for the categories of companies; which ones "all" are may have to be asked first."""
    given = {
        name: rules.unique_uuids(name, value) if name in LISTS and value is not None else value
        for name, value in filters.items()
    }
    named = named_companies(company, service)
    # A wrong filter is refused before anybody is asked which companies there are.
    category_contract.search_body(named[0] if named else str(uuid.UUID(int=0)), **given)
    return [
        Job(
            CATEGORY_TABLE,
            Question("search_categories", {"company_id": company_id, **given}),
            functools.partial(_category_search, company_id, given),
        )
        for company_id in named or _companies_of_employees(service, choice)
    ]


def employee_jobs(company: Company, filters: Mapping[str, Any], service: Service) -> list[Job[Employee]]:
    """Return what to ask for the employees of companies; all of them are one question."""
    employee_contract.search_query(**filters)
    companies: list[str | None] = [*named_companies(company, service)] or [None]
    return [
        Job(
            EMPLOYEE_TABLE,
            Question("search_employees", {"company_id": company_id, **filters}),
            functools.partial(_employee_search, company_id, filters),
        )
        for company_id in companies
    ]


def named_companies(company: Company, service: Service) -> list[str]:
    """Return the companies that were named or configured; none stands for all."""
    if isinstance(company, str) and company == ALL:
        return []
    if company is None:
        configured = service.settings.company
        return [] if configured is None else [rules.uuid_text("company (configured)", configured)]
    if isinstance(company, str | uuid.UUID):
        return [rules.uuid_text("company", company)]
    named = rules.unique_uuids("company", company)
    if not named:
        raise ArgumentError("company", "must name at least one company")
    return named


def _companies_of_employees(service: Service, choice: Choice) -> list[str]:
    everybody = read(employee_jobs(ALL, {"email": None, "external_id": None}, service), service, choice)[0]
    assert everybody.rows is not None
    found = sorted(set(everybody.rows.column("company_id").drop_null().to_pylist()))
    if not found:
        raise ArgumentError("company", "must be given: the credential sees no employee whose company could be taken")
    return found


def _category_search(company_id: str, filters: Mapping[str, Any], service: Service) -> Search[Category]:
    return functools.partial(service.search_categories, company_id, **filters)


def _employee_search(company_id: str | None, filters: Mapping[str, Any], service: Service) -> Search[Employee]:
    return functools.partial(service.search_employees, company_id, **filters)
