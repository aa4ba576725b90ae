"""`bktools accounts`: accounts known here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

import bktools
from bktools.cli import options, reading, results
from bktools.cli.exits import Exit
from bktools.cli.options import REQUIRED, argument, option, same
from bktools.cli.output import tell
from bktools.cli.results import counts, in_order
from bktools.progress import note
from bktools.wording import words

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(help="Accounts known here: list, create from a chart, import.", no_args_is_help=True)

# States that need a person, the most urgent first, with the next step.
NEXT = {
    "REJECTED": "command.account_rejected",
    "UNKNOWN": "command.account_repeat",
    "SENDING": "command.account_repeat",
    "EXISTS": "command.account_exists",
}

# Outcomes after which an account may be missing in the service.
OPEN = ("REJECTED", "UNKNOWN")


@app.command("list")
def list_accounts(books: options.Company, table: results.Table) -> None:
    """List the accounts known here: created, matched or imported.

    Example: bktools accounts list
    """
    with books.connected() as service:
        accounts = bktools.load_accounts(books.company, service=service)
        ending = same(service.settings)
    columns = ["external_id", "code", "name", "archived", "state", "id"]
    table.hand_over(in_order(accounts, "state", NEXT), columns=columns, names={"state": "outcome"})
    _say_next(accounts["state"], ending)
    if accounts.empty:
        tell(words()("command.no_accounts", same=ending))


@app.command("create")
def create(
    books: options.Company,
    table: results.Table,
    chart: Path | None = reading.CHART,
    mapping: list[str] | None = reading.MAPPING,
    apply: bool = options.APPLY,
    new_chart: bool = options.NEW_CHART,
) -> Exit:
    """Create the chart's missing accounts; without --apply, list them.

    Example: bktools accounts create --chart chart_of_accounts.csv --apply
    """
    from bktools.cli.reconcile import reconciled

    with books.connected() as service:
        reconciliation = reconciled(service, chart, mapping, note)
        accounts = bktools.create_accounts(reconciliation, apply=apply, new_chart=new_chart, service=service)
        ending = same(service.settings)
    columns = ["external_id", "name", "outcome", "message"]
    table.hand_over(in_order(accounts, "outcome", NEXT), columns=columns, names={"outcome": "outcome"})
    for line in filter(None, [reconciliation.another_chart, *reconciliation.not_created]):
        tell(line)
    for phrase in reconciliation.unchecked:
        note(words()("report.terminal.not_compared", phrase=phrase))
    outcomes = counts(words().name("outcome", outcome) for outcome in accounts["outcome"])
    note(outcomes or words().counted(0, "account"))
    _say_next(accounts["outcome"], ending)
    return Exit.INCOMPLETE if accounts["outcome"].isin(OPEN).any() else Exit.DONE


def _say_next(states: pd.Series, ending: str) -> None:
    texts, numbers = words(), states.value_counts()
    for state, advice in NEXT.items():
        if state in numbers.index:
            tell(f"{numbers[state]:,} {texts.name('outcome', state)}: {texts(advice, same=ending)}")


@app.command("import")
def import_list(
    books: options.Company,
    text: results.Text,
    file: Path = argument("FILE", "The account export of your spend tool.", REQUIRED),
    complete: bool = option("--complete", "The list has all accounts: forget those that it lacks.", False),
    mapping: list[str] | None = reading.MAPPING,
) -> None:
    """Import the list of accounts that were created elsewhere.

    Example: bktools accounts import accounts.csv
    """
    from bktools.inputs.readers.accounts import read_accounts

    with books.connected() as service:
        rows = reading.read(read_accounts, "accounts", file, mapping)
        accounts = bktools.import_accounts(rows, company=books.company, complete=complete, service=service)
    about, count = accounts.attrs["bktools"], len(accounts)
    retired = about["retired"]
    text.report(
        reading.recognised(about["imported"]),
        words()("command.accounts_gone", count=len(retired)) if retired else "",
        words()("command.accounts_known", count=count),
        imported=about["imported"]["rows"],
        known=count,
        no_longer_known=retired,
    )
