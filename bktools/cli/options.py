"""Options that several commands share, and the service that some of them select."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from bktools.caller import in_shell, name_of
from bktools.contract import rules
from bktools.errors import ArgumentError, ConfigurationError
from bktools.wording import LANGUAGES

if TYPE_CHECKING:
    from bktools.service import Service
    from bktools.settings import Settings

# Refuses every --apply of this shell, such as an agent's.
READ_ONLY = "BKTOOLS_READ_ONLY"


def checked(check: Callable[[Any], object]) -> Any:
    """Return a callback of Typer that refuses a wrong value before the command begins."""

    def callback(context: typer.Context, value: Any) -> Any:
        # While a shell completes the command, nothing is refused.
        if value is not None and not context.resilient_parsing:
            check(value)
        return value

    return callback


def one_of(name: str, values: object) -> Any:
    """Return a callback of Typer that refuses a word that is not among the values."""

    def check(value: str) -> None:
        words = [str(word) for word in values]  # type: ignore[attr-defined]
        if value not in words:
            raise ArgumentError(name_of(name), f"must be one of {', '.join(words)}", value)

    return checked(check)


def check_month(value: str) -> None:
    """Refuse a text that is no month."""
    rules.month("month", value)


def check_profile(value: str) -> None:
    """Refuse a word that is no profile of CSV."""
    from bktools.frames.delimited import profile_named

    profile_named(value)


def _check_threshold(value: str) -> None:
    from bktools.frames.sums import threshold_of

    threshold_of(value)


def _refuse_read_only(apply: bool) -> None:
    if apply and os.environ.get(READ_ONLY, "0") not in {"", "0"}:
        raise ConfigurationError(f"{READ_ONLY} is set, which refuses --apply: nothing was written or sent")


Environment = Annotated[
    str | None,
    Option(
        "--environment",
        "-e",
        metavar="NAME",
        help="production, staging, a table of the config file, or a base URL.",
    ),
]
Sandbox = Annotated[bool, Option("--sandbox", help="Use the embedded sandbox service: no real books.")]
Company = Annotated[
    str | None,
    Option("--company", metavar="COMPANY", help="UUID or short name; by default the configured company."),
]
Apply = Annotated[
    bool,
    Option("--apply", help="Write to the service (default: dry run).", callback=checked(_refuse_read_only)),
]
Month = Annotated[
    str | None,
    Option("--month", metavar="YYYY-MM", help="The month, such as 2026-10.", callback=checked(check_month)),
]
MaxEntries = Annotated[
    int, Option("--max-entries", metavar="COUNT", help="The most entries of one export job.", min=1)
]
Wait = Annotated[
    float,
    Option("--wait", metavar="SECONDS", help="How long to wait for an export job in progress.", min=0),
]
OthersExport = Annotated[
    bool,
    Option("--others-export", help="People also export by hand: wait for jobs that may be theirs."),
]
NewChart = Annotated[
    bool,
    Option("--new-chart", help="Create the accounts even if the chart looks like another company's."),
]
By = Annotated[str, Option("--by", metavar="NAME", help="Your name; kept permanently.")]
Evidence = Annotated[
    str, Option("--evidence", metavar="TEXT", help="What you checked and found; kept permanently.")
]
Threshold = Annotated[
    str | None,
    Option(
        "--from",
        metavar="AMOUNT|SHARE",
        help="The least change to show: an amount such as 500, or a share such as 5%.",
        callback=checked(_check_threshold),
    ),
]
Keys = Annotated[
    list[str] | None,
    Option(
        "--by",
        metavar="KEY",
        help="category, account, employee, supplier, month, cost_centre, company or a column; may be "
        "repeated. By default category.",
    ),
]
LargestFirst = Annotated[bool, Option("--largest-first", help="Sort by amount instead of by the keys.")]
Language = Annotated[
    str | None,
    Option(
        "--language",
        metavar="CODE",
        help="Of the report, the workbook and the terminal: en or de; by default the configured one.",
        callback=one_of("language", LANGUAGES),
    ),
]
Profile = Annotated[
    str,
    Option(
        "--profile",
        metavar="PROFILE",
        help="How CSV is written: excel, excel-eu or machine.",
        callback=checked(check_profile),
    ),
]
Out = Annotated[
    Path | None,
    Option("--out", metavar="FOLDER", help="Also write the tables as CSV to this folder; see --profile."),
]


def selected(environment: str | None, sandbox: bool) -> str | None:
    """Return the environment that the options select; None for the configured one."""
    if sandbox and environment not in {None, "sandbox"}:
        raise ArgumentError("--sandbox", f"cannot be combined with --environment {environment}")
    return "sandbox" if sandbox else environment


def settings_of(environment: str | None, sandbox: bool, company: str | None = None) -> Settings:
    """Return the settings that the options select, without a connection."""
    from bktools.settings import load_settings

    return load_settings(selected(environment, sandbox), company=company)


@contextmanager
def connected(environment: str | None, sandbox: bool, company: str | None = None) -> Iterator[Service]:
    """Connect to the service that the options select."""
    from bktools.connection import open_service

    with open_service(settings_of(environment, sandbox, company)) as service:
        yield service


def the_company(settings: Settings) -> str:
    """Return the UUID of the one company that a command is about; the sandbox has one by default."""
    if settings.company is None:
        raise ArgumentError("--company", "must name the company (or set BKTOOLS_COMPANY)")
    return rules.company_id("--company", settings.company, settings.company_names)


def same(settings: Settings, *, company: bool = True) -> str:
    """Return the options that select the same environment and company, to end a printed command."""
    named = " --sandbox" if settings.is_sandbox else f" --environment {in_shell(settings.environment)}"
    return f"{named} --company {in_shell(settings.company)}" if company and settings.company else named
