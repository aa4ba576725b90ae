"""Employees (interface, sections 2.6, 4.4 and 4.5)."""

from __future__ import annotations

import msgspec

from bktools.contract import rules
from bktools.contract.endpoint import Credential, Endpoint

SEARCH_EMPLOYEES = Endpoint(operation="search_employees", method="GET", path="/v2/employees")

GET_EMPLOYEE = Endpoint(
    operation="get_employee",
    method="GET",
    path="/v2/employees/{employeeId}",
    credentials=(Credential.BEARER, Credential.API_KEY),
)

# ASSUMED: the interface shows the meaning of the filters, not their names.
QUERY_NAMES = {"company_id": "companyId", "email": "email", "external_id": "code"}


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


def search_query(
    company_id: object = None, *, email: object = None, external_id: object = None
) -> list[tuple[str, str]]:
    """Return the filters of an employee search as query parameters, checked."""
    pairs = []
    if company_id is not None:
        pairs.append((QUERY_NAMES["company_id"], rules.uuid_text("company_id", company_id)))
    if email is not None:
        pairs.append((QUERY_NAMES["email"], rules.text("email", email, shortest=1)))
    if external_id is not None:
        pairs.append((QUERY_NAMES["external_id"], rules.text("external_id", external_id, shortest=1)))
    return pairs
