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
    """An employee. ASSUMED: `code` is the external ID. Only `id` must be present; the interface requires no field."""

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


def _nonempty_text(argument: str, value: object) -> str:
    return rules.text(argument, value, shortest=1)


# ASSUMED: the names of the filters; the interface only describes them. Rows may lack the filtered fields. E-mails differing
# only in upper and lower case are equal.
EMPLOYEES = Noun(
    "employees",
    SEARCH_EMPLOYEES,
    Employee,
    (
        Filter(
            "company_id", "companyId", rules.uuid_text, column="company_id", optional_in_rows=True, ignores_case=True
        ),
        Filter(
            "email",
            "email",
            _nonempty_text,
            "--email",
            "Exact e-mail.",
            column="email",
            optional_in_rows=True,
            ignores_case=True,
        ),
        Filter(
            "external_id",
            "code",
            _nonempty_text,
            "--external-id",
            "External ID of the employee.",
            column="code",
            optional_in_rows=True,
        ),
    ),
    title="employees",
    shown=("id", "code", "first_name", "last_name", "email", "role"),
    example="bktools employees --company all --output employees.parquet",
)
