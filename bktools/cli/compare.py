"""`bktools compare`: what changed between two months."""

from __future__ import annotations

import bktools
from bktools.cli import options, results
from bktools.cli.options import REQUIRED, argument
from bktools.cli.output import tell
from bktools.contract import rules
from bktools.progress import note
from bktools.wording import words


def compare(
    books: options.Company,
    table: results.Table,
    before: str = argument("BEFORE", "A month, such as 2026-10.", REQUIRED),
    after: str = argument("AFTER", "A later one.", REQUIRED),
    threshold: str | None = options.THRESHOLD,
) -> None:
    """Show what changed between two months.

    Exported amounts, categories, accounts and employees are compared.

    Example: bktools compare 2026-10 2026-11
    """
    with books.connected() as service:
        changes = bktools.compare(
            before, after, company=rules.company_of(service.settings), threshold=threshold, service=service
        )
    texts, about = words(), changes.attrs["bktools"]
    for reason in about["not_compared"]:
        tell(texts("report.terminal.not_compared", phrase=reason))
    for line in about["headline"]:
        note(line)
    smaller = about["below_threshold"] or None
    count = len(changes)
    note(texts("command.differences_between", count=count, before=before, after=after, smaller=smaller))
    shown = [
        name for name in changes.columns if name not in ("company_id", "id") and changes[name].notna().any()
    ]
    table.hand_over(changes, columns=shown, names=dict.fromkeys(("table", "change"), "change"))
