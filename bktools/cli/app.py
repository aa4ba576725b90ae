"""The commands put together. Heavy libraries are imported when a command runs, not here."""

from __future__ import annotations

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
    mcp,
    month_end,
    periods,
    reconcile,
    sandbox,
    snapshots,
    spend,
    verify,
    versus,
)
from bktools.cli.exits import exit_codes
from bktools.cli.help import Command, Group
from bktools.cli.loading import loader
from bktools.cli.options import option
from bktools.cli.output import TextFormat
from bktools.cli.unattended import LogLevel
from bktools.contract import NOUNS

# In the order of the help.
COMMANDS = (
    month_end.month_end,
    reconcile.reconcile,
    ledger.ledger,
    fixes.fixes,
    verify.verify,
    spend.spend,
    versus.versus,
    *map(loader, NOUNS),
    compare.compare,
    balance.balance,
    check.check,
    mcp.mcp,
    config.config,
    guide.guide,
)
GROUPS = (accounts, export, journal, mappings, periods, sandbox, snapshots)

app = typer.Typer(
    name="bktools",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=exit_codes(),
    # Longer lines are hard to read.
    context_settings={"max_content_width": 100},
)

for _command in COMMANDS:
    app.command(cls=Command)(_command)
for _group in GROUPS:
    for _nested in _group.app.registered_commands:
        _nested.cls = Command
    app.add_typer(_group.app, name=_group.__name__.rpartition(".")[2], cls=Group)


def _version(is_given: bool) -> None:
    if is_given:
        from bktools.release import version_line

        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def every_command(
    *,
    version: bool = option(
        "--version", "Show version, commit and libraries, and end.", False, callback=_version, is_eager=True
    ),
    verbose: bool = option("--verbose", "Show the whole traceback of an error.", False),
    quiet: bool = option("--quiet", "Print results, warnings and errors only: no notes and bars.", False),
    log_format: TextFormat | None = option(
        "--log-format", "Log each step, wait and retry with its time; json: one object a line."
    ),
    log_level: LogLevel | None = option(
        "--log-level", "Log this level and worse. By default info, with --quiet warning."
    ),
) -> None:
    """Bookkeeping service data: load, reconcile, export once, report.

    The options below may stand anywhere in a command.

    Try it without a service: bktools month-end --sandbox. Read more: bktools guide
    """
