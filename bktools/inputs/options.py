"""Options: all that a person may say about a file, in Python, on the command line and in a mapping."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bktools.caller import in_shell, name_of
from bktools.contract import rules
from bktools.errors import ArgumentError
from bktools.inputs import words

# Field to heading.
Columns = Mapping[str, str]

_TABLE = ("columns", "headings", "skip_rows", "delimiter", "encoding", "sheet")
_VALUES = ("decimal", "date_format", "year", "currency", "sides", "negate", "net", "fill_down")
# The options that each kind of file takes.
OF_KIND: Mapping[str, tuple[str, ...]] = {
    "chart": (*_TABLE, "split_account"),
    "accounts": _TABLE,
    "entries": (*_TABLE, *_VALUES, "approved_values", "split_lines"),
    "ledger": (*_TABLE, *_VALUES, "split_account"),
}
# Options that are repeated on the command line have a singular there.
_SINGULAR = {"columns": "column", "sides": "side"}
_SIDES = ("debit", "credit", "skip")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a person says about a file. An option at its default says nothing.

    Parameters
    ----------
    columns : mapping
        Field to heading; an empty heading leaves the field out, `column 3` is the third column.
    headings : int, optional
        The line of the headings, 0 for a file without them.
    skip_rows : str, optional
        Rows that are left out: lines such as `52,54-60`, or a pattern that a row contains. Several stand
        between semicolons. `none` keeps rows that look like those of a report.
    delimiter, encoding : str, optional
        Of a text.
    sheet : str or int, optional
        Name of the workbook's sheet, or its position from 0.
    decimal : str, optional
        The decimal mark of amounts: `.`, `,`, or `each` where each amount is clear by itself.
    date_format : str, optional
        A format of `strptime`, or `serial` for the day numbers of spreadsheets.
    year : int, optional
        The year of dates that have none.
    currency : str, optional
        The currency of amounts that have none of their own.
    sides : mapping
        Word to `debit`, `credit` or `skip`, for words of a column of sides that are not known.
    negate, net : bool
        Whether all amounts are turned; whether a row with both debit and credit is their difference.
    fill_down : str, optional
        Fields that stand in the first of their rows only, separated by commas.
    split_account : bool
        Whether a column holds code and name of an account in one cell.
    split_lines : bool
        Whether lines with one ID, company, date and currency are parts of one entry.
    approved_values : str, optional
        The values that count as approved, separated by commas.
    """

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
        # A caller's None says nothing, and a scalar of NumPy is a number.
        object.__setattr__(self, "columns", {} if self.columns is None else self.columns)
        object.__setattr__(self, "sides", {} if self.sides is None else self.sides)
        object.__setattr__(self, "sheet", rules.plain(self.sheet))
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
    return "--" + _SINGULAR.get(name, name).replace("_", "-")


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
