"""Options: all that a person may say about a file, in Python, on the command line and in a mapping."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypedDict, TypeVar

from bktools.caller import in_shell, name_of
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.inputs import words

# Field to heading.
Columns = Mapping[str, str]
Reader = TypeVar("Reader", bound=Callable[..., Any])


class TableOptions(TypedDict, total=False):
    """The options of every file."""

    columns: Mapping[str, str] | None
    headings: int | None
    skip_rows: str | None
    delimiter: str | None
    encoding: str | None
    sheet: str | int | None


class ChartOptions(TableOptions, total=False):
    """The options of a chart of accounts."""

    split_account: bool


class MoneyOptions(TableOptions, total=False):
    """The options of days and amounts."""

    decimal: str | None
    date_format: str | None
    year: int | None
    currency: str | None
    sides: Mapping[str, str] | None
    negate: bool
    net: bool
    fill_down: str | None


class EntriesOptions(MoneyOptions, total=False):
    """The options of entries."""

    approved_values: str | None
    split_lines: bool


class LedgerOptions(MoneyOptions, total=False):
    """The options of a general ledger."""

    split_account: bool


_BY_KIND: Mapping[str, type] = {
    "chart": ChartOptions,
    "accounts": TableOptions,
    "entries": EntriesOptions,
    "ledger": LedgerOptions,
}
# The options that each kind of file takes.
OF_KIND: Mapping[str, tuple[str, ...]] = {kind: (*own.__annotations__,) for kind, own in _BY_KIND.items()}
# How each option is typed, and what it says, from `options.toml`; one without a value is a flag.
DESCRIBED: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files(__package__).joinpath("options.toml").read_text(encoding="utf-8")
)
_SIDES = ("debit", "credit", "skip")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a person says about a file, as `DESCRIBED` has it. An option at its default says nothing."""

    columns: Mapping[str, str] = field(default_factory=dict)
    headings: int | None = None
    skip_rows: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    decimal: str | None = None
    date_format: str | None = None
    year: int | None = None
    currency: str | None = None
    sides: Mapping[str, str] = field(default_factory=dict)
    negate: bool = False
    net: bool = False
    fill_down: str | None = None
    split_account: bool = False
    split_lines: bool = False
    approved_values: str | None = None

    def __post_init__(self) -> None:
        # A scalar of NumPy is a number.
        object.__setattr__(self, "sheet", rules.plain(self.sheet))
        # What stands for the year in a printed call is text.
        object.__setattr__(self, "year", int(str(self.year)) if str(self.year).isdecimal() else self.year)
        object.__setattr__(self, "currency", self.currency and str(self.currency).upper())
        _check(self)

    @property
    def filled_fields(self) -> tuple[str, ...]:
        """The fields that are filled down."""
        return tuple(name.strip() for name in (self.fill_down or "").split(",") if name.strip())

    @property
    def keeps_reports(self) -> bool:
        """Whether rows that look like those of a report are entries."""
        return "none" in (self.skip_rows or "").split(";")

    def skipped(self) -> Iterator[tuple[set[int], re.Pattern[str] | None]]:
        """Yield the lines, or the pattern, of each part of `skip_rows`."""
        for part in (self.skip_rows or "").split(";"):
            if re.fullmatch(r"[\d,\- ]+", part):
                spans = (one.partition("-") for one in part.split(",") if one.strip())
                yield (
                    {line for first, _, last in spans for line in range(int(first), int(last or first) + 1)},
                    None,
                )
            elif part not in ("", "none"):
                yield set(), re.compile(part, re.IGNORECASE)

    def plus(self, more: Mapping[str, Any]) -> Options:
        """Return these options with more of them, as a choice of a question has them."""
        merged = dict(more)
        for name in merged.keys() & {"columns", "sides"}:
            merged[name] = {**getattr(self, name), **more[name]}
        for name, between in (("skip_rows", ";"), ("fill_down", ",")):
            if name in merged:
                parts = [
                    part for text in (getattr(self, name), more[name]) for part in (text or "").split(between)
                ]
                merged[name] = between.join(dict.fromkeys(filter(None, parts)))
        return dataclasses.replace(self, **merged)

    def stated(self) -> dict[str, Any]:
        """Return the options that say something."""
        return {
            one.name: dict(value) if isinstance(value, Mapping) else value
            for one in dataclasses.fields(self)
            # A line of headings of 0 says something.
            if (value := getattr(self, one.name)) is not None and value is not False and value != {}
        }


def _is_sheet(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_currency(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[A-Z]{3}", value) or value in words.codes())


# Options by name: what their values must be, and the rule in words.
_RULES: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "columns": (lambda value: isinstance(value, Mapping), "must map fields to headings"),
    "sides": (
        lambda value: isinstance(value, Mapping) and {*value.values()} <= {*_SIDES},
        f"must map words to one of {', '.join(_SIDES)}",
    ),
    "sheet": (_is_sheet, "must be the name of a sheet, or its position from 0"),
    "decimal": (lambda value: value in (".", ",", "each"), "must be . or , or each"),
    "delimiter": (lambda value: isinstance(value, str) and len(value) == 1, "must be one character"),
    "currency": (_is_currency, "must be the code of a currency, such as EUR"),
    "year": (lambda value: isinstance(value, int) and 1900 <= value <= 2100, "must be a year such as 2026"),
    **dict.fromkeys(
        ("negate", "net", "split_account", "split_lines"),
        (lambda value: isinstance(value, bool), "must be True or False"),
    ),
}


def _check(options: Options) -> None:
    for name, (is_right, rule) in _RULES.items():
        value = getattr(options, name)
        if value is not None and not is_right(value):
            raise ArgumentError(name_of(name), rule, value)
    try:
        list(options.skipped())
    except (re.error, ValueError) as error:
        why = f"must be lines such as 52,54-60, or a pattern ({error})"
        raise ArgumentError(name_of("skip_rows"), why, options.skip_rows) from None


def flag(name: str) -> str:
    """Return the option on the command line for an argument."""
    return DESCRIBED[name]["typed"].split()[0]


def takes_options(kind: str) -> Callable[[Reader], Reader]:
    """Show the options of a kind of file in the signature and the docstring of its reader."""

    def show(reader: Reader) -> Reader:
        kinds = _BY_KIND[kind].__annotations__
        lines = []
        for name, own in kinds.items():
            lines += [f"{name} : {own.__forward_arg__}", f"    {DESCRIBED[name]['says']}"]
        own_signature = inspect.signature(reader)
        *others, _ = own_signature.parameters.values()
        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(Options, name, None))
            for name in kinds
        ]
        reader.__signature__ = own_signature.replace(parameters=[*others, *options])  # type: ignore[attr-defined]
        reader.__doc__ = (reader.__doc__ or "").replace("{options}", "\n    ".join(lines))
        return reader

    return show


def as_command(options: Mapping[str, Any]) -> str:
    """Return options as they are typed behind a command."""
    typed = []
    for name, value in options.items():
        if value is True:
            typed.append(flag(name))
        else:
            pairs = value.items() if isinstance(value, Mapping) else ()
            # A command to copy is one line; headings are compared without their spaces.
            texts = [" ".join(f"{key}={text}".split()) for key, text in pairs] or [str(value)]
            typed += [f"{flag(name)} {in_shell(text)}" for text in texts]
    return " ".join(typed)


def as_arguments(options: Mapping[str, Any]) -> str:
    """Return options as the arguments of a reader."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
