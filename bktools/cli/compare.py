"""`bktools compare`: what changed between two months or two moments."""

from __future__ import annotations

import bktools
from bktools.cli import options, results
from bktools.cli.options import REQUIRED, argument
from bktools.cli.output import tell
from bktools.progress import note
from bktools.wording.numbers import counted


@results.table
def compare(
    connection: options.ConnectsToCompany,
    before: str = argument(
        "BEFORE", "A month, such as 2026-10, or a moment, such as 2026-10-31 or 2026-10-31T18:00Z.", REQUIRED
    ),
    after: str | None = argument(
        "AFTER", "A later month or moment; by default now, where BEFORE is a moment."
    ),
    threshold: str | None = options.CHANGES_FROM,
) -> None:
    """Show what changed between two months or two moments.

    Exported amounts, categories, accounts and employees are compared.

    Example: bktools compare 2026-10 2026-11
    """
    changes = bktools.compare(
        before, after, company=connection.company_id, threshold=threshold, service=connection.service
    )
    about = changes.attrs["bktools"]
    for reason in about["not_compared"]:
        tell(f"not compared: {reason}")
    for line in about["headline"]:
        note(line)
    smaller = about["below_threshold"]
    left = f", {counted(smaller, 'smaller one', 'smaller ones')} left out" if smaller else ""
    note(f"{counted(len(changes), 'difference')} between {about['before']} and {about['after']}{left}")
    shown = [
        name for name in changes.columns if name not in ("company_id", "id") and changes[name].notna().any()
    ]
    results.hand_over(changes, shown)
