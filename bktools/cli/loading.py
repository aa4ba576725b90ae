"""The command that loads a noun of the service: its options, and the output of its table."""

from __future__ import annotations

import datetime as dt
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bktools.caller import command
from bktools.cli import options
from bktools.contract import rules
from bktools.contract.noun import Filter, Noun
from bktools.errors import ArgumentError

Companies = Annotated[
    list[str] | None,
    typer.Option("--company", help='UUID of a company, or "all"; may be repeated. The configured one by default.'),
]
AsOf = Annotated[str | None, typer.Option("--as-of", help="The newest snapshot at the end of this day (UTC).")]
MaxAge = Annotated[
    str, typer.Option("--max-age", help="Use the cached copy if it is younger than this: 90s, 30m, 12h, 7d.")
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Always ask the service and ignore the cache.")]
Verify = Annotated[
    str,
    typer.Option(
        "--verify",
        help="strict: rows that fail a check are an error. warn: only a warning, for services that estimate their totals.",
    ),
]
Parquet = Annotated[Path | None, typer.Option("--parquet", help="Stream to this Parquet file in constant memory.")]


UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def age(option: str, text: str) -> dt.timedelta:
    """Return an age such as 90s, 30m, 12h or 7d."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not (number.isascii() and number.isdigit()):
        raise ArgumentError(option, "must be a number and a unit, such as 90s, 30m, 12h or 7d", text)
    return dt.timedelta(seconds=int(number) * UNITS[unit])


def of_companies(given: list[str] | None) -> str | list[str] | None:
    """Return the companies that were named, as the loaders take them."""
    if not given or "all" not in given:
        return given or None
    if len(given) > 1:
        raise ArgumentError("--company", "all cannot be combined with other companies")
    return "all"


def loader(noun: Noun[Any], shown: list[str], says: str) -> Callable[..., None]:
    """Return the command that loads a noun: an option for each of its filters, and those that every load has.

    Parameters
    ----------
    noun : Noun
        The noun to load.
    shown : list of str
        Columns in the terminal.
    says : str
        Its help.
    """

    def load(
        company: Companies = None,
        as_of: AsOf = None,
        max_age: MaxAge = "1h",
        refresh: Refresh = False,
        verify: Verify = "strict",
        csv: options.Csv = None,
        parquet: Parquet = None,
        profile: options.Profile = "excel",
        environment: options.Environment = None,
        sandbox: options.Sandbox = False,
        **filters: Any,
    ) -> None:
        from bktools.cli.tables import counted, hand_over
        from bktools.tables.files import table_to_parquet
        from bktools.tables.load import load_table

        with (
            options.connected(environment, sandbox=sandbox) as service,
            command({"refresh": "--refresh", "verify": "--verify"}),
        ):
            companies = of_companies(company)
            given = {
                "as_of": as_of,
                "max_age": age("--max-age", max_age),
                "verify": verify,
                "service": service,
                **filters,
            }
            if parquet is not None:
                typer.echo(f"written to {table_to_parquet(parquet, noun, companies, refresh=refresh, **given)}")
                # The CSV file is written from the same load.
                refresh = False
            if csv is not None or parquet is None:
                frame = load_table(noun, companies, refresh=refresh, **given)
                hand_over(frame, shown, csv, profile)
            # Only for people: programs count the rows themselves.
            if csv is None and parquet is None and sys.stdout.isatty():
                typer.echo(counted(len(frame), "row"))

    signature = inspect.signature(load, eval_str=True)
    companies, *others, _ = signature.parameters.values()
    parameters = [companies, *(_parameter(item) for item in noun.filters if item.option), *others]
    load.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    load.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    load.__name__, load.__doc__ = noun.name, says
    return load


def _parameter(item: Filter) -> inspect.Parameter:
    kinds: dict[Any, Any] = {rules.unique_uuids: list[str] | None, rules.flag: bool | None}
    option = typer.Option(item.option, help=item.help, show_default=False)
    annotation: Any = Annotated[kinds.get(item.rule, str | None), option]
    return inspect.Parameter(
        item.argument, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=annotation
    )
