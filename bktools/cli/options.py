"""Options that several commands share, and the service that some of them select."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from bktools import caller
from bktools.caller import in_shell
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.wording import Sentence

if TYPE_CHECKING:
    from bktools.service import Service
    from bktools.settings import Settings


# The default of an option that must be given.
REQUIRED: Any = ...


def option(names: str, text: str, default: Any = None, **settings: Any) -> Any:
    """Declare an option as the default of its parameter: its names with its value's, and its help."""
    flags = [name for name in names.split() if name.startswith("-")]
    metavar = " ".join(name for name in names.split() if name not in flags)
    return Option(default, *flags, metavar=metavar or None, help=text, **settings)


def argument(name: str, text: str, default: Any = None) -> Any:
    """Declare an argument as the default of its parameter: its name in capitals, and its help."""
    return Argument(default, metavar=name, help=text)


def checked(check: Callable[[Any], object]) -> Any:
    """Return a callback of Typer that refuses a wrong value before the command begins."""

    def callback(context: typer.Context, value: Any) -> Any:
        # While a shell completes the command, nothing is refused.
        if value is not None and not context.resilient_parsing:
            check(value)
        return value

    return callback


def _check_month(value: str) -> None:
    rules.month("month", value)


def month(text: str) -> Any:
    """Declare --month, with its help."""
    return option("--month YYYY-MM", text, callback=checked(_check_month))


def _check_profile(value: str) -> None:
    from bktools.frames.delimited import profile_named

    profile_named(value)


APPLY = option("--apply", "Write to the service (default: dry run).", False)
MAX_ENTRIES = option("--max-entries COUNT", "The most entries of one export job.", 500, min=1)
WAIT = option("--wait SECONDS", "Longest wait for a company's job before its next one.", 300.0, min=0)
FIRST_EXPORT = option("--first-export", "Confirm that nobody exported it before; needs --by.", False)
NEW_CHART = option("--new-chart", "Create accounts even if the chart looks like another company's.", False)
BY = option("--by NAME", "Your name; kept permanently.", REQUIRED)
EVIDENCE = option(
    "--evidence TEXT", "What you checked and found, in two words or more; kept permanently.", REQUIRED
)
THRESHOLD = option("--threshold AMOUNT|SHARE", "The least change to show, such as 500 or 5%.")
KEYS = option(
    "--by KEY",
    "category, account, employee, supplier, month, cost_centre, company or a column; repeatable.",
)
PERIOD = option("--period PERIOD", "Only these: 2026-10, 2026-Q3, 2026 or 2026-01..2026-10.")
RATES = option(
    "--rates FILE",
    "Rates in the company's currency: a file of date, currency and rate, such as 2026-10-01,USD,0.8712. "
    "Amounts are in that currency, too.",
)
LARGEST_FIRST = option("--largest-first", "Sort by amount instead of by the keys.", False)
EXPORTED_AT = option(
    "--exported-at DATE",
    "Day of the ledger's export; by default the day that the file names, else today.",
    formats=["%Y-%m-%d"],
)
PROFILE = option(
    "--profile PROFILE",
    "How CSV is written: excel, excel-eu or machine.",
    "excel",
    callback=checked(_check_profile),
)


@dataclass(frozen=True)
class Environment:
    """The options that select an environment."""

    environment: str | None = option("--environment -e NAME", "A name of the config file, or a base URL.")
    sandbox: bool = option("--sandbox", "Use the embedded sandbox service: no real books.", False)

    @property
    def name(self) -> str | None:
        """The environment that is selected; None for the configured one."""
        if self.sandbox and self.environment not in {None, "sandbox"}:
            raise ArgumentError("--sandbox", Sentence("rule.two_environments", name=self.environment))
        return "sandbox" if self.sandbox else self.environment

    def settings(self) -> Settings:
        """Return the settings that are selected, without a connection."""
        from bktools.settings import load_settings

        return load_settings(self.name, company=getattr(self, "company", None))

    @contextmanager
    def connected(self) -> Iterator[Service]:
        """Connect to the service that is selected."""
        from bktools.connection import open_service

        with open_service(self.settings()) as service:
            yield service


@dataclass(frozen=True)
class Company(Environment):
    """The options that select the books of a company in an environment."""

    company: str | None = option("--company COMPANY", "UUID or short name; by default the configured one.")


@dataclass(frozen=True)
class Statement:
    """The options of a person's word about what was sent."""

    by: str = BY
    evidence: str = EVIDENCE


def with_shared_options(
    function: Callable[..., Any], more: Sequence[inspect.Parameter] = ()
) -> Callable[..., Any]:
    """Return a command in which a parameter of a dataclass stands for the options that are its fields.

    `more` are options for the command's `**` parameter.
    """
    signature = inspect.signature(function, eval_str=True)
    declared = signature.parameters.values()
    groups: dict[str, Any] = {
        item.name: item.annotation for item in declared if is_dataclass(item.annotation)
    }
    own = [item for item in declared if item.name not in groups and item.kind is not item.VAR_KEYWORD]
    for group in groups.values():
        more = [*more, *inspect.signature(group, eval_str=True).parameters.values()]
    parameters = [item.replace(kind=item.KEYWORD_ONLY) for item in (*own, *more)]

    @functools.wraps(function)
    def command(**values: Any) -> Any:
        for name, group in groups.items():
            values[name] = group(**{item.name: values.pop(item.name) for item in fields(group)})
        selected = (value.name for value in values.values() if isinstance(value, Environment))
        with caller.command(caller.running().options, next(selected, None)):
            return function(**values)

    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters}
    return command


def same(settings: Settings, *, company: bool = True) -> str:
    """Return the options that select the same environment and company, to end a printed command."""
    named = " --sandbox" if settings.is_sandbox else f" --environment {in_shell(settings.environment)}"
    return f"{named} --company {in_shell(settings.company)}" if company and settings.company else named
