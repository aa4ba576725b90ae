"""`bktools config`: which settings are in force and where each came from."""

from __future__ import annotations

import typer

from bktools.cli import options, results
from bktools.wording import words


def config(books: options.Environment, table: results.Table) -> None:
    """Show the settings in force and their sources, secrets masked.

    Example: BKTOOLS_ENVIRONMENT=staging bktools config
    """
    from bktools.journal.journal import identity_of
    from bktools.settings import config_path
    from bktools.settings.values import listed_settings

    settings, file, texts = books.settings(), config_path(), words()
    shown = str(file) if file.exists() else texts("command.no_config_yet", file=file)
    rows = [
        *settings.rows(),
        (texts("command.journal_in_use"), identity_of(settings), ""),
        (texts("command.config_file"), shown, ""),
    ]
    if table.is_for_people:
        typer.echo("\n".join([texts("command.settings"), *listed_settings(rows)]))
        return
    table.hand_over_rows("setting value source", [[text or None for text in row] for row in rows])
