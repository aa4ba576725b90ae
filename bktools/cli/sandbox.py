"""`bktools sandbox`: the embedded service by itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bktools.caller import set_variables
from bktools.cli import results
from bktools.cli.options import REQUIRED, argument, option
from bktools.consoles import listed
from bktools.progress import hushed, note
from bktools.visible import visible_line
from bktools.wording import words

if TYPE_CHECKING:
    from bktools.sandbox import Server

app = typer.Typer(help="The embedded service: serve, reset, sample files.", no_args_is_help=True)


@app.command("serve")
def serve(
    text: results.Text,
    port: int = option("--port PORT", "Port on loopback; by default any free one.", 0, min=0, max=65535),
    fault: list[str] | None = option(
        "--fault FAULT",
        "Fault to inject, such as error:times=3,status=503; repeatable. bktools guide programs lists them.",
    ),
) -> None:
    """Serve the sandbox until Ctrl-C; print how to connect.

    Each request is a line on standard error.

    Example: bktools sandbox serve --port 8765
    """
    from bktools.sandbox import Server
    from bktools.settings import load_settings

    folder = load_settings("sandbox").state_dir
    with Server(folder, port=port, faults=fault or (), on_request=_on_request) as server:
        try:
            _report(server, text)
            server.wait()
        except KeyboardInterrupt:
            text.say(words()("done.stopped"))


def _report(server: Server, text: results.Text) -> None:
    """Write how to connect to a server, by the names of the settings."""
    settings = {**server.access, "company": server.company_id}
    variables = {f"BKTOOLS_{name.upper()}": value for name, value in settings.items()}
    facts = {**settings, "state": server.file}
    how = words()("command.sandbox_serves")
    text.report(*listed(facts.items()), f"{how}\n", set_variables(variables), "bktools categories", **facts)


def _on_request(method: str, path: str, status: int | None, seconds: float) -> None:
    # The threads of the server are outside of the command.
    line = f"{method} {visible_line(path)} {status or 'no answer'} {seconds * 1000:.0f} ms"
    note(line, shown=not hushed.is_set())


@app.command("reset")
def reset(
    text: results.Text,
    yes: bool = option("--yes", "Do not ask.", False),
) -> None:
    """Delete the sandbox and its journal. Real books are not touched.

    Example: bktools sandbox reset --yes
    """
    from bktools.connection import forget_sandbox
    from bktools.settings import load_settings

    settings = load_settings("sandbox")
    if not yes:
        typer.confirm(words()("done.delete_sandbox", folder=settings.state_dir), abort=True)
    forget_sandbox(settings)
    text.report(words()("done.new_sandbox"), removed=settings.state_dir)


@app.command("sample-data")
def sample_data(
    text: results.Text,
    folder: Path = argument("FOLDER", "Folder to write to.", REQUIRED),
) -> None:
    """Write sample files: chart of accounts, entries, account list.

    The last file is an example of the account list that a service's user interface exports. Import it with:
    bktools accounts import accounts.csv --sandbox

    Example: bktools sandbox sample-data data
    """
    from bktools.disk import storage_errors
    from bktools.sandbox.sample import write_account_list, write_sample_data

    with storage_errors(folder):
        written = (*write_sample_data(folder), write_account_list(folder))
    text.report(*map(str, written), files=written)
