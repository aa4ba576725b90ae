"""The commands put together. Heavy libraries are imported when a command runs, not here."""

from __future__ import annotations

from typing import Annotated

import typer

from bktools.cli import (
    accounts,
    categories,
    compare,
    config,
    employees,
    export,
    fixes,
    journal,
    ledger,
    mappings,
    month_end,
    periods,
    reconcile,
    sandbox,
    snapshots,
    verify,
)
from bktools.cli.exits import TOLD
from bktools.cli.unattended import LogFormat

app = typer.Typer(
    name="bktools",
    help="Bookkeeping service data: load, reconcile, export once, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=TOLD,
)

app.command("month-end")(month_end.month_end)
app.command("reconcile")(reconcile.reconcile)
app.command("ledger")(ledger.ledger)
app.command("fixes")(fixes.fixes)
app.command("verify")(verify.verify)
app.command("categories")(categories.categories)
app.command("employees")(employees.employees)
app.command("compare")(compare.compare)
app.command("config")(config.config)
app.add_typer(accounts.app, name="accounts")
app.add_typer(export.app, name="export")
app.add_typer(journal.app, name="journal")
app.add_typer(mappings.app, name="mappings")
app.add_typer(periods.app, name="periods")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(snapshots.app, name="snapshots")


def _with_exit_codes(group: typer.Typer) -> None:
    for command in group.registered_commands:
        command.epilog = TOLD
    for nested in group.registered_groups:
        nested.epilog = TOLD
        if nested.typer_instance is not None:
            _with_exit_codes(nested.typer_instance)


_with_exit_codes(app)


def _version(asked: bool) -> None:
    if asked:
        from bktools.release import version_line

        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def every_command(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show version, commit and libraries, and end."
        ),
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the whole traceback of an error.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print results, warnings and errors only: no notes, bars and heartbeats.")
    ] = False,
    log_format: Annotated[
        LogFormat | None,
        typer.Option("--log-format", help="Log each step, wait and retry with its time; json: one object a line."),
    ] = None,
) -> None:
    """Bookkeeping service data: load, reconcile, export once, report.

    The options below may stand anywhere in a command.

    Try it without a service: bktools month-end --sandbox
    """
