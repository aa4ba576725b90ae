"""The help of a command: its options in groups, and the options that every command takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Options that declare no group.
OWN = "Options"
EVERYWHERE = "Also, in any place: --quiet, --verbose, --log-format and --log-level; bktools --help explains them."


class Command(TyperCommand):
    """A command whose help has its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the groups of options."""
        _write_groups(self.get_params(ctx), ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the options of every command, then the exit codes."""
        formatter.write_paragraph()
        formatter.write_text(EVERYWHERE)
        super().format_epilog(ctx, formatter)


class Group(TyperGroup):
    """A group whose own options are in groups, too."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the groups of options and the list of commands."""
        _write_groups(self.get_params(ctx), ctx, formatter)
        self.format_commands(ctx, formatter)


def show_help(group: Any, arguments: Sequence[str]) -> bool:
    """Print the help that `COMMAND --help` asks for; return whether the arguments are only that.

    Parsing would import Typer's library of types, which takes as long as all the rest.
    """
    *words, last = arguments or [""]
    if last != "--help" or not words:
        return False
    context = group.context_class(group, info_name="bktools")
    for word in words:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            return False
        context = group.context_class(group, info_name=word, parent=context)
    typer.echo(group.get_help(context), color=True)
    return True


def _write_groups(parameters: Iterable[Any], ctx: Any, formatter: Any) -> None:
    groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], OWN: []}
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        if record is not None:
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or OWN
            groups.setdefault(title, []).append(record)
    for title, records in groups.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
