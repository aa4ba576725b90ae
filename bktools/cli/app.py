"""The commands put together. Heavy libraries are imported when a command runs, not here."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer

from bktools.cli import (
    accounts,
    balance,
    check,
    compare,
    config,
    export,
    fixes,
    guide,
    journal,
    ledger,
    mappings,
    month_end,
    periods,
    reconcile,
    sandbox,
    snapshots,
    spend,
    verify,
)
from bktools.cli.exits import exit_codes
from bktools.cli.help import Command, Group
from bktools.cli.loading import loader
from bktools.cli.unattended import LogFormat, LogLevel
from bktools.contract import NOUNS

app = typer.Typer(
    name="bktools",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=exit_codes(),
)

app.command("month-end")(month_end.month_end)
app.command("reconcile")(reconcile.reconcile)
app.command("ledger")(ledger.ledger)
app.command("fixes")(fixes.fixes)
app.command("verify")(verify.verify)
app.command("spend")(spend.spend)
for noun in NOUNS:
    app.command(noun.name.replace("_", "-"))(loader(noun))
app.command("compare")(compare.compare)
app.command("balance")(balance.balance)
app.command("check")(check.check)
app.command("config")(config.config)
app.command("guide")(guide.guide)
app.add_typer(accounts.app, name="accounts")
app.add_typer(export.app, name="export")
app.add_typer(journal.app, name="journal")
app.add_typer(mappings.app, name="mappings")
app.add_typer(periods.app, name="periods")
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(snapshots.app, name="snapshots")


def _with_help(group: typer.Typer) -> None:
    for command in group.registered_commands:
        assert command.callback is not None
        command.cls, command.epilog = Command, exit_codes(inspect.signature(command.callback).parameters)
    for nested in group.registered_groups:
        nested.cls, nested.epilog = Group, exit_codes()
        if nested.typer_instance is not None:
            _with_help(nested.typer_instance)


_with_help(app)


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
    log_level: Annotated[
        LogLevel | None,
        typer.Option("--log-level", help="Log this level and worse. Default: info, with --quiet warning."),
    ] = None,
) -> None:
    """Bookkeeping service data: load, reconcile, export once, report.

    The options below may stand anywhere in a command.

    Try it without a service: bktools month-end --sandbox. Read more: bktools guide
    """
