"""Puts existing ids into what Schemathesis generates; without them each request gives 403 or 404."""

from __future__ import annotations

import json
import os
import uuid

import schemathesis

COMPANIES = os.environ["SANDBOX_COMPANIES"].split()
EMPLOYEES = os.environ["SANDBOX_EMPLOYEES"].split()


@schemathesis.hook
def map_body(context, body):
    """Name a company of the sandbox where any was named."""
    return with_known(body, "companyId", COMPANIES)


@schemathesis.hook
def map_query(context, query):
    """Name a company of the sandbox where any was named."""
    return with_known(query, "companyId", COMPANIES)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Name an employee of the sandbox for most."""
    return with_known(path_parameters, "employeeId", [*EMPLOYEES, None])


def with_known(values, name, known):
    """Return values with a known id, equal for equal values; what is no UUID stays wrong."""
    if not isinstance(values, dict) or not is_uuid(values.get(name)):
        return values
    chosen = known[len(json.dumps(values, default=str)) % len(known)]
    return values if chosen is None else {**values, name: chosen}


def is_uuid(value):
    try:
        return str(uuid.UUID(value)) == value
    except (ValueError, AttributeError, TypeError):
        return False
