"""`bktools compare`: what changed between two months or two moments."""

from __future__ import annotations

from typing import Annotated

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.output import remark, tell


@results.table
def compare(
    before: Annotated[
        str,
        typer.Argument(metavar="BEFORE", help="A month, as 2026-10, or a moment, as 2026-10-31 or 2026-10-31T18:00Z."),
    ],
    after: Annotated[
        str | None,
        typer.Argument(metavar="AFTER", help="A later month or moment. Default: now, where BEFORE is a moment."),
    ] = None,
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
) -> None:
    """Show what changed between two months or two moments.

    Exported amounts, categories, accounts and employees are compared.

    Example: bktools compare 2026-10 2026-11
    """
    from bktools.cli.tables import counted
    from bktools.reports.changes import compare

    with (
        options.connected(environment, sandbox=sandbox, company=company) as service,
        command({"before": "BEFORE", "after": "AFTER"}),
    ):
        changes = compare(before, after, company=options.the_company(service), service=service)
    about = changes.attrs["bktools"]
    for reason in about["not_compared"]:
        tell(f"not compared: {reason}")
    remark(f"{counted(len(changes), 'difference')} between {about['before']} and {about['after']}")
    results.hand_over(changes, [name for name in changes.columns if name not in ("company_id", "id")])
