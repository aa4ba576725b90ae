"""`bktools sandbox`: the embedded service by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="The embedded service: serve it, forget its state, write its sample files.", no_args_is_help=True
)


@app.command("serve")
def serve(
    port: Annotated[int, typer.Option("--port", help="On loopback; a free one by default.")] = 0,
    seed: Annotated[int, typer.Option("--seed", help="Where a new world comes from.")] = 1,
    companies: Annotated[int, typer.Option("--companies", min=1, help="Companies of a new world.")] = 3,
    categories: Annotated[int, typer.Option("--categories", min=1, help="Categories of its first company.")] = 240,
    employees: Annotated[int, typer.Option("--employees", min=1, help="Employees of its first company.")] = 27,
    latency: Annotated[float, typer.Option("--latency", min=0, help="Milliseconds before every answer.")] = 0.0,
    requests_per_minute: Annotated[
        int | None, typer.Option("--requests-per-minute", min=1, help="More are answered 429.")
    ] = None,
    max_limit: Annotated[int, typer.Option("--max-limit", min=1, help="Rows of a page at most.")] = 100,
) -> None:
    """Serve the sandbox until Ctrl-C; its address and tokens are printed.

    Example: bktools sandbox serve --port 8765
    """
    import time

    from bktools.sandbox import Server
    from bktools.settings import load_settings

    folder = load_settings("sandbox").state_dir
    with Server(
        folder,
        port=port,
        seed=seed,
        companies=companies,
        categories=categories,
        employees=employees,
        latency=latency / 1000,
        requests_per_minute=requests_per_minute,
        max_limit=max_limit,
    ) as server:
        typer.echo(f"address  {server.base_url}\ntoken    {server.token}\nAPI key  {server.api_key}")
        typer.echo(f"balance  {server.balance_url}\n  token  {server.balance_token}\ncompany  {server.company_id}")
        typer.echo(f"state    {folder}\nCtrl-C stops it.")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            typer.echo("stopped; its state is kept")


@app.command("reset")
def reset(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget the sandbox's state, and what the journal remembers of it. Real books are not touched.

    Example: bktools sandbox reset --yes
    """
    from bktools.conversation import forget_sandbox
    from bktools.settings import load_settings

    settings = load_settings("sandbox")
    if not yes:
        typer.confirm(f"Forget the sandbox in {settings.state_dir}, with its journal?", abort=True)
    forget_sandbox(settings)
    typer.echo("The sandbox begins anew at its next start.")


@app.command("sample-data")
def sample_data(folder: Annotated[Path, typer.Argument(help="Where to write them.")]) -> None:
    """Write the sample chart of accounts and accounting entries of the sandbox's world.

    Example: bktools sandbox sample-data data
    """
    from bktools.sandbox.sample import write_sample_data

    for path in write_sample_data(folder):
        typer.echo(str(path))
