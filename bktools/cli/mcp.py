"""`bktools mcp`: an assistant prepares a month, and cannot book."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from bktools.caller import install_command
from bktools.cli import options
from bktools.cli.exits import described
from bktools.cli.options import REQUIRED, option
from bktools.contract import rules
from bktools.errors import ConfigurationError
from bktools.wording import Sentence


def mcp(
    books: options.Company,
    folder: list[Path] = option(
        "--folder FOLDER",
        "Folder of files to read; repeatable. Results are written to the first one.",
        REQUIRED,
        exists=True,
        file_okay=False,
    ),
    print_config: bool = option("--print-config", "Print the settings for a client, and end.", False),
) -> None:
    """Let an assistant prepare a month (MCP server); it cannot book.

    The assistant reads, compares and plans. It cannot send: a person runs the commands that it shows.

    Example: bktools mcp --folder . --sandbox --print-config
    """
    roots = [path.resolve() for path in folder]
    if print_config:
        words = [word for root in roots for word in ("--folder", str(root))]
        named = {"--environment": books.name, "--company": books.company}
        words += [word for name, value in named.items() if value for word in (name, value)]
        server = {"command": sys.executable, "args": ["-m", "bktools", "mcp", *words]}
        typer.echo(json.dumps({"mcpServers": {"bktools": server}}, indent=2))
        return
    try:
        from bktools.agents.server import serve
    except ImportError as error:
        if str(error.name).startswith("bktools"):
            raise
        facts = {"name": error.name, "command": install_command("mcp")}
        raise ConfigurationError(Sentence("error.missing_library", **facts)) from error
    from bktools.agents.desk import Desk
    from bktools.agents.folders import Folders

    # Connected once, so that what is wrong is an error at the start, and the sandbox has its company.
    with books.connected() as service:
        settings = service.settings
    company = rules.company_of(settings)
    desk = Desk({"environment": settings.environment, "company": company}, Folders(roots))
    serve(desk, described)
