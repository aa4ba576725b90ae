"""Text of cells → calendar dates, by the order that the whole column shows."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bktools.caller import name_of, setting
from bktools.errors import ArgumentError
from bktools.frames import schema
from bktools.inputs import cells, words
from bktools.inputs.table import Table
from bktools.inputs.words import normal

# A time of day behind the date is no part of the calendar date, and neither is its zone.
_SIXTY = r"[0-5]\d"
_CLOCK = (
    rf"(?:(?:[01]?\d|2[0-3]):{_SIXTY}(?::(?:{_SIXTY}|60)(?:[.,]\d+)?)?"
    rf"|(?:0?[1-9]|1[0-2]):{_SIXTY}(?::{_SIXTY}(?:[.,]\d+)?)? ?[AaPp][Mm])"
)
_ZONE = rf"(?: ?(?:Z|UTC|[+-](?:0\d|1[0-4])(?::?{_SIXTY})?))?"
_TIME = rf"(\d)[T ]+{_CLOCK}{_ZONE}$"
_WITHOUT_YEAR = r"^(\d{1,2})([./-])(\d{1,2})[./-]?$"
_YEAR_IN_TEXT = re.compile(r"(?<!\d)(20\d{2})(?=(?:\d{2}){0,2}(?!\d))")
# Directives that strptime reads as a year.
_YEARS = re.compile("%[YyGcxD]")
_ADJACENT = re.compile("%[Yymd]%[Yymd]")
_NAMED_MONTH, _SHORTEST_MONTH = re.compile("%[bB]"), 3
_LETTERS, _FOUR_DIGITS = re.compile(r"[^\W\d_]{3}"), re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_CLOCKS = re.compile("%[HIMSfpXTRcr]")
_YEAR, _MONTH, _DAY = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})"
_ORDERS = [
    re.compile(order, re.ASCII)
    for order in (
        rf"{_YEAR}-{_MONTH}-{_DAY}",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        rf"{_YEAR}/{_MONTH}/{_DAY}",
        rf"{_YEAR}\. ?{_MONTH}\. ?{_DAY}\.?",
        rf"{_YEAR}年{_MONTH}月{_DAY}日",
        rf"{_DAY}\. ?{_MONTH}\. ?{_YEAR}\.?",
        rf"{_DAY}[/-]{_MONTH}[/-]{_YEAR}",
        rf"{_MONTH}[/-]{_DAY}[/-]{_YEAR}",
    )
]

# Orders that only the dates themselves tell apart.
_TWO_ORDERS = _ORDERS[-2:]
_MOST_BESIDE = 10_000

# Forms that are proposed where they fit all cells of a column, and are never taken by themselves.
_PROPOSED = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *(
        "%d.%m.%y",
        "%d/%m/%y",
        "%m/%d/%y",
        "%d-%m-%y",
        "%m-%d-%y",
        "%y-%m-%d",
        "%y/%m/%d",
        "%d.%m.%y.",
        "%m.%d.%Y",
    ),
    *(
        "%d %b %Y",
        "%d %B %Y",
        "%d-%b-%Y",
        "%d-%b-%y",
        "%d %b %y",
        "%d/%b/%Y",
        "%d. %B %Y",
        "%d. %b %Y",
        "%d%b%Y",
    ),
    *("%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%Y-%b-%d", "%d%m%Y", "%m%d%Y"),
    *("%a %d %b %Y", "%A, %B %d, %Y", "%a, %d %b %Y"),
)
_NUMBERS = r"\d{4}[-/.年] ?\d{1,2}[-/.月] ?\d{1,2}[.日]?|\d{1,2}[-/.] ?\d{1,2}[-/.] ?\d{4}\.?"
_SHORT_NUMBERS = r"\d{1,2}[-/.]\d{1,2}[-/.]\d{2}\.?|(?:19|20)\d{6}"
_WORDS = r"\d{1,2}[ .-]+\pL{3,9}[., -]+\d{2,4}|\pL{3,9}\.? \d{1,2},? \d{4}"


def are_dates(column: pa.ChunkedArray, *, short: bool = False) -> bool:
    """Whether all cells of a column look like dates.

    With `short`, dates with two digits of the year, or without marks, count too.
    """
    numbers = f"{_NUMBERS}|{_SHORT_NUMBERS}" if short else _NUMBERS
    either = f"{numbers}|{_WORDS}"
    # A pattern with the letters of all scripts takes a hundred times longer to prepare: it comes last.
    return len(column) > 0 and (
        _fits(column, numbers) or (_fits(column, either.replace(r"\pL", ".")) and _fits(column, either))
    )


def _fits(column: pa.ChunkedArray, look: str) -> bool:
    return bool(cells.matches(column, rf"^\s*(?:{look})(?:[T ].*)?$").all())


def dates(
    table: Table, place: int, date_format: str | None, notes: list[str], *, is_of_format: bool = False
) -> pa.ChunkedArray:
    """Return a column of calendar dates as they are written; empty cells are null.

    The format is one of `strptime`; without it the column must show the order of day and month. `notes` gets
    a line where the file's delimiter decided the order, or its title or name the year. Of a file whose format
    says the form of its dates, no other form can be set. A value that is no date is an `InputError`.
    """
    column = cells.or_null(cells.trimmed(table.columns[place]))
    if date_format is None and cells.matches(column, _WITHOUT_YEAR).all() and column.null_count < len(column):
        column = _with_year(table, place, column, notes)
    date_format = None if date_format is None else form_of(date_format)
    if date_format is not None and not _YEARS.search(date_format):
        raise ArgumentError(name_of("date_format"), "must have the year, such as %d.%m.%Y", date_format)
    if not _CLOCKS.search(date_format or "") and cells.mask(pc.match_substring(column, ":")).any():
        column = pc.replace_substring_regex(column, _TIME, r"\1")
    encoded = pc.dictionary_encode(column).combine_chunks()
    texts = encoded.dictionary.to_pylist()
    if date_format is None:
        days = _by_evidence(table, place, texts, notes)
        rule = f"such as 2026-10-31 in one order of day and month (set {setting('date_format')})"
    else:
        days = [parsed(text, date_format, to_the_digit=is_of_format) for text in texts]
        rule = f"of the form {date_format} (set {setting('date_format')})"
        if is_of_format:
            rule = f"such as {dt.date(2026, 10, 31):{date_format}}: export the file again"
    result = pa.chunked_array([pc.take(pa.array(days, type=schema.DATE), encoded.indices)])
    wrong = cells.mask(pc.and_(pc.is_null(result), pc.is_valid(encoded.indices)))
    cells.refuse(table, place, wrong, f"must hold dates {rule}")
    return result


def _with_year(table: Table, place: int, column: pa.ChunkedArray, notes: list[str]) -> pa.ChunkedArray:
    """Return dates such as 31.10. with the only year in the rows above the headings and the file's name."""
    years = {*_YEAR_IN_TEXT.findall(table.title), *_YEAR_IN_TEXT.findall(Path(table.source).stem)}
    if len(years) != 1:
        several = f" (its title and its name say {' and '.join(sorted(years))})" if years else ""
        raise table.error(
            f"{table.headings[place]!r} holds dates without a year, "
            f"such as {column.drop_null()[0].as_py()!r}{several}: put one year into the file's name "
            "(expenses-2026-10.csv), or write dates with their year"
        )
    notes.append(f"{table.headings[place]!r} has no year: {min(years)} taken from the file's title or name")
    return pc.replace_substring_regex(column, _WITHOUT_YEAR, rf"\1\2\3\2{min(years)}")


def form_of(date_format: str) -> str:
    """Return a format of `strptime`; an example such as 1 Oct 2026 stands for the form that it has."""
    if "%" in date_format:
        return date_format
    return next((form for form in _PROPOSED if parsed(date_format, form)), date_format)


@cache
def _months() -> dict[str, str]:
    """Return the English short name of each month by its names in the languages of files."""
    return {
        normal(name): english
        for english, names in words.months().items()
        for name in (english, *names)
        if len(normal(name)) >= _SHORTEST_MONTH
    }


def _in_english(text: str) -> str:
    """Return a date with the month's English name, and without what stands behind the day, such as 1st."""
    plain = re.sub(r"(?<=\d)(?:st|nd|rd|th|er)\b|\bde\b|\bof\b", "", text, flags=re.IGNORECASE)
    named = re.sub(r"[^\W\d_]{3,}\.?", lambda match: _months().get(normal(match[0]), match[0]), plain)
    return " ".join(named.split())


def parsed(text: str, date_format: str, *, to_the_digit: bool = False) -> dt.date | None:
    """Return the date of a text in a form of `strptime`, None for a text that has another form."""
    if _NAMED_MONTH.search(date_format):
        text, date_format = _in_english(text), date_format.replace("%B", "%b")
    try:
        day = dt.datetime.strptime(text, date_format).date()  # noqa: DTZ007 - a calendar date has no zone
    except ValueError:
        return None
    # `strptime` takes 2026105 for the fifth of October.
    to_the_digit = to_the_digit or _ADJACENT.search(date_format) is not None
    return None if to_the_digit and f"{day:{date_format}}" != text else day


def _in_order(text: str, order: re.Pattern[str]) -> dt.date | None:
    match = order.fullmatch(text)
    try:
        return match and dt.date(int(match["year"]), int(match["month"]), int(match["day"]))
    except ValueError:
        return None


def _by_evidence(table: Table, place: int, texts: list[str], notes: list[str]) -> list[dt.date | None]:
    if texts and all(_LETTERS.search(text) for text in texts) and (days := _by_names(texts)):
        return days
    readings = [[_in_order(text, order) for text in texts] for order in _ORDERS]
    whole = [reading for reading in readings if None not in reading]
    if not whole:
        _propose(table, place, texts, repr(texts[0]))
        # Where no order reads all, the one that reads most shows which values are wrong.
        return max(readings, key=lambda reading: sum(day is not None for day in reading))
    other = next((reading for reading in whole if reading != whole[0]), None)
    beside = _order_beside(table, place) if other else None
    if other and beside:
        heading, order = beside
        notes.append(f"{table.headings[place]!r} read in the order of day and month that {heading!r} shows")
        return [_in_order(text, order) for text in texts]
    if other and table.delimiter == ";":
        # A semicolon stands between cells where the comma is the decimal mark: there the day comes first.
        notes.append(
            f"{table.headings[place]!r} read with the day first, as in files with semicolons; else set"
            f" {setting('date_format', '%m/%d/%Y')}"
        )
    elif other:
        differs = next(text for text, one, two in zip(texts, whole[0], other, strict=True) if one != two)
        _propose(table, place, texts, f"{differs!r} whose day could be the month")
    return whole[0]


def _by_names(texts: list[str]) -> list[dt.date | None]:
    """Return dates with names of months and years of four digits, none where they have two readings."""
    forms = [form for form in _PROPOSED if _NAMED_MONTH.search(form)]
    readings = [days for form in forms if all(days := [parsed(text, form) for text in texts])]
    has_years = all(_FOUR_DIGITS.search(text) for text in texts)
    return readings[0] if has_years and readings and all(days == readings[0] for days in readings) else []


def _order_beside(table: Table, place: int) -> tuple[str, re.Pattern[str]] | None:
    """Return another column of dates that all have one order of day and month, and that order."""
    for beside, column in enumerate(table.columns):
        texts = (
            pc.unique(cells.trimmed(column.slice(0, _MOST_BESIDE))).drop_null().to_pylist()
            if beside != place
            else []
        )
        texts = [re.split("[T ]", text)[0] for text in texts if text]
        orders = [order for order in _TWO_ORDERS if texts and all(_in_order(text, order) for text in texts)]
        if len(orders) == 1:
            return table.headings[beside], orders[0]
    return None


def _propose(table: Table, place: int, texts: list[str], example: str) -> None:
    """Refuse a column, and name the forms that fit all its cells, if any; the likeliest form is first."""
    readings = {form: days for form in _PROPOSED if all(days := [parsed(text, form) for text in texts])}
    forms = sorted(readings, key=lambda form: _gaps(readings[form]))
    if forms:
        others = [f"Or: {setting('date_format', form)}" for form in forms[1:]]
        why = f"{table.headings[place]!r} holds dates such as {example}"
        raise table.error(why, details=others, date_format=forms[0])


def _gaps(days: Sequence[dt.date | None]) -> tuple[int, bool]:
    """Return what makes a reading of dates unlikely: the longest gap, and dates that go to and fro."""
    ordered = sorted(day for day in days if day)
    is_in_order = [*days] in (ordered, ordered[::-1])
    return max(((later - earlier).days for earlier, later in pairwise(ordered)), default=0), not is_in_order
