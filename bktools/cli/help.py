"""What every command has in common: messages name its options, and its exit code is what it returns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperCommand, TyperGroup

from bktools import caller
from bktools.cli.output import tell

ANYWHERE = "Also, in any place: --quiet, --verbose, --language, --log-level (see bktools --help)."


@contextmanager
def _named_options(command: Any) -> Iterator[None]:
    """Make messages name the command's options, and print warnings as lines, while the context lasts."""
    names = {
        one.name: one.metavar or one.opts[0] if one.param_type_name == "argument" else one.opts[0]
        for one in command.params
    }
    with caller.command(names), warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: tell(f"bktools: {message}")
        yield


class _Named:
    """What a command and a group have in common."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments."""
        with _named_options(self):
            return super().parse_args(ctx, args)  # type: ignore[misc]

    def invoke(self, ctx: Any) -> None:
        """Run the function, and end with the exit code that it returns."""
        with _named_options(self):
            code = super().invoke(ctx)  # type: ignore[misc]
        if code:
            ctx.exit(code)


class Command(_Named, TyperCommand):
    """A command that ends with the exit code that its function returns."""


class Group(_Named, TyperGroup):
    """A group of commands, which may be a command itself."""
