"""`bktools accounts`: accounts known here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bktools.caller import command
from bktools.cli.options import (
    READS_FILE,
    Apply,
    Chart,
    Column,
    Company,
    Delimiter,
    Encoding,
    Environment,
    FileColumn,
    FileDelimiter,
    FileEncoding,
    Sandbox,
    conversation,
)
from bktools.cli.options import columns as to_columns

app = typer.Typer(help="Accounts known here: list, create from a chart, import.", no_args_is_help=True)


@app.command("list")
def list_accounts(company: Company = None, environment: Environment = None, sandbox: Sandbox = False) -> None:
    """List the accounts known here: created, matched or imported.

    Example: bktools accounts list
    """
    from bktools.cli.tables import show
    from bktools.journal.accounts import load_accounts

    with conversation(environment, sandbox=sandbox, company=company) as service:
        known = load_accounts(company, service=service)
    show(known[["external_id", "code", "name", "archived", "state", "id"]])


@app.command("create")
def create(
    chart: Chart = None,
    apply: Apply = False,
    company: Company = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
    column: Column = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
) -> None:
    """Create the accounts of a chart that the service lacks; without --apply, list them.

    Example: bktools accounts create --chart chart_of_accounts.csv --apply
    """
    from bktools.cli.reconcile import reconciled
    from bktools.cli.tables import counts, show
    from bktools.submit import create_accounts

    with conversation(environment, sandbox=sandbox, company=company) as service:
        found = reconciled(service, chart, to_columns(column), delimiter, encoding)
        made = create_accounts(found, apply=apply, service=service)
    show(made[["external_id", "name", "outcome", "message"]])
    typer.echo(counts(made["outcome"]) or "0 accounts")


@app.command("import")
def import_list(
    file: Annotated[Path, typer.Argument(help="The list that the service's user interface exports.")],
    company: Company = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
    column: FileColumn = None,
    delimiter: FileDelimiter = None,
    encoding: FileEncoding = None,
) -> None:
    """Make accounts known that were created elsewhere.

    Example: bktools accounts import accounts.csv
    """
    from bktools.cli.reconcile import taken_as
    from bktools.journal.accounts import import_accounts

    with conversation(environment, sandbox=sandbox, company=company) as service, command(READS_FILE):
        known = import_accounts(
            file,
            company=company,
            columns=to_columns(column),
            delimiter=delimiter,
            encoding=encoding,
            service=service,
        )
    typer.echo(taken_as(known.attrs["bktools"]["imported"]))
    typer.echo(f"{len(known)} accounts are known now")
