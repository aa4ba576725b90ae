"""`bktools config`: which settings are in force and where each came from."""

from __future__ import annotations

import typer

from bktools.cli import options


def config(environment: options.Environment = None, sandbox: options.Sandbox = False) -> None:
    """Show the settings in force and where each comes from, secrets masked.

    Example: BKTOOLS_ENVIRONMENT=staging bktools config
    """
    from bktools.journal.journal import identity_of
    from bktools.settings import load_settings

    settings = load_settings(options.selected(environment, sandbox=sandbox))
    typer.echo(settings)
    typer.echo(f"  {'journal':<20} {identity_of(settings)}")
