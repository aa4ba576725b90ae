"""Options that commands share, each declared once; groups of options are one parameter of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from bktools.caller import command, in_shell
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.wording import LANGUAGES

if TYPE_CHECKING:
    from bktools.service import Service
    from bktools.settings import Settings


# Sections of the help, in their order. An option that names none stands in the first.
OWN, FILTERS, SERVICE, CHART, ACCOUNT_LIST, LEDGER, ENTRIES, CACHE, OUTPUT = SECTIONS = (
    "Options",
    "Filters",
    "Service",
    "Reading the chart",
    "Reading the account list",
    "Reading the ledger",
    "Reading the entries",
    "Cache and checks",
    "Output",
)


# The default of an option that must be given.
REQUIRED: Any = ...


def option(
    names: str,
    text: str,
    default: Any = None,
    *,
    section: str | None = None,
    check: Callable[[str, Any], object] | None = None,
    **settings: Any,
) -> Any:
    """Return the declaration of an option: its names with its value's, as the help shows them, and its help.

    Its section in the help is one of SECTIONS. A check raises `ArgumentError` for a wrong value, before the
    command begins. Further settings are those of `typer.Option`.
    """
    flags = [name for name in names.split() if name.startswith("-")]
    metavar = " ".join(name for name in names.split() if name not in flags) or None

    if check is not None:
        settings["callback"] = _checked(check, flags[0])
    return typer.Option(default, *flags, metavar=metavar, help=text, rich_help_panel=section, **settings)


def _checked(check: Callable[[str, Any], object], flag: str) -> Callable[[typer.Context, Any], Any]:
    def checked(context: typer.Context, value: Any) -> Any:
        # Where a shell completes the command, nothing is refused.
        if value is not None and not context.resilient_parsing:
            check(flag, value)
        return value

    return checked


def argument(name: str, text: str, default: Any = None) -> Any:
    """Return the declaration of an argument: its name in capitals, and its help."""
    return typer.Argument(default, metavar=name, help=text)


@dataclass(frozen=True)
class Group:
    """Options that a command takes as one parameter, annotated with this; `build` makes its value.

    The options are the given ones, each with type and declaration by name; by default `build`'s parameters.
    """

    build: Callable[..., Any]
    options: Mapping[str, tuple[Any, Any]] | None = None

    def parameters(self) -> list[inspect.Parameter]:
        """Return the options as parameters."""
        if self.options is None:
            return [*inspect.signature(self.build, eval_str=True).parameters.values()]
        kind = inspect.Parameter.KEYWORD_ONLY
        return [
            inspect.Parameter(name, kind, default=declared, annotation=value_type)
            for name, (value_type, declared) in self.options.items()
        ]


def expanded(run: Callable[..., None], **added: Group) -> Callable[..., None]:
    """Return a command that has the options of its groups, and of the added ones, in place of the groups."""
    signature = inspect.signature(run, eval_str=True)
    metadata = {
        name: getattr(own.annotation, "__metadata__", ()) for name, own in signature.parameters.items()
    }
    groups = {
        name: extra for name, extras in metadata.items() for extra in extras if isinstance(extra, Group)
    } | added
    parameters: list[inspect.Parameter] = []
    for name in (*signature.parameters, *added):
        shown = groups[name].parameters() if name in groups else [signature.parameters[name]]
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown]

    @wraps(run)
    def command_of_groups(**values: Any) -> None:
        with ExitStack() as stack:
            for name, group in groups.items():
                made = group.build(**{each.name: values.pop(each.name) for each in group.parameters()})
                values[name] = stack.enter_context(made) if isinstance(made, ServiceOptions) else made
            run(**values)

    command_of_groups.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command_of_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command_of_groups


def _check_profile(flag: str, name: str) -> None:
    from bktools.frames.delimited import profile_named

    with command({"profile": flag}):
        profile_named(name)


def _check_language(flag: str, value: str) -> None:
    if value not in LANGUAGES:
        raise ArgumentError(flag, f"must be one of {', '.join(LANGUAGES)}", value)


def _check_threshold(flag: str, value: str) -> None:
    from bktools.frames.sums import threshold_of

    with command({"threshold": flag}):
        threshold_of(value)


def profile_option(default: str | None, *, show_default: str | bool = True) -> Any:
    """Return the declaration of --profile."""
    text = "How CSV is written: excel, excel-eu or machine."
    return option(
        "--profile PROFILE", text, default, section=OUTPUT, check=_check_profile, show_default=show_default
    )


def month_option(text: str) -> Any:
    """Return the declaration of --month."""
    return option("--month YYYY-MM", text, check=rules.month)


def fail_on_option(text: str, severities: Mapping[str, object]) -> Any:
    """Return the declaration of --fail-on, which takes one of the severities."""

    def check(name: str, value: str) -> None:
        if value not in severities:
            raise ArgumentError(name, f"must be one of {', '.join(severities)}", value)

    return option("--fail-on SEVERITY", text, check=check)


PROFILE = profile_option("excel")
APPLY = option("--apply", "Write to the service (default: dry run).", False)
NEW_CHART = option(
    "--new-chart", "Create the accounts even if the chart looks like another company's.", False, section=CHART
)
LANGUAGE = option(
    "--language CODE",
    "Of the report, the workbook and what is printed: en or de; by default the configured one.",
    section=OUTPUT,
    check=_check_language,
)
CHANGES_FROM = option(
    "--from AMOUNT|SHARE",
    "The least change to show: an amount such as 500, or a share such as 5%.",
    check=_check_threshold,
)
OTHERS_EXPORT = option(
    "--others-export", "People also export by hand: wait for jobs that may be theirs.", False
)
WAIT = option("--wait SECONDS", "Wait so long for an export job in progress.", 300.0, min=0)
MAX_ENTRIES = option("--max-entries COUNT", "The most entries of one export job.", 500, min=1)


@dataclass(frozen=True)
class ServiceOptions:
    """The settings and the service that the options select; the service is opened at its first use."""

    environment: str | None = option(
        "--environment -e NAME",
        "production, staging, a table of the config file, or a base URL.",
        section=SERVICE,
    )
    sandbox: bool = option(
        "--sandbox", "Use the embedded sandbox service: no real books.", False, section=SERVICE
    )
    _opened: ExitStack = field(init=False, default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @cached_property
    def service(self) -> Service:
        """The service, which is closed at the end of the command."""
        from bktools.connection import open_service

        return self._opened.enter_context(open_service(self.settings))

    @property
    def settings(self) -> Settings:
        """The settings, without a connection."""
        from bktools.settings import load_settings

        return load_settings(self.selected, company=getattr(self, "company", None))

    @property
    def selected(self) -> str | None:
        """The environment that the options choose; None for the configured one."""
        if self.sandbox and self.environment not in {None, "sandbox"}:
            raise ArgumentError("--sandbox", f"cannot be combined with --environment {self.environment}")
        return "sandbox" if self.sandbox else self.environment

    @property
    def same(self) -> str:
        """The options that select the same environment, for a command in a message."""
        named = f" --environment {in_shell(self.environment)}" if self.environment else ""
        return " --sandbox" if self.sandbox else named


@dataclass(frozen=True)
class CompanyOptions(ServiceOptions):
    """The service and the company that the options select."""

    company: str | None = option(
        "--company COMPANY",
        "UUID or short name of the company; by default the configured one.",
        section=SERVICE,
    )

    @property
    def company_id(self) -> str:
        """The one company that the command is about; the sandbox has one by default."""
        return the_company(self.service.settings)


Connects = Annotated[ServiceOptions, Group(ServiceOptions)]
ConnectsToCompany = Annotated[CompanyOptions, Group(CompanyOptions)]


def the_company(settings: Settings) -> str:
    """Return the one company a command is about."""
    if settings.company is None:
        raise ArgumentError("--company", "must name the company (or set BKTOOLS_COMPANY)")
    return rules.company_id("--company", settings.company, settings.company_names)
