"""`bktools accounts`: accounts known here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.caller import command
from bktools.cli.exits import Exit
from bktools.cli.loading import Csv, Profile
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
    Sheet,
    conversation,
    one_of,
    same,
)
from bktools.cli.options import columns as to_columns
from bktools.cli.output import tell
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(help="Accounts known here: list, create from a chart, import.", no_args_is_help=True)


_REPEAT = "Outcome unknown; safe to run again"

# What needs a person, the most urgent first, and what to do about it.
NEXT = {
    "REJECTED": "refused: correct the chart as the message says, then create them again",
    "UNKNOWN": _REPEAT,
    "SENDING": _REPEAT,
    "EXISTS": "in the service, which does not say what they are: export the list of accounts there (the sandbox's: "
    "bktools sandbox sample-data FOLDER), then bktools accounts import FILE{environment}",
}

# Outcomes of accounts that were to be created and are not known to exist.
OPEN = ("REJECTED", "UNKNOWN")


def _states() -> Iterable[str]:
    from bktools.journal.schema import ACCOUNT_STATES

    return ACCOUNT_STATES


@app.command("list")
def list_accounts(
    company: Company = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
    state: Annotated[
        str | None, typer.Option("--state", help="Only those in it, such as EXISTS.", autocompletion=one_of(_states))
    ] = None,
    csv: Csv = None,
    profile: Profile = "excel",
) -> None:
    """List the accounts known here: created, matched or imported.

    Example: bktools accounts list --state EXISTS
    """
    from bktools.cli.tables import hand_over
    from bktools.journal.accounts import load_accounts

    if state is not None and state.upper() not in _states():
        raise ArgumentError("--state", f"must be one of {', '.join(_states())}", state)
    with conversation(environment, sandbox=sandbox, company=company) as service:
        known = load_accounts(company, service=service)
    if state is not None:
        known = known[known["state"] == state.upper()]
    columns = ["external_id", "code", "name", "archived", "state", "id"]
    hand_over(_urgent_first(known, "state"), columns, csv, profile)
    _say_next(known["state"], same(environment, sandbox=sandbox))


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
    sheet: Sheet = None,
    csv: Csv = None,
    profile: Profile = "excel",
) -> None:
    """Create the accounts of a chart that the service lacks; without --apply, list them.

    Example: bktools accounts create --chart chart_of_accounts.csv --apply
    """
    from bktools.cli.reconcile import reconciled
    from bktools.cli.tables import counts, hand_over
    from bktools.submit import create_accounts

    with conversation(environment, sandbox=sandbox, company=company) as service:
        found = reconciled(service, chart, to_columns(column), delimiter, encoding, sheet)
        made = create_accounts(found, apply=apply, service=service)
    hand_over(_urgent_first(made, "outcome"), ["external_id", "name", "outcome", "message"], csv, profile)
    typer.echo(counts(made["outcome"]) or "0 accounts")
    _say_next(made["outcome"], same(environment, sandbox=sandbox))
    if made["outcome"].isin(OPEN).any():
        raise typer.Exit(Exit.INCOMPLETE)


def _urgent_first(accounts: pd.DataFrame, column: str) -> pd.DataFrame:
    ranks = {state: rank for rank, state in enumerate(NEXT)}
    return accounts.sort_values(
        column, key=lambda states: states.map(ranks).fillna(len(ranks)), kind="stable", ignore_index=True
    )


def _say_next(states: pd.Series, environment: str) -> None:
    found = states.value_counts()
    for state, advice in NEXT.items():
        if state in found.index:
            tell(f"{found[state]:,} {state}: {advice.format(environment=environment)}")


@app.command("import")
def import_list(
    file: Annotated[Path, typer.Argument(help="The list that the service's user interface exports.")],
    company: Company = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
    column: FileColumn = None,
    delimiter: FileDelimiter = None,
    encoding: FileEncoding = None,
    sheet: Sheet = None,
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
            sheet=sheet,
            service=service,
        )
    typer.echo(taken_as(known.attrs["bktools"]["imported"]))
    typer.echo(f"{len(known)} accounts are known now")
