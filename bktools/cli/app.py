"""The commands put together. Heavy libraries are imported when a command runs, not here."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

import typer

from bktools.cli import (
    accounts,
    balance,
    check,
    compare,
    config,
    export,
    files,
    fixes,
    guide,
    journal,
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
from bktools.cli.exits import Exit, exit_codes
from bktools.cli.help import ANYWHERE, Command, Group
from bktools.cli.loading import loader
from bktools.cli.log import LogLevel, logged
from bktools.cli.options import option, with_shared_options
from bktools.contract import NOUNS
from bktools.errors import ConfigurationError
from bktools.settings.load import configured_language
from bktools.wording import LANGUAGE_VARIABLE, reader

# In the order of the help.
COMMANDS: tuple[Callable[..., Exit | None], ...] = (
    month_end.month_end,
    files.chart,
    files.entries,
    files.ledger,
    reconcile.reconcile,
    fixes.fixes,
    verify.verify,
    spend.spend,
    versus.versus,
    *map(loader, NOUNS),
    compare.compare,
    mappings.mappings,
    snapshots.snapshots,
    balance.balance,
    check.check,
    mcp.mcp,
    config.config,
    guide.guide,
)
GROUPS = (accounts, export, journal, periods, sandbox)


Language = StrEnum("Language", ["EN", "DE"])

FLAGS = ("--verbose", "--quiet")
WITH_VALUE = ("--log-level", "--language")


class Commands(Group):
    """All commands; the options of `every_command` may stand anywhere in a line."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments, those of every command first."""
        return super().parse_args(ctx, common_first(args))


def common_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the options of every command first, because people add them at the end."""
    common, others = [], []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            others += [argument, *left]
        elif argument in FLAGS or argument.startswith(tuple(f"{name}=" for name in WITH_VALUE)):
            common.append(argument)
        elif argument in WITH_VALUE:
            common.append("=".join([argument, *itertools.islice(left, 1)]))
        else:
            others.append(argument)
    return [*common, *others]


app = typer.Typer(
    name="bktools",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=exit_codes(),
    # Longer lines are hard to read.
    context_settings={"max_content_width": 100},
)

for _command in COMMANDS:
    app.command(cls=Command, epilog=ANYWHERE)(with_shared_options(_command))
for _group in GROUPS:
    for _nested in _group.app.registered_commands:
        assert _nested.callback is not None
        _nested.cls, _nested.epilog = Command, ANYWHERE
        _nested.callback = with_shared_options(_nested.callback)
    if (_callback := _group.app.registered_callback) and _callback.callback:
        _callback.callback = with_shared_options(_callback.callback)
    app.add_typer(_group.app, name=_group.__name__.rpartition(".")[2], cls=Group)


def _version(is_given: bool) -> None:
    if is_given:
        from bktools.release import version_line

        typer.echo(version_line())
        raise typer.Exit


def _read_in(language: Language | None) -> Language | None:
    """Make a language, or the configured one, that of the process."""
    if language is not None:
        os.environ[LANGUAGE_VARIABLE] = language
    # Commands that need no service work without settings, too.
    with suppress(ConfigurationError):
        reader.language = configured_language()
    return language


@app.callback()
def every_command(
    context: typer.Context,
    *,
    version: bool = option(  # noqa: ARG001 - its callback ends the command
        "--version", "Show the version and end.", False, callback=_version, is_eager=True
    ),
    verbose: bool = option(  # noqa: ARG001 - `fail` reads it, also where the arguments cannot be parsed
        "--verbose", "Show the whole traceback of an error.", False
    ),
    quiet: bool = option("--quiet", "Print results, warnings and errors only: no notes and bars.", False),
    log_level: LogLevel | None = option("--log-level", "Log steps and retries of this level and worse."),
    language: Language | None = option(  # noqa: ARG001 - its callback sets it, before an error of the parser
        "--language CODE",
        "Language of results and reports, en or de; by default the configured one.",
        callback=_read_in,
        is_eager=True,
    ),
) -> None:
    """From your spend tool (the service) to the ERP: load, reconcile, export once, close a month, verify.

    The options below may stand anywhere in a command.

    Try it without a service: bktools month-end --sandbox. Read more: bktools guide
    """
    context.with_resource(logged(log_level, quiet=quiet))
