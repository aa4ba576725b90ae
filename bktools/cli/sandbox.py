"""`bktools sandbox`: the embedded service by itself."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bktools import caller
from bktools.cli import results
from bktools.progress import hushed
from bktools.visible import visible_line

if TYPE_CHECKING:
    from bktools.sandbox import Server

log = logging.getLogger("bktools")

app = typer.Typer(help="The embedded service: serve, reset, sample files, faults.", no_args_is_help=True)


# The variables of curl's lines, and the settings of bktools that have the same value.
VARIABLES = {
    "ADDRESS": "BKTOOLS_BASE_URL",
    "TOKEN": "BKTOOLS_TOKEN",
    "API_KEY": "BKTOOLS_API_KEY",
    "COMPANY": "BKTOOLS_COMPANY",
    "BALANCE": "BKTOOLS_BALANCE_URL",
    "BALANCE_TOKEN": "BKTOOLS_BALANCE_TOKEN",
}

HOW_TO_CONNECT = """\
address  {ADDRESS}
token    {TOKEN}
API key  {API_KEY}
balance  {BALANCE}
  token  {BALANCE_TOKEN}
company  {COMPANY}
state    {file}
Ctrl-C stops it. To paste into another terminal, as if it were a real service:
"""

FOR_CURL = """
{variables}
curl -s "$ADDRESS/v1/bookkeeping-categories:search?limit=2" -H "Authorization: Bearer $TOKEN" \
-H "Content-Type: application/json" -d '{{"companyId": "'$COMPANY'"}}'

or for bktools:
"""

FOR_BKTOOLS = """
{variables}
bktools categories
"""


@app.command("serve")
@results.facts
def serve(
    context: typer.Context,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port on loopback; 0 is any free port.")
    ] = 0,
    balance_port: Annotated[
        int,
        typer.Option(
            "--balance-port", metavar="PORT", min=0, max=65535, help="Port of the balance host; 0 is any free port."
        ),
    ] = 0,
    db: Annotated[
        Path | None,
        typer.Option(
            "--db", metavar="FILE", dir_okay=False, help="File of the state; one in the data folder by default."
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Seed of a new world.")] = 1,
    companies: Annotated[
        int, typer.Option("--companies", metavar="COUNT", min=1, help="Companies of a new world.")
    ] = 3,
    categories: Annotated[
        int, typer.Option("--categories", metavar="COUNT", min=0, help="Categories of its first company.")
    ] = 240,
    employees: Annotated[
        int, typer.Option("--employees", metavar="COUNT", min=0, help="Employees of its first company.")
    ] = 27,
    latency: Annotated[
        float, typer.Option("--latency", metavar="MILLISECONDS", min=0, help="Milliseconds before every answer.")
    ] = 0.0,
    requests_per_minute: Annotated[
        int | None,
        typer.Option("--requests-per-minute", metavar="COUNT", min=1, help="Further requests are answered 429."),
    ] = None,
    max_limit: Annotated[
        int, typer.Option("--max-limit", metavar="COUNT", min=1, help="Rows of a page at most.")
    ] = 100,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="FAULT",
            help="Fault to inject, such as error:operation=search_categories,times=3,status=503; may be repeated. "
            "Kinds: latency, rate_limited, error, reset, drop, cut, cut_gzip, corrupt, drift. Their options: "
            "bktools sandbox faults.",
        ),
    ] = None,
) -> None:
    """Serve the sandbox until Ctrl-C; print how to connect.

    Each request is a line on standard error.

    Example: bktools sandbox serve --port 8765
    """
    from bktools.sandbox import Server
    from bktools.settings import load_settings

    server = Server(
        load_settings("sandbox").state_dir,
        port=port,
        seed=seed,
        companies=companies,
        categories=categories,
        employees=employees,
        latency=latency / 1000,
        requests_per_minute=requests_per_minute,
        max_limit=max_limit,
        faults=fault or (),
        db=db,
        balance_port=balance_port,
        on_request=_tell,
    )
    of_new_world = [name for name in ("seed", "companies", "categories", "employees") if _is_given(context, name)]
    if of_new_world and server.file.exists():
        options = ", ".join(f"--{name}" for name in of_new_world)
        typer.echo(f"{server.file} holds a world already, which is kept: {options} is for a new one", err=True)
    with server:
        try:
            if results.is_for_people():
                results.say(_how_to_connect(server))
            results.result(state=server.file, **{name.lower(): value for name, value in _values(server).items()})
            server.wait()
        except KeyboardInterrupt:
            results.say("stopped; its state is kept")


def _tell(method: str, path: str, status: int | None, seconds: float) -> None:
    """Print or log one line about a request: method, path, status and milliseconds."""
    line = f"{method} {visible_line(path)} {status or 'no answer'} {seconds * 1000:.0f} ms"
    if hushed.is_set():
        log.info("%s", line)
    else:
        print(line, file=sys.stderr, flush=True)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _values(server: Server) -> dict[str, str]:
    return {
        "ADDRESS": server.base_url,
        "TOKEN": server.token,
        "API_KEY": server.api_key,
        "COMPANY": server.company_id,
        "BALANCE": server.balance_url,
        "BALANCE_TOKEN": server.balance_token,
    }


def _how_to_connect(server: Server) -> str:
    values = _values(server)
    settings = {VARIABLES[name]: value for name, value in values.items()}
    return "".join(
        [
            HOW_TO_CONNECT.format(**values, file=server.file),
            # curl's line is for sh.
            "" if caller.ON_WINDOWS else FOR_CURL.format(variables=caller.set_variables(values)),
            FOR_BKTOOLS.format(variables=caller.set_variables(settings)),
        ]
    )


@app.command("reset")
@results.facts
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete the sandbox and its journal. Real books are not touched.

    Example: bktools sandbox reset --yes
    """
    from bktools.connection import forget_sandbox
    from bktools.settings import load_settings

    settings = load_settings("sandbox")
    if not yes:
        typer.confirm(f"Delete the sandbox in {settings.state_dir}, with its journal?", abort=True)
    forget_sandbox(settings)
    results.say("The next start makes a new sandbox.")
    results.result(removed=settings.state_dir)


@app.command("sample-data")
@results.facts
def sample_data(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write to.")]) -> None:
    """Write sample files: chart of accounts, entries, account list.

    The last file is an example of the account list that a service's user interface exports. Import it with: bktools accounts import
    accounts.csv --sandbox

    Example: bktools sandbox sample-data data
    """
    from bktools.disk import told
    from bktools.errors import StorageError
    from bktools.sandbox.sample import write_account_list, write_sample_data

    try:
        written = (*write_sample_data(folder), write_account_list(folder))
    except OSError as error:
        raise StorageError(f"the sample files cannot be written to {folder}: {told(error)}") from error
    for path in written:
        results.say(str(path))
    results.result(files=written)


@app.command("faults")
@results.table
def faults() -> None:
    """List the faults that --fault of the sandbox takes.

    Example: bktools sandbox faults
    """
    import pandas as pd

    from bktools.sandbox.faults import KINDS, OPERATIONS, OPTIONS

    words = {"kind": KINDS, "option": OPTIONS, "operation": dict.fromkeys(OPERATIONS, "")}
    lines = ["--fault KIND, or KIND:OPTION=VALUE,OPTION=VALUE such as error:operation=search_categories,times=3", ""]
    for title in ("kind", "option"):
        lines += [f"{title.capitalize()}s:", *(f"  {name:<13}{meaning}" for name, meaning in words[title].items()), ""]
    lines.append(f"Operations: {', '.join(OPERATIONS)}")
    rows = [(is_a, name, meaning) for is_a, named in words.items() for name, meaning in named.items()]
    results.hand_over(pd.DataFrame(rows, columns=["is_a", "name", "meaning"]), text="\n".join(lines))
