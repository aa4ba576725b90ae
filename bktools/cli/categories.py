"""`bktools categories`: all bookkeeping categories, to the terminal or a file."""

from __future__ import annotations

from typing import Annotated

import typer

from bktools.cli.loading import AsOf, Companies, Csv, MaxAge, Parquet, Profile, Refresh, Verify, deliver
from bktools.cli.options import Environment, Sandbox, conversation

Uuids = list[str] | None


def categories(
    company: Companies = None,
    ids: Annotated[Uuids, typer.Option("--id", help="UUID of a category; may be repeated.")] = None,
    account_ids: Annotated[Uuids, typer.Option("--account", help="UUID of an account; may be repeated.")] = None,
    category_group_ids: Annotated[Uuids, typer.Option("--group", help="UUID of a group; may be repeated.")] = None,
    archived: Annotated[
        bool | None, typer.Option("--archived/--active", help="Only these.", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Search by name, as the service does it.")] = None,
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
    """Load all bookkeeping categories, complete or an error; a young snapshot is used instead of the service.

    Example: bktools categories --active --csv categories.csv
    """
    from bktools.tables.files import categories_to_parquet
    from bktools.tables.load import load_categories

    with conversation(environment, sandbox=sandbox) as service:
        arguments = {
            "company": company,
            "ids": ids or None,
            "account_ids": account_ids or None,
            "category_group_ids": category_group_ids or None,
            "archived": archived,
            "name": name,
            "as_of": as_of,
            "max_age": max_age,
            "refresh": refresh,
            "verify": verify,
            "service": service,
        }
        columns = ["id", "name", "archived", "account_id", "tax_code_id"]
        deliver(load_categories, categories_to_parquet, columns, csv, parquet, profile, arguments)
