"""Employees (interface, sections 2.6, 4.4 and 4.5)."""

from __future__ import annotations

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Credential, Endpoint
from bktools.contract.noun import Filter, Noun

SEARCH_EMPLOYEES = Endpoint(operation="search_employees", method="GET", path="/v2/employees")

GET_EMPLOYEE = Endpoint(
    operation="get_employee",
    method="GET",
    path="/v2/employees/{employeeId}",
    credentials=(Credential.BEARER, Credential.API_KEY),
)


class Avatar(msgspec.Struct, frozen=True):
    """Picture of an employee."""

    url: str | None = None


class Employee(msgspec.Struct, frozen=True, rename="camel"):
    """An employee. ASSUMED: `code` is the external ID. Only `id` is relied on; the interface requires none."""

    id: str
    company_id: str | None = None
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    avatar: Avatar | None = None
    code: str | None = None
    job_title: str | None = None
    phone: str | None = None
    role: str | None = None


def _word(argument: str, value: object) -> str:
    return rules.text(argument, value, shortest=1)


# ASSUMED: the interface shows the meaning of the filters, not their names. Rows need not have the fields that show them.
# An e-mail is one address in any case of its letters, and services keep it in the case they like.
EMPLOYEES = Noun(
    "employees",
    SEARCH_EMPLOYEES,
    Employee,
    (
        Filter("company_id", "companyId", rules.uuid_text, column="company_id", optional_in_rows=True),
        Filter(
            "email",
            "email",
            _word,
            "--email",
            "Exact e-mail.",
            column="email",
            optional_in_rows=True,
            ignores_case=True,
        ),
        Filter(
            "external_id",
            "code",
            _word,
            "--external-id",
            "External ID of the employee.",
            column="code",
            optional_in_rows=True,
        ),
    ),
)
