"""Options: all that a person may say about a file, in Python, on the command line and in a mapping.

Each is declared once, with its type, how it is typed behind a command, and what it says. One whose value is
None, False or empty says nothing, and is left out of `Options`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from bktools.caller import in_shell, name_of
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.inputs import terms
from bktools.wording import Sentence

Reader = TypeVar("Reader", bound=Callable[..., Any])
_SplitAccount: TypeAlias = Annotated[
    bool, "--split-account: One column has the code and the name of an account."
]


class TableOptions(TypedDict, total=False):
    """The options of every file."""

    columns: Annotated[
        Mapping[str, str] | None,
        "--column FIELD=HEADING: Heading of a field; an empty heading leaves the field out, 'column 3' is "
        "the third column.",
    ]
    headings: Annotated[int | None, "--headings LINE: Line of the headings; 0: there are none."]
    skip_rows: Annotated[
        str | None,
        '--skip-rows ROWS: Leave out rows: lines such as 52,54-60, a pattern such as "SALDO|Total", or '
        "several between ;",
    ]
    delimiter: Annotated[str | None, "--delimiter CHARACTER: Character between two cells, such as ;"]
    encoding: Annotated[str | None, "--encoding NAME: Encoding, such as cp1252."]
    sheet: Annotated[str | int | None, "--sheet NAME: Sheet of a workbook."]


class ChartOptions(TableOptions, total=False):
    """The options of a chart of accounts."""

    split_account: _SplitAccount


class MoneyOptions(TableOptions, total=False):
    """The options of days and amounts."""

    decimal: Annotated[
        str | None,
        "--decimal MARK: Decimal mark of the amounts: . or , or each where every amount is clear by itself.",
    ]
    date_format: Annotated[
        str | None, "--date-format FORMAT: Format of the dates, such as %d/%m/%Y, or serial."
    ]
    year: Annotated[int | None, "--year YYYY: Year of dates that have none, such as 2026."]
    currency: Annotated[
        str | None, "--currency CODE: Currency of the amounts, such as EUR, if no column has it."
    ]
    sides: Annotated[
        Mapping[str, str] | None,
        "--side WORD=SIDE: What a word beside an amount means: debit, credit or skip.",
    ]
    signs: Annotated[
        Literal["own", "side"] | None,
        "--signs own|side: A minus beside a side: own: the sign of the amount. side: it reverses its side.",
    ]
    negate: Annotated[bool, "--negate: Turn the sign of the amounts."]
    net: Annotated[bool, "--net: A row with debit and credit is their difference."]
    fill_down: Annotated[
        str | None,
        "--fill-down FIELDS: Fields that stand only in the first of their rows, such as date,account_code.",
    ]


class EntriesOptions(MoneyOptions, total=False):
    """The options of entries."""

    approved_values: Annotated[
        str | None,
        "--approved-values VALUES: Values of the approval column that count, such as OK,NOT_REQUIRED.",
    ]
    split_lines: Annotated[
        bool, "--split-lines: Lines with equal ID, company, date and currency are one entry."
    ]


class LedgerOptions(MoneyOptions, total=False):
    """The options of a general ledger."""

    split_account: _SplitAccount
    style: Annotated[
        Literal["entry", "supplier_day", "account_day", "week", "document", "batch", "month"] | None,
        "--style STYLE: What one posting books, if the ledger does not show it: entry, supplier_day, "
        "account_day, week, document, batch or month.",
    ]
    reverse_sign: Annotated[
        bool | None,
        "--reverse-sign/--keep-sign: Whether credits of the ledger are costs. By default the ledger "
        "shows it.",
    ]
    verify: Annotated[
        Literal["strict", "warn"] | None,
        "--verify strict|warn: strict (default): the ledger must agree with its own totals. warn: a warning.",
    ]


class Options(EntriesOptions, LedgerOptions, total=False):
    """The options of all kinds of files: those that say something."""


class Declared(NamedTuple):
    """How an option is typed: its flag, the name of its value, "" for a flag alone, its text and its type."""

    flag: str
    value: str
    text: str
    type: Any

    @property
    def repeats(self) -> bool:
        """Whether it may be typed several times."""
        return self.value in ("FIELD=HEADING", "WORD=SIDE", "ROWS")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be; empty for others."""
        kinds = [kind for kind in get_args(self.type) if get_origin(kind) is Literal]
        return get_args(kinds[0]) if kinds else ()


def _declared(kind: type) -> dict[str, Declared]:
    options = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        typed, text = hint.__metadata__[0].split(": ", 1)
        option, _, value = typed.partition(" ")
        options[name] = Declared(option, value, text, hint.__origin__)
    return options


# The options that each kind of file takes.
OF_KIND: Mapping[str, Mapping[str, Declared]] = {
    "chart": _declared(ChartOptions),
    "accounts": _declared(TableOptions),
    "entries": _declared(EntriesOptions),
    "ledger": _declared(LedgerOptions),
    "rates": {},
}
_ALL = _declared(Options)
_SIDES = ("debit", "credit", "skip")


def _is_sheet(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _is_currency(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[A-Z]{3}", value) or value in terms.codes())


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
        ("negate", "net", "split_account", "split_lines", "reverse_sign"),
        (lambda value: isinstance(value, bool), "must be True or False"),
    ),
}


def checked(options: Mapping[str, Any]) -> Options:
    """Return the options that say something, in their order; a value that cannot be is an `ArgumentError`."""
    stated: dict[str, Any] = {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, option in _ALL.items()
        # A scalar of NumPy is a number. A line of headings of 0 says something, and so does a kept sign.
        if (value := rules.plain(options.get(name))) not in (None, {}, "strict")
        and (value is not False or option.type is not bool)
    }
    if "year" in stated and str(stated["year"]).isdecimal():
        # What stands for the year in a printed call is text.
        stated["year"] = int(stated["year"])
    if "currency" in stated:
        stated["currency"] = str(stated["currency"]).upper()
    for name, (is_right, rule) in _RULES.items():
        if name in stated and not is_right(stated[name]):
            raise ArgumentError(name_of(name), rule, options[name])
    for name, value in stated.items():
        if (choices := _ALL[name].choices) and value not in choices:
            raise ArgumentError(name_of(name), Sentence("rule.one_of", choices=", ".join(choices)), value)
    made = cast("Options", stated)
    try:
        list(skipped(made))
    except (re.error, ValueError) as error:
        why = f"must be lines such as 52,54-60, or a pattern ({error})"
        raise ArgumentError(name_of("skip_rows"), why, stated["skip_rows"]) from None
    return made


def filled_fields(options: Options) -> tuple[str, ...]:
    """Return the fields that are filled down."""
    return tuple(name.strip() for name in (options.get("fill_down") or "").split(",") if name.strip())


def keeps_reports(options: Options) -> bool:
    """Whether each row counts, also one that has a word of reports."""
    return "none" in (options.get("skip_rows") or "").split(";")


def skipped(options: Options) -> Iterator[tuple[set[int], re.Pattern[str] | None]]:
    """Yield the lines, or the pattern, of each part of `skip_rows`."""
    for part in (options.get("skip_rows") or "").split(";"):
        if re.fullmatch(r"[\d,\- ]+", part):
            spans = (one.partition("-") for one in part.split(",") if one.strip())
            yield (
                {line for first, _, last in spans for line in range(int(first), int(last or first) + 1)},
                None,
            )
        elif part not in ("", "none"):
            yield set(), re.compile(part, re.IGNORECASE)


def plus(options: Options, more: Mapping[str, Any]) -> Options:
    """Return options with more of them, as a choice of a question has them."""
    merged: dict[str, Any] = {**options, **more}
    before: Mapping[str, Any] = options
    for name in more.keys() & {"columns", "sides"}:
        merged[name] = {**before.get(name, {}), **more[name]}
    for name, between in (("skip_rows", ";"), ("fill_down", ",")):
        if name in more:
            parts = [part for text in (before.get(name, ""), more[name]) for part in text.split(between)]
            merged[name] = between.join(dict.fromkeys(filter(None, parts)))
    return checked(merged)


def takes_options(kind: str) -> Callable[[Reader], Reader]:
    """Show the options of a kind of file in the signature and the docstring of its reader."""

    def show(reader: Reader) -> Reader:
        lines: list[str] = []
        own = inspect.signature(reader)
        *parameters, _ = own.parameters.values()
        for name, option in OF_KIND[kind].items():
            default = False if option.type is bool else None
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
            of_type = "bool" if option.type is bool else str(option.type).replace("collections.abc.", "")
            lines += [f"{name} : {of_type}", f"    {option.text}"]
        reader.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        reader.__doc__ = (reader.__doc__ or "").replace("{options}", "\n    ".join(lines))
        return reader

    return show


def as_command(options: Mapping[str, Any]) -> str:
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


def as_arguments(options: Mapping[str, Any]) -> str:
    """Return options as the arguments of a reader."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
