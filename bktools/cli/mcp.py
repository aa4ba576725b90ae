"""`bktools mcp`: an assistant prepares a month, and cannot book."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

import bktools
from bktools.caller import install_command
from bktools.cli import options, reading
from bktools.cli.exits import described
from bktools.cli.options import REQUIRED, option, same, the_company
from bktools.errors import ArgumentError, ConfigurationError
from bktools.progress import hushed


def mcp(
    books: options.Books,
    folder: list[Path] = option(
        "--folder FOLDER",
        "Folder of the files that may be read. May be repeated; results are written to bktools-prepared "
        "in the first one.",
        REQUIRED,
        exists=True,
        file_okay=False,
    ),
    http: int | None = option(
        "--http PORT",
        "Serve HTTP on loopback instead, with a new token; 0 is any free port.",
        min=0,
        max=65535,
    ),
    print_config: bool = option("--print-config", "Print the settings for a client, and end.", False),
) -> None:
    """Let an assistant prepare a month (MCP server); it cannot book.

    The assistant reads, compares and plans. It cannot send: a person runs the commands that it shows.

    Example: bktools mcp --folder . --sandbox --print-config
    """
    roots = [path.resolve() for path in folder]
    named = {"environment": books.name, "company": books.company}
    if print_config:
        if http is not None:
            raise ArgumentError("--print-config", "cannot be combined with --http, which prints its own")
        words = [word for root in roots for word in ("--folder", str(root))]
        words += [word for name, value in named.items() if value for word in (f"--{name}", value)]
        _print_config({"command": sys.executable, "args": ["-m", "bktools", "mcp", *words]})
        return
    try:
        from bktools.agents import server
    except ImportError as error:
        if str(error.name).startswith("bktools"):
            raise
        raise ConfigurationError(f"{error.name} is missing: {install_command('mcp')}") from error
    from bktools.agents.desk import Desk
    from bktools.agents.folders import Folders
    from bktools.agents.reading import ReadingService

    opened = bktools.connect(named["environment"], company=books.company)
    with ReadingService(opened.settings, on_close=opened.close) as service:
        desk = Desk(
            service,
            company=the_company(service.settings),
            environment=same(service.settings, company=False),
            read=reading.read,
            folders=Folders(roots),
            step=lambda _: None,
        )
        hushed.set()
        if http is None:
            server.serve_stdio(desk, described)
        else:
            server.serve_http(desk, described, http, _print_config)


def _print_config(settings: Mapping[str, Any]) -> None:
    typer.echo(json.dumps({"mcpServers": {"bktools": settings}}, indent=2))
