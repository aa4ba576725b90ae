"""`bktools spend`: sums of entries by category, supplier, month and others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

import bktools
from bktools.cli import options, reading, results
from bktools.cli.options import connected, the_company
from bktools.progress import note

if TYPE_CHECKING:
    import pandas as pd

# Keys whose names and accounts are known to the service.
OF_THE_SERVICE = {"category", "account", "employee"}


def spend(
    entries: reading.EntriesFiles = None,
    mapping: reading.Mapping = None,
    by: options.Keys = None,
    period: Annotated[
        str | None,
        Option(
            "--period",
            metavar="PERIOD",
            help="Only the entries of a month, quarter, year or several months: 2026-10, 2026-Q3, 2026, "
            "2026-01..2026-10.",
        ),
    ] = None,
    rates: Annotated[
        Path | None,
        Option(
            "--rates",
            metavar="FILE",
            help="CSV of date, currency and rate: adds the amounts in the company's own currency.",
        ),
    ] = None,
    shares: Annotated[
        bool,
        Option("--shares", help="Add the share of each row, within the first key where there are several."),
    ] = False,
    largest_first: options.LargestFirst = False,
    environment: options.Environment = None,
    sandbox: options.Sandbox = False,
    company: options.Company = None,
    format: results.Table = results.TableFormat.TABLE,
    output: results.Output = None,
    profile: results.CsvProfile = None,
) -> None:
    """Add up entries by category, supplier, month and others.

    Sums are exact, and never of two currencies. By category, account or employee the service is asked for
    their names; other keys need no service.

    Example: bktools spend entries.csv --by month --by supplier
    """
    keys = by or ["category"]
    (rows,), names = read_sides(
        [entries], mapping, keys, environment, sandbox, company, required=("currency",)
    )
    sums = bktools.spend(
        rows,
        by=keys,
        period=period,
        rates=rates,
        shares=shares,
        largest_first=largest_first,
        **names,
    )
    results.hand_over(sums, format, output, profile, columns=shown_columns(sums))


def shown_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns for people: IDs tell only groups of one name apart."""
    return [str(name) for name in frame.columns if name not in {"category_id", "employee_id"}]


def read_sides(
    sides: Sequence[list[Path] | None],
    mapping: list[str] | None,
    keys: Sequence[str],
    environment: str | None,
    sandbox: bool,
    company: str | None,
    **others: Any,
) -> tuple[list[pd.DataFrame], dict[str, Any]]:
    """Read the entries of each side, and the names of the service where a key or an option asks for them."""
    is_asked = environment or sandbox or OF_THE_SERVICE & {*keys} or None in sides
    if not is_asked:
        return [read_side(files or [], mapping, company, {}, **others) for files in sides], {}
    with connected(environment, sandbox, company) as service:
        company = the_company(service.settings)
        tables = reading.tables_of(service, company)
        files_of = [files or [reading.samples(service, "FILE")[1]] for files in sides]
        return [read_side(files, mapping, company, tables, **others) for files in files_of], tables


def read_side(
    files: list[Path],
    mapping: list[str] | None,
    company: str | None,
    tables: dict[str, Any],
    **others: Any,
) -> pd.DataFrame:
    """Read entries, and note how."""
    rows = reading.read_entries(files, mapping, company, tables, **others)
    note(reading.recognised(rows.attrs["bktools"]))
    return rows
