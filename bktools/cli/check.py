"""`bktools check`: can this machine work with the service, and if not, what is the way out."""

from __future__ import annotations

import typer

from bktools.cli import options, results
from bktools.cli.exits import Exit, exit_of
from bktools.cli.options import Company, option
from bktools.progress import note
from bktools.visible import visible_line
from bktools.wording import words


def check(
    books: options.Company,
    table: results.Table,
    accept_address: bool = option("--accept-address", "Confirm the environment's new address, once.", False),
) -> Exit:
    """Check service, company, journal and disk.

    Nothing is written to the service, and no secret is shown. The exit code is that of the first failed
    check.

    Example: bktools check --environment staging
    """
    from bktools.checkup import checks

    if accept_address:
        _accept(books)
    done = []
    for checked in checks(books.name, company=books.company):
        done.append(checked)
        if table.is_for_people:
            outcome, name = words().name("check", checked.outcome), words().name("check", checked.check)
            typer.echo(visible_line(f"{outcome:<10} {name:<14} {checked.message}"))
            if checked.to_do:
                typer.echo(f"{'':<25} {visible_line(checked.to_do)}")
    if not table.is_for_people:
        rows = [(checked.check, checked.outcome, checked.message, checked.to_do or None) for checked in done]
        table.hand_over_rows("check outcome message to_do", rows)
    return next((exit_of(checked.error) for checked in done if checked.error), Exit.DONE)


def _accept(books: Company) -> None:
    from bktools.journal.writing import accept_address

    settings = books.settings()
    changed = accept_address(settings)
    before, after = changed or (settings.identity, None)
    code = "address_accepted" if changed else "address_unchanged"
    note(words()(f"checkup.{code}", environment=settings.environment, before=before, after=after))
