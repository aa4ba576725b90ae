"""The help of a command: its options in groups, and the options that every command takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from bktools import caller
from bktools.cli.options import OWN, SECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERYWHERE = "Also, in any place: --quiet, --verbose, --log-format, --log-level (see bktools --help)."


class Command(TyperCommand):
    """A command whose help has its options in sections, and whose messages name its options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and the sections of options, then the options of every command."""
        _write_sections(self.get_params(ctx), ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(EVERYWHERE)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        names = {
            one.name: one.metavar or one.opts[0] if one.param_type_name == "argument" else one.opts[0]
            for one in self.params
        }
        with caller.command(names):
            return super().invoke(ctx)


class Group(TyperGroup):
    """A group of commands whose own options are in sections, too."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of options and the list of commands."""
        _write_sections(self.get_params(ctx), ctx, formatter)
        self.format_commands(ctx, formatter)


def _write_sections(parameters: Iterable[Any], ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", *SECTIONS)}
    for parameter in parameters:
        record = parameter.get_help_record(ctx)
        if record is not None:
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or OWN
            sections[title].append(record)
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
