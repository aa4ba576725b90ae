"""`bktools config`: which settings are in force and where each came from."""

from __future__ import annotations

import typer

from bktools.cli import options, results
from bktools.consoles import listed


def config(
    books: options.Environment,
    table: results.Table,
) -> None:
    """Show the settings in force and their sources, secrets masked.

    Example: BKTOOLS_ENVIRONMENT=staging bktools config
    """
    from bktools.journal.journal import identity_of
    from bktools.settings import config_path

    settings, file = books.settings(), config_path()
    rows = [
        *settings.rows(),
        ("journal in use", identity_of(settings), ""),
        ("config file", f"{file}{'' if file.exists() else ' (none yet)'}", ""),
    ]
    if table.is_for_people:
        lines = [
            (name, "  ".join(filter(None, [value, source and f"({source})"]))) for name, value, source in rows
        ]
        typer.echo("\n".join(["Settings", *listed(lines, indent="  ")]))
        return
    frame = results.table_of(rows, ["setting", "value", "source"]).replace("", None)
    table.hand_over(frame)
