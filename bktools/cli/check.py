"""`bktools check`: can this machine work with the service, and if not, what is the way out."""

from __future__ import annotations

import typer

from bktools.cli import options, results
from bktools.cli.exits import Exit, exit_of
from bktools.cli.options import option, selected, settings_of
from bktools.progress import note
from bktools.visible import visible_line


def check(
    accept_address: bool = option(
        "--accept-address", "Record that the environment has the present address from now on.", False
    ),
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    company: options.Company = None,
    format: results.Table = results.TableFormat.TABLE,
) -> Exit:
    """Check service, company, clock, journal and disk.

    Nothing is written to the service, and no secret is shown. The exit code is that of the first failed
    check.

    Example: bktools check --environment staging
    """
    from bktools.checkup import checks

    if accept_address:
        _accept(environment, sandbox, company)
    done = []
    for checked in checks(selected(environment, sandbox), company=company):
        done.append(checked)
        if format is results.TableFormat.TABLE:
            typer.echo(visible_line(f"{checked.outcome:<8} {checked.check:<14} {checked.message}"))
            if checked.to_do:
                typer.echo(f"{'':<23} {visible_line(checked.to_do)}")
    if format is not results.TableFormat.TABLE:
        rows = [(checked.check, checked.outcome, checked.message, checked.to_do or None) for checked in done]
        results.hand_over(results.table_of(rows, ["check", "outcome", "message", "to_do"]), format)
    return next((exit_of(checked.error) for checked in done if checked.error), Exit.DONE)


def _accept(environment: str | None, sandbox: bool, company: str | None) -> None:
    from bktools.journal.environments import accept_address

    settings = settings_of(environment, sandbox, company)
    changed = accept_address(settings)
    note(
        f"{settings.environment} had the address {changed[0]} and has {changed[1]} from now on"
        if changed
        else f"{settings.environment} has the address {settings.identity} already"
    )
