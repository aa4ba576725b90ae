"""`bktools config`: which settings are in force and where each came from."""

from __future__ import annotations

import typer

from bktools.cli.options import Environment, Sandbox


def config(environment: Environment = None, sandbox: Sandbox = False) -> None:
    """Show the settings in force and where each comes from, secrets masked.

    Example: BKTOOLS_ENVIRONMENT=staging bktools config
    """
    from bktools.settings import SETTINGS, Secret, load_settings

    settings = load_settings("sandbox" if sandbox else environment)
    rows = [("environment", settings.environment, settings.sources["environment"])]
    for name in SETTINGS:
        value = getattr(settings, name)
        shown = "set, not shown" if isinstance(value, Secret) else "" if value is None else str(value)
        rows.append((name, shown, settings.sources[name]))
    widths = [max(len(row[place]) for row in rows) for place in range(2)]
    for name, value, source in rows:
        typer.echo(f"{name:<{widths[0]}}  {value:<{widths[1]}}  {source}")
