"""`bktools versus`: what differs between two months, or a month and a budget."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import bktools
from bktools.caller import command
from bktools.cli import files, options, results
from bktools.cli.options import REQUIRED, argument, option
from bktools.cli.spend import OF_THE_SERVICE
from bktools.progress import note
from bktools.wording.numbers import counted


@results.table
def versus(
    entries: files.Entries,
    connection: options.ConnectsToCompany,
    that: Path = argument(
        "THAT", "The other month, or a budget: the columns of the keys, and an amount.", REQUIRED
    ),
    by: list[str] | None = option("--by KEY", "As in bktools spend; may be repeated. By default category."),
    threshold: str | None = options.CHANGES_FROM,
) -> None:
    """Compare two months of entries, or a month and a budget.

    Each difference has the entries that make it. Both files are read with the options given, or with the
    mapping that is saved for their headings.

    Example: bktools versus november.csv october.csv --by supplier --from 5%
    """
    keys = by or ["category"]
    company = connection.company
    names: dict[str, Any] = {}
    if connection.environment or connection.sandbox or OF_THE_SERVICE & {*keys}:
        company = connection.company_id
        names = files.tables_of(connection.service, company)
    sides = [files.read_entries(file, company, names) for file in (entries, replace(entries, path=that))]
    for side in sides:
        note(files.recognised(side.attrs["bktools"]))
    with command(entries.names):
        changes = bktools.versus(sides[0], sides[1], by=keys, threshold=threshold, **names)
    smaller = changes.attrs["bktools"]["below_threshold"]
    left = f", {counted(smaller, 'smaller one', 'smaller ones')} left out" if smaller else ""
    note(f"{counted(len(changes), 'difference')}{left}")
    results.hand_over(
        changes, [name for name in changes.columns if name not in ("category_id", "employee_id")]
    )
