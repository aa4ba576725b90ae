"""`bktools check`: can this machine work with the service, and if not, what is the way out."""

from __future__ import annotations

import typer

from bktools.cli import options, results
from bktools.cli.exits import Exit, exit_of
from bktools.visible import visible_line


@results.table
def check(connection: options.ConnectsToCompany) -> None:
    """Check service, company, clock, journal and disk.

    Nothing is written to the service, and no secret is shown. The exit code is that of the first check that failed.

    Example: bktools check --environment staging
    """
    import pandas as pd

    from bktools.checkup import FAILED, checks

    done = []
    for one in checks(connection.selected, company=connection.company):
        done.append(one)
        if results.is_for_people():
            typer.echo(visible_line(f"{one.outcome:<8} {one.check:<14} {one.message}"))
            if one.to_do:
                typer.echo(f"{'':<23} {visible_line(one.to_do)}")
    if not results.is_for_people():
        rows = [(one.check, one.outcome, one.message, one.to_do or None) for one in done]
        results.hand_over(pd.DataFrame(rows, columns=["check", "outcome", "message", "to_do"]))
    failed = next((one for one in done if one.outcome == FAILED), None)
    if failed is not None:
        raise typer.Exit(Exit.FAILED if failed.error is None else exit_of(failed.error))
