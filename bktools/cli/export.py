"""`bktools export`: what was exported, and settling what is in doubt."""

from __future__ import annotations

from typing import Annotated

import typer

from bktools.cli.options import Company, Environment, Sandbox, conversation

app = typer.Typer(help="Export jobs: what was sent, and what is in doubt.", no_args_is_help=True)


@app.command("history")
def history(
    company: Company = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
    entries: Annotated[bool, typer.Option("--entries", help="One line an accounting entry.")] = False,
    batch: Annotated[str | None, typer.Option("--batch", help="Only this batch.")] = None,
) -> None:
    """Show the export jobs that were sent from here, and their state.

    Example: bktools export history --entries --batch 3b033ca1ea4749b395bf
    """
    from bktools.cli.tables import show
    from bktools.journal.export_jobs import load_export_jobs

    with conversation(environment, sandbox=sandbox, company=company) as service:
        found = load_export_jobs(company, entries=entries, service=service)
    if batch is not None:
        found = found[found["batch_id"] == batch]
    names = ["entry_id", "batch_id", "state"] if entries else ["batch_id", "state", "entries", "sent_at", "message"]
    show(found[names], most=100_000)


@app.command("resolve")
def resolve(
    batch: Annotated[str, typer.Argument(help="The batch, as the message named it.")],
    outcome: Annotated[str, typer.Option("--outcome", help="accepted: it was booked. released: it was not.")],
    evidence: Annotated[str, typer.Option("--evidence", help="What you looked at and found; kept for good.")],
    by: Annotated[str, typer.Option("--by", help="Who looked.")],
    job: Annotated[str | None, typer.Option("--job", help="UUID of the job, where it was found.")] = None,
    environment: Environment = None,
    sandbox: Sandbox = False,
) -> None:
    """Settle an export job whose outcome is unknown, after looking it up in the accounting system.

    Example: bktools export resolve 3b033ca1ea4749b395bf --outcome released --evidence "no booking of 31 Oct" --by Ada
    """
    from bktools.journal.export_jobs import resolve_export_job

    with conversation(environment, sandbox=sandbox) as service:
        resolve_export_job(batch, outcome, evidence=evidence, by=by, job_id=job, service=service)
    typer.echo(f"batch {batch}: {outcome}, by {by}")
