"""What `bktools categories` and `bktools employees` share: options, and where a table goes."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.caller import command
from bktools.cli.options import one_of
from bktools.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

Companies = Annotated[
    list[str] | None,
    typer.Option("--company", help='UUID of a company, or "all"; may be repeated. The configured one by default.'),
]
AsOf = Annotated[str | None, typer.Option("--as-of", help="The newest snapshot at the end of this day (UTC).")]
MaxAge = Annotated[
    str, typer.Option("--max-age", help="Up to which age a snapshot takes the service's place: 90s, 30m, 12h, 7d.")
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Ask the service in any case.")]
Verify = Annotated[
    str,
    typer.Option(
        "--verify",
        help="strict: an error when a check speaks against the rows. warn: a warning, where the service estimates its count.",
    ),
]
Csv = Annotated[Path | None, typer.Option("--csv", help="Write to this file; see --profile.")]
Parquet = Annotated[
    Path | None, typer.Option("--parquet", help="Write to this file, in the same memory however long the table is.")
]


def _profiles() -> Iterable[str]:
    from bktools.frames.delimited import PROFILES

    return PROFILES


Profile = Annotated[
    str,
    typer.Option(
        "--profile", help="How the CSV is written: excel, excel-eu or machine.", autocompletion=one_of(_profiles)
    ),
]

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def age(option: str, text: str) -> dt.timedelta:
    """Return an age such as 90s, 30m, 12h or 7d."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not (number.isascii() and number.isdigit()):
        raise ArgumentError(option, "must be a number and a unit, such as 90s, 30m, 12h or 7d", text)
    return dt.timedelta(seconds=int(number) * UNITS[unit])


def of_companies(options: list[str] | None) -> str | list[str] | None:
    """Return the companies that were named, as the loaders take them."""
    if not options:
        return None
    if "all" in options:
        if len(options) > 1:
            raise ArgumentError("--company", "all stands alone")
        return "all"
    return options


@command({"refresh": "--refresh", "verify": "--verify"})
def deliver(
    load: Callable[..., pd.DataFrame],
    to_parquet: Callable[..., Path],
    columns: list[str],
    csv: Path | None,
    parquet: Path | None,
    profile: str,
    arguments: dict[str, Any],
) -> None:
    """Load a table to where it was asked for: a file or two, or the terminal."""
    from bktools.cli.tables import counted, hand_over

    company = of_companies(arguments.pop("company"))
    arguments["max_age"] = age("--max-age", arguments["max_age"])
    if parquet is not None:
        typer.echo(f"written to {to_parquet(parquet, company, **arguments)}")
        # The next lines, if any, are about the same moment.
        arguments["refresh"] = False
    if csv is not None or parquet is None:
        frame = load(company, **arguments)
        hand_over(frame, columns, csv, profile)
    # A program counts for itself.
    if csv is None and parquet is None and sys.stdout.isatty():
        typer.echo(counted(len(frame), "row"))
