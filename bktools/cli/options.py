"""Options that several commands share, declared once."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bktools.errors import ArgumentError, InputError

if TYPE_CHECKING:
    from bktools.service import Service

Sandbox = Annotated[
    bool, typer.Option("--sandbox", help="Use the embedded sandbox service: no real books are touched.")
]
Environment = Annotated[
    str | None,
    typer.Option("--environment", "-e", help="production, staging, a table of the config file, or a base URL."),
]
Company = Annotated[str | None, typer.Option("--company", help="UUID of the company; the configured one by default.")]
Chart = Annotated[Path | None, typer.Option("--chart", help="The ERP's chart of accounts: CSV, TSV, Excel or Parquet.")]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="What a column of the chart is, as field=HEADING; may be repeated."),
]
EntryColumn = Annotated[
    list[str] | None,
    typer.Option("--entry-column", help="What a column of the entries is, as field=HEADING; may be repeated."),
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Between the cells of the chart's file.")]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Of the chart's file, such as cp1252.")]
Apply = Annotated[bool, typer.Option("--apply", help="Do it. Without this, it is planned and nothing is written.")]


def conversation(environment: str | None, *, sandbox: bool, company: str | None = None, **overrides: Any) -> Service:
    """Begin the conversation that the options ask for."""
    from bktools.conversation import connect

    if sandbox and environment not in {None, "sandbox"}:
        raise ArgumentError("--sandbox", f"cannot be combined with --environment {environment}")
    return connect("sandbox" if sandbox else environment, company=company, **overrides)


def same(environment: str | None, *, sandbox: bool) -> str:
    """Return the options that put another command into the same environment, as a message gives it."""
    return " --sandbox" if sandbox else f" --environment {shlex.quote(environment)}" if environment else ""


def one_of(words: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what offers words when the shell completes an option; they are asked for then, not at every start."""

    def offered(incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return offered


def the_company(service: Service) -> str:
    """Return the one company a command is about."""
    from bktools.contract.rules import uuid_text

    company = service.settings.company
    if company is None:
        raise ArgumentError("--company", "must name the company (or set BKTOOLS_COMPANY)")
    return uuid_text("--company", company)


def columns(options: list[str] | None) -> dict[str, str] | None:
    """Return `field=HEADING` options as a mapping."""
    if not options:
        return None
    found = {}
    for option in options:
        field, equals, heading = option.partition("=")
        if not equals:
            raise InputError(f"--column takes field=HEADING, such as code=Konto, got {option!r}")
        found[field.strip()] = heading
    return found
