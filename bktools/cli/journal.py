"""`bktools journal`: the durable memory of what was sent."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Annotated

import typer

from bktools.cli.options import Environment, Sandbox, conversation

app = typer.Typer(help="The journal: the only memory of what was sent.", no_args_is_help=True)


@app.command("backup")
def backup(
    target: Annotated[Path | None, typer.Argument(help="File to write; named after the time by default.")] = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
) -> None:
    """Write a copy of the journal, whole at an instant; also while something is being sent.

    Example: bktools journal backup
    """
    from bktools.journal.journal import Journal

    path = target or Path(f"bktools-journal-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%SZ}.sqlite")
    with conversation(environment, sandbox=sandbox) as service, Journal(service.settings) as journal:
        journal.backup(path)
        typer.echo(f"{journal.path} was copied to {path}")
