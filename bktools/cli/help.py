"""The help of a command: its options in groups, and the options that every command takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

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
