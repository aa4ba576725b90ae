"""Employees (interface, sections 2.6, 4.4 and 4.5)."""

from __future__ import annotations

import functools

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Endpoint
from bktools.contract.noun import Filter, Noun

GET_EMPLOYEE = Endpoint("get_employee", "GET", "/v2/employees/{employeeId}", takes_api_key=True)


class Avatar(msgspec.Struct, frozen=True):
    """Picture of an employee."""

    url: str | None = None


class Employee(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """An employee. ASSUMED: `code` is the external ID.

    The interface requires no field; only `id` must be present here. Its fields are in the order of the
    columns of a table: the name first, IDs last.
    """

    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    code: str | None = None
    job_title: str | None = None
    role: str | None = None
    phone: str | None = None
    avatar: Avatar | None = None
    company_id: str | None = None
    id: str


_nonempty_text = functools.partial(rules.text, shortest=1)

# ASSUMED: the names of the filters; the interface only describes them. Rows may lack the filtered fields.
# E-mails differing only in upper and lower case are equal.
EMPLOYEES = Noun(
    "employees",
    Endpoint("search_employees", "GET", "/v2/employees"),
    Employee,
    (
        Filter("company_id", rules.uuid_text, "company_id", optional_in_rows=True),
        Filter("email", _nonempty_text, "email", optional_in_rows=True),
        Filter("external_id", _nonempty_text, "code", sent_as="code", optional_in_rows=True, is_exact=True),
    ),
    title="employees",
    shown=("first_name", "last_name", "email", "role", "code", "id"),
    example="bktools employees --company all --output employees.parquet",
)
