"""`bktools compare`: what changed between two months."""

from __future__ import annotations

import bktools
from bktools.cli import options, results
from bktools.cli.options import REQUIRED, argument, option
from bktools.cli.output import tell
from bktools.contract import rules
from bktools.progress import note
from bktools.wording import words

KEYS = ("category", "account", "employee")


def compare(
    books: options.Company,
    table: results.Table,
    before: str = argument("BEFORE", "A month, such as 2026-10.", REQUIRED),
    after: str = argument("AFTER", "A later one.", REQUIRED),
    by: list[str] | None = option("--by KEY", "Only by category, account or employee; repeatable."),
    largest_first: bool = options.LARGEST_FIRST,
    threshold: str | None = options.THRESHOLD,
) -> None:
    """Show what changed between two months.

    Exported amounts by category, account and employee, and the categories themselves, are compared.

    Example: bktools compare 2026-10 2026-11
    """
    tables = [f"exported_by_{rules.one_of('--by', key, KEYS)}" for key in by or ()]
    with books.connected() as service:
        changes = bktools.compare(
            before, after, company=rules.company_of(service.settings), threshold=threshold, service=service
        )
    texts, about = words(), changes.attrs["bktools"]
    smaller = about["below_threshold"] or None
    if tables:
        changes = changes[changes["table"].isin(tables)]
        smaller = sum(about["smaller"].get(name, 0) for name in tables) or None
    if not largest_first:
        changes = results.by_name(changes, ["about"], ["table", "currency"])
    for reason in about["not_compared"]:
        tell(texts("report.terminal.not_compared", phrase=reason))
    for line in about["headline"]:
        note(line)
    count = len(changes)
    note(texts("command.differences_between", count=count, before=before, after=after, smaller=smaller))
    shown = [
        name for name in changes.columns if name not in ("company_id", "id") and changes[name].notna().any()
    ]
    names = {"table": "change", "change": "change", "field": "field"}
    table.hand_over(changes, columns=shown, names={name: names[name] for name in names if name in shown})
