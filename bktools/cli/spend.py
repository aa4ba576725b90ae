"""`bktools spend`: sums of entries by category, supplier, month and others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bktools.caller import command
from bktools.cli import options, results
from bktools.cli.mappings import remembered
from bktools.cli.output import remark

if TYPE_CHECKING:
    import pandas as pd

    from bktools.service import Service

# Keys whose names and accounts are known to the service.
OF_THE_SERVICE = {"category", "account", "employee"}


@results.table
def spend(
    entries: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The accounting entries; - is standard input. With --sandbox, the sample file by default.",
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="KEY",
            help="category, account, employee, supplier, month, cost_centre, company or a column; may be repeated. "
            "Default: category.",
        ),
    ] = None,
    shares: Annotated[bool, typer.Option("--shares", help="Add the share of each row in its currency.")] = False,
    company: options.Company = None,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    column: options.EntriesColumn = None,
    delimiter: options.FileDelimiter = None,
    encoding: options.FileEncoding = None,
    decimal: options.Decimal = None,
    date_format: options.DateFormat = None,
    sheet: options.FileSheet = None,
    split_lines: options.SplitLines = False,
    save_mapping: options.SaveFileMapping = None,
) -> None:
    """Add up entries by category, supplier, month and others.

    Sums are exact, and never of two currencies. By category, account or employee the service is asked for their names;
    other keys need no service.

    Example: bktools spend entries.csv --by month --by supplier
    """
    from bktools.cli.reconcile import recognised, sample_files
    from bktools.inputs.entries import read_entries
    from bktools.spending import spend

    keys = by or ["category"]
    with ExitStack() as stack:
        names: dict[str, pd.DataFrame] = {}
        known_company = company
        if entries is None or environment or sandbox or OF_THE_SERVICE & {*keys}:
            service = stack.enter_context(options.connected(environment, sandbox=sandbox, company=company))
            known_company = options.the_company(service)
            names = _names(known_company, service)
            entries = entries or sample_files(service, "the file of accounting entries")[1]
        path = stack.enter_context(results.readable(entries))
        given = options.reading(column, delimiter, encoding, sheet, decimal, date_format, split_lines=split_lines)
        with command(options.READS_ENTRIES), remembered("entries", path, given, save_mapping) as read_as:
            read = read_entries(
                path,
                company=known_company,
                categories=names.get("categories"),
                employees=names.get("employees"),
                **read_as,
            )
    remark(recognised(read.attrs["bktools"]))
    with command({"by": "--by"}):
        sums = spend(read, by=keys, shares=shares, **names)
    results.hand_over(sums, [name for name in sums.columns if name not in ("category_id", "employee_id")])


def _names(company: str, service: Service) -> dict[str, pd.DataFrame]:
    """Return what the service knows of the categories, accounts and employees of a company."""
    from bktools.journal.accounts import load_accounts
    from bktools.snapshots.tables import load_categories, load_employees

    loaders: dict[str, Callable[..., pd.DataFrame]] = {
        "categories": load_categories,
        "employees": load_employees,
        "accounts": load_accounts,
    }
    return {name: load(company, service=service) for name, load in loaders.items()}
