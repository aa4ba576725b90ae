"""`bktools sandbox`: the embedded service by itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bktools import caller
from bktools.cli import results
from bktools.cli.options import REQUIRED, Group, argument, option
from bktools.progress import hushed, note
from bktools.visible import visible_line

app = typer.Typer(help="The embedded service: serve, reset, sample files, faults.", no_args_is_help=True)


# The facts that a client needs, by their names in JSON, with the attribute of the server.
ATTRIBUTES = {
    "address": "base_url",
    "token": "token",
    "api_key": "api_key",
    "company": "company_id",
    "balance": "balance_url",
    "balance_token": "balance_token",
}

HOW_TO_CONNECT = """\
address  {address}
token    {token}
API key  {api_key}
balance  {balance}
  token  {balance_token}
company  {company}
state    {file}
Ctrl-C stops it. To paste into another terminal, as if it were a real service:

{variables}
{curl}bktools categories
"""

CURL = """\
curl -s "$BKTOOLS_BASE_URL/v1/bookkeeping-categories:search?limit=2" \
-H "Authorization: Bearer $BKTOOLS_TOKEN" \
-H "Content-Type: application/json" -d '{"companyId": "'$BKTOOLS_COMPANY'"}'
"""


@dataclass(frozen=True)
class World:
    """The options that `Server` takes as its arguments."""

    port: int = option("--port PORT", "Port on loopback; 0 is any free port.", 0, min=0, max=65535)
    balance_port: int = option(
        "--balance-port PORT", "Port of the balance host; 0 is any free port.", 0, min=0, max=65535
    )
    db: Path | None = option(
        "--db FILE", "File of the state; by default one in the data folder.", dir_okay=False
    )
    seed: int = option("--seed NUMBER", "Seed of a new world.", 1)
    companies: int = option("--companies COUNT", "Companies of a new world.", 3, min=1)
    categories: int = option("--categories COUNT", "Categories of its first company.", 240, min=0)
    employees: int = option("--employees COUNT", "Employees of its first company.", 27, min=0)
    requests_per_minute: int | None = option(
        "--requests-per-minute COUNT", "Further requests are answered 429.", min=1
    )
    max_limit: int = option("--max-limit COUNT", "The most rows of a page.", 100, min=1)


@app.command("serve")
@results.text
def serve(
    world: Annotated[World, Group(World)],
    latency: float = option("--latency MILLISECONDS", "Milliseconds before every answer.", 0.0, min=0),
    fault: list[str] | None = option(
        "--fault FAULT",
        "Fault to inject, such as error:operation=search_categories,times=3,status=503; may be repeated. "
        "bktools sandbox faults lists them.",
    ),
) -> None:
    """Serve the sandbox until Ctrl-C; print how to connect.

    Each request is a line on standard error.

    Example: bktools sandbox serve --port 8765
    """
    from bktools.sandbox import Server
    from bktools.settings import load_settings

    state = load_settings("sandbox").state_dir
    server = Server(state, latency=latency / 1000, faults=fault or (), on_request=_on_request, **vars(world))
    with server:
        try:
            values = {name: getattr(server, attribute) for name, attribute in ATTRIBUTES.items()}
            variables = {
                f"BKTOOLS_{attribute.removesuffix('_id').upper()}": values[name]
                for name, attribute in ATTRIBUTES.items()
            }
            text = HOW_TO_CONNECT.format(
                **values,
                file=server.file,
                variables=caller.set_variables(variables),
                # The line is for sh.
                curl="" if caller.ON_WINDOWS else CURL,
            )
            results.report(text if results.is_for_people() else "", state=server.file, **values)
            server.wait()
        except KeyboardInterrupt:
            results.say("stopped; its state is kept")


def _on_request(method: str, path: str, status: int | None, seconds: float) -> None:
    # The threads of the server are outside of the command.
    note(
        f"{method} {visible_line(path)} {status or 'no answer'} {seconds * 1000:.0f} ms",
        shown=not hushed.is_set(),
    )


@app.command("reset")
@results.text
def reset(yes: bool = option("--yes", "Do not ask.", False)) -> None:
    """Delete the sandbox and its journal. Real books are not touched.

    Example: bktools sandbox reset --yes
    """
    from bktools.connection import forget_sandbox
    from bktools.settings import load_settings

    settings = load_settings("sandbox")
    if not yes:
        typer.confirm(f"Delete the sandbox in {settings.state_dir}, with its journal?", abort=True)
    forget_sandbox(settings)
    results.report("The next start makes a new sandbox.", removed=settings.state_dir)


@app.command("sample-data")
@results.text
def sample_data(folder: Path = argument("FOLDER", "Folder to write to.", REQUIRED)) -> None:
    """Write sample files: chart of accounts, entries, account list.

    The last file is an example of the account list that a service's user interface exports. Import it with:
    bktools accounts import accounts.csv --sandbox

    Example: bktools sandbox sample-data data
    """
    from bktools.disk import storage_errors
    from bktools.sandbox.sample import write_account_list, write_sample_data

    with storage_errors(folder):
        written = (*write_sample_data(folder), write_account_list(folder))
    results.report(*map(str, written), files=written)


@app.command("faults")
@results.table
def faults() -> None:
    """List the kinds, options and operations of --fault.

    A fault is a kind with options: error:operation=search_categories,times=3

    Example: bktools sandbox faults
    """
    from bktools.sandbox.faults import KINDS, OPERATIONS, OPTIONS

    words = {"kind": KINDS, "option": OPTIONS, "operation": dict.fromkeys(OPERATIONS, "")}
    rows = [(is_a, name, meaning) for is_a, named in words.items() for name, meaning in named.items()]
    results.hand_over_rows(rows, ["is_a", "name", "meaning"])
