"""`bktools accounts`: accounts known here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.exits import Exit
from bktools.cli.mappings import remembered
from bktools.cli.output import remark, tell
from bktools.errors import ArgumentError
from bktools.visible import visible_line

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(help="Accounts known here: list, create from a chart, import.", no_args_is_help=True)


_REPEAT = "Outcome unknown; safe to run again"

# States that need a person, the most urgent first, with the next step.
NEXT = {
    "REJECTED": "refused: correct the chart as the message says, then create them again",
    "UNKNOWN": _REPEAT,
    "SENDING": _REPEAT,
    "EXISTS": "in the service with different data: export the account list there (of the sandbox: bktools sandbox "
    "sample-data FOLDER), then import it: bktools accounts import FILE{environment}",
}

# Accounts that a complete list lacks, of which the command prints so many.
SHOWN_RETIRED = 10

# Outcomes after which an account may be missing in the service.
OPEN = ("REJECTED", "UNKNOWN")


def _states() -> Iterable[str]:
    from bktools.journal.schema import ACCOUNT_STATES

    return ACCOUNT_STATES


@app.command("list")
@results.table
def list_accounts(
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only accounts in this state, such as EXISTS.",
            autocompletion=options.one_of(_states),
        ),
    ] = None,
) -> None:
    """List the accounts known here: created, matched or imported.

    Example: bktools accounts list --state EXISTS
    """
    from bktools.journal.accounts import load_accounts

    if state is not None and state.upper() not in _states():
        raise ArgumentError("--state", f"must be one of {', '.join(_states())}", state)
    with options.connected(environment, sandbox=sandbox, company=company) as service:
        known = load_accounts(company, service=service)
    if state is not None:
        known = known[known["state"] == state.upper()]
    columns = ["external_id", "code", "name", "archived", "state", "id"]
    results.hand_over(_urgent_first(known, "state"), columns)
    same = options.same(environment, sandbox=sandbox)
    _say_next(known["state"], same)
    if known.empty and state is None:
        tell(
            f"no accounts are known here: create those of a chart (bktools accounts create --chart FILE{same}), or import "
            f"the account list that the service's user interface exports (bktools accounts import FILE{same})"
        )


@app.command("create")
@results.table
def create(
    chart: options.Chart = None,
    apply: options.Apply = False,
    new_chart: options.NewChart = False,
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    column: options.Column = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    save_mapping: options.SaveMapping = None,
) -> None:
    """Create the chart's missing accounts; without --apply, list them.

    Example: bktools accounts create --chart chart_of_accounts.csv --apply
    """
    from bktools.cli.reconcile import reconciled
    from bktools.cli.tables import counts
    from bktools.submit import create_accounts

    with options.connected(environment, sandbox=sandbox, company=company) as service:
        found = reconciled(service, chart, options.columns(column), delimiter, encoding, sheet, save_mapping)
        with command({"new_chart": "--new-chart"}):
            made = create_accounts(found, apply=apply, new_chart=new_chart, service=service)
    results.hand_over(_urgent_first(made, "outcome"), ["external_id", "name", "outcome", "message"])
    for line in filter(None, [found.another_chart, *found.not_created]):
        tell(line)
    for phrase in found.unchecked:
        remark(f"not compared: {phrase}")
    remark(counts(made["outcome"]) or "0 accounts")
    _say_next(made["outcome"], options.same(environment, sandbox=sandbox))
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
@results.facts
def import_list(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The account list, exported from the service's user interface; - is standard input."
        ),
    ],
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    column: options.FileColumn = None,
    delimiter: options.FileDelimiter = None,
    encoding: options.FileEncoding = None,
    sheet: options.FileSheet = None,
    save_mapping: options.SaveFileMapping = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="The list has all accounts of its companies: forget those that it lacks.")
    ] = False,
) -> None:
    """Import the list of accounts that were created elsewhere.

    Example: bktools accounts import accounts.csv
    """
    from bktools.cli.reconcile import recognised
    from bktools.journal.accounts import import_accounts

    given = {"columns": options.columns(column), "delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    with (
        options.connected(environment, sandbox=sandbox, company=company) as service,
        results.readable(file) as path,
        command(options.READS_FILE),
        remembered("accounts", path, given, save_mapping) as read_as,
    ):
        known = import_accounts(path, company=company, complete=complete, service=service, **read_as)
    about = known.attrs["bktools"]
    results.say(recognised(about["imported"]))
    retired = about["retired"]
    for external_id in retired[:SHOWN_RETIRED]:
        results.say(visible_line(f"no longer known, because the list lacks it: {external_id}"))
    if len(retired) > SHOWN_RETIRED:
        results.say(f"… and {len(retired) - SHOWN_RETIRED:,} more")
    results.say(f"{len(known)} accounts are known now")
    results.result(imported=about["imported"]["rows"], known=len(known), no_longer_known=retired)
