"""`bktools employees`: all employees, to the terminal or a file."""

from __future__ import annotations

from typing import Annotated

import typer

from bktools.cli.loading import AsOf, Companies, Csv, MaxAge, Parquet, Profile, Refresh, Verify, deliver
from bktools.cli.options import Environment, Sandbox, conversation


def employees(
    company: Companies = None,
    email: Annotated[str | None, typer.Option("--email", help="Exact e-mail.")] = None,
    external_id: Annotated[str | None, typer.Option("--external-id", help="External ID of the employee.")] = None,
    as_of: AsOf = None,
    max_age: MaxAge = "1h",
    refresh: Refresh = False,
    verify: Verify = "strict",
    csv: Csv = None,
    parquet: Parquet = None,
    profile: Profile = "excel",
    environment: Environment = None,
    sandbox: Sandbox = False,
) -> None:
    """Load all employees, complete or an error; a young snapshot is used instead of the service.

    Example: bktools employees --company all --parquet employees.parquet
    """
    from bktools.tables.files import employees_to_parquet
    from bktools.tables.load import load_employees

    with conversation(environment, sandbox=sandbox) as service:
        arguments = {
            "company": company,
            "email": email,
            "external_id": external_id,
            "as_of": as_of,
            "max_age": max_age,
            "refresh": refresh,
            "verify": verify,
            "service": service,
        }
        columns = ["id", "code", "first_name", "last_name", "email", "role"]
        deliver(load_employees, employees_to_parquet, columns, csv, parquet, profile, arguments)
