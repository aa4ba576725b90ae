"""`bktools spend`: sums of entries by category, supplier, month and others."""

from __future__ import annotations

from typing import Any

import bktools
from bktools.caller import command
from bktools.cli import files, options, results
from bktools.cli.options import option
from bktools.progress import note

# Keys whose names and accounts are known to the service.
OF_THE_SERVICE = {"category", "account", "employee"}


@results.table
def spend(
    entries: files.Entries,
    connection: options.ConnectsToCompany,
    by: list[str] | None = option(
        "--by KEY",
        "category, account, employee, supplier, month, cost_centre, company or a column; may be repeated. "
        "By default category.",
    ),
    shares: bool = option(
        "--shares", "Add the share of each row, within the first key where there are several.", False
    ),
    largest_first: bool = option("--largest-first", "Sort by amount in place of the keys.", False),
) -> None:
    """Add up entries by category, supplier, month and others.

    Sums are exact, and never of two currencies. By category, account or employee the service is asked for
    their names; other keys need no service.

    Example: bktools spend entries.csv --by month --by supplier
    """
    keys = by or ["category"]
    company = connection.company
    names: dict[str, Any] = {}
    if entries.path is None or connection.environment or connection.sandbox or OF_THE_SERVICE & {*keys}:
        company = connection.company_id
        names = files.tables_of(connection.service, company)
        entries = entries.or_sample(connection.service)
    rows = files.read_entries(entries, company, names, required=("currency",))
    note(files.recognised(rows.attrs["bktools"]))
    with command(entries.names):
        sums = bktools.spend(rows, by=keys, shares=shares, largest_first=largest_first, **names)
    results.hand_over(sums, [name for name in sums.columns if name not in ("category_id", "employee_id")])
