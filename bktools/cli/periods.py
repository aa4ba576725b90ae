"""`bktools periods`: the months of a company, their exported and held back entries, and which are closed."""

from __future__ import annotations

import typer

import bktools
from bktools.cli import options, results
from bktools.cli.options import REQUIRED, argument, option
from bktools.progress import note
from bktools.wording import words

app = typer.Typer(
    help="Months: what was exported and held back, open or closed.", invoke_without_command=True
)

MONTH = argument("MONTH", "The month, such as 2026-10.", REQUIRED)


@app.callback()
def show(context: typer.Context, books: options.Company, table: results.Table) -> None:
    """List the months: their state, by whom and when prepared and approved, exported, held back, still open.

    Example: bktools periods
    """
    if context.invoked_subcommand is not None:
        return
    with books.connected() as service:
        periods = bktools.load_periods(books.company, service=service)
    if table.is_for_people:
        note(words()("command.periods"))
    filled = [
        name
        for name in SHOWN_COLUMNS.split()
        if periods.empty or periods[name].astype("str").str.strip().ne("").any()
    ]
    table.hand_over(periods, columns=filled, names={"state": "period_state"})


# What a person reads, where a month has it; files and programs have every column.
SHOWN_COLUMNS = (
    "period state currency exported exported_amount open open_amount in_doubt approved_by verified_by "
    "unverified reason"
)


@app.command("close")
def close(
    books: options.Company,
    text: results.Text,
    month: str = MONTH,
    by: str = options.BY,
    reason: str | None = option("--reason TEXT", "Why; kept permanently."),
) -> None:
    """Close a month. Nothing more is sent into it until it is reopened.

    Example: bktools periods close 2026-10 --by Grace
    """
    with books.connected() as service:
        bktools.close_period(month, by=by, reason=reason, service=service)
    closed = words()("command.closed", month=month, by=by.strip())
    text.report(closed, period=month, state="CLOSED", by=by.strip())


@app.command("reopen")
def reopen(
    books: options.Company,
    text: results.Text,
    month: str = MONTH,
    by: str = options.BY,
    reason: str = option("--reason TEXT", "Why; kept permanently.", REQUIRED),
) -> None:
    """Open a closed month again, with the reason.

    Example: bktools periods reopen 2026-10 --by Grace --reason "invoice 4711 was late"
    """
    with books.connected() as service:
        bktools.reopen_period(month, by=by, reason=reason, service=service)
    reopened = words()("command.reopened", month=month, by=by.strip())
    text.report(reopened, period=month, state="OPEN", by=by.strip())
