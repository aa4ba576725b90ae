"""`bktools accounts`: accounts known here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import bktools
from bktools.cli import files, options, results
from bktools.cli.exits import Exit
from bktools.cli.options import option
from bktools.cli.output import tell
from bktools.cli.tables import counts, in_order
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(help="Accounts known here: list, create from a chart, import.", no_args_is_help=True)


_REPEAT = "Outcome unknown; safe to run again"

# States that need a person, the most urgent first, with the next step.
NEXT = {
    "REJECTED": "refused: correct the chart as the message says, then create them again",
    "UNKNOWN": _REPEAT,
    "SENDING": _REPEAT,
    "EXISTS": "in the service with different data: export the account list there (of the sandbox: "
    "bktools sandbox sample-data FOLDER), then import it: bktools accounts import FILE{environment}",
}

# Outcomes after which an account may be missing in the service.
OPEN = ("REJECTED", "UNKNOWN")


@app.command("list")
@results.table
def list_accounts(connection: options.ConnectsToCompany) -> None:
    """List the accounts known here: created, matched or imported.

    Example: bktools accounts list
    """
    accounts = bktools.load_accounts(connection.company, service=connection.service)
    columns = ["external_id", "code", "name", "archived", "state", "id"]
    results.hand_over(in_order(accounts, "state", NEXT), columns)
    _say_next(accounts["state"], connection.same)
    if accounts.empty:
        create, same = "bktools accounts create --chart FILE", connection.same
        tell(
            f"no accounts are known here: create those of a chart ({create}{same}), "
            "or import the account list that the service's user interface exports (bktools accounts import "
            f"FILE{same})"
        )


@app.command("create")
@results.table
def create(
    chart: files.Chart,
    connection: options.ConnectsToCompany,
    apply: bool = options.APPLY,
    new_chart: bool = options.NEW_CHART,
) -> Exit:
    """Create the chart's missing accounts; without --apply, list them.

    Example: bktools accounts create --chart chart_of_accounts.csv --apply
    """
    from bktools.cli.reconcile import reconciled

    reconciliation = reconciled(connection, chart)
    accounts = bktools.create_accounts(
        reconciliation, apply=apply, new_chart=new_chart, service=connection.service
    )
    results.hand_over(in_order(accounts, "outcome", NEXT), ["external_id", "name", "outcome", "message"])
    for line in filter(None, [reconciliation.another_chart, *reconciliation.not_created]):
        tell(line)
    for phrase in reconciliation.unchecked:
        note(f"not compared: {phrase}")
    note(counts(accounts["outcome"]) or "0 accounts")
    _say_next(accounts["outcome"], connection.same)
    return Exit.INCOMPLETE if accounts["outcome"].isin(OPEN).any() else Exit.DONE


def _say_next(states: pd.Series, environment: str) -> None:
    numbers = states.value_counts()
    for state, advice in NEXT.items():
        if state in numbers.index:
            tell(f"{numbers[state]:,} {state}: {advice.format(environment=environment)}")


@app.command("import")
@results.text
def import_list(
    account_list: Annotated[
        files.FileOptions,
        files.reads(
            "accounts",
            "FILE",
            "The list that the service's user interface exports; - is standard input.",
            is_required=True,
        ),
    ],
    connection: options.ConnectsToCompany,
    complete: bool = option(
        "--complete", "The list has all accounts of its companies: forget those that it lacks.", False
    ),
) -> None:
    """Import the list of accounts that were created elsewhere.

    Example: bktools accounts import accounts.csv
    """
    accounts = account_list.read(
        bktools.import_accounts, company=connection.company, complete=complete, service=connection.service
    )
    about, count = accounts.attrs["bktools"], len(accounts)
    retired = about["retired"]
    results.report(
        files.recognised(about["imported"]),
        f"{len(retired):,} no longer known, because the list lacks them (--format json names them)"
        if retired
        else "",
        f"{count} accounts are known now",
        imported=about["imported"]["rows"],
        known=count,
        no_longer_known=retired,
    )
