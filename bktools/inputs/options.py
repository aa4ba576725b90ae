"""Options: all that a person may say about a file, in Python, on the command line and in a mapping.

Each is declared once: its type, what else its value must be, how it is typed behind a command, and its help.
One whose value is None, False, empty or its default says nothing, and is left out.
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
    get_args,
    get_origin,
    get_type_hints,
)

from bktools.caller import in_shell
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.inputs import terms
from bktools.wording import Sentence

Reader = TypeVar("Reader", bound=Callable[..., Any])
Options: TypeAlias = Mapping[str, Any]


class Rule(NamedTuple):
    """What a value must be, as a test and as a code of the wording."""

    is_right: Callable[[Any], bool] = lambda _: True
    code: str = ""


def _is_currency(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch("[A-Z]{3}", value) or value in terms.codes())


def _are_rows(value: str) -> bool:
    try:
        return bool([*skipped({"skip_rows": value})]) or value in ("", "none")
    except (re.error, ValueError):
        return False


_PAIRS = Rule(lambda one: isinstance(one, Mapping), "names_and_words")
_FLAG = Rule(lambda one: isinstance(one, bool), "flag")
# A part of `skip_rows` that names lines; each other part is a pattern.
_LINES = re.compile(r"[\d,\- ]+")
_LINE = Rule(lambda one: type(one) is int, "line")
_ROWS = Rule(_are_rows, "rows")
_CHARACTER = Rule(lambda one: isinstance(one, str) and len(one) == 1, "character")
_SHEET = Rule(lambda one: isinstance(one, str) or type(one) is int, "sheet")
_YEAR = Rule(lambda one: type(one) is int and 1900 <= one <= 2100, "year")
_CURRENCY = Rule(_is_currency, "currency_code")


class TableOptions(TypedDict, total=False):
    """The options of every file."""

    columns: Annotated[
        Mapping[str, str] | None,
        _PAIRS,
        "--column FIELD=HEADING: Heading of a field; an empty heading leaves the field out, 'column 3' is "
        "the third column.",
    ]
    headings: Annotated[int | None, _LINE, "--headings LINE: Line of the headings; 0: there are none."]
    skip_rows: Annotated[
        str | None,
        _ROWS,
        '--skip-rows ROWS: Leave out rows: lines such as 52,54-60, a pattern such as "SALDO|Total", or '
        "several between ;",
    ]
    delimiter: Annotated[
        str | None, _CHARACTER, "--delimiter CHARACTER: Character between two cells, such as ;"
    ]
    encoding: Annotated[str | None, "--encoding NAME: Encoding, such as cp1252."]
    sheet: Annotated[str | int | None, _SHEET, "--sheet NAME: Sheet of a workbook."]


class MoneyOptions(TableOptions, total=False):
    """The options of days and amounts."""

    decimal: Annotated[Literal[".", ","] | None, "--decimal MARK: Decimal mark of the amounts: . or ,"]
    date_format: Annotated[str | None, "--date-format FORMAT: Format of the dates, such as %d/%m/%Y."]
    year: Annotated[int | None, _YEAR, "--year YYYY: Year of dates that have none, such as 2026."]
    currency: Annotated[
        str | None,
        _CURRENCY,
        "--currency CODE: Currency of the amounts, such as EUR, if no column has it.",
    ]
    sides: Annotated[
        Mapping[str, Literal["debit", "credit", "skip"]] | None,
        _PAIRS,
        "--side WORD=SIDE: What a word beside an amount means: debit, credit or skip.",
    ]
    signs: Annotated[
        Literal["own", "side"] | None,
        "--signs own|side: A minus beside a side: own: the sign of the amount. side: it reverses its side.",
    ]
    negate: Annotated[bool, _FLAG, "--negate: Turn the sign of the amounts."]
    net: Annotated[bool, _FLAG, "--net: A row with debit and credit is their difference."]
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
        bool, _FLAG, "--split-lines: Lines with equal ID, company, date and currency are one entry."
    ]


class LedgerOptions(MoneyOptions, total=False):
    """The options of a general ledger."""

    style: Annotated[
        Literal["entry", "supplier_day", "account_day", "week", "document", "batch", "month"] | None,
        "--style STYLE: What one posting books, if the ledger does not show it: entry, supplier_day, "
        "account_day, week, document, batch or month.",
    ]
    reverse_sign: Annotated[
        bool | None,
        _FLAG,
        "--reverse-sign/--keep-sign: Whether credits of the ledger are costs. By default the ledger "
        "shows it.",
    ]
    verify: Annotated[
        Literal["strict", "warn"] | None,
        "--verify strict|warn: strict (default): the ledger must agree with its own totals. warn: a warning.",
    ]


class Declared(NamedTuple):
    """An option: its flag, the name of its value ("" for a flag alone), its text, its type and rule.

    The flag of a switch has its opposite behind a stroke.
    """

    flag: str
    value: str
    text: str
    type: Any
    rule: Rule
    # The words that it may be; empty for others.
    choices: tuple[str, ...]

    @property
    def repeats(self) -> bool:
        """Whether it may be typed several times."""
        return self.rule in (_PAIRS, _ROWS)

    def refuse(self, name: str, value: Any) -> None:
        """Raise an `ArgumentError` for a value that it cannot have."""
        if not self.rule.is_right(value):
            raise ArgumentError(name, Sentence(f"rule.{self.rule.code}"), value)
        words = value.values() if self.rule is _PAIRS else (value,)
        if self.choices and not {*words} <= {*self.choices}:
            raise ArgumentError(name, Sentence("rule.one_of", choices=", ".join(self.choices)), value)


def _declared(kind: type) -> dict[str, Declared]:
    options = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        rule, words = (Rule(), *hint.__metadata__)[-2:]
        typed, text = words.split(": ", 1)
        flag, _, value = typed.partition(" ")
        options[name] = Declared(flag, value, text, hint.__origin__, rule, _words_of(hint.__origin__))
    return options


def _words_of(kind: Any) -> tuple[str, ...]:
    """Return the words of a `Literal` in a type."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(word for part in get_args(kind) for word in _words_of(part))


# The options that each kind of file takes.
OF_KIND: Mapping[str, Mapping[str, Declared]] = {
    "chart": _declared(TableOptions),
    "accounts": _declared(TableOptions),
    "entries": _declared(EntriesOptions),
    "ledger": _declared(LedgerOptions),
    "rates": {},
}
_ALL = {**OF_KIND["entries"], **OF_KIND["ledger"]}


def checked(options: Mapping[str, Any]) -> Options:
    """Return the options that say something, in their order; a value that cannot be is an `ArgumentError`."""
    stated: dict[str, Any] = {}
    for name, option in _ALL.items():
        # A scalar of NumPy is a number. A line of headings of 0 says something, and so does a kept sign.
        value = rules.plain(options.get(name))
        is_default = (name, value) == ("verify", "strict") or (value is False and option.type is bool)
        if value in (None, {}) or is_default:
            continue
        if isinstance(value, Mapping):
            value = dict(value)
        elif name in ("year", "headings") and str(value).isdecimal():
            # A command gives texts.
            value = int(value)
        elif name == "currency":
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
        if _LINES.fullmatch(part):
            spans = (one.partition("-") for one in part.split(",") if one.strip())
            yield (
                {line for first, _, last in spans for line in range(int(first), int(last or first) + 1)},
                None,
            )
        elif part not in ("", "none"):
            yield set(), re.compile(part, re.IGNORECASE)


def of_any_file(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those of one file: the year and the lines of `skip_rows`; patterns stay."""
    parts = [part for part in options.get("skip_rows", "").split(";") if not _LINES.fullmatch(part)]
    others = {name: value for name, value in options.items() if name not in ("skip_rows", "year")}
    return {**others, "skip_rows": ";".join(parts)} if any(parts) else others


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
            default = False if option.type is bool else None
            parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
            of_type = inspect.formatannotation(option.type).replace("collections.abc.", "")
            lines += [f"{name} : {of_type}", f"    {option.text}"]
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
