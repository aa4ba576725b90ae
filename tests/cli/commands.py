"""All commands and groups of the command line."""

from __future__ import annotations

from collections.abc import Iterator

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from bktools.cli.app import app

Command = TyperCommand | TyperGroup


def every_command() -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield every command and group with its path, which is empty for `bktools`."""
    waiting: list[tuple[tuple[str, ...], Command]] = [((), get_command(app))]
    while waiting:
        path, command = waiting.pop()
        yield path, command
        waiting += [((*path, name), one) for name, one in getattr(command, "commands", {}).items()]


def working_commands() -> dict[str, Command]:
    """Return each command that does something by itself, by its path."""
    found = {" ".join(path): command for path, command in every_command() if path}
    return {
        path: command
        for path, command in found.items()
        if not isinstance(command, TyperGroup) or command.invoke_without_command
    }
