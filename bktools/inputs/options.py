"""Options: all that a person may say about a file, in Python, on the command line and in a mapping.

`options.toml` declares each once. One whose value is None, False or empty says nothing, and is left out.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias, TypeVar

from bktools.caller import in_shell, name_of
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.inputs import terms
from bktools.wording import Sentence

Reader = TypeVar("Reader", bound=Callable[..., Any])
Options: TypeAlias = Mapping[str, Any]


def _is_currency(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[A-Z]{3}", value) or value in terms.codes())


def _are_rows(value: str) -> bool:
    try:
        return bool([*skipped({"skip_rows": value})]) or value in ("", "none")
    except (re.error, ValueError):
        return False


class Type(NamedTuple):
    """What the value of an option must be: its type in Python, a test, and the rule in words."""

    name: str = "str | None"
    is_right: Callable[[Any], bool] = lambda _: True
    rule: str = ""


TYPES: Mapping[str, Type] = {
    "text": Type(),
    "pairs": Type(
        "Mapping[str, str] | None", lambda one: isinstance(one, Mapping), "must map names to words"
    ),
    "flag": Type("bool", lambda one: isinstance(one, bool), "must be True or False"),
    "switch": Type("bool | None", lambda one: isinstance(one, bool), "must be True or False"),
    "line": Type("int | None", lambda one: type(one) is int, "must be the number of a line"),
    "rows": Type(is_right=_are_rows, rule="must be lines such as 52,54-60, or a regular expression"),
    "character": Type(
        is_right=lambda one: isinstance(one, str) and len(one) == 1, rule="must be one character"
    ),
    "sheet": Type(
        "str | int | None",
        lambda one: isinstance(one, str) or type(one) is int,
        "must be the name of a sheet, or its position from 0",
    ),
    "year": Type(
        "int | None", lambda one: type(one) is int and 1900 <= one <= 2100, "must be a year such as 2026"
    ),
    "currency": Type(is_right=_is_currency, rule="must be the code of a currency, such as EUR"),
}


class Declared(NamedTuple):
    """An option as `options.toml` declares it."""

    typed: str
    text: str
    type: str = "text"
    choices: Sequence[str] = ()

    @property
    def flag(self) -> str:
        """Its flag, as --year; that of a switch has its opposite behind a stroke."""
        return self.typed.partition(" ")[0]

    @property
    def value(self) -> str:
        """The name of its value, "" for a flag alone."""
        return self.typed.partition(" ")[2]

    @property
    def repeats(self) -> bool:
        """Whether it may be typed several times."""
        return self.type in ("pairs", "rows")

    def refuse(self, name: str, value: Any) -> None:
        """Raise an `ArgumentError` for a value that it cannot have."""
        kind = TYPES[self.type]
        if not kind.is_right(value):
            raise ArgumentError(name_of(name), kind.rule, value)
        words = value.values() if self.type == "pairs" else (value,)
        if self.choices and not {*words} <= {*self.choices}:
            raise ArgumentError(
                name_of(name), Sentence("rule.one_of", choices=", ".join(self.choices)), value
            )


def _declared() -> dict[str, dict[str, Declared]]:
    content = tomllib.loads(files(__package__).joinpath("options.toml").read_text(encoding="utf-8"))
    of_kind: dict[str, dict[str, Declared]] = {"rates": {}}
    for kinds, options in content.items():
        for kind in kinds.split():
            of_kind.setdefault(kind, {}).update({name: Declared(**own) for name, own in options.items()})
    return of_kind


# The options that each kind of file takes.
OF_KIND: Mapping[str, Mapping[str, Declared]] = _declared()
_ALL = {**OF_KIND["entries"], **OF_KIND["ledger"]}


def checked(options: Mapping[str, Any]) -> Options:
    """Return the options that say something, in their order; a value that cannot be is an `ArgumentError`."""
    stated: dict[str, Any] = {}
    for name, option in _ALL.items():
        # A scalar of NumPy is a number. A line of headings of 0 says something, and so does a kept sign.
        value = rules.plain(options.get(name))
        if value in (None, {}, "strict") or (value is False and option.type == "flag"):
            continue
        if option.type == "pairs" and isinstance(value, Mapping):
            value = dict(value)
        elif option.type == "year" and str(value).isdecimal():
            # What stands for the year in a printed call is text.
            value = int(value)
        elif option.type == "currency":
            value = str(value).upper()
        option.refuse(name, value)
        stated[name] = value
    return stated


def filled_fields(options: Options) -> tuple[str, ...]:
    """Return the fields that are filled down."""
    return tuple(name.strip() for name in options.get("fill_down", "").split(",") if name.strip())


def keeps_reports(options: Options) -> bool:
    """Whether each row counts, also one that has a word of reports."""
    return "none" in options.get("skip_rows", "").split(";")


def skipped(options: Options) -> Iterator[tuple[set[int], re.Pattern[str] | None]]:
    """Yield the lines, or the pattern, of each part of `skip_rows`."""
    for part in options.get("skip_rows", "").split(";"):
        if re.fullmatch(r"[\d,\- ]+", part):
            spans = (one.partition("-") for one in part.split(",") if one.strip())
            yield (
                {line for first, _, last in spans for line in range(int(first), int(last or first) + 1)},
                None,
            )
        elif part not in ("", "none"):
            yield set(), re.compile(part, re.IGNORECASE)


def plus(options: Options, more: Options) -> Options:
    """Return options with more of them, as a choice of a question has them."""
    merged = {**options, **more}
    for name in merged.keys() & {"columns", "sides"}:
        merged[name] = {**options.get(name, {}), **more.get(name, {})}
    for name, between in (("skip_rows", ";"), ("fill_down", ",")):
        parts = [part for own in (options, more) for part in own.get(name, "").split(between) if part]
        merged[name] = between.join(dict.fromkeys(parts)) or None
    return checked(merged)


def takes_options(kind: str) -> Callable[[Reader], Reader]:
    """Show the options of a kind of file in the signature and the docstring of its reader."""

    def show(reader: Reader) -> Reader:
        lines: list[str] = []
        own = inspect.signature(reader)
        *parameters, _ = own.parameters.values()
        for name, option in OF_KIND[kind].items():
            default = False if option.type == "flag" else None
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
            lines += [f"{name} : {TYPES[option.type].name}", f"    {option.text}"]
        reader.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        reader.__doc__ = (reader.__doc__ or "").replace("{options}", "\n    ".join(lines))
        return reader

    return show


def as_command(options: Options) -> str:
    """Return options as they are typed behind a command."""
    typed = []
    for name, value in options.items():
        flag, *opposite = _ALL[name].flag.split("/")
        if isinstance(value, bool):
            typed += [flag] if value else opposite
        else:
            pairs = value.items() if isinstance(value, Mapping) else ()
            # A command to copy is one line; headings are compared without their spaces.
            texts = [" ".join(f"{key}={text}".split()) for key, text in pairs] or [str(value)]
            typed += [f"{flag} {in_shell(text)}" for text in texts]
    return " ".join(typed)


def as_arguments(options: Options) -> str:
    """Return options as the arguments of a reader."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
